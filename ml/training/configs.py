"""What a training run is set to: presets, a YAML file, and single settings by their dotted names.

    config = configs.load("tiny-cpu", "grpo", ["train.seed=3", "rollouts.num_generations=4"])

A file holds sections of settings, and may begin with `preset: NAME`, on which it then builds, and `stage: NAME`; the
`config.yaml` of a run folder is such a file with every setting in it. The form of the web page is made of `settings`,
which reads the fields below. No torch here: a configuration is checked when it is saved, not when the run begins.

The sections are in `ml.training.sections`, with what each setting is.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from ml.formats import frontmatter
from ml.formats.errors import FormatError
from ml.rewards import registry
from ml.training.sections import (
    GROUPS,
    SECTIONS,
    STAGES,
    Frames,
    Grpo,
    Lora,
    Model,
    Paths,
    Rewards,
    Rollouts,
    Run,
    Text,
    Train,
)

PRESETS = Path(__file__).with_name("presets")
LARGEST = sys.float_info.max
REWARD_NAMES = (*registry.REWARDS, *registry.ALIASES, *registry.GROUPED)


class ConfigError(ValueError):
    """A setting is wrong; one sentence that names it. `field`: its dotted name, "" where it is none or several."""

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True)
class Config:
    """All settings of one run. Sections that its stage does not use keep their defaults and are not written."""

    stage: str
    preset: str = ""  # the one it was made from
    paths: Paths = field(default_factory=Paths)
    model: Model = field(default_factory=Model)
    lora: Lora = field(default_factory=Lora)
    frames: Frames = field(default_factory=Frames)
    text: Text = field(default_factory=Text)
    train: Train = field(default_factory=Train)
    rollouts: Rollouts = field(default_factory=Rollouts)
    grpo: Grpo = field(default_factory=Grpo)
    rewards: Rewards = field(default_factory=Rewards)
    run: Run = field(default_factory=Run)

    @property
    def step_batch(self) -> int:
        """Items (sft) or completions (grpo) in one step, over all processes."""
        return self.train.per_device_batch * self.train.accumulation * self.train.processes

    @property
    def step_items(self) -> int:
        """Items of the snapshot in one step: in grpo, its prompts."""
        return self.step_batch // self.rollouts.num_generations if self.stage == "grpo" else self.step_batch

    def steps(self, items: int) -> int:
        """Steps of the whole run over that many items."""
        if self.train.max_steps:
            return self.train.max_steps
        per_epoch = items // self.step_items if self.stage == "grpo" else math.ceil(items / self.step_items)
        return math.ceil(per_epoch * self.train.epochs)


@dataclass(frozen=True)
class Setting:
    """One field as a form shows it. `name` is dotted, `group` a heading.

    `kind`: bool, int, float, text, choice or weights (reward name -> number).
    """

    name: str
    group: str
    kind: str
    default: Any
    help: str
    unit: str
    choices: tuple[str, ...]
    least: float | None
    above: float | None
    most: float | None


@dataclass(frozen=True)
class Preset:
    """`differs`: sentences on what is not as in the paper, by stage."""

    name: str
    title: str
    stages: tuple[str, ...]
    differs: dict[str, tuple[str, ...]]


KINDS = {bool: "bool", int: "int", float: "float", str: "text", dict[str, float]: "weights"}


def settings(stage: str) -> list[Setting]:
    """Every setting of a stage that a form offers (so no paths), in the order of the sections."""
    return [
        Setting(f"{section}.{name}", GROUPS[section], "choice" if told["choices"] else KINDS[kind], default, **told)
        for section, name, kind, default, told in _fields()
        if section in GROUPS and stage in SECTIONS[section][1]
    ]


def values(preset: str, stage: str) -> dict[str, Any]:
    """Dotted name -> value of a preset's settings, as plain JSON. Raises ConfigError."""
    return {name: value for name, value in flat(load(preset, stage)).items() if name.split(".")[0] in GROUPS}


def presets(stage: str | None = None) -> list[Preset]:
    """The presets that are shipped, those of one stage where it is named."""
    found = []
    for path in sorted(PRESETS.glob("*.yaml")):
        tree = _shipped(path.stem)
        stages = tuple(one for one in STAGES if one in tree)
        differs = {one: tuple(tree[one].get("differs", ())) for one in stages}
        if stage is None or stage in stages:
            found.append(Preset(path.stem, tree["title"], stages, differs))
    return found


def load(source: str | Path, stage: str, overrides: Sequence[str] | Mapping[str, Any] = ()) -> Config:
    """The configuration of a preset's name or a file, with single settings over it.

    `overrides`: "key=value" words, or a mapping of dotted names. Raises ConfigError.
    """
    if stage not in STAGES:
        raise ConfigError(f"There is no stage {stage!r}; there are {', '.join(STAGES)}.")
    config = _with(_base(source, stage), _pairs(overrides))
    _check(config)
    return config


