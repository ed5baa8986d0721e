"""One process of a perception run: takes tasks, writes their results into the work folder.

Runs as `python -m ml.perception.worker PARENT_PID` with one JSON object a line on standard input (first the setup, then
tasks) and on standard output (progress, then done or error); or as a `Worker` in the calling process. It dies with its
parent, by the kernel's parent-death signal while it works and by the end of its input between tasks.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ml.media.index import FrameIndex

PR_SET_PDEATHSIG = 1
REPORT_EVERY_S = 0.1
ENDINGS = {"cuts": "json", "follow": "parquet", "people": "npz"}
GIVEN = "given.npz"  # in the work folder: the persons that were followed
Report = Callable[[int], None]  # number of frames of the task that are done


@dataclass(frozen=True)
class Setup:
    """What all tasks of a run share; paths as text, so that it travels as JSON."""

    video: str
    work: str
    profile: str
    identity: bool
    weights: str | None


@dataclass(frozen=True)
class Task:
    """`kind` cuts: look for cuts in the frames [start, end); follow: follow people through the rows [start, end) of
    `frames.npz`, one chunk of a shot; people: analyse these rows."""

    kind: str
    number: int
    start: int
    end: int

    def result(self, work: Path) -> Path:
        """The file that says the task is done."""
        return work / f"{self.kind}-{self.number:05d}.{ENDINGS[self.kind]}"


class Worker:
    """Runs tasks. Models are loaded when the first task needs them and kept."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._work = Path(setup.work)
        self._video = Path(setup.video)
        self._index = FrameIndex.load(self._work / "index.npz")
        self._analyser: Any = None
        self._follower: Any = None

    def run(self, task: Task, report: Report) -> None:
        """Do one task; its result appears under its final name only when it is whole."""
        if task.kind == "cuts":
            self._cuts(task, report)
        elif task.kind == "follow":
            self._follow(task, report)
        else:
            self._people(task, report)

    def _cuts(self, task: Task, report: Report) -> None:
        from ml.perception import shots

        def done(number: int) -> None:  # a piece also looks at some frames before and after it
            report(min(max(number + 1, task.start), task.end) - task.start)

        found = shots.candidates(self._video, self._index, task.start, task.end, done)
        write_json(task.result(self._work), found)

    def _follow(self, task: Task, report: Report) -> None:
        from ml.media import masks as packed
        from ml.media.probe import probe
        from ml.perception import registry

        if self._follower is None:
            weights = None if self._setup.weights is None else Path(self._setup.weights)
            self._follower = registry.load(registry.profile(self._setup.profile).people or "", weights)
        with np.load(self._work / "frames.npz", allow_pickle=False) as plan:
            frames = plan["frame"][task.start : task.end].astype(np.int64)
        info = probe(self._video)
        masks, notes = self._follower.follow(self._video, self._index, (info.width, info.height), frames, report)
        packed.write(task.result(self._work), masks, {"notes": notes})

    def _people(self, task: Task, report: Report) -> None:
        if self._analyser is None:
            from ml.perception import registry
            from ml.perception.analyse import Analyser
            from ml.perception.given import Given

            self._follower = None  # its memory is needed
            weights = None if self._setup.weights is None else Path(self._setup.weights)
            chosen = registry.profile(self._setup.profile)
            given = None if chosen.people is None else Given.load(self._work / GIVEN)
            self._analyser = Analyser(chosen, weights, identity=self._setup.identity, given=given)
        with np.load(self._work / "frames.npz", allow_pickle=False) as plan:
            frames, sampled, shot = (plan[name][task.start : task.end] for name in ("frame", "sampled", "shot"))
        piece = self._analyser.piece(
            self._video, self._index, frames, sampled, shot, lambda n: report(int(np.searchsorted(frames, n)) + 1)
        )
        piece.save(task.result(self._work))


def write_json(path: Path, value: Any) -> None:
    """Write JSON under a temporary name, then rename."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(value, indent=1) + "\n")
    part.replace(path)


def peak_rss_mb() -> float:
    """Largest resident memory of this process so far. Not ru_maxrss, which a child inherits from its parent."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmHWM line")


def die_with(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies; leave at once if it already has."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(0)


def serve(parent: int) -> None:
    """Answer tasks until standard input ends."""
    die_with(parent)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints goes to stderr, not between the answers

    def say(**message: Any) -> None:
        answers.write(json.dumps(message) + "\n")

    worker = Worker(Setup(**json.loads(sys.stdin.readline())))
    for line in sys.stdin:
        task, last = Task(**json.loads(line)), 0.0

        def report(done: int) -> None:
            nonlocal last
            if time.monotonic() - last >= REPORT_EVERY_S:
                last = time.monotonic()
                say(progress=done)

        try:
            worker.run(task, report)
        except Exception as error:
            number = getattr(error, "errno", None)
            say(error=type(error).__name__, message=str(error), errno=number, trace=traceback.format_exc())
            return
        say(done=True, peak_rss_mb=peak_rss_mb())


if __name__ == "__main__":
    serve(int(sys.argv[1]))
