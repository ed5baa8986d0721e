"""Before a run: counts and tokens against values by hand, and each thing that speaks against it in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ml.training import configs
from ml.training.preflight import preflight
from ml.training.rows import Clip, Event, TrainingRow, read
from tests.ml.training.samples import made, row
from tests.ml.training.test_estimates import TEXT, model


class Sevens:
    """Every text is seven tokens."""

    def encode(self, text: str) -> list[int]:
        return [0] * 7


def rows(count: int, *, held: int = 4, **more: Any) -> list[TrainingRow]:
    """Rows of 4 s with evenly spread keys, a recording each; the last ones validate."""
    told = [row(n, answer="ABC"[n % 3], clip=Clip(f"{n:064x}", 4.0), split="train", **more) for n in range(count)]
    return [*told, *(replace(told[0], id=f"h{n}", recording=f"h{n}", split="validation") for n in range(held))]


def test_counts_and_tokens() -> None:
    config = configs.load("lora-1gpu", "grpo")  # 1 frame a second, 131072 px, 1,024 new tokens, 8 questions a step
    told = preflight(rows(24), config, Sevens())
    assert (told["items"], told["train"], told["validation"]) == (28, 24, 4)
    # a frame of 768 x 768 at most becomes 11 x 11 cells; words: system, task, 4 times, and marks
    text = 7 + 7 + 4 * (7 + 2) + 2 * 5 + 3
    assert told["tokens"] == {
        "text": text, "text_p95": text, "text_max": text, "vision": 4 * 121, "vision_p95": 484, "vision_max": 484,
        "paper_vision": 242, "longest": text + 484 + 1024, "limit": None, "clipped": 0, "estimated": False,
    }  # fmt: skip
    assert told["frames"] == {"median": 4, "most": 4, "capped": 0} and told["steps"] == 3
    assert told["batch"] == {
        "per_device": 4, "accumulation": 8, "processes": 1, "sequences": 32, "items": 8, "generations": 4,
    }  # fmt: skip
    assert "484 vision tokens in the middle row, twice the 242 of the paper's video layout" in told["sentences"][0]
    assert "32 completions" in told["sentences"][1] and "8 questions with 4 answers each" in told["sentences"][1]
    assert told["memory_gb_per_gpu"] is None and told["seconds"] is None  # without a model
    assert told["errors"] == [] and json.loads(json.dumps(told)) == told

    sft = preflight(rows(24), configs.load("lora-1gpu", "sft"), Sevens())
    assert sft["tokens"]["text"] == text + 7 + 2 and sft["tokens"]["longest"] == text + 9 + 484
    assert sft["no_value"] == {} and sft["batch"]["generations"] is None
    guessed = preflight(rows(24), config)
    assert guessed["tokens"]["estimated"] and "(estimated: no tokenizer counted them)" in guessed["sentences"][0]


def test_a_snapshot_and_a_model_of_files(tmp_path: Path) -> None:
    snapshot, weights = made(tmp_path, 3, per_clip=2, share=0.3), model(tmp_path / "model")
    config = configs.load("tiny-cpu", "grpo")  # at most 4 frames at 1 per second, of 64 px and 4096 px in all
    found = read(snapshot)
    told = preflight(found, config, Sevens(), model=weights, snapshot=snapshot, leaks=["Two look alike."])
    files = {one.clip.file for one in found if one.split == "train"}
    size = sum((snapshot / name).stat().st_size for name in files)
    assert told["clips"] == {"files": 2, "bytes": size, "missing": 0}
    # 2 frames of 64 x 48: 4096 px at least and at most make 73.9 x 55.4 of it, rounded up to 3 x 2 cells of 28 px
    assert told["tokens"]["vision"] == 2 * 6
    assert told["tokens"]["limit"] == 4096 and told["gpus"] is None and told["memory_gb_per_gpu"] >= 0.5
    assert told["memory"].keys() >= {"weights", "optimizer", "generation"} and told["seconds"] > 15
    assert told["errors"] == [] and told["warnings"][0] == "Two look alike."
    (snapshot / sorted(files)[0]).unlink()
    (snapshot / sorted(files)[1]).write_bytes(b"no video")
    told = preflight(found, config, Sevens(), snapshot=snapshot)
    assert told["clips"]["missing"] == 2
    assert told["errors"] == [f"2 of 2 clips cannot be shown; the first: {sorted(files)[0]} is not there."]


def test_what_keeps_a_run_from_starting(tmp_path: Path) -> None:
    config = configs.load("lora-1gpu", "grpo")
    few = preflight(rows(5), config, Sevens())
    assert few["errors"] == ["A step takes 8 questions, and there are 5."]
    broken = replace(config, rollouts=replace(config.rollouts, num_generations=5))
    assert preflight(rows(24), broken)["errors"] == [
        "A step has 32 completions, which is no multiple of 5 answers to a question."
    ]
    untold = preflight(rows(24, reasoning=""), configs.load("lora-1gpu", "sft"))
    assert untold["errors"] == [
        "None of the 24 training rows has reasoning to learn from, so there is nothing for the stage sft."
    ]
    short = model(tmp_path / "short", TEXT | {"max_position_embeddings": 1000})
    assert preflight(rows(24), config, model=short)["errors"][0].startswith(
        "24 of 24 rows are longer than the 1,000 tokens the model takes; show fewer frames"
    )
    blind = model(tmp_path / "blind", vision=False)
    assert preflight(rows(24), config, model=blind)["errors"] == [
        "The model blind has no vision part, and the rows are about clips."
    ]
    assert "config.json: No such file" in preflight(rows(24), config, model=tmp_path)["errors"][0]
    with pytest.raises(ValueError, match="no stage 'summariser' of rows"):
        preflight(rows(24), configs.load("lora-1gpu", "summariser"))


def warnings(found: list[TrainingRow], weights: dict[str, float] | None = None) -> list[str]:
    settings = {"train.warmup_steps": 0, "train.max_steps": 50} | ({"rewards.weights": weights} if weights else {})
    config = configs.load("lora-1gpu", "grpo", settings)
    return list(preflight(found, config, Sevens())["warnings"])


def test_what_a_person_should_weigh() -> None:
    assert warnings(rows(24)) == []
    assert warnings(rows(24, held=0)) == [
        "No row validates: nothing will show whether what is learned holds elsewhere."
    ]
    assert "All validation rows are of one recording" in warnings(rows(24, held=1))[0]
    long = [replace(one, clip=Clip(one.clip.sha256, 70.0)) for one in rows(24)]
    assert warnings(long) == [
        "24 of 24 rows have clips longer than 64 s, so that their 64 frames come more slowly than 1 a second."
    ]
    same = [replace(one, answer="B") for one in rows(24)]
    assert warnings(same) == ["The keys of 24 questions with 3 options are uneven (A 0, B 24, C 0)."]
    few = preflight(rows(24), configs.load("lora-1gpu", "grpo"))["warnings"]
    assert few == [
        "The run has 3 steps; little is learned in so few.",
        "The learning rate rises over 20 steps and never gets to its height.",
    ]


def test_rewards_that_say_nothing() -> None:
    everybody = Event("gaze", (1,), 0.5, 1.5)  # the question names Person 1
    found = [replace(one, events=(everybody,)) if n < 18 else one for n, one in enumerate(rows(24))]
    told = preflight(found, configs.load("lora-1gpu", "grpo"))
    assert told["sgr_coverage"] == 0.25 and told["no_value"]["sgr-release"] == 0.75
    assert told["no_value"]["accuracy"] == 0.0
    heard = warnings(found)
    assert heard[0] == "The reward sgr-release has no value for 75 % of the rows."
    assert heard[1].startswith("SGR coverage is 25 %: in the other rows the question names everybody")
    assert warnings(found, {"accuracy": 1.0}) == []
    judged = warnings(rows(24), {"accuracy": 1.0, "comparative-judge": 0.2})
    assert judged == ["A judge is asked for comparative-judge; where it gives no answer, there is no value."]
    assert preflight(rows(24), configs.load("lora-1gpu", "sft"))["sgr_coverage"] == 1.0


def test_looking_ahead_loads_no_torch() -> None:
    script = (
        "import sys, ml.training.preflight, ml.training.snapshot, ml.training.records, ml.training.lazy; "
        "print(*sorted({'torch', 'transformers', 'cv2', 'av', 'datasets', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