def apply(config: Config, overrides: Sequence[str] | Mapping[str, Any]) -> Config:
    """The same configuration with single settings over it. Raises ConfigError."""
    changed = _with(config, _pairs(overrides))
    _check(changed)
    return changed


def tree(config: Config) -> dict[str, Any]:
    """All settings of the stage as plain values; `dump` writes it, `load` reads it back."""
    found: dict[str, Any] = {"stage": config.stage}
    if config.preset:
        found["preset"] = config.preset
    for section, (shape, stages) in SECTIONS.items():
        if config.stage in stages:
            values = getattr(config, section)
            found[section] = {one.name: getattr(values, one.name) for one in fields(shape)}
    return found


def dump(config: Config) -> str:
    """The configuration as a YAML file."""
    return frontmatter.dump(tree(config))


def changed(config: Config) -> dict[str, Any]:
    """Dotted name -> value of what is not as in the configuration's preset (all that is not default without one)."""
    base = load(config.preset, config.stage) if config.preset else Config(config.stage)
    before = flat(base)
    return {name: value for name, value in flat(config).items() if before.get(name) != value}


def flat(config: Config) -> dict[str, Any]:
    """Dotted name -> value of all settings of the stage."""
    return _flat(tree(config))


def _flat(sections: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{section}.{name}": value
        for section, values in sections.items()
        if isinstance(values, dict)
        for name, value in values.items()
    }


