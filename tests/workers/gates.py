"""Closed gates on the way of a real worker's jobs, and a trace of where they are.

`tests.workers.pretend` installs them in the tests' worker. While the folder DATA/gates exists, every progress call of a
job adds a line to DATA/gates/<job>.trace: monotonic seconds, process, stage. A file <stage>.closed holds a ticket and a
share: it stops a job at its first progress call in that stage with at least this share. The job then writes the ticket
into <stage>.reached and goes on when the gate is gone, or lets it pass. Without the folder nothing happens.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from workers.attempt import Attempt

POLL_S = 0.002
WRITTEN = 0.5  # the share of the last stage at which its results are written, but not committed


@dataclass(frozen=True)
class Step:
    """One line of a trace: monotonic seconds, process number, stage ("end": the job's last transaction is over)."""

    at: float
    process: int
    stage: str


class Gates:
    """The tests' side."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tickets: dict[str, str] = {}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def close(self, stage: str, share: float = 0.0) -> None:
        """Also when it is closed already: then for another share."""
        self.tickets[stage] = uuid.uuid4().hex
        write(self.folder / f"{stage}.closed", f"{self.tickets[stage]} {share}")

    def reached(self, stage: str) -> bool:
        path = self.folder / f"{stage}.reached"
        return path.exists() and path.read_text() == self.tickets[stage]

    def open(self, stage: str) -> None:
        (self.folder / f"{stage}.closed").unlink(missing_ok=True)

    def trace(self, job_id: Any) -> list[Step]:
        path = self.folder / f"{job_id}.trace"
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [Step(float(at), int(process), stage) for at, process, stage in lines]

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def folder() -> Path:
    return Path(settings.DATA) / "gates"


def pass_by(attempt: Attempt, stage: str, share: float) -> None:
    """The job's side."""
    if not folder().is_dir():
        return
    with (folder() / f"{attempt.job.id}.trace").open("a") as trace:
        trace.write(f"{time.monotonic():.4f} {os.getpid()} {stage}\n")
    while True:
        try:
            ticket, needed = (folder() / f"{stage}.closed").read_text().split()
        except FileNotFoundError:
            return
        if share < float(needed):
            return
        write(folder() / f"{stage}.reached", ticket)
        time.sleep(POLL_S)


def write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def install() -> None:
    progress, finish, hold = Attempt.progress, Attempt.finish, Attempt.hold

    def watched_progress(self: Attempt, stage: str, share: float) -> None:
        progress(self, stage, share)
        pass_by(self, stage, share)

    def watched_finish(self: Attempt, *arguments: Any, **named: Any) -> None:
        finish(self, *arguments, **named)
        pass_by(self, "end", 1.0)

    def watched_hold(self: Attempt) -> None:
        pass_by(self, self._stage, WRITTEN)
        hold(self)

    Attempt.progress = watched_progress  # type: ignore[method-assign]
    Attempt.finish = watched_finish  # type: ignore[method-assign]
    Attempt.hold = watched_hold  # type: ignore[method-assign]
