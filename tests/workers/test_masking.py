"""The masks task: from the accepted run's samples to files beside them, and every way in which that can end. The test
is the worker; the one who looks at pictures is scripted, the real one is tested with `ml`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from django.db import transaction

from ml.evidence.grounding.protocol import Masks
from ml.media import masks as packed
from ml.perception.masks import run as making
from ml.weights.cache import MissingWeights
from tests.webapp.runs import make_filmed_video, write_run_folder
from webapp.events.gesturing import Snapshot
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library.models import Project, Video
from webapp.library.services import delete_video
from webapp.tracks import acceptance, services
from webapp.tracks.masking import request_masks
from webapp.tracks.masks import masks_between
from webapp.tracks.models import Run
from workers import attempt
from workers.tasks import masking

FRAMES, SIZE = 500, (36, 64)
CANCEL_S = 10.0


class Scripted:
    """Everybody's mask is their box. Does what `during` says at each look."""

    during: ClassVar[Callable[[], None]] = staticmethod(lambda: None)
    looks: ClassVar[list[int]] = []

    def __init__(self, weights: Path | None = None) -> None:
        pass

    @staticmethod
    def describe() -> dict[str, Any]:
        return {"name": "scripted", "version": "3", "weights": {}, "settings": {"least": 0.5}}

    def look(
        self, bgr: Any, frame: int, persons: Any, body: Any, face: Any, score: Any = None, known: Any = None
    ) -> Masks:
        Scripted.looks.append(frame)
        Scripted.during()
        counts = [packed.of_box(box, SIZE) for box in body.tolist()]
        count = len(counts)
        return Masks(
            SIZE, np.full(count, "person"), persons, np.full(count, frame), persons, np.full(count, 0.9, np.float32),
            score, packed.boxes(counts, SIZE), packed.area(counts, SIZE), np.full(count, "mask"), counts,
        )  # fmt: skip


def pictures(path: Path, index: Any, frames: Any, **_: Any) -> Iterator[tuple[int, Any]]:
    for frame in frames:
        yield int(frame), np.zeros((*SIZE, 3), np.uint8)


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    """Two shots of four people, samples on every fifth frame."""
    monkeypatch.setattr(broker, "send", lambda **_: True)
    monkeypatch.setattr(making, "Masker", Scripted)
    monkeypatch.setattr(making, "read_frames", pictures)
    monkeypatch.setattr(making, "MAX_THREADS", 1)
    monkeypatch.setattr(Scripted, "during", staticmethod(lambda: None))
    monkeypatch.setattr(Scripted, "looks", [])
    made = make_filmed_video(project, FRAMES)
    assert made.blob is not None
    path = storage.local_path(made.blob.original)
    assert path is not None
    path.write_bytes(b"nobody reads it")
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
    job = request_masks(video=video, user=None)
    attempt.run(str(job.id), "here@elsewhere", masking.work, masking.tidy)
    job.refresh_from_db()
    return job


def test_masks_lie_with_the_run_and_pages_find_them(video: Video, tmp_path: Path) -> None:
    job = do(video)
    assert (job.state, job.error) == ("done", "")
    assert job.result["counts"] == {"frames": 100, "masks": 400, "persons": 4, "without": 0}
    assert job.result["masker"]["settings"] == {"least": 0.5}
    run = Run.objects.get(video=video, state="accepted")
    assert run.masks["size"] == list(SIZE)
    found = masks_between(Video.objects.select_related("run").get(id=video.id), 200, 206)
    assert found["frame"] == [200] * 4 + [205] * 4 and found["track"] == [0, 1, 2, 3] * 2
    stored = storage.local_path(f"{run.folder}/masks.parquet")
    assert stored is not None
    assert packed.picked(packed.read(stored), slice(0, 3)).frame.tolist() == [0, 5, 10]
    path = masking.person_masks_of(run, Snapshot.of(video).spans, tmp_path)
    assert path is not None
    assert (
        set(packed.read(path).person.tolist()) == set(range(4)) == set(video.persons.values_list("number", flat=True))
    )


def test_a_cancel_is_heard_within_ten_seconds_and_leaves_nothing(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(Scripted, "during", staticmethod(lambda: time.sleep(0.3)))  # as one look takes
    monkeypatch.setattr(attempt.Attempt, "progress", cancelling(attempt.Attempt.progress, asked))
    job = do(video)
    assert time.monotonic() - asked[0] < CANCEL_S
    assert job.state == "cancelled" and Run.objects.get(video=video, state="accepted").masks == {}


def cancelling(progress: Callable[..., None], asked: list[float]) -> Callable[..., None]:
    """The third report of progress asks for the end first, as somebody on a page would."""

    def report(self: Any, stage: str, share: float) -> None:
        if share > 0.02 and not asked:
            asked.append(time.monotonic())
            jobs.cancel(job=Job.objects.get(kind="masks"), user=None)
        progress(self, stage, share)

    return report


def test_an_attempt_that_starts_over_goes_on_after_the_finished_pieces(
    video: Video, monkeypatch: pytest.MonkeyPatch
) -> None:
    died: list[int] = []

    def die_in_the_second_shot() -> None:
        if Scripted.looks[-1] == 300 and not died:
            died.append(300)
            raise attempt.ClaimLost("as a killed worker's would be")

    monkeypatch.setattr(Scripted, "during", staticmethod(die_in_the_second_shot))
    job = do(video)
    assert job.state == "running"  # nobody's now
    with transaction.atomic():
        jobs.release(job=Job.objects.select_for_update().get(id=job.id), reason="The worker died.")
    attempt.run(str(job.id), "here@elsewhere", masking.work, masking.tidy)
    job.refresh_from_db()
    assert job.state == "done" and job.result["counts"]["masks"] == 400
    assert Scripted.looks.count(100) == 1 and Scripted.looks.count(250) == 2


def test_a_run_accepted_meanwhile_gets_the_masks(video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = storage.put_folder
    later: list[int] = []

    def accept_first(folder: Path, name: str) -> None:
        if name.startswith("runs/") and not later:
            later.append(1)
            accept(video, tmp_path / "second", people=3, first_track=40)
        put(folder, name)

    monkeypatch.setattr(storage, "put_folder", accept_first)
    job = do(video)
    video.refresh_from_db()
    assert job.state == "done" and job.result["counts"]["masks"] == 300
    assert Run.objects.get(video=video, state="accepted").masks["counts"]["persons"] == 3


def test_missing_weights_are_said_in_one_sentence(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Scripted, weights: Path | None = None) -> None:
        raise MissingWeights("The model weights selfie.onnx are missing.")

    monkeypatch.setattr(Scripted, "__init__", fail)
    job = do(video)
    assert (job.state, job.error) == ("failed", "The model weights selfie.onnx are missing.")


def test_nothing_is_stored_beside_a_run_that_is_erased_meanwhile(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.objects.get(video=video)
    put = storage.put_folder

    def late(folder: Path, name: str) -> None:
        delete_video(video=video)
        put(folder, name)

    monkeypatch.setattr(storage, "put_folder", late)
    job = request_masks(video=video, user=None)
    assert attempt.run(str(job.id), "here@elsewhere", masking.work, masking.tidy) == "gone"
    there = storage.local_path(run.folder)
    assert there is not None and not there.exists()
