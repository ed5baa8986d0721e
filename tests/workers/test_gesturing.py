"""The gestures task: from a detector's shots to proposals, and every way in which that can end. The test is the worker.

The detector is a scripted one; the rules themselves are tested on figures, and on footage in the long tests.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.db import transaction

from ml.perception.gestures import registry
from ml.perception.gestures.protocol import Footage, Found, Gesture, Share
from ml.weights.cache import MissingWeights
from tests.webapp.runs import make_filmed_video, write_run_folder
from webapp.events.gesturing import request_gestures
from webapp.events.models import Event
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library.models import Project, Video
from webapp.library.services import delete_video
from webapp.tracks import acceptance, services
from webapp.tracks.models import Run
from workers import attempt
from workers.tasks import gesturing

FRAMES = 500
CANCEL_S = 10.0


class Scripted:
    """Persons 0 and 1 of each shot: the first points at the second. Does what `during` says on the way."""

    name: ClassVar[str] = "rules"
    version: ClassVar[str] = "9"
    weights: ClassVar[tuple[str, ...]] = ()
    origin: ClassVar[str] = "rule"
    during: ClassVar[Callable[[Share], None]] = staticmethod(lambda share: None)
    shots: ClassVar[list[int]] = []

    def __init__(self, weights: Path | None = None) -> None:
        pass

    def settings(self) -> dict[str, Any]:
        return {"least": 0.5}

    def detect(self, footage: Footage, shot: int, *, work: Path, progress: Share) -> Found:
        Scripted.shots.append(shot)
        progress(0.1)
        Scripted.during(progress)
        start, end = footage.shots[shot]
        first, second = footage.people.during(start, end).persons[:2]
        box = (0.1, 0.2, 0.3, 0.9)
        found = Gesture("pointing", start + 10, end - 10, first, "person", second, "", box, 0.8, {"hand": "left"})
        return Found([found], {"coarse": 1.0, "fine": 0.5}, {"looks": 5}, ["A note."])


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    """Two shots of four people; the scripted detector in the place of the rules."""
    monkeypatch.setattr(broker, "send", lambda **_: True)
    monkeypatch.setitem(registry.DETECTORS, "rules", ("tests.workers.test_gesturing", "Scripted"))
    monkeypatch.setattr(Scripted, "during", staticmethod(lambda share: None))
    monkeypatch.setattr(Scripted, "shots", [])
    made = make_filmed_video(project, FRAMES)
    assert made.blob is not None
    storage_path = storage.local_path(made.blob.original)
    assert storage_path is not None
    storage_path.write_bytes(b"nobody reads it")
    accept(made, tmp_path / "first")
    return Video.objects.get(id=made.id)


def accept(video: Video, folder: Path, **scene: Any) -> Run:
    manifest = write_run_folder(folder, frames=FRAMES, **scene)
    manifest["shots"] = [manifest["shots"][0] | {"start": a, "end": b} for a, b in ((0, 200), (200, FRAMES))]
    about: dict[str, Any] = {"job": None, "profile": "embedded", "origin": "perception"}
    run = services.add_run(run_id=uuid.uuid4(), video=video, manifest=manifest, folder=folder, **about)
    assert acceptance.settle(run=run, user=None)
    return run


def do(video: Video) -> Job:
    job = request_gestures(video=video, user=None)
    attempt.run(str(job.id), "here@elsewhere", gesturing.work, gesturing.tidy)
    job.refresh_from_db()
    return job


def proposals(video: Video) -> list[tuple[str, int, int, list[int]]]:
    found = Event.objects.filter(video=video, modality="gesture").order_by("start")
    return [
        (e.type, e.start, e.end, [p.person.number for p in e.participations.order_by("role")]) for e in found
    ]  # fmt: skip


def test_gestures_become_proposals_with_their_cost(video: Video) -> None:
    job = do(video)
    assert (job.state, job.error) == ("done", "")
    assert proposals(video) == [("pointing", 10, 190, [0, 1]), ("pointing", 210, 490, [0, 1])]
    assert job.result["counts"] == {"added": 2, "changed": 0, "removed": 0, "attached": 0}
    assert job.result["seconds"] == {"coarse": 2.0, "fine": 1.0} and job.result["spent"] == {"looks": 10}
    assert job.result["detector"]["settings"] == {"least": 0.5} and job.result["notes"] == ["A note."] * 2
    assert video.run is not None
    stored = storage.local_path(f"{video.run.folder}/gestures-rules.json")
    assert stored is not None and len(json.loads(stored.read_text())["gestures"]) == 2


def test_a_second_run_changes_nothing(video: Video) -> None:
    do(video)
    before = list(Event.objects.filter(video=video).order_by("id").values_list("id", "version"))
    job = do(video)
    assert not any(job.result["counts"].values())
    assert list(Event.objects.filter(video=video).order_by("id").values_list("id", "version")) == before


def test_a_cancel_is_heard_within_ten_seconds_and_leaves_nothing(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def slowly(progress: Share) -> None:
        while True:
            if not asked:
                asked.append(time.monotonic())
                jobs.cancel(job=Job.objects.get(kind="gestures"), user=None)
            time.sleep(0.3)  # as one look takes
            progress(0.5)

    monkeypatch.setattr(Scripted, "during", staticmethod(slowly))
    job = do(video)
    assert time.monotonic() - asked[0] < CANCEL_S
    assert job.state == "cancelled" and proposals(video) == []


def test_an_attempt_that_starts_over_goes_on_after_the_finished_shots(
    video: Video, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die_in_the_second(progress: Share) -> None:
        if Scripted.shots == [0, 1]:
            raise attempt.ClaimLost("as a killed worker's would be")

    monkeypatch.setattr(Scripted, "during", staticmethod(die_in_the_second))
    job = do(video)
    assert job.state == "running"  # nobody's now
    with transaction.atomic():
        jobs.release(job=Job.objects.select_for_update().get(id=job.id), reason="The worker died.")
    attempt.run(str(job.id), "here@elsewhere", gesturing.work, gesturing.tidy)
    job.refresh_from_db()
    assert job.state == "done" and len(proposals(video)) == 2
    assert Scripted.shots == [0, 1, 1]


def test_a_run_accepted_meanwhile_is_looked_at_anew(
    video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(progress: Share) -> None:
        if Scripted.shots == [0]:
            accept(video, tmp_path / "second", people=3, first_track=40)

    monkeypatch.setattr(Scripted, "during", staticmethod(once))
    job = do(video)
    video.refresh_from_db()
    assert job.state == "done" and Scripted.shots == [0, 1, 0, 1]
    found = Event.objects.filter(video=video, modality="gesture")
    assert set(found.values_list("machine__run", flat=True)) == {str(video.run_id)}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MissingWeights("The model weights x.onnx are missing."), "weights"),
        (ValueError("No endpoint is set."), "input"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(
    error: Exception, reason: str, video: Video, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Scripted, weights: Path | None = None) -> None:
        raise error

    monkeypatch.setattr(Scripted, "__init__", fail)
    job = do(video)
    assert (job.state, job.error, job.result["reason"]) == ("failed", str(error), reason)
    assert proposals(video) == []


def test_nothing_is_stored_beside_a_run_that_is_erased_meanwhile(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.objects.get(video=video)
    put = storage.put_folder

    def late(folder: Path, name: str) -> None:
        delete_video(video=video)
        put(folder, name)

    monkeypatch.setattr(storage, "put_folder", late)
    job = request_gestures(video=video, user=None)
    assert attempt.run(str(job.id), "here@elsewhere", gesturing.work, gesturing.tidy) == "gone"
    there = storage.local_path(run.folder)
    assert there is not None and not there.exists()
