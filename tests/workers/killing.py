"""kill -9 and cancel at chosen places of a real worker's jobs."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from tests.figures import Record
from tests.workers import whole
from tests.workers.conftest import NODE, Worker, state, wait_for
from tests.workers.gates import WRITTEN, Gates
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import DeviceLease, Job

LAST = {"store", "display", "events", "derive", "compare"}  # stages that make no progress call but the first
LONG_S = 0.3  # stages that take longer are killed somewhere in the middle, others and the last at a progress call
LIMIT_S = 240.0  # for one attempt on a busy machine
CANCEL_LIMIT_S = 60.0
ORPHAN_S = 15.0


@dataclass(frozen=True)
class Kill:
    """kill -9 at a random moment of a stage. `victim`: the task process, the whole worker (its process group), or one
    process of perception's pool. `loose`: not at a progress call but some time after it, when the stage may be over.
    """

    stage: str
    victim: str
    loose: bool = False


class Killer:
    """Kills at random moments of named stages, and sees to it that the job is taken up again."""

    def __init__(self, worker: Worker, gates: Gates, seconds: dict[str, float], chance: random.Random) -> None:
        self.worker, self.gates, self.seconds, self.chance = worker, gates, seconds, chance
        self.hits: Counter[str] = Counter()
        self.recoveries_s: dict[str, list[float]] = {"task": [], "worker": [], "pool": []}

    def close(self, kill: Kill) -> None:
        """Close the gate at which a job is to be killed: before the job can pass it."""
        self.gates.close(kill.stage, self._share(kill))

    def strike(self, job: Job, kill: Kill, following: Kill | None) -> None:
        """Wait until the job is at the gate, kill, close the following gate, wait until the job has gone on."""
        wait_for(lambda: self.gates.reached(kill.stage) or state(job) in jobs.FINAL, LIMIT_S, f"stage {kill.stage}")
        assert self.gates.reached(kill.stage), f"the {job.kind} job never came to the stage {kill.stage}"
        in_the_middle = self.seconds[kill.stage] > LONG_S and kill.stage not in LAST and kill.victim != "pool"
        if kill.loose or in_the_middle:
            self.gates.open(kill.stage)
            time.sleep(self.chance.uniform(0, min(0.1, self.seconds[kill.stage])))
        self._kill(kill.victim)
        died, steps = time.monotonic(), self.gates.trace(job.id)
        self.hits[steps[-1].stage] += 1
        if following is not None:
            self.close(following)
        if following is None or following.stage != kill.stage:
            self.gates.open(kill.stage)
        if kill.victim == "worker":
            self._start_again()
        wait_for(lambda: len(self.gates.trace(job.id)) > len(steps) or state(job) in jobs.FINAL, LIMIT_S, "a go-on")
        self.recoveries_s[kill.victim].append(time.monotonic() - died)

    def _share(self, kill: Kill) -> float:
        if kill.stage in LAST:
            return self.chance.choice((0.0, WRITTEN)) if kill.stage != "display" else 0.0
        return self.chance.uniform(0, 0.9) if self.seconds[kill.stage] > LONG_S else self.chance.uniform(0, 1)

    def _kill(self, victim: str) -> None:
        """End the victim; what it started must go with it."""
        assert self.worker.process is not None
        family = psutil.Process(self.worker.process.pid).children(recursive=True)
        pool = [p for p in family if named(p, "ml.perception.worker")]
        if victim == "pool":
            self.chance.choice(pool).kill()
            return
        if victim == "task":
            self.worker.task_process().kill()
        else:
            os.killpg(self.worker.process.pid, signal.SIGKILL)
            self.worker.process.wait()
        gone = pool if victim == "task" else family
        wait_for(lambda: not any(map(alive, gone)), ORPHAN_S, "the processes below the killed one to go")

    def _start_again(self) -> None:
        """As the launcher does."""
        jobs.requeue_of(node=NODE)
        broker.give_back_unacknowledged()
        self.worker.log.write_text("")
        self.worker.start()


def named(process: psutil.Process, word: str) -> bool:
    try:
        return word in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def endure(killer: Killer, job: Job, kills: list[Kill]) -> None:
    """Kill the job at these places, whose first gate is closed already, then let it finish."""
    for kill, following in zip(kills, [*kills[1:], None], strict=False):
        killer.strike(job, kill, following)
    finish(job)
    attempts = {step.process for step in killer.gates.trace(job.id)}
    assert job.attempts == len(attempts)  # each is counted, none is doubled
    # a loose kill may come after the last commit, and one of the pool does not end the attempt
    sure = [kill for kill in kills if kill.victim != "pool" and not kill.loose]
    assert len(attempts) > len(sure)


def cancel_in(
    start: Callable[[], Job], stage: str, gates: Gates, *, share: float = 0.0, deaf: bool = False
) -> tuple[Job, float]:
    """Start a job, or try it again, and cancel it in a stage: the job, and the seconds from the cancel to its effect.

    `deaf`: the stage makes no further progress call.
    """
    gates.close(stage, share)
    job = start()
    wait_for(lambda: gates.reached(stage) or state(job) in jobs.FINAL, LIMIT_S, f"the stage {stage}")
    assert gates.reached(stage), f"the {job.kind} job never came to the stage {stage}"
    began = time.monotonic()
    jobs.cancel(job=job, user=None)
    if not deaf:
        gates.open(stage)
    wait_for(lambda: state(job) in jobs.FINAL, CANCEL_LIMIT_S, "the cancel")
    took = time.monotonic() - began
    assert state(job) == "cancelled"
    gates.open(stage)
    return job, took


def finish(job: Job) -> Job:
    wait_for(lambda: state(job) in jobs.FINAL, LIMIT_S, f"the {job.kind} job")
    job.refresh_from_db()
    assert job.state == "done", job.error + job.log
    return job


def assert_nothing_left() -> None:
    wait_for(lambda: not whole.leftovers(), 30, f"leftovers to go: {whole.leftovers()}")
    wait_for(lambda: not list(whole.perception_processes()), ORPHAN_S, "perception's processes to go")
    assert not DeviceLease.objects.exists()


def report(figure: Record, killer: Killer) -> None:
    figure("kill -9: kills", killer.hits.total(), note=", ".join(f"{s} {n}" for s, n in sorted(killer.hits.items())))
    for victim, times in killer.recoveries_s.items():
        if times:
            figure(f"kill -9 of the {victim}: the job goes on after", max(times), "s", note=f"longest of {len(times)}")
