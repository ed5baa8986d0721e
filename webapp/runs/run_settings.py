"""The settings of a run as its form shows them, and what of a sent form differs from the preset.

Fields are named `set.SECTION.NAME`, as `ml.training.configs` names its settings; weights of rewards have one field
each, `set.rewards.weights.REWARD`. Only what differs from the preset is kept, so that a run says in few words what it
is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ml.rewards import registry
from ml.training import configs
from webapp.runs.recording import OVERLONG

PREFIX = "set."
LABELS = {
    "max_steps": "Steps in all",
    "max_grad_norm": "Largest gradient norm",
    "per_device_batch": "Batch of one process",
    "accumulation": "Batches in a step",
    "checkpointing": "Gradient checkpointing",
    "rate": "Frame rate",
    "most": "Most frames of a clip",
    "longest": "Longer side of a frame",
    "most_pixels": "Area of a frame",
    "num_generations": "Answers to a question (K)",
    "max_new_tokens": "Longest answer",
    "top_p": "Top-p",
    "top_k": "Top-k",
    "overlong_tokens": "Length of the overlong penalty",
    "use_vllm": "Use vLLM",
    "vllm_memory": "Memory for vLLM",
    "beta": "Beta (weight of KL)",
    "log_steps": "Log every",
    "save_steps": "Checkpoint every",
    "rollout_steps": "Keep rollouts every",
    "keep_checkpoints": "Checkpoints kept",
    "tensorboard": "TensorBoard",
}
WEIGHTS = "rewards.weights"
OPEN = ("train", "rewards")


@dataclass(frozen=True)
class Shown:
    """One setting in the form. `preset`: the value it has by itself; `value`: as it stands in the field."""

    name: str
    label: str
    kind: str  # number, choice, text
    help: str
    unit: str
    value: str
    preset: str
    choices: list[tuple[str, str]]
    error: str = ""

    @property
    def field(self) -> str:
        return PREFIX + self.name

    @property
    def changed(self) -> bool:
        return self.value != self.preset


@dataclass
class Group:
    name: str
    title: str
    settings: list[Shown] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return self.name in OPEN or any(one.changed or one.error for one in self.settings)


def written(value: Any) -> str:
    """A value as a field holds it; numbers as they are read back."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return "" if value is None else str(value)


def groups(stage: str, preset: str, overrides: Mapping[str, Any], errors: Mapping[str, str]) -> list[Group]:
    """The form of a stage and preset, with what is overridden in it. Raises ConfigError for an unknown preset."""
    plain = configs.values(preset, stage)
    found: dict[str, Group] = {}
    for one in configs.settings(stage):
        section, _, name = one.name.partition(".")
        found.setdefault(section, Group(section, one.group))
        if one.kind == "weights":
            found[section].settings += weights(plain, overrides, errors)
            continue
        value = overrides.get(one.name, plain[one.name])
        kind = "choice" if one.choices or one.kind == "bool" else "number" if one.kind in ("int", "float") else "text"
        choices = ["yes", "no"] if one.kind == "bool" else list(one.choices)
        found[section].settings.append(
            Shown(
                one.name,
                label(one.name),
                kind,
                one.help,
                "" if one.unit in label(one.name).lower().split() else one.unit,
                written(value),
                written(plain[one.name]),
                [(word, word) for word in choices],
                errors.get(one.name, ""),
            )
        )
    return list(found.values())


def label(setting: str) -> str:
    """A setting by its dotted name, as people read it: "train.warmup_steps" is "Warmup steps"."""
    name = setting.rpartition(".")[2]
    return LABELS.get(name) or name.replace("_", " ").capitalize()


def weights(plain: Mapping[str, Any], overrides: Mapping[str, Any], errors: Mapping[str, str]) -> Iterator[Shown]:
    """One field for each reward; empty is not used. The preset is the one of rewards that is chosen in the form."""
    named = plain[WEIGHTS] or registry.PRESETS.get(str(overrides.get("rewards.preset", plain["rewards.preset"])), {})
    now = overrides.get(WEIGHTS) or named
    for name in (*registry.REWARDS, *registry.GROUPED):
        yield Shown(
            f"{WEIGHTS}.{name}",
            name,
            "number",
            meaning(name),
            "weight",
            written(now.get(name)),
            written(named.get(name)),
            [],
            errors.get(f"{WEIGHTS}.{name}", ""),
        )


def meaning(reward: str) -> str:
    """What a reward gives, in its first sentence."""
    if reward == OVERLONG:
        return "Penalty on an answer that comes near the most tokens allowed."
    found = registry.REWARDS.get(registry.ALIASES.get(reward, reward))
    if found is None or not found.__doc__:
        return "Compares the answers to one prompt; needs a judge." if reward in registry.GROUPED else ""
    sentence = " ".join(found.__doc__.strip().split("\n\n")[0].split()).replace("`", "")
    for name in registry.REWARDS:  # by the name that the form has for it
        sentence = sentence.replace(name.replace("-", "_"), name) if "-" in name else sentence
    return sentence


def sent(data: Mapping[str, Any], stage: str, preset: str) -> dict[str, Any]:
    """What a sent form sets otherwise than the preset, by dotted name. Values are checked by `configs.load`."""
    plain = configs.values(preset, stage)
    found: dict[str, Any] = {}
    for one in configs.settings(stage):
        raw = data.get(PREFIX + one.name)
        if one.kind == "weights" or raw is None:
            continue
        text = str(raw).strip()
        if text == written(plain[one.name]):
            continue
        found[one.name] = {"yes": True, "no": False}.get(text, text) if one.kind == "bool" else text
    if stage == "grpo":
        found |= _weights_sent(data, plain, found)
    return found


def _weights_sent(data: Mapping[str, Any], plain: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """All weights where any is another than the chosen preset's; fields that were not sent are as they were."""
    named = plain[WEIGHTS] or registry.PRESETS.get(str(found.get("rewards.preset", plain["rewards.preset"])), {})
    now: dict[str, Any] = {}
    for name in (*registry.REWARDS, *registry.GROUPED):
        text = str(data.get(f"{PREFIX}{WEIGHTS}.{name}", written(named.get(name)))).strip()
        if text:
            now[name] = text
    return {} if now == {name: written(value) for name, value in named.items()} else {WEIGHTS: now}


def checked(stage: str, preset: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The overrides in their types, those that are the preset's after all left out. Raises ConfigError."""
    plain, now = configs.values(preset, stage), configs.flat(configs.load(preset, stage, overrides))
    return {name: now[name] for name in overrides if now[name] != plain[name]}


def listed(
    stage: str, config: Mapping[str, Any], overrides: Mapping[str, Any]
) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """A resolved configuration by group: label, value, and whether it differs from the preset."""
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for one in configs.settings(stage):
        section, _, name = one.name.partition(".")
        value = config.get(section, {}).get(name)
        found.setdefault(one.group, []).append((label(one.name), shown(value), one.name in overrides))
    return list(found.items())


def shown(value: Any) -> str:
    """A value as pages show it, weights of rewards in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {written(one)}" for name, one in value.items()) or "as the preset of rewards"
    return written(value)