def _base(source: str | Path, stage: str) -> Config:
    name = str(source)
    if name in [one.name for one in presets()]:
        return _preset(name, stage)
    path = Path(source)
    try:
        there = path.is_file()
    except OSError:  # no file can be called so
        there = False
    if not there:
        known = ", ".join(one.name for one in presets(stage))
        raise ConfigError(f"There is neither a preset nor a file {_shown(name)}; the presets of {stage} are {known}.")
    try:
        found = _tree(path)
    except (FormatError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if found.get("stage", stage) != stage:
        raise ConfigError(f"{path} is a configuration of {found['stage']}, not of {stage}.")
    base = _preset(str(found["preset"]), stage) if found.get("preset") else Config(stage)
    sections = {name: values for name, values in found.items() if name not in ("stage", "preset")}
    try:
        return _with(base, dict(_leaves(sections)))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", error.field) from error


def _preset(name: str, stage: str) -> Config:
    known = [one.name for one in presets(stage)]
    if name not in known:
        raise ConfigError(f"There is no preset {_shown(name)} of {stage}; there are {', '.join(known)}.")
    sections = {key: values for key, values in _shipped(name)[stage].items() if key != "differs"}
    return replace(_with(Config(stage), dict(_leaves(sections))), preset=name)


@cache
def _shipped(name: str) -> dict[str, Any]:
    """A preset that is shipped; read once, since reading YAML takes a tenth of a second. Not to be written to."""
    return _tree(PRESETS / f"{name}.yaml")


def _tree(path: Path) -> dict[str, Any]:
    found = frontmatter.load(path.read_text())
    if not isinstance(found, dict):
        raise FormatError("a configuration is a list of named sections.")
    return found


def _leaves(sections: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, values in sections.items():
        if section not in SECTIONS:
            raise ConfigError(f"There is no section {section!r}; {_nearest(section, [*SECTIONS])}")
        if not isinstance(values, dict):
            raise ConfigError(f"The section {section!r} must hold named settings.")
        for name, value in values.items():
            yield f"{section}.{name}", value


def _pairs(overrides: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(overrides, Mapping):
        return dict(overrides)
    found = {}
    for word in overrides:
        name, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"{word!r} sets nothing; write name=value, as in train.seed=3.")
        try:
            found[name.strip()] = frontmatter.load(text)
        except FormatError as error:
            said = str(error).removeprefix("the file: ")
            raise ConfigError(f"The value of {name.strip()} cannot be read: {said}", name.strip()) from error
    return found


def _fields() -> Iterator[tuple[str, str, Any, Any, dict[str, Any]]]:
    """Section, name, type, default and what is told of each setting."""
    for section, (shape, _) in SECTIONS.items():
        kinds, defaults = get_type_hints(shape), shape()
        for one in fields(shape):
            yield section, one.name, kinds[one.name], getattr(defaults, one.name), dict(one.metadata)


def _with(config: Config, values: Mapping[str, Any]) -> Config:
    """The configuration with values by dotted names. Raises ConfigError."""
    known = {f"{section}.{name}": (kind, told) for section, name, kind, _, told in _fields()}
    found: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, rest = name.partition(".")
        if name.startswith("rewards.weights."):  # one weight, the others as they are
            weights = {**config.rewards.weights, **found.get("rewards", {}).get("weights", {})}
            weights[rest.partition(".")[2]] = value
            name, rest, value = "rewards.weights", "weights", weights
        if name not in known:
            raise ConfigError(f"There is no setting {_shown(name)}; {_nearest(name[:100], [*known])}", name[:100])
        if config.stage not in SECTIONS[section][1]:
            raise ConfigError(
                f"{name} is a setting of {' and '.join(SECTIONS[section][1])}, not of {config.stage}.", name
            )
        found.setdefault(section, {})[rest] = _value(name, value, *known[name])
    changes: dict[str, Any] = {section: replace(getattr(config, section), **new) for section, new in found.items()}
    return replace(config, **changes)


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    if not near:  # a last part alone, as in "seed"
        near = [one for one in known if one.rpartition(".")[2] == name.rpartition(".")[2]]
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."


def _shown(value: Any) -> str:
    """As Python writes it, cut short."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no more than 4,300 digits
        return "one of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _value(name: str, value: Any, kind: Any, told: Mapping[str, Any]) -> Any:
    """The value in its type. Raises ConfigError."""
    if kind is bool:
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be true or false, not {value!r}.", name)
        return value
    if kind is str:
        text = "" if value is None else value
        if not isinstance(text, str):
            raise ConfigError(f"{name} must be text, not {value!r}.", name)
        if told["choices"] and text not in told["choices"]:
            raise ConfigError(f"{name} must be one of {', '.join(told['choices'])}, not {text!r}.", name)
        return text
    if kind in (int, float):
        return _number(name, value, kind, told)
    return _weights(name, value)


def _number(name: str, value: Any, kind: type, told: Mapping[str, Any]) -> Any:
    if isinstance(value, str):  # YAML reads 2e-6 as text
        try:
            value = float(value)
        except ValueError:
            raise ConfigError(f"{name} must be a number, not {value!r}.", name) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{name} must be a number, not {value!r}.", name)
    if not -LARGEST <= value <= LARGEST:  # a whole number may have thousands of digits
        raise ConfigError(f"{name} must be a number, not {_shown(value)}.", name)
    if kind is int and value != int(value):
        raise ConfigError(f"{name} must be a whole number, not {value:g}.", name)
    unit = f" {told['unit']}" if told["unit"] else ""
    if told["least"] is not None and value < told["least"]:
        raise ConfigError(f"{name} must be at least {told['least']:g}{unit}, not {value:g}.", name)
    if told["above"] is not None and value <= told["above"]:
        raise ConfigError(f"{name} must be above {told['above']:g}{unit}, not {value:g}.", name)
    if told["most"] is not None and value > told["most"]:
        raise ConfigError(f"{name} must be at most {told['most']:g}{unit}, not {value:g}.", name)
    return kind(value)


def _weights(name: str, value: Any) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must name rewards with weights, as in {{accuracy: 1.0, sgr-strict: 0.2}}.", name)
    for reward in value:
        if reward not in REWARD_NAMES:
            raise ConfigError(f"There is no reward {reward!r}; {_nearest(str(reward), REWARD_NAMES)}", name)
    bounds = {"least": -1000, "above": None, "most": 1000, "unit": ""}
    return {reward: _number(f"{name}.{reward}", weight, float, bounds) for reward, weight in value.items()}


def _check(config: Config) -> None:
    """What single settings cannot tell. Raises ConfigError."""
    train = config.train
    if config.frames.most % 2:
        raise ConfigError(f"frames.most must be an even number of frames, not {config.frames.most}.", "frames.most")
    if config.model.device == "cpu" and config.model.attention == "flash_attention_2":
        raise ConfigError("model.attention flash_attention_2 needs a GPU, and model.device is cpu.", "model.attention")
    if train.max_steps and train.warmup_steps > train.max_steps:
        raise ConfigError(
            f"train.warmup_steps ({train.warmup_steps}) is more than all train.max_steps ({train.max_steps}).",
            "train.warmup_steps",
        )
    if config.stage != "grpo":
        return
    k, batch = config.rollouts.num_generations, config.step_batch
    if batch % k:
        raise ConfigError(
            f"train.per_device_batch ({train.per_device_batch}) x train.processes ({train.processes}) x "
            f"train.accumulation ({train.accumulation}) = {batch} completions in a step; it must be a multiple of "
            f"rollouts.num_generations ({k}).",
            "train.per_device_batch",
        )
    if config.rollouts.overlong_tokens > config.rollouts.max_new_tokens:
        raise ConfigError(
            f"rollouts.overlong_tokens ({config.rollouts.overlong_tokens}) is more than rollouts.max_new_tokens "
            f"({config.rollouts.max_new_tokens}).",
            "rollouts.overlong_tokens",
        )
    if config.rollouts.use_vllm and config.model.device == "cpu":
        raise ConfigError("rollouts.use_vllm needs a GPU, and model.device is cpu.", "rollouts.use_vllm")
    if not any(config.rewards.chosen().values()):
        raise ConfigError("rewards.weights: every reward has weight 0, so nothing would be learned.", "rewards.weights")
