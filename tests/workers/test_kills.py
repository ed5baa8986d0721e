"""kill -9 and cancel in every stage of real jobs: what comes out equals an undisturbed run, or nothing does."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.figures import Record
from tests.workers import footage, whole
from tests.workers.conftest import Worker, wait_for
from tests.workers.gates import Gates
from tests.workers.killing import Kill, Killer, assert_nothing_left, cancel_in, endure, finish, report
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library import services
from webapp.library.models import Project, Video
from webapp.tracks import services as tracks
from webapp.tracks.models import Run

IMPORT = ("copy", "probe", "proxy", "check", "pictures", "waveform", "store")
PERCEIVE = ("shots", "people", "tracks", "gaze", "identity", "write", "display", "events")
CANCEL_S = 10.0
SEED = 20


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("footage")
    return footage.write(footage.demo_clip(folder), folder / "clip.mp4")


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
        wait_for(lambda: gates.trace(job.id)[-1].stage == "end", 15, "the end of the trace")  # noqa: B023
        steps = gates.trace(job.id)
        for step, following in zip(steps, steps[1:], strict=False):
            found.seconds[step.stage] = found.seconds.get(step.stage, 0.0) + following.at - step.at
    assert set(found.seconds) == {*IMPORT, *PERCEIVE}  # the clip has every stage
    assert found.perceived["events"] and len(found.perceived["persons"]) >= 3  # and something to compare
    services.delete_video(video=video)
    assert_nothing_left()
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Kills


def disturbed(killer: Killer, project: Project, clip: Path, expected: Reference, plan: tuple[list[Kill], ...]) -> None:
    """One import and one perception run with kills in them, compared with the undisturbed ones."""
    during_import, during_perception = plan
    killer.close(during_import[0])
    video, job = bring(project, clip)
    endure(killer, job, during_import)
    assert whole.imported(video) == expected.imported
    killer.close(during_perception[0])
    job = perceive(video)
    endure(killer, job, during_perception)
    assert whole.perceived(video) == expected.perceived
    assert_nothing_left()
    services.delete_video(video=video)
    assert_nothing_left()


def pairs(chance: random.Random, kills: list[Kill], order: tuple[str, ...]) -> list[list[Kill]]:
    """Two kills a job, since a third would use up its attempts, in the order of the stages."""
    chance.shuffle(kills)
    return [sorted(kills[k : k + 2], key=lambda kill: order.index(kill.stage)) for k in range(0, len(kills), 2)]


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


@pytest.mark.measured
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


def cancel_everywhere(
    start: Callable[[], Job], stages: tuple[str, ...], gates: Gates, *, deaf: bool = False
) -> dict[str, float]:
    """Cancel one job in each stage and look that nothing of it is there; then let it finish. Seconds by stage."""
    took = {}
    for stage in stages:
        job, took[stage] = cancel_in(start, stage, gates, deaf=deaf)
        assert not Run.objects.exists() and not Job.objects.exclude(result={}).filter(id=job.id).exists()
        assert_nothing_left()
        start = partial(jobs.retry, job=job, user=None)
    finish(start())
    return took


def measure_cancels(project: Project, clip: Path, gates: Gates, figure: Record, *, deaf: bool) -> None:
    video = services.create_video(project=project, name="clip.mp4", user=None)
    took = cancel_everywhere(partial(services.import_file, video=video, path=clip), IMPORT, gates, deaf=deaf)
    assert (video.jobs.count(), whole.imported(video)["counts"]) == (1, (1, 1))
    took |= cancel_everywhere(partial(perceive, video, rate=1.0, tracking_rate=1.0), PERCEIVE, gates, deaf=deaf)
    found = whole.perceived(video)
    assert found["run"][:2] == ("accepted", True) and found["persons"] and found["derivations"] == [True]
    assert_nothing_left()
    how = "in a stage that does not listen" if deaf else "in any stage"
    note = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in took.items())
    figure(f"cancel {how}: longest", max(took.values()), "s", budget=CANCEL_S, note=note)
    assert max(took.values()) < 3 * CANCEL_S, took  # the machine may be busy


@pytest.mark.measured
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
