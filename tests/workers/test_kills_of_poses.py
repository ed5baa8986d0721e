"""kill -9 in real gesture and mask jobs: what comes out equals an undisturbed run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.figures import Record
from tests.workers import whole
from tests.workers.conftest import Worker, wait_for
from tests.workers.gates import Gates
from tests.workers.killing import Kill, Killer, assert_nothing_left, endure, finish, report
from tests.workers.test_kills import bring, clip, perceive
from webapp.events.gesturing import request_gestures
from webapp.jobs.models import Job
from webapp.library import services
from webapp.library.models import Project, Video
from webapp.tracks.masking import request_masks
from webapp.tracks.models import Run

__all__ = ["clip"]
JOBS: dict[str, Callable[[Video], Job]] = {
    "gestures": lambda video: request_gestures(video=video, user=None),
    "masks": lambda video: request_masks(video=video, user=None),
}


def looked_at(project: Project, clip: Path) -> Video:
    video, job = bring(project, clip)
    finish(job)
    finish(perceive(video))
    video.refresh_from_db()
    return video


def result(video: Video) -> dict[str, Any]:
    """Events and the files beside the run, without times."""
    run = Run.objects.get(video=video)
    files = whole.contents(run.folder)
    told = {}
    for name, content in files.items():
        tree: Any = json.loads(content) if name.endswith(".json") else content
        for key in whole.VARYING if isinstance(tree, dict) else ():
            tree.pop(key, None)
        told[name] = tree
    return {"files": told, "events": whole.events(video)}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", JOBS)
def test_kills_in_the_middle_change_nothing(
    kind: str, worker: Worker, project: Project, clip: Path, gates: Gates, figure: Record
) -> None:
    video = looked_at(project, clip)
    job = finish(JOBS[kind](video))
    wait_for(lambda: gates.trace(job.id)[-1].stage == "end", 15, "the end of the trace")
    steps = gates.trace(job.id)
    seconds = {a.stage: b.at - a.at for a, b in zip(steps, steps[1:], strict=False)}
    expected = result(video)
    services.delete_video(video=video)
    assert_nothing_left()
    video = looked_at(project, clip)
    killer = Killer(worker, gates, seconds | {kind: steps[-1].at - steps[0].at}, random.Random(5))
    kills = [Kill(kind, "task"), Kill(kind, "worker")]
    killer.close(kills[0])
    job = JOBS[kind](video)
    endure(killer, job, kills)
    found = result(video)
    assert {name for name in found["files"] if found["files"][name] != expected["files"].get(name)} == set()
    assert found == expected
    assert killer.hits[kind] == 2
    report(figure, killer)
