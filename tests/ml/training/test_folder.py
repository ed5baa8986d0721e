"""The run folder: who may write, what counts as a checkpoint, and what a resumed attempt cuts."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from ml.formats.errors import FormatError
from ml.training import folder
from ml.training.folder import Busy, RunFolder, State, Tail


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run").made()


def checkpoint(run: RunFolder, step: int, *, complete: bool = True) -> None:
    run.step_folder(step).mkdir()
    (run.step_folder(step) / "weights").write_text("w")
    if complete:
        run.complete(step)


def test_a_state_is_read_back_and_a_broken_one_is_named(run: RunFolder) -> None:
    assert run.state() is None
    state = State("running", 3, 9, attempt=2, resumed_from=2)
    run.set_state(state)
    assert run.state() == state
    assert not list(run.path.glob(".state*"))  # no draft is left
    (run.path / "state.json").write_text('{"state": "flying"}')
    with pytest.raises(FormatError, match="state.json: state: expected one of starting, running"):
        run.state()


def test_only_a_checkpoint_with_its_mark_counts(run: RunFolder) -> None:
    assert run.newest() is None
    for step, complete in ((2, True), (10, True), (12, False)):
        checkpoint(run, step, complete=complete)
    (run.checkpoints / "checkpoint-x").mkdir()
    assert run.steps() == [2, 10] and run.newest() == 10
    run.drop_incomplete()
    assert not run.step_folder(12).exists() and run.steps() == [2, 10]
    checkpoint(run, 14)
    run.rotate(2)
    assert run.steps() == [10, 14]
    run.rotate(0)
    assert run.steps() == [10, 14]


def test_a_resumed_run_cuts_what_came_after_and_what_a_crash_left(run: RunFolder) -> None:
    folder.append(run.metrics, ({"step": step, "values": {"loss": None}} for step in range(1, 6)))
    folder.append(run.rollouts, [{"step": 3, "row": "a"}, {"step": 3, "row": "b"}, {"step": 4, "row": "a"}])
    with run.metrics.open("ab") as file:
        file.write(b"[" * 100_000 + b"\n" + b'{"step": 6, "val')
    run.cut(3)
    assert [line["step"] for line in folder.read_lines(run.metrics)] == [1, 2, 3]
    assert [line["row"] for line in folder.read_lines(run.rollouts)] == ["a", "b"]
    folder.append(run.metrics, [{"step": 4}])
    assert run.metrics.read_bytes().count(b"\n") == 4


def test_a_tail_gives_whole_lines_once_and_begins_anew_after_a_cut(run: RunFolder) -> None:
    tail = Tail(run.metrics)
    assert tail.read() == []
    folder.append(run.metrics, [{"step": 1}, {"step": 2}])
    with run.metrics.open("ab") as file:
        file.write(b'{"step": 3')
    assert [line["step"] for line in tail.read()] == [1, 2]
    with run.metrics.open("ab") as file:
        file.write(b', "x": 1}\n{"step": 4}\n')
    assert [line["step"] for line in tail.read(1)] == [3]
    assert [line["step"] for line in tail.read(1)] == [4]
    run.cut(2)
    folder.append(run.metrics, [{"step": 3}])
    assert [line["step"] for line in tail.read()] == [1, 2, 3]


def test_a_number_that_is_not_finite_is_refused(run: RunFolder) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        folder.append(run.metrics, [{"step": 1, "values": {"loss": float("nan")}}])
    assert not run.metrics.exists()


def test_one_process_holds_a_run_until_it_dies(run: RunFolder) -> None:
    code = (
        "import sys, time; from pathlib import Path; from ml.training import folder\n"
        "with folder.held(folder.RunFolder(Path(sys.argv[1]))):\n    print('held', flush=True); time.sleep(60)"
    )
    assert not folder.is_held(run)
    with subprocess.Popen([sys.executable, "-c", code, str(run.path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        assert folder.is_held(run)
        with pytest.raises(Busy, match="Another process trains in"), folder.held(run):
            pass
        other.kill()
    assert not folder.is_held(run)
    with folder.held(run):
        assert folder.is_held(run)


def test_a_cut_holds_one_line_at_a_time(run: RunFolder) -> None:
    for step in range(1, 21):  # 40 MB, as a long run has gigabytes
        folder.append(run.rollouts, [{"step": step, "text": "x" * 2_000_000}])
    tracemalloc.start()
    try:
        run.cut(10)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 12_000_000
    assert [line["step"] for line in folder.read_lines(run.rollouts)] == list(range(1, 11))


def test_nothing_is_left_of_a_file_that_could_not_be_written(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run.set_state(State("running", 1, 9))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        run.set_state(State("running", 2, 9))
    assert run.state() == State("running", 1, 9)
    assert sorted(path.name for path in run.path.iterdir()) == ["checkpoints", "state.json"]


def test_json_is_replaced_as_a_whole(run: RunFolder) -> None:
    folder.write_json(run.facts, {"stage": "sft"})
    assert json.loads(run.facts.read_text()) == {"stage": "sft"}
    assert not list(run.path.glob(".run.json*"))
