"""kill -9 and cancel in jobs that write rows only: deriving events, and accepting a run that waited for a human."""

from __future__ import annotations

import random
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.webapp.factories import edit
from tests.webapp.runs import make_filmed_video, write_run_folder
from tests.workers import whole
from tests.workers.conftest import Worker
from tests.workers.gates import WRITTEN, Gates
from tests.workers.killing import Kill, Killer, cancel_in, endure, finish
from webapp.accounts.models import User
from webapp.events.derivation import request_derivation
from webapp.events.models import Derivation, Event
from webapp.jobs import services as jobs
from webapp.library.models import Project, Video
from webapp.tracks import acceptance, services
from webapp.tracks.models import Person, Run, Tracklet

FRAMES = 500


@pytest.fixture
def killer(worker: Worker, gates: Gates) -> Killer:
    return Killer(worker, gates, {"derive": 0.0, "compare": 0.0}, random.Random(3))


@pytest.fixture
def bob(project: Project) -> User:
    return User.objects.create(username="bob", is_superuser=True)


def add_run(video: Video, folder: Path, **scene: Any) -> Run:
    manifest = write_run_folder(folder, frames=FRAMES, **scene)
    about: dict[str, Any] = {"job": None, "profile": "embedded", "origin": "perception"}
    return services.add_run(run_id=uuid.uuid4(), video=video, manifest=manifest, folder=folder, **about)


def make_video(project: Project, folder: Path, bob: User) -> Video:
    """A video with an accepted run and one human edit."""
    video = make_filmed_video(project, FRAMES)
    assert acceptance.settle(run=add_run(video, folder), user=None)
    person = Person.objects.filter(video=video).order_by("number")[0]
    edit(video, bob, "person.update", person.id, 1, name="Ann")
    return Video.objects.get(id=video.id)


def told(derivation: Derivation) -> dict[str, Any]:
    """What a derivation would do, without ids."""
    kept = ("type", "start", "end", "confidence", "preset")
    found = derivation.difference
    return {
        "revision": derivation.revision,
        "added": [[machine[name] for name in kept] for machine in found["added"]],
        **{name: len(found[name]) for name in ("changed", "removed", "attached")},
    }


def test_a_killed_derivation_is_there_once(killer: Killer, project: Project, bob: User, tmp_path: Path) -> None:
    video = make_video(project, tmp_path, bob)
    found = []
    for kills in ([], [Kill("derive", "task"), Kill("derive", "worker")]):
        if kills:
            killer.close(kills[0])
        job = request_derivation(video=video, user=bob, preset="grasp-compat")
        endure(killer, job, kills)
        derivation = Derivation.objects.get(video=video, applied=None)
        assert derivation.job_id == job.id and job.result["derivation"] == str(derivation.id)
        found.append(told(derivation))
    assert found[0] == found[1] and found[0]["added"]


def test_a_cancelled_derivation_leaves_none(
    worker: Worker, gates: Gates, project: Project, bob: User, tmp_path: Path
) -> None:
    video = make_video(project, tmp_path, bob)
    before = whole.events(video)
    start = partial(request_derivation, video=video, user=bob, preset="grasp-compat")
    for written in (0.0, WRITTEN):  # before the rows are written, and between that and the commit
        job, _ = cancel_in(start, "derive", gates, share=written)
        assert not Derivation.objects.filter(applied=None).exists() and whole.events(video) == before
        start = partial(jobs.retry, job=job, user=bob)
    finish(start())
    assert Derivation.objects.filter(applied=None).count() == 1


def accepted(video: Video, run: Run) -> dict[str, Any]:
    video.refresh_from_db()
    run.refresh_from_db()
    states = list(Run.objects.filter(video=video).order_by("created").values_list("state", flat=True))
    return {
        "run": (run.state, video.run_id == run.id, states),
        "events": whole.events(video),
        "persons": sorted(Person.objects.filter(video=video).values_list("number", "name")),
        "tracklets": sorted(Tracklet.objects.filter(run=run).values_list("track", "start", "end", "person__number")),
        "derivations": [d.applied is not None for d in Derivation.objects.filter(video=video, run=run)],
        "edits": list(video.edits.order_by("revision").values_list("kind", flat=True)),
    }  # fmt: skip


def test_a_killed_acceptance_is_whole_and_once(killer: Killer, bob: User, tmp_path: Path) -> None:
    found = []
    for n, kills in enumerate(([], [Kill("compare", "worker"), Kill("compare", "task")])):
        home = Project.objects.create(slug=f"home-{n}", name="Home")
        video = make_video(home, tmp_path / f"first-{n}", bob)
        run = add_run(video, tmp_path / f"second-{n}", seed=2, first_track=40)
        assert not acceptance.settle(run=run, user=None)  # it waits for a human
        if kills:
            killer.close(kills[0])
        endure(killer, services.request_acceptance(run=run, user=bob), kills)
        found.append(accepted(video, run))
    assert found[0] == found[1]
    assert found[0]["run"] == ("accepted", True, ["replaced", "accepted"]) and found[0]["derivations"] == [True]


def test_a_cancelled_acceptance_changes_nothing(
    worker: Worker, gates: Gates, project: Project, bob: User, tmp_path: Path
) -> None:
    video = make_video(project, tmp_path / "first", bob)
    run = add_run(video, tmp_path / "second", seed=2, first_track=40)
    assert not acceptance.settle(run=run, user=None)
    before = accepted(video, run)
    start = partial(services.request_acceptance, run=run, user=bob)
    for written in (0.0, WRITTEN):
        job, _ = cancel_in(start, "compare", gates, share=written)
        assert accepted(video, run) == before
        start = partial(jobs.retry, job=job, user=bob)
    finish(start())
    assert accepted(video, run)["run"][0] == "accepted" and Event.objects.filter(video=video).exists()
