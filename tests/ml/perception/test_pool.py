"""Worker processes: results, errors, cancelling, and no orphan after the parent was killed."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ml.media.errors import MediaError
from ml.perception.pool import Here, Pool, open_pool
from ml.perception.run import index_of
from ml.perception.worker import Setup, Task
from ml.progress import Cancelled, silent
from ml.weights.cache import MissingWeights
from tests.clips import make
from tests.processes import children_with

TASKS = [Task("cuts", 0, 0, 100), Task("cuts", 1, 100, 200)]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    clip = make("trimmed-bframes", tmp_path)
    index = index_of(clip.path, silent)
    index.save(tmp_path / "index.npz")
    return Setup(str(clip.path), str(tmp_path), "embedded", True, None)


def children() -> list[psutil.Process]:
    return children_with("ml.perception.worker")


def tasks(setup: Setup) -> list[Task]:
    from ml.media.index import FrameIndex

    frames = FrameIndex.load(Path(setup.work) / "index.npz").frames
    return [Task("cuts", 0, 0, frames // 2), Task("cuts", 1, frames // 2, frames)]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_tasks_leave_their_results(setup: Setup, workers: int) -> None:
    shares: list[float] = []
    with open_pool(setup, workers) as pool:
        pool.run(tasks(setup), shares.append)
        assert len(pool.peaks_mb) <= workers
    assert all(isinstance(json.loads(t.result(Path(setup.work)).read_text()), list) for t in tasks(setup))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert not list(Path(setup.work).glob("*.part"))


def test_one_core_works_in_this_process(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert isinstance(open_pool(setup, None), Here)


def test_an_error_of_the_video_arrives_as_itself(setup: Setup, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"nothing")
    with pytest.raises(MediaError, match="Cannot read the video"), Pool(replace(setup, video=str(broken)), 1) as pool:
        pool.run(TASKS, lambda share: None)


def test_missing_weights_arrive_as_themselves(setup: Setup, tmp_path: Path) -> None:
    import numpy as np

    np.savez(tmp_path / "frames.npz", frame=np.arange(2), sampled=np.ones(2, bool), shot=np.zeros(2, int))
    with pytest.raises(MissingWeights, match="nanodet.onnx"), Pool(replace(setup, weights=str(tmp_path)), 1) as pool:
        pool.run([Task("people", 0, 0, 2)], lambda share: None)


def test_cancelling_ends_the_processes_at_once(setup: Setup) -> None:
    def stop(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled), Pool(setup, 2) as pool:
        assert len(children()) >= 2
        start = time.monotonic()
        pool.run(tasks(setup), stop)
    assert time.monotonic() - start < 30  # of ten
    assert not children()


def test_a_process_killed_before_it_has_a_task_is_replaced(setup: Setup) -> None:
    with Pool(setup, 2) as pool:
        for process in children():
            process.kill()
            process.wait(5)
        pool.run(tasks(setup), lambda share: None)
        for task in tasks(setup):
            assert task.result(Path(setup.work)).is_file()
    assert not children()


def test_a_killed_process_is_replaced_and_its_task_done(setup: Setup) -> None:
    killed: list[int] = []

    def murder_once(share: float) -> None:
        if not killed:
            victim = children()[0]
            victim.kill()
            killed.append(victim.pid)

    with Pool(setup, 2) as pool:
        pool.run(tasks(setup), murder_once)
        assert len(children()) == 2 and killed[0] not in {p.pid for p in children()}
    found = [task.result(Path(setup.work)).read_text() for task in tasks(setup)]
    with open_pool(setup, 0) as here:
        here.run(tasks(setup), lambda share: None)
    assert found == [task.result(Path(setup.work)).read_text() for task in tasks(setup)]


def test_a_process_killed_while_it_waits_is_replaced_too(setup: Setup) -> None:
    with Pool(setup, 1) as pool:
        pool.run(tasks(setup)[:1], lambda share: None)
        for child in children():
            child.kill()
        pool.run(tasks(setup)[1:], lambda share: None)
    assert all(task.result(Path(setup.work)).exists() for task in tasks(setup))


def test_a_task_that_loses_each_process_is_an_error_not_a_wait(setup: Setup) -> None:
    with Pool(setup, 1) as pool:

        def murder(share: float) -> None:
            for child in children():
                child.kill()

        with pytest.raises(RuntimeError, match="exit code -9 while it had cuts 0 to do"):
            pool.run(tasks(setup), murder)
    assert not children()


def test_a_write_that_fails_arrives_with_its_number(setup: Setup) -> None:
    with Pool(setup, 1) as pool:
        for child in children():  # no file of this process may grow: the kernel refuses as it does on a full disk
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        with pytest.raises(OSError) as failed:
            pool.run(tasks(setup), lambda share: None)
    assert failed.value.errno == errno.EFBIG


def test_processes_die_with_a_killed_parent(setup: Setup) -> None:
    program = (
        "import sys, time; from ml.perception.pool import Pool; from ml.perception.worker import Setup\n"
        f"pool = Pool(Setup(*{[setup.video, setup.work, setup.profile, setup.identity, setup.weights]!r}), 2)\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "ready\n"
        family = psutil.Process(parent.pid).children(recursive=True)
        assert len(family) == 2
        parent.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=5)
    assert not alive
