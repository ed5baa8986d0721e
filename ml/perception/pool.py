"""Runs the tasks of a perception run: in processes of their own, one per core, or in this one where there is one core.

Not multiprocessing: this may itself run in a daemonic process of a task queue, which may not have such children. A
process that dies is replaced, and its task done again; only a task that loses several processes ends the run.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from ml.media.errors import MediaError
from ml.perception.worker import Setup, Task, Worker
from ml.weights.cache import MissingWeights

POLL_S = 0.25
LOSSES = 3  # processes that may die over one task
MAX_WORKERS = 2  # one video gets two processes; a machine with more cores runs more videos at once
EXPECTED = {"MediaError": MediaError, "MissingWeights": MissingWeights}

Share = Callable[[float], None]


class Lost(RuntimeError):
    """A process of the pool has ended unasked."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def open_pool(setup: Setup, workers: int | None) -> Pool | Here:
    """`workers` processes (default: one per core up to MAX_WORKERS); 0, or a single core, works in this process."""
    if workers is None:
        workers = min(MAX_WORKERS, cores()) if cores() > 1 else 0
    return Pool(setup, workers) if workers else Here(setup)


class Here:
    """The same interface as `Pool`, in the calling process."""

    def __init__(self, setup: Setup) -> None:
        self._worker = Worker(setup)
        self.peaks_mb: list[float] = []

    def __enter__(self) -> Here:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def run(self, tasks: list[Task], share: Share) -> None:
        """Do the tasks; `share` is called with the share of frames that are done and may raise to stop."""
        total, before = sum(t.end - t.start for t in tasks), 0
        for task in tasks:
            self._worker.run(task, lambda done, before=before: share((before + done) / total))  # type: ignore[misc]
            before += task.end - task.start


class Process:
    """One worker process and the task it has."""

    def __init__(self, setup: Setup) -> None:
        command = [sys.executable, "-m", "ml.perception.worker", str(os.getpid())]
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))},
        )  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self.answers = self._process.stdout
        os.set_blocking(self.answers.fileno(), False)
        self._rest = b""
        self.task: Task | None = None
        self.done = 0
        self.peak_mb = 0.0
        with suppress(Lost):  # the first task tells
            self._send(asdict(setup))

    def give(self, task: Task) -> None:
        self.task, self.done = task, 0
        self._send(asdict(task))

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._ended()

    def read(self) -> list[dict[str, Any]]:
        """The answers that have arrived. Raises Lost when the process has ended."""
        data = self.answers.read()
        if data is None:
            return []
        if not data:
            self._ended()
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def _ended(self) -> None:
        code = self._process.wait(5)
        doing = "nothing" if self.task is None else f"{self.task.kind} {self.task.number}"
        raise Lost(f"A perception process ended with exit code {code} while it had {doing} to do.")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # a task that could not be written any more
                pipe.close()


class Pool:
    """Worker processes; use as a context, which ends them."""

    def __init__(self, setup: Setup, workers: int) -> None:
        self._setup = setup
        self._processes: list[Process] = []
        self._selector = selectors.DefaultSelector()
        self._losses: Counter[Task | None] = Counter()
        try:
            for _ in range(workers):
                self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def _start(self) -> Process:
        process = Process(self._setup)
        self._processes.append(process)
        self._selector.register(process.answers, selectors.EVENT_READ, process)
        return process

    def _replace(self, lost: Process, error: Lost) -> None:
        """Start another process in the place of a dead one, with the same task. Raises Lost after too many."""
        self._losses[lost.task] += 1
        if self._losses[lost.task] >= LOSSES:
            raise error
        self._selector.unregister(lost.answers)
        self._processes.remove(lost)
        lost.stop()
        fresh = self._start()
        if lost.task is not None:
            self._give(fresh, lost.task)

    def _give(self, process: Process, task: Task) -> None:
        try:
            process.give(task)
        except Lost as error:
            self._replace(process, error)

    @property
    def peaks_mb(self) -> list[float]:
        """Peak resident memory of each process that has finished a task."""
        return [p.peak_mb for p in self._processes if p.peak_mb]

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._processes:
            process.stop()
        self._selector.close()

    def run(self, tasks: list[Task], share: Share) -> None:
        """Do the tasks, in any order; `share` is called with the share of frames done, several times a second.

        Raises what a task raised (MediaError, MissingWeights, OSError; others as RuntimeError), Lost when too many
        processes died over one task, and what `share` raises.
        """
        total, finished = max(1, sum(t.end - t.start for t in tasks)), 0
        waiting = list(reversed(tasks))
        for process in list(self._processes):
            self._next(process, waiting)
        while any(p.task for p in self._processes):
            for key, _ in self._selector.select(POLL_S):
                try:
                    answers = key.data.read()
                except Lost as error:
                    self._replace(key.data, error)
                    continue
                for answer in answers:
                    finished += self._take(key.data, answer, waiting)
            share((finished + sum(p.done for p in self._processes if p.task)) / total)

    def _next(self, process: Process, waiting: list[Task]) -> None:
        process.task = None
        if waiting:
            self._give(process, waiting.pop())

    def _take(self, process: Process, answer: dict[str, Any], waiting: list[Task]) -> int:
        """Handle one answer; returns the frames of a task that was finished with it."""
        if "error" in answer:
            expected, fault = EXPECTED.get(answer["error"]), RuntimeError(answer["trace"])
            if expected:
                raise expected(answer["message"])
            if answer["errno"]:
                raise OSError(answer["errno"], answer["message"]) from fault
            raise fault
        if "progress" in answer:
            process.done = answer["progress"]
            return 0
        assert process.task is not None
        frames = process.task.end - process.task.start
        process.peak_mb = answer["peak_rss_mb"]
        self._next(process, waiting)
        return frames
