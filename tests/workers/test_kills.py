"""kill -9 and cancel in every stage of real jobs: what comes out equals an undisturbed run, or nothing does."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings

from tests.figures import Record
from tests.workers import footage, whole
from tests.workers.conftest import NODE, Worker, state, wait_for
from tests.workers.gates import WRITTEN, Gates
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import DeviceLease, Job
from webapp.library import services
from webapp.library.models import Project, Video
from webapp.tracks import services as tracks
from webapp.tracks.models import Run

IMPORT = ("copy", "probe", "proxy", "check", "pictures", "waveform", "store")
PERCEIVE = ("shots", "people", "tracks", "gaze", "identity", "write", "display", "events")
LAST = {"store", "display", "events"}  # stages that make no progress call but the first; two of them write rows
LONG_S = 0.3  # stages that take longer are killed somewhere in the middle, others at one of their progress calls
CANCEL_S = 10.0
LIMIT_S = 240.0  # for one attempt on a busy machine
ORPHAN_S = 5.0
SEED = 20


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("footage")
    return footage.write(footage.demo_clip(folder), folder / "clip.mp4")


@pytest.fixture
def gates(worker: Worker) -> Iterator[Gates]:
    made = Gates(Path(settings.DATA) / "gates")
    yield made
    made.remove()


@pytest.fixture
def reference(worker: Worker, project: Project, clip: Path, gates: Gates) -> Reference:
    return undisturbed(clip, project, gates)


# ---------------------------------------------------------------------------------------------------------------------
# Jobs


def bring(project: Project, clip: Path) -> tuple[Video, Job]:
    video = services.create_video(project=project, name="clip.mp4", user=None)
    return video, services.import_file(video=video, path=clip)


def perceive(video: Video, rate: float = 2.0, tracking_rate: float | None = None) -> Job:
    video.refresh_from_db()
    return tracks.request_perception(video=video, user=None, rate=rate, tracking_rate=tracking_rate)


def finish(job: Job) -> Job:
    wait_for(lambda: state(job) in jobs.FINAL, LIMIT_S, f"the {job.kind} job")
    job.refresh_from_db()
    assert job.state == "done", job.error + job.log
    return job


@dataclass
class Reference:
    """What comes out when nobody kills anything, and the seconds each stage takes."""

    imported: dict[str, Any]
    perceived: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)


def undisturbed(clip: Path, project: Project, gates: Gates) -> Reference:
    video, importing = bring(project, clip)
    finish(importing)
    perceiving = finish(perceive(video))
    found = Reference(whole.imported(video), whole.perceived(video))
    for job in (importing, perceiving):
        wait_for(lambda: gates.trace(job.id)[-1].stage == "end", 5, "the end of the trace")  # noqa: B023
        steps = gates.trace(job.id)
        for step, following in zip(steps, steps[1:], strict=False):
            found.seconds[step.stage] = found.seconds.get(step.stage, 0.0) + following.at - step.at
    assert set(found.seconds) == {*IMPORT, *PERCEIVE}  # the clip has every stage
    assert found.perceived["events"] and len(found.perceived["persons"]) >= 3  # and something to compare
    services.delete_video(video=video)
    assert_nothing_left()
    return found


def assert_nothing_left() -> None:
    wait_for(lambda: not whole.leftovers(), 10, f"leftovers to go: {whole.leftovers()}")
    wait_for(lambda: not list(whole.perception_processes()), ORPHAN_S, "perception's processes to go")
    assert not DeviceLease.objects.exists()


# ---------------------------------------------------------------------------------------------------------------------
# Kills


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

    def strike(self, job: Job, kill: Kill) -> None:
        """Wait for the stage, kill, wait until the job has gone on."""
        self.gates.close(kill.stage, self._share(kill))
        wait_for(lambda: self.gates.reached(kill.stage) or state(job) in jobs.FINAL, LIMIT_S, f"stage {kill.stage}")
        assert self.gates.reached(kill.stage), f"the {job.kind} job never came to the stage {kill.stage}"
        if kill.loose or self.seconds[kill.stage] > LONG_S:
            self.gates.open(kill.stage)
            time.sleep(self.chance.uniform(0, min(0.1, self.seconds[kill.stage])))
        self._kill(kill.victim)
        died, steps = time.monotonic(), self.gates.trace(job.id)
        self.hits[steps[-1].stage] += 1
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


def disturbed(killer: Killer, project: Project, clip: Path, expected: Reference, plan: tuple[list[Kill], ...]) -> None:
    """One import and one perception run with kills in them, compared with the undisturbed ones."""
    during_import, during_perception = plan
    video, job = bring(project, clip)
    endure(killer, job, during_import)
    assert whole.imported(video) == expected.imported
    job = perceive(video)
    endure(killer, job, during_perception)
    assert whole.perceived(video) == expected.perceived
    assert_nothing_left()
    services.delete_video(video=video)
    assert_nothing_left()


def endure(killer: Killer, job: Job, kills: list[Kill]) -> None:
    for kill in kills:
        killer.strike(job, kill)
    finish(job)
    attempts = {step.process for step in killer.gates.trace(job.id)}
    assert job.attempts == len(attempts)  # each is counted, none is doubled
    sure = [
        kill for kill in kills if kill.victim != "pool" and not kill.loose
    ]  # another may come after the last commit
    assert len(attempts) > len(sure)


def pairs(chance: random.Random, kills: list[Kill], order: tuple[str, ...]) -> list[list[Kill]]:
    """Two kills a job, since a third would use up its attempts, in the order of the stages."""
    chance.shuffle(kills)
    return [sorted(kills[k : k + 2], key=lambda kill: order.index(kill.stage)) for k in range(0, len(kills), 2)]


def report(figure: Record, killer: Killer) -> None:
    figure("kill -9: kills", killer.hits.total(), note=", ".join(f"{s} {n}" for s, n in sorted(killer.hits.items())))
    for victim, times in killer.recoveries_s.items():
        if times:
            figure(f"kill -9 of the {victim}: the job goes on after", max(times), "s", note=f"longest of {len(times)}")


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_kills_at_random_moments_of_every_stage_change_nothing(
    worker: Worker, project: Project, clip: Path, gates: Gates, reference: Reference, figure: Record
) -> None:
    chance = random.Random(SEED)
    killer = Killer(worker, gates, reference.seconds, chance)
    victims = ["task", "worker"] * 10
    chance.shuffle(victims)
    loose = [Kill(stage, victims.pop(), loose=True) for stage in ("store", "pictures", "check", "display", "events")]
    imports = pairs(chance, [*(Kill(stage, victims.pop()) for stage in IMPORT), *loose[:3]], IMPORT)
    perceptions = pairs(chance, [*(Kill(stage, victims.pop()) for stage in PERCEIVE), *loose[3:]], PERCEIVE)
    for kills, stage in zip(perceptions, ("shots", "people", "people", "people"), strict=False):
        kills.append(Kill(stage, "pool"))  # not counted as an attempt
        kills.sort(key=lambda kill: PERCEIVE.index(kill.stage))
    for plan in zip(imports, perceptions, strict=True):
        disturbed(killer, project, clip, reference, plan)
    report(figure, killer)
    assert killer.hits.total() == 24 and set(killer.hits) >= {*IMPORT, *PERCEIVE}, killer.hits
    assert {victim: len(times) for victim, times in killer.recoveries_s.items()} == {
        "task": 10,
        "worker": 10,
        "pool": 4,
    }


@pytest.mark.timeout(900)
def test_three_kills_change_nothing(
    worker: Worker, project: Project, clip: Path, gates: Gates, reference: Reference, figure: Record
) -> None:
    killer = Killer(worker, gates, reference.seconds, random.Random(SEED))
    plan = ([Kill("proxy", "task")], [Kill("people", "pool"), Kill("events", "worker")])
    disturbed(killer, project, clip, reference, plan)
    report(figure, killer)


# ---------------------------------------------------------------------------------------------------------------------
# Cancel


def cancel_in(job: Job, stage: str, gates: Gates, *, deaf: bool = False) -> float:
    """Seconds from the cancel to its effect. `deaf`: the stage makes no further progress call."""
    gates.close(stage)
    wait_for(lambda: gates.reached(stage) or state(job) in jobs.FINAL, LIMIT_S, f"the stage {stage}")
    assert gates.reached(stage), f"the {job.kind} job never came to the stage {stage}"
    began = time.monotonic()
    jobs.cancel(job=job, user=None)
    if not deaf:
        gates.open(stage)
    wait_for(lambda: state(job) in jobs.FINAL, 3 * CANCEL_S, "the cancel")
    took = time.monotonic() - began
    assert state(job) == "cancelled"
    gates.open(stage)
    return took


def cancel_everywhere(job: Job, stages: tuple[str, ...], gates: Gates, *, deaf: bool = False) -> dict[str, float]:
    """Cancel a job in each stage, look that nothing of it is there, try it again."""
    took = {}
    for stage in stages:
        took[stage] = cancel_in(job, stage, gates, deaf=deaf)
        assert not Run.objects.exists() and not Job.objects.exclude(result={}).filter(id=job.id).exists()
        assert_nothing_left()
        jobs.retry(job=job, user=None)
    return took


def measure_cancels(project: Project, clip: Path, gates: Gates, figure: Record, *, deaf: bool) -> None:
    video, job = bring(project, clip)
    took = cancel_everywhere(job, IMPORT, gates, deaf=deaf)
    finish(job)
    assert (video.jobs.count(), whole.imported(video)["counts"]) == (1, (1, 1))
    job = perceive(video, rate=1.0, tracking_rate=1.0)
    took |= cancel_everywhere(job, PERCEIVE, gates, deaf=deaf)
    finish(job)
    found = whole.perceived(video)
    assert found["run"][:2] == ("accepted", True) and found["persons"] and found["derivations"] == [True]
    assert_nothing_left()
    how = "in a stage that does not listen" if deaf else "in any stage"
    note = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in took.items())
    figure(f"cancel {how}: longest", max(took.values()), "s", budget=CANCEL_S, note=note)
    assert max(took.values()) < CANCEL_S, took


@pytest.mark.timeout(900)
def test_cancel_takes_effect_in_every_stage_and_leaves_nothing(
    worker: Worker, project: Project, clip: Path, gates: Gates, figure: Record
) -> None:
    measure_cancels(project, clip, gates, figure, deaf=False)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_cancel_takes_effect_where_a_stage_does_not_listen(
    worker: Worker, project: Project, clip: Path, gates: Gates, figure: Record
) -> None:
    measure_cancels(project, clip, gates, figure, deaf=True)
