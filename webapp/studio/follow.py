"""Waiting for a job at a terminal: a bar per stage, from the job's row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from webapp.jobs import services
from webapp.jobs.models import Job
from webapp.studio.errors import BAD_INPUT, NO_WEIGHTS, StudioError

LOOK_S = 0.1
FAULT = 1


class Show(Protocol):
    """Where the stages of a job are shown."""

    def __call__(self, stage: str, share: float) -> None:
        """`ml.progress.Progress`."""

    def fill(self) -> None:
        """Everything is done, also stages that had nothing to do."""


class Lines:
    """A plain line for each stage as it begins, and one for each further tenth of a long one (a log, a pipe)."""

    TENTH_S = 5.0  # a stage whose tenths come faster is not worth lines

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self.told: dict[str, int] = {}
        self.last = 0.0

    def __call__(self, stage: str, share: float) -> None:
        tenth, now = int(share * 10), time.monotonic()
        if not stage or tenth <= self.told.get(stage, -1):
            return
        if stage not in self.told:
            self.screen.print(stage)
        elif now - self.last < self.TENTH_S or tenth == 10:
            return
        else:
            self.screen.print(f"{stage} {tenth * 10} %")
        self.told[stage], self.last = tenth, now

    def fill(self) -> None:
        """Nothing to add: the command itself says that it is done."""


class Bars:
    """Bars by stage name; a stage's bar is full once the next one has begun."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.tasks: dict[str, TaskID] = {}
        self.current = ""

    def __call__(self, stage: str, share: float) -> None:
        if not stage:
            return
        if stage not in self.tasks:
            self.tasks[stage] = self.bars.add_task(stage, total=1.0)
        if stage != self.current and self.current:
            self.bars.update(self.tasks[self.current], completed=1.0)
            self.bars.stop_task(self.tasks[self.current])
        self.current = stage
        self.bars.update(self.tasks[stage], completed=share)

    def fill(self) -> None:
        for task in self.tasks.values():
            self.bars.update(task, completed=1.0)


@contextmanager
def bars(screen: Console) -> Iterator[Show]:
    """A block of bars on the screen; without a terminal plain lines."""
    if not screen.is_terminal:
        yield Lines(screen)
        return
    columns = (TextColumn("{task.description:<24}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=screen) as shown:
        yield Bars(shown)


def follow(job_id: UUID, screen: Console, look_after: Callable[[], None]) -> Job:
    """Wait until the job is over. Raises StudioError when it failed or was cancelled; Ctrl-C asks it to stop."""
    try:
        job = _watch(job_id, screen, look_after)
    except KeyboardInterrupt:
        job = Job.objects.get(id=job_id)
        if job.state not in services.FINAL:
            services.cancel(job=job, user=None)
        raise
    if job.state == Job.State.CANCELLED:
        raise StudioError(f"The {job.kind} job was cancelled.")
    if job.state == Job.State.FAILED:
        code = {"weights": NO_WEIGHTS, "fault": FAULT}.get(job.result.get("reason", ""), BAD_INPUT)
        raise StudioError(job.error, code)
    return job


def _watch(job_id: UUID, screen: Console, look_after: Callable[[], None]) -> Job:
    seen: set[str] = set()
    with bars(screen) as show:
        while True:
            job = Job.objects.get(id=job_id)
            for stage, _ in job.stages:  # also those that came and went between two looks
                if stage not in seen:
                    show(stage, 0.0)
                seen.add(stage)
            if job.stage:
                seen.add(job.stage)
                show(job.stage, 1.0 if job.state == Job.State.DONE else job.share)
            if job.state in services.FINAL:
                if job.state == Job.State.DONE:
                    show.fill()
                return job
            look_after()
            time.sleep(LOOK_S)
