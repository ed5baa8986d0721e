"""Saves go on while a job compares runs or derives events: the slow part of it holds no lock."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.db import connection

from tests.webapp.factories import edit
from tests.webapp.runs import derive, make_filmed_video, write_run_folder
from webapp.accounts.models import User
from webapp.events import deriving as rules
from webapp.events.derivation import request_derivation
from webapp.events.models import Derivation, Edit, Event
from webapp.jobs import broker
from webapp.jobs.models import Job
from webapp.library.models import Project, Video
from webapp.tracks import acceptance, services
from webapp.tracks.models import Person, Run, Tracklet
from workers import attempt
from workers.tasks import accepting, deriving, perceiving

FRAMES = 500
PATIENCE = "3s"

Save = Callable[[], Any]


@pytest.fixture
def bob(project: Project) -> User:
    return User.objects.create(username="bob", is_superuser=True)


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    """A video with an accepted run; the test is the worker."""
    monkeypatch.setattr(broker, "send", lambda **_: True)
    made = make_filmed_video(project, FRAMES)
    assert acceptance.settle(run=add_run(made, tmp_path / "first"), user=None)
    return Video.objects.get(id=made.id)


def add_run(video: Video, folder: Path, **scene: Any) -> Run:
    manifest = write_run_folder(folder, frames=FRAMES, **scene)
    about: dict[str, Any] = {"job": None, "profile": "embedded", "origin": "perception"}
    return services.add_run(run_id=uuid.uuid4(), video=video, manifest=manifest, folder=folder, **about)


def elsewhere(save: Save) -> None:
    """Save on a connection of its own, which does not wait long for a lock."""
    raised: list[Exception] = []

    def work() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = '{PATIENCE}'")
            save()
        except Exception as error:
            raised.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def during(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, saves: list[Save]) -> list[int]:
    """Have the first call of a slow function meet the first save, and so on; counts the calls."""
    real, calls = getattr(module, name), [0]

    def met(*arguments: Any, **named: Any) -> Any:
        found = real(*arguments, **named)  # it has read what it needs
        if calls[0] < len(saves):
            elsewhere(saves[calls[0]])
        calls[0] += 1
        return found

    monkeypatch.setattr(module, name, met)
    return calls


def do(job: Job, work: Callable[[attempt.Attempt], None]) -> Job:
    attempt.run(str(job.id), "here@elsewhere", work)
    job.refresh_from_db()
    return job


def correct(video: Video, user: User, person: Person, start: int) -> Save:
    """A correction of gaze: what was derived before it is out of date."""
    where = {"start": start, "end": start + 20, "kind": "camera"}
    return lambda: edit(video, user, "correction.create", uuid.uuid4(), person=str(person.id), **where)


def note(video: Video, user: User, start: int) -> Save:
    """An event that a human adds: it moves nobody."""
    people = [str(p.id) for p in Person.objects.filter(video=video).order_by("number")[:2]]
    where = {"start": start, "end": start + 9, "participants": [[p, "member"] for p in people]}
    return lambda: edit(video, user, "event.create", uuid.uuid4(), type="mutual_gaze", **where)


def test_saves_go_on_while_events_are_derived(video: Video, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, ben = Person.objects.filter(video=video).order_by("number")[:2]
    saves = [correct(video, bob, ann, 100), correct(video, bob, ben, 200), note(video, bob, 3)]
    calls = during(monkeypatch, rules, "propose", saves)
    job = do(request_derivation(video=video, user=bob), deriving.work)
    assert (job.state, job.error) == ("done", "")
    assert calls == [3]  # two corrections made it begin again; the event did not
    assert Edit.objects.filter(video=video, user=bob).count() == 3
    derivation = Derivation.objects.get(video=video, applied=None)
    assert derivation.job_id == job.id
    assert derivation.revision == Video.objects.get(id=video.id).revision
    monkeypatch.undo()
    assert derivation.difference == derive(video).difference  # as if nothing had happened meanwhile


@pytest.fixture
def layer(video: Video, bob: User, tmp_path: Path) -> Run:
    """A run that waits, since somebody has edited the video."""
    correct(video, bob, Person.objects.get(video=video, number=2), 50)()
    made = add_run(video, tmp_path / "second", first_track=40)
    assert not acceptance.settle(run=made, user=None)
    return made


@pytest.mark.parametrize("slow", ["plan", "propose"])
def test_saves_go_on_while_a_run_is_compared_and_accepted(
    video: Video, layer: Run, bob: User, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    ann = Person.objects.get(video=video, number=0)
    saves = [correct(video, bob, ann, 100), note(video, bob, 3)]
    calls = during(monkeypatch, acceptance if slow == "plan" else rules, slow, saves)
    job = do(services.request_acceptance(run=layer, user=bob), accepting.work)
    assert (job.state, job.error) == ("done", "")
    assert calls == [2]
    layer.refresh_from_db()
    seen = Video.objects.get(id=video.id)
    assert (layer.state, seen.run_id) == ("accepted", layer.id)
    kinds = list(Edit.objects.filter(video=video).order_by("revision").values_list("kind", flat=True))
    assert kinds[-4:] == ["correction.create", "event.create", "run.accept", "events.derive"]
    assert Tracklet.objects.filter(run=layer).count() == 4 and Event.objects.filter(video=video).count() > 5
    monkeypatch.undo()
    found = derive(video).difference
    assert not any(found.values()), found  # the events are those of the accepted run and all corrections


def test_an_edit_that_no_longer_fits_is_shown_though_it_came_while_comparing(
    video: Video, bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    correct(video, bob, Person.objects.get(video=video, number=0), 50)()
    layer = add_run(video, tmp_path / "second", people=2, first_track=40, seed=9, shift=-0.125)
    assert not acceptance.settle(run=layer, user=None)
    lost = Event.objects.filter(video=video, participations__person__number=3).first()
    assert lost is not None
    before = len(Run.objects.get(id=layer.id).report["conflicts"])
    confirm: Save = lambda: edit(video, bob, "event.update", lost.id, 1, status="confirmed")  # noqa: E731
    during(monkeypatch, acceptance, "plan", [confirm])
    job = do(services.request_acceptance(run=layer, user=bob), accepting.work)
    assert job.state == "failed" and "1 more edits no longer fit" in job.error
    layer.refresh_from_db()
    assert layer.state == "layer" and len(layer.report["conflicts"]) == before + 1  # kept, to be looked at
    job = do(services.request_acceptance(run=layer, user=bob), accepting.work)
    assert job.state == "done"


@pytest.mark.parametrize("edited", [False, True])
def test_saves_go_on_while_perception_writes_its_run(
    video: Video, bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: bool
) -> None:
    """Nobody has edited anything, or somebody does so just then: the run waits after all."""

    def look(attempt: attempt.Attempt, video: Video, folder: Path) -> dict[str, Any]:
        return write_run_folder(folder, frames=FRAMES, first_track=40)

    monkeypatch.setattr(perceiving, "look", look)
    job = services.request_perception(video=video, user=bob)
    saves = [correct(video, bob, Person.objects.get(video=video, number=0), 100), note(video, bob, 3)]
    calls = during(monkeypatch, acceptance, "plan", saves if edited else [])
    assert do(job, perceiving.work).state == "done"
    run = Run.objects.get(id=job.parameters["run"])
    assert calls == [2 if edited else 1]
    assert run.state == ("layer" if edited else "accepted")
    assert run.report["revision"] == Video.objects.get(id=video.id).revision - (0 if edited else 2)
