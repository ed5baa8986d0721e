"""Presets, files and single settings of a run: what is read, and the one sentence for each mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ml.training import configs
from ml.training.configs import ConfigError

STAGES = [(preset.name, stage) for preset in configs.presets() for stage in preset.stages]


def test_the_paper_preset_has_the_released_numbers() -> None:
    sft, grpo = configs.load("paper-8xH200", "sft"), configs.load("paper-8xH200", "grpo")
    assert (sft.train.epochs, sft.train.learning_rate, sft.train.warmup_steps) == (2, 2e-6, 200)
    assert (grpo.train.epochs, grpo.train.learning_rate, grpo.train.warmup_steps) == (1, 3e-6, 256)
    assert sft.step_batch == sft.step_items == 32
    assert (grpo.step_batch, grpo.step_items, grpo.rollouts.num_generations) == (256, 32, 8)
    for one in (sft, grpo):
        assert (one.train.weight_decay, one.train.max_grad_norm, one.train.schedule) == (1e-3, 1.0, "cosine")
        assert one.model.freeze_vision and one.model.checkpointing and not one.lora.enabled
        assert (one.train.parallel, one.model.precision, one.train.processes) == ("zero2", "bf16", 8)
        assert (one.frames.rate, one.frames.most, one.frames.most_pixels) == (2.0, 512, 256 * 32 * 32)
    rollouts = grpo.rollouts
    assert (rollouts.temperature, rollouts.top_p, rollouts.top_k, rollouts.max_new_tokens) == (1.0, 1.0, 0, 1024)
    assert (rollouts.overlong_tokens, rollouts.overlong_penalty) == (256, 1.0)
    assert (grpo.grpo.advantage, grpo.grpo.advantage_clip, grpo.grpo.beta, grpo.grpo.loss) == (
        "released",
        5.0,
        0.05,
        "grpo",
    )
    assert grpo.rewards.chosen() == {"accuracy": 1.0, "format-grasp": 0.1, "grounding-tag": 0.05, "sgr-release": 0.2}


@pytest.mark.parametrize(("preset", "stage"), STAGES)
def test_what_is_written_reads_back_the_same(preset: str, stage: str, tmp_path: Path) -> None:
    config = configs.load(preset, stage, {"train.seed": 7, "train.learning_rate": 3.5e-6})
    path = tmp_path / "config.yaml"
    path.write_text(configs.dump(config))
    assert configs.load(path, stage) == config
    assert configs.changed(config) == {"train.seed": 7, "train.learning_rate": 3.5e-6}


def test_steps_are_counted_in_items_of_the_snapshot() -> None:
    sft = configs.load("lora-1gpu", "sft")  # 16 items in a step, 2 epochs; 100 / 16 is 6.25, begun steps count
    assert sft.steps(100) == 2 * 7
    grpo = configs.load("lora-1gpu", "grpo")  # 8 prompts in a step; a last incomplete step is left out
    assert grpo.steps(100) == 12
    assert configs.load("tiny-cpu", "grpo").steps(100) == 4  # as it says


def test_a_single_weight_goes_over_those_there_are() -> None:
    config = configs.load(
        "tiny-cpu", "grpo", ["rewards.weights={accuracy: 1, sgr: 0.2}", "rewards.weights.format=1e-1"]
    )
    assert config.rewards.chosen() == {"accuracy": 1.0, "sgr": 0.2, "format": 0.1}


def test_a_file_builds_on_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("preset: lora-1gpu\ntrain: {learning_rate: 2e-5}\n")
    config = configs.load(path, "sft")
    assert (config.train.learning_rate, config.lora.enabled, config.preset) == (2e-5, True, "lora-1gpu")


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("train.sed=3", "There is no setting 'train.sed'; did you mean 'train.seed'?"),
        ("seed=3", "There is no setting 'seed'; did you mean 'train.seed'?"),
        ("train.seed", "'train.seed' sets nothing; write name=value, as in train.seed=3."),
        ("train.seed=x", "train.seed must be a number, not 'x'."),
        ("train.seed=1.5", "train.seed must be a whole number, not 1.5."),
        ("train.seed=-1", "train.seed must be at least 0, not -1."),
        (f"train.seed={10**400}", f"train.seed must be a number, not 1{'0' * 76}...."),
        ("train.learning_rate=0", "train.learning_rate must be above 0, not 0."),
        ("train.learning_rate=.nan", "The value of train.learning_rate cannot be read: expected a finite number."),
        ("frames.most=5000", "frames.most must be at most 4096 frames, not 5000."),
        ("frames.most=5", "frames.most must be an even number of frames, not 5."),
        ("lora.enabled=1", "lora.enabled must be true or false, not 1."),
        ("model.device=gpu", "model.device must be one of auto, cpu, not 'gpu'."),
        ("paths.out=3", "paths.out must be text, not 3."),
        ("text.most_tokens=99", "text.most_tokens is a setting of summariser, not of grpo."),
        (
            "rewards.weights=3",
            "rewards.weights must name rewards with weights, as in {accuracy: 1.0, sgr-strict: 0.2}.",
        ),
        ("rewards.weights={sgr-strikt: 1}", "There is no reward 'sgr-strikt'; did you mean 'sgr-strict'?"),
        ("rewards.weights={accuracy: 0}", "rewards.weights: every reward has weight 0, so nothing would be learned."),
        ("train.warmup_steps=5", "train.warmup_steps (5) is more than all train.max_steps (4)."),
        ("rollouts.overlong_tokens=25", "rollouts.overlong_tokens (25) is more than rollouts.max_new_tokens (24)."),
        ("rollouts.use_vllm=true", "rollouts.use_vllm needs a GPU, and model.device is cpu."),
        (
            "rollouts.num_generations=6",
            "train.per_device_batch (16) x train.processes (1) x train.accumulation (1) = 16 completions in a step; "
            "it must be a multiple of rollouts.num_generations (6).",
        ),
    ],
)
def test_a_mistake_is_one_sentence(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        configs.load("tiny-cpu", "grpo", [override])
    assert str(raised.value) == said
    if "=" in override and not override.startswith("rollouts.num"):  # a page puts the sentence beside this field
        assert raised.value.field == override.partition("=")[0]


def test_mistakes_of_files_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for text, said in [
        ("train: {sed: 3}", "There is no setting 'train.sed'; did you mean 'train.seed'?"),
        ("trein: {seed: 3}", "There is no section 'trein'; did you mean 'train'?"),
        ("train: 3", "The section 'train' must hold named settings."),
        ("- 1", "a configuration is a list of named sections."),
        ("train: [", "not valid YAML"),
    ]:
        path.write_text(text)
        with pytest.raises(ConfigError, match="mine.yaml") as raised:
            configs.load(path, "sft")
        assert said in str(raised.value)
    path.write_text("stage: sft\n")
    with pytest.raises(ConfigError, match="is a configuration of sft, not of grpo"):
        configs.load(path, "grpo")
    with pytest.raises(ConfigError, match="neither a preset nor a file 'huge'; the presets of sft are lora-1gpu, "):
        configs.load("huge", "sft")
    with pytest.raises(ConfigError, match=r"neither a preset nor a file 'x{76}\.\.\.; the presets"):
        configs.load("x" * 5000, "sft")
    with pytest.raises(ConfigError, match="must be a number, not one of thousands of digits"):
        configs.load("tiny-cpu", "grpo", {"rewards.weights": {"accuracy": 10**5000}})
    with pytest.raises(ConfigError, match="There is no stage 'rl'"):
        configs.load("tiny-cpu", "rl")


def test_every_setting_tells_what_it_is_and_its_default_is_valid() -> None:
    for stage in configs.STAGES:
        for one in configs.settings(stage):
            assert one.help.endswith("."), one.name
            if one.choices:
                assert one.default in one.choices, one.name
            # the default through the same checks that a form's value goes through
            assert configs.load("tiny-cpu", stage, {one.name: getattr_of(stage, one.name)}).stage == stage
    assert "rollouts.num_generations" not in {one.name for one in configs.settings("sft")}


def test_values_of_a_preset_are_those_of_its_form() -> None:
    told = configs.values("tiny-cpu", "grpo")
    assert set(told) == {one.name for one in configs.settings("grpo")}
    assert (told["rollouts.max_new_tokens"], told["model.precision"], told["rewards.weights"]) == (24, "fp32", {})
    json.dumps(told)


def getattr_of(stage: str, name: str) -> object:
    section, _, rest = name.partition(".")
    return getattr(getattr(configs.load("tiny-cpu", stage), section), rest)


def test_it_needs_no_torch() -> None:
    code = "import sys; from ml.training import configs; configs.presets(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
