"""Tiny models trained for real: finite, the same twice, as a stored curve, stopped and resumed, killed and resumed."""

from __future__ import annotations

import io
import json
import math
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ml import torchside
from ml.evaluation.bench import Item
from ml.training import folder
from ml.training.folder import RunFolder
from ml.training.tiny import is_tiny
from tests.ml.training import curves, running
from tests.ml.training.conftest import FAMILIES

pytestmark = [
    pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed"),
    pytest.mark.usefixtures("training_process"),
]
CURVES = json.loads((Path(__file__).with_name("curves.json")).read_text())
STEPS = {"sft": 6, "grpo": 4}
STOP_AFTER = {"sft": 2, "grpo": 1}  # the step whose metrics are written when somebody asks to stop
Model = Callable[[str], Path]


def stop_after(step: int, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody asks to stop as soon as the metrics of that step are there."""
    from ml.training import callbacks

    append = folder.append

    def written(path: Path, trees: Any) -> None:
        trees = list(trees)
        append(path, trees)
        if path.name == "metrics.jsonl" and trees[-1]["step"] == step:
            RunFolder(out).ask_to_stop()

    monkeypatch.setattr(callbacks.folder, "append", written)


@pytest.mark.parametrize("stage", ("sft", "grpo"))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_stopped_and_resumed_is_the_run_that_went_through(
    stage: str, family: str, tiny_model: Model, tiny_snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, through, halves = tiny_model(family), tmp_path / "through", tmp_path / "halves"
    steps, stopped = STEPS[stage], STOP_AFTER[stage] + 1  # asked between two steps, it stops at the end of the next
    assert running.run(stage, tiny_snapshot, model, through) == 0
    lines = running.metrics(through)
    assert any(line["grad_norm"] for line in lines)
    assert [line["step"] for line in lines] == list(range(1, steps + 1))
    for line in lines:
        assert all(value is None or math.isfinite(value) for value in line.values())
        assert line["loss"] is not None
    assert [line["loss"] for line in lines] == pytest.approx(CURVES[f"{stage} {family}"], abs=1e-2)
    if stage == "grpo":
        assert curves.first_gradient(lines) == pytest.approx(CURVES[f"gradient {family}"], rel=1e-2)
        assert [line["entropy"] for line in lines] == pytest.approx(CURVES[f"entropy {family}"], abs=5e-2)

    with monkeypatch.context() as patch:
        stop_after(STOP_AFTER[stage], halves, patch)
        assert running.run(stage, tiny_snapshot, model, halves) == 0
    run = RunFolder(halves)
    assert run.state() == folder.State("stopped", stopped, steps)
    assert run.newest() == stopped and not run.stop.exists() and not run.final.exists()
    assert running.run(stage, tiny_snapshot, model, halves) == 0
    assert run.state() == folder.State("done", steps, steps, attempt=2, resumed_from=stopped)

    assert running.metrics(halves) == [pytest.approx(line, abs=1e-6, nan_ok=False) for line in lines]
    assert (run.final / "model.safetensors").read_bytes() == (through / "final/model.safetensors").read_bytes()
    assert (model / "model.safetensors").read_bytes() != (through / "final/model.safetensors").read_bytes()
    if stage == "grpo":
        check_rollouts(running.rollouts(through), steps, halves)
    if family == "qwen3-vl":
        check_killed_at_the_end(stage, tiny_snapshot, model, halves, lines)


def check_killed_at_the_end(stage: str, snapshot: Path, model: Path, out: Path, lines: list[Any]) -> None:
    """Killed while the model was being written, it writes the model and makes no further step."""
    run, made = RunFolder(out), (out / "final/model.safetensors").read_bytes()
    shutil.rmtree(run.final)
    run.set_state(folder.State("running", STEPS[stage], STEPS[stage], attempt=2))
    assert running.run(stage, snapshot, model, out) == 0
    assert run.state() == folder.State("done", STEPS[stage], STEPS[stage], attempt=3, resumed_from=STEPS[stage])
    assert (run.final / "model.safetensors").read_bytes() == made
    assert [line["step"] for line in running.metrics(out)] == [line["step"] for line in lines]
    told = json.loads((run.final / "sightline.json").read_text())
    assert told["model"]["random_weights"] and told["snapshot"]["name"] == "tapes" and told["stage"] == stage
    assert is_tiny(run.final)  # whoever trains on from it says so, too


def check_rollouts(lines: list[dict[str, Any]], steps: int, halves: Path) -> None:
    assert [line["step"] for line in lines] == [step for step in range(1, steps + 1) for _ in range(2)]
    assert running.rollouts(halves) == lines
    names = ["accuracy", "format-grasp", "grounding-tag", "sgr-release", "overlong"]
    weights = [1.0, 0.1, 0.05, 0.2, 1.0]
    for line in lines:
        assert len(line["completions"]) == 4 and line["answer"] == "B" and len(line["options"]) == 3
        every = [[one["rewards"][name] for name in names] for one in line["completions"]]
        means = [sum(column) / 4 for column in zip(*every, strict=True)]
        for one, values in zip(line["completions"], every, strict=True):
            # the penalty: 12 tokens at most, rising over the last 4
            assert one["rewards"]["overlong"] == pytest.approx(-max(0, one["tokens"] - 8) / 4)
            assert one["clipped"] <= (one["tokens"] == 12)
            told = sum(w * (value - mean) for w, value, mean in zip(weights, values, means, strict=True))
            assert one["advantage"] == pytest.approx(told, abs=1e-5)


def test_the_group_form_divides_by_the_spread_also_with_lora(
    tiny_model: Model, tiny_snapshot: Path, tmp_path: Path
) -> None:
    sets = ("grpo.advantage=group", "lora.enabled=true", "model.checkpointing=true", "train.order=curriculum")
    out = tmp_path / "run"
    assert running.run("grpo", tiny_snapshot, tiny_model("qwen3-vl"), out, *sets, "train.max_steps=2") == 0
    lines = running.rollouts(out)
    assert len(lines) == 4 and any(one["advantage"] for line in lines for one in line["completions"])
    for line in lines:
        weights = {"accuracy": 1.0, "format-grasp": 0.1, "grounding-tag": 0.05, "sgr-release": 0.2, "overlong": 1.0}
        totals = [sum(weights[n] * v for n, v in one["rewards"].items()) for one in line["completions"]]
        mean, spread = sum(totals) / 4, statistics.stdev(totals)
        told = [(total - mean) / (spread + 1e-4) for total in totals]
        assert [one["advantage"] for one in line["completions"]] == pytest.approx(told, abs=1e-4)


def test_a_trained_folder_answers_like_any_other(tiny_model: Model, tiny_snapshot: Path, tmp_path: Path) -> None:
    from ml.evaluation.local import LocalModel
    from ml.evaluation.models import Asking
    from tests.ml.evaluation.samples import bench, item

    out = tmp_path / "run"
    lora = ("lora.enabled=true", "model.checkpointing=true", "model.precision=bf16", "train.max_steps=2")
    assert running.run("sft", tiny_snapshot, tiny_model("qwen3_5"), out, *lora) == 0
    asked: Item = item()
    assert (out / "adapter/adapter_model.safetensors").is_file()
    assert not [*(out / "adapter").glob("*.bin"), *(out / "final").glob("*.bin")]  # nothing pickled leaves the studio
    for made in (out / "final", RunFolder(out).step_folder(2)):  # merged weights, and matrices beside the start model
        reply = LocalModel(made, Asking(bench(asked), None, tokens=4)).answer(asked)
        assert reply.error is None and reply.text


@pytest.fixture
def holder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run").made()


def test_a_second_process_is_refused(
    holder: RunFolder, tiny_model: Model, tiny_snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holder.set_state(folder.State("running", 2, 6))
    with folder.held(holder):
        assert running.run("sft", tiny_snapshot, tiny_model("qwen3-vl"), holder.path) == 2
    assert capsys.readouterr().err == f"Another process trains in {holder.path}; wait until it has ended.\n"
    assert holder.state() == folder.State("running", 2, 6)  # the other's words stay


def test_a_run_killed_in_the_middle_goes_on_from_its_checkpoint(
    tiny_model: Model, tiny_snapshot: Path, tmp_path: Path
) -> None:
    model, out = tiny_model("qwen3-vl"), tmp_path / "run"
    sets = ("train.max_steps=16", "run.save_steps=2", "run.tensorboard=false")
    with running.process("sft", tiny_snapshot, model, out, *sets) as victim:
        wait_for(lambda: len(running.metrics(out)) >= 3, victim)
        victim.send_signal(signal.SIGKILL)
    run = RunFolder(out)
    state, kept = run.state(), run.newest()
    assert state is not None and state.state == "running" and kept is not None and kept >= 2
    assert not folder.is_held(run)
    # as a crash may leave it: a line cut short, and a checkpoint that was being written
    with run.metrics.open("ab") as file:
        file.write(b'{"step": 99, "va')
    run.step_folder(98).mkdir()
    assert running.run("sft", tiny_snapshot, model, out, *sets) == 0
    assert run.state() == folder.State("done", 16, 16, attempt=2, resumed_from=kept)
    assert [line["step"] for line in running.metrics(out)] == list(range(1, 17))
    assert run.steps() == [14, 16]


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < until, process.stdout and process.stdout.read()
        time.sleep(0.02)


def test_the_code_in_a_models_folder_is_not_run(
    tiny_snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "config.json").write_text('{"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}')
    (foreign / "processor_config.json").write_text('{"auto_map": {"AutoProcessor": "mine.Processor"}}')
    (foreign / "mine.py").write_text(f"open({str(tmp_path / 'was run')!r}, 'w')\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 9))  # nobody is asked whether it may be run
    assert running.run("sft", tiny_snapshot, foreign, tmp_path / "run") == 2
    assert f"{foreign} cannot be loaded as a model of images and text" in capsys.readouterr().err
    assert not (tmp_path / "was run").exists()


def test_what_cannot_be_trained_is_one_sentence(
    tiny_model: Model, tiny_snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tiny_model("qwen3-vl"), tmp_path / "run"
    empty = tmp_path / "empty"
    empty.mkdir()
    edited = tmp_path / "edited"
    shutil.copytree(tiny_snapshot, edited)
    rows = (edited / "rows.jsonl").read_text()
    (edited / "rows.jsonl").write_text(rows.replace("Who does Person 1", "Whom does Person 1", 1))
    lacking, cut = tmp_path / "lacking", tmp_path / "cut"
    shutil.copytree(tiny_snapshot, lacking)
    for clip in (lacking / "clips").iterdir():
        clip.unlink()
    shutil.copytree(model, cut)
    (cut / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:1000])
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text('{"model_type": "nothing"}')
    for arguments, said in [
        ((tiny_snapshot, model, "train.sed=1"), "There is no setting 'train.sed'; did you mean 'train.seed'?"),
        ((tmp_path / "nowhere", model), f"The snapshot {tmp_path / 'nowhere'} is not there."),
        ((empty, model), f"{empty} is no snapshot: it has no snapshot.json."),
        ((edited, model), f"{edited} has other rows than those its snapshot.json names by their hash."),
        ((lacking, model), f"{lacking}: the clip clips/"),
        ((tiny_snapshot, empty), f"{empty} is no model's folder: it has no config.json."),
        ((tiny_snapshot, broken), f"{broken} cannot be loaded as a model of images and text"),
        (
            (tiny_snapshot, model, "model.device=auto", "model.attention=flash_attention_2"),
            "flash-attn is not installed",
        ),
    ]:
        assert running.run("sft", arguments[0], arguments[1], out, *arguments[2:]) == 2  # type: ignore[arg-type]
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1 and "Traceback" not in err
        state = RunFolder(out).state()
        assert state is not None and state.state == "failed" and state.sentence == err.strip()
    assert running.run("sft", tiny_snapshot, cut, tmp_path / "other") == 2
    assert f"{cut} cannot be loaded as a model of images and text" in capsys.readouterr().err
    sets = ("model.device=auto", "rollouts.use_vllm=true")
    assert running.run("grpo", tiny_snapshot, model, out, *sets) == 2
    assert "vLLM is not installed here" in capsys.readouterr().err
    judged = "rewards.weights={comparative-judge: 1}"
    assert running.run("grpo", tiny_snapshot, model, tmp_path / "judged", judged) == 2
    assert "A reward that compares needs a judge. No multimodal endpoint is set up here" in capsys.readouterr().err


def test_a_folder_goes_on_with_the_same_run_only(
    tiny_model: Model, tiny_snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tiny_model("qwen3-vl"), tmp_path / "run"
    assert running.run("sft", tiny_snapshot, model, out, "train.max_steps=1") == 0
    RunFolder(out).set_state(folder.State("stopped", 1, 1))
    capsys.readouterr()
    assert running.run("sft", tiny_snapshot, model, out, "train.max_steps=1", "train.seed=3") == 2
    assert "holds a run with train.seed 0, and now it is 3; name another --out." in capsys.readouterr().err
    assert running.run("sft", tiny_snapshot, tiny_model("qwen3_5"), out, "train.max_steps=1") == 2
    assert "holds a run with another model; name another --out." in capsys.readouterr().err
    assert running.run("sft", tiny_snapshot, model, out, "train.max_steps=1", "run.keep_checkpoints=9") == 0
    (out / "run.json").unlink()
    RunFolder(out).set_state(folder.State("stopped", 1, 1))
    assert running.run("sft", tiny_snapshot, model, out, "train.max_steps=1") == 2
    assert "has checkpoints and no run.json that says of which run." in capsys.readouterr().err
    (out / "state.json").write_text("[]")
    assert running.run("sft", tiny_snapshot, model, out, "train.max_steps=1") == 2
    assert capsys.readouterr().err == "state.json: expected an object, found [].\n"
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert running.run("sft", tiny_snapshot, model, taken) == 2
    assert capsys.readouterr().err == f"{taken} cannot be the run's folder (Not a directory).\n"
