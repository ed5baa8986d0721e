"""One attempt at a job: claim, heartbeat, progress, cancel, and one way out for every ending.

    run(job_id, node, work, tidy)    work(attempt) reports by attempt.progress, ends by attempt.finish(result, write)

The heartbeat lives in a thread, so a stage that is silent inside a long C call still shows a sign of life. Progress is
kept in memory and written by that thread, at most twice a second. When a cancel or the loss of the claim is noticed the
next progress call raises; a stage that makes no such call within `SILENCE_S` is ended with its process. Work can be
done again from any point: after kill -9, and in the same process when the database was away for a while.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from psycopg.errors import DiskFull

from ml.endpoint import EndpointError
from ml.formats.errors import FormatError
from ml.media.errors import MediaError
from ml.progress import Cancelled
from ml.torchside import MissingPackages
from ml.weights.cache import MissingWeights
from webapp.jobs import services
from webapp.jobs.models import Job
from webapp.jobs.services import ClaimLost
from webapp.lib.errors import Refused
from webapp.lib.hosts import host, process_name

log = logging.getLogger(__name__)

TICK_S = 0.5
BEAT_S = 5.0
SILENCE_S = 6.0
DATABASE_PATIENCE_S = 60.0
OUTAGES = 3  # of the database, after which an attempt gives up


class Attempt:
    """What a task's work sees: `job`, `folder` (local scratch that survives a killed attempt), `progress`, `say`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.folder = scratch(job.id)
        self.stages: dict[str, float] = {}
        self.peak_rss = 0
        self._stage, self._share = "", 0.0
        self._since = time.monotonic()
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()  # of lines into the log: by the heartbeat, or by the end
        self._stop: type[Exception] | None = None
        self._noticed = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    # -- for the work

    def progress(self, stage: str, share: float) -> None:
        """`ml.progress.Progress` of this job. Raises Cancelled or ClaimLost."""
        with self._lock:
            now = time.monotonic()
            if self._stage:
                self.stages[self._stage] = self.stages.get(self._stage, 0.0) + now - self._since
            self._stage, self._share, self._since = stage, share, now
        self._listen()

    def _listen(self) -> None:
        if self._stop is not None:
            raise self._stop(f"Job {self.job.id} stops.")

    def say(self, line: str) -> None:
        """A line for the job's log."""
        with self._lock:
            self._lines.append(line)

    def finish(
        self,
        result: dict[str, Any],
        write: Callable[[], dict[str, Any] | None] = lambda: None,
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        """Write the results and the job's end in one transaction. Raises ClaimLost and Cancelled, and then nothing is
        written.

        `write` may return more of the result. The job's row is locked after it: a long `write` can be cancelled, and
        rows are locked in the order of a deletion: video, then job. `ending` is called with the job's row locked, for
        rows that the job's followers write, too.
        """
        self._listen()

        def both() -> None:
            with contextlib.ExitStack() as until_committed:
                with transaction.atomic():
                    more = write() or {}
                    until_committed.enter_context(self._writing)
                    self.hold()
                    ending()
                    whole = result | more | {"peak_rss_mb": round(self.peak_rss / 1e6, 1)}
                    services.finish(job=self.job, result=whole, stages=self._times(), lines=self._unwritten())
                self._over.set()

        self.peak_rss = max(self.peak_rss, family_rss())
        patiently(both)

    def _unwritten(self) -> str:
        """Lines that `say` was given and the log does not have yet."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines)

    def last_words(self) -> str:
        """End the heartbeat; the lines it has not written."""
        with self._writing:
            self._over.set()
            return self._unwritten()

    def hold(self) -> None:
        """Lock the job's row until the transaction ends. Raises ClaimLost or Cancelled."""
        if services.held(job=self.job).cancel_requested:
            raise Cancelled(f"Job {self.job.id} stops.")

    # -- the heartbeat's thread

    def __enter__(self) -> Attempt:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._over.set()
        self._thread.join(timeout=10)

    def _beat_on(self) -> None:
        written: tuple[str, float] = ("", -1.0)
        last = 0.0
        try:
            while not self._over.wait(TICK_S):
                self.peak_rss = max(self.peak_rss, family_rss())
                self._end_if_silent()
                with self._writing:
                    if self._over.is_set():
                        break
                    with self._lock:
                        state, said = (self._stage, self._share), list(self._lines)
                    if state == written and not said and time.monotonic() - last < BEAT_S and self._quiet_tick():
                        continue
                    if self._write(state, "\n".join(said)):
                        written, last = state, time.monotonic()
                        with self._lock:
                            del self._lines[: len(said)]
        finally:
            connection.close()

    def _quiet_tick(self) -> bool:
        """Nothing to write; True unless a cancel was asked for meanwhile."""
        try:
            row = Job.objects.filter(id=self.job.id).values_list("cancel_requested", "claim").first()
        except (OperationalError, InterfaceError):
            connection.close()
            return True
        return row is not None and not row[0] and row[1] == self.job.claim

    def _write(self, state: tuple[str, float], lines: str) -> bool:
        try:
            if services.beat(job=self.job, stage=state[0], share=state[1], stages=self._times(), lines=lines):
                self._ask_to_stop(Cancelled)
        except ClaimLost:
            self._ask_to_stop(ClaimLost)
        except (OperationalError, InterfaceError):  # the database is away: try again at the next tick
            connection.close()
            return False
        return True

    def _times(self) -> dict[str, float]:
        with self._lock:
            times = dict(self.stages)
            if self._stage:
                times[self._stage] = times.get(self._stage, 0.0) + time.monotonic() - self._since
        return times

    def _ask_to_stop(self, reason: type[Exception]) -> None:
        if self._stop is None:
            self._stop, self._noticed = reason, time.monotonic()

    def _end_if_silent(self) -> None:
        """The work was asked to stop and does not listen: end its process, with all it started."""
        if self._stop is None or time.monotonic() - self._noticed < SILENCE_S:
            return
        if self._stop is Cancelled:
            try:
                services.cancelled(job=self.job)
            except ClaimLost:
                log.warning("Job %s was cancelled by another.", self.job.id)
            except (OperationalError, InterfaceError):  # the database is away: try again at the next tick
                connection.close()
                return
        for child in psutil.Process().children(recursive=True):
            child.kill()
        os.kill(os.getpid(), signal.SIGKILL)


Tidy = Callable[[Job | None, Path], None]


def run(job_id: str, node: str, work: Callable[[Attempt], None], tidy: Tidy = lambda job, folder: None) -> str:
    """Claim the job and do the work; every ending is written to the row. Returns the job's state, for the worker's log.

    Refusals with a sentence for the user become the job's error as they are; anything else is named as a fault of ours,
    with the traceback in the job's log. Once the job is over or gone (None), `tidy(job, folder)` is called, now or when
    a killed worker's message comes again, before its scratch folder goes: it removes what the job leaves elsewhere.
    """
    job = patiently(lambda: services.claim(job_id=job_id, worker=process_name(node), devices=devices()))
    if job is not None:
        attempt_at(job, work)
    return patiently(lambda: clear(job_id, tidy, job))


def attempt_at(job: Job, work: Callable[[Attempt], None]) -> None:
    reset_peak()
    with Attempt(job) as attempt:
        try:
            attempt.folder.mkdir(parents=True, exist_ok=True)
            steadily(attempt, work)
        except Cancelled:
            _ending(lambda: services.cancelled(job=job))
        except ClaimLost:
            log.warning("Job %s was taken over; this attempt stops.", job.id)
        except Exception as error:
            sentence, reason = explain(error)
            lines = traceback.format_exc() if reason == "fault" else ""
            if lines:
                log.exception("Job %s failed", job.id)
            lines = attempt.last_words() + lines
            _ending(lambda: services.fail(job=job, error=sentence, reason=reason, lines=lines))


def scratch(job_id: Any) -> Path:
    """The job's folder on this machine."""
    return Path(settings.DATA) / "work" / str(job_id)


@transaction.atomic
def clear(job_id: str, tidy: Tidy, known: Job | None) -> str:
    """Tidy up after a job that is over or gone; its state. Its row is locked, so that nobody tries it again meanwhile.

    `known` is the job as it was, for one that is gone.
    """
    job = Job.objects.select_for_update().filter(id=job_id).first()
    if job is None or job.state in services.FINAL:
        tidy(job or known, scratch(job_id))
        shutil.rmtree(scratch(job_id), ignore_errors=True)
    return "gone" if job is None else job.state


def steadily(attempt: Attempt, work: Callable[[Attempt], None]) -> None:
    """Do the work; where the database goes away in the middle, wait for it and start over from the finished pieces."""
    for _ in range(OUTAGES):
        try:
            return work(attempt)
        except (OperationalError, InterfaceError) as error:
            if is_full(error):
                raise
            log.warning("Job %s starts over: %s", attempt.job.id, error)
            connection.close()
            patiently(lambda: Job.objects.filter(id=attempt.job.id).exists())
    return work(attempt)


def _ending(write: Callable[[], None]) -> None:
    """Write an ending, unless the job is somebody else's by now."""
    try:
        patiently(write)
    except ClaimLost as lost:
        log.warning("%s", lost)


def explain(error: Exception) -> tuple[str, str]:
    """A sentence for the user, and what is at fault: input, disk, weights, endpoint or (this program) fault."""
    if isinstance(error, MissingWeights | MissingPackages):
        return str(error), "weights"
    if isinstance(error, EndpointError):
        return str(error), "endpoint"
    if isinstance(error, Refused | MediaError | FormatError):
        return str(error), "input"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk that holds {settings.DATA} is full.", "disk"
    if is_full(error):
        return "The database's disk is full.", "disk"
    return f"Something went wrong in this program: {type(error).__name__}: {error}", "fault"


def is_full(error: Exception) -> bool:
    """Whether the database could not write because its disk is full."""
    return isinstance(error.__cause__, DiskFull)


T = TypeVar("T")


def patiently(action: Callable[[], T]) -> T:
    """Do a database action, again and again while the database is away, for at most a minute."""
    end = time.monotonic() + DATABASE_PATIENCE_S
    while True:
        try:
            return action()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            if time.monotonic() > end or is_full(error):
                raise
            time.sleep(1)


def devices() -> dict[str, list[str]]:
    """Devices of this machine that a job of each queue may lease: SIGHTLINE_DEVICES, else the GPUs that are there.

    Without a GPU each queue has one place of its own on the processor.
    """
    named = os.environ.get("SIGHTLINE_DEVICES")
    found = named.split(",") if named else [f"cuda:{p.name[6:]}" for p in sorted(Path("/dev").glob("nvidia[0-9]*"))]
    names = [f"{host()}/{name.strip()}" for name in found]
    return {queue: names or [f"{host()}/cpu for {queue}"] for queue in ("gpu", "train")}


def reset_peak() -> None:
    """Start the kernel's count of this process's peak memory anew (the process may have done other jobs)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def family_rss() -> int:
    """Bytes of memory of this process at its peak, its worker, and the processes below it now."""
    own = psutil.Process()
    total = peak_of_self()
    for process in (own.parent(), *own.children(recursive=True)):
        if process is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total


def peak_of_self() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return int(psutil.Process().memory_info().rss)
