"""A database, a broker or a disk that goes away in the middle of a job, and a message that comes twice."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from tests.clips import Clip, make
from tests.workers import whole
from tests.workers.conftest import Worker, in_stage, state, wait_for
from tests.workers.gates import WRITTEN, Gates
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library import services
from webapp.library.models import Blob, Project, Video
from webapp.tracks import services as tracks
from webapp.tracks.models import Run
from workers import attempt
from workers.tasks import importing

Pretend = Callable[..., Job]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return make("variable", tmp_path_factory.mktemp("clip"))


@contextmanager
def stopped(server: Any, seconds: float) -> Iterator[None]:
    """Stop a server; start it again that long after the block."""
    connection.close()
    server.stop()
    yield
    time.sleep(seconds)
    server.start()


def bring(project: Project, path: Path) -> tuple[Video, Job]:
    video = services.create_video(project=project, name="clip.mp4", user=None)
    return video, services.import_file(video=video, path=path)


@pytest.mark.parametrize(("stage", "share"), [("copy", 1.0), ("store", WRITTEN)])
def test_a_job_outlives_a_database_that_is_away_for_a_while(
    worker: Worker, project: Project, clip: Clip, gates: Gates, postgres: Any, stage: str, share: float
) -> None:
    """At "copy" the next look at the database is in the middle of the work, at "store" inside the last transaction."""
    gates.close(stage, share)
    video, job = bring(project, clip.path)
    wait_for(lambda: gates.reached(stage), 60, f"the stage {stage}")
    with stopped(postgres, 3.0):
        gates.open(stage)
    wait_for(lambda: state(job) in jobs.FINAL, 60, "the import")
    job.refresh_from_db()
    assert (job.state, job.error, job.attempts) == ("done", "", 1)
    assert whole.imported(video)["counts"] == (1, 1) and not whole.leftovers()


def test_queued_and_running_jobs_outlive_a_killed_broker(worker: Worker, pretend: Pretend, valkey: Any) -> None:
    running = pretend(["faces", 6.0])
    wait_for(in_stage(running, "faces"), 30, "the first job")
    waiting = pretend(["gaze", 0.2])
    valkey.process.kill()
    valkey.process.wait()
    late = pretend(["tracks", 0.2])  # made while the broker is away: its message is lost
    valkey.start()
    wait_for(lambda: state(running) == "done" and state(waiting) == "done", 60, "the two jobs")
    jobs.resend_waiting(older_than=-jobs.WAITING_LIMIT)  # as the reaper does, later
    wait_for(lambda: state(late) == "done", 60, "the job without a message")
    assert [Job.objects.get(id=job.id).attempts for job in (running, waiting, late)] == [1, 1, 1]


def test_a_second_delivery_while_the_job_runs_does_nothing(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["faces", 4.0])
    wait_for(in_stage(job, "faces"), 30, "the stage")
    job.refresh_from_db()

    def never(_: attempt.Attempt) -> None:
        raise AssertionError("two attempts at once")

    assert attempt.run(str(job.id), "other@elsewhere", never) == "running"
    assert attempt.scratch(job.id).is_dir()  # nobody cleared up behind the living attempt
    again = Job.objects.get(id=job.id)
    assert (again.claim, again.worker, again.attempts) == (job.claim, job.worker, 1)
    wait_for(lambda: state(job) == "done", 30, "the job")


# ---------------------------------------------------------------------------------------------------------------------
# A full disk: writing to /dev/full fails as writing to one does


def full_mkstemp(dir: Path, prefix: str, suffix: str) -> tuple[int, str]:
    name = Path(dir) / f"{prefix}full{suffix}"
    name.symlink_to("/dev/full")
    return os.open("/dev/full", os.O_WRONLY), str(name)


def fill_scratch(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt.scratch(job.id).mkdir(parents=True)
    (attempt.scratch(job.id) / "original.mp4").symlink_to("/dev/full")


def fill_pieces(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ml.media.files.mkstemp", full_mkstemp)
    monkeypatch.setattr(importing, "write_whole", lambda path, data: path.write_bytes(data))


def fill_store(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(path: Path, fresh: Path) -> bool:
        if fresh.name != ".proxy.mp4.new":
            return False
        fresh.symlink_to("/dev/full")
        return False

    monkeypatch.setattr("webapp.lib.storage._linked", link)


@pytest.mark.parametrize("fill", [fill_scratch, fill_pieces, fill_store])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    project: Project, clip: Clip, monkeypatch: pytest.MonkeyPatch, fill: Callable[[Job, pytest.MonkeyPatch], None]
) -> None:
    video = services.create_video(project=project, name="clip.mp4", user=None)
    parameters = {"suffix": ".mp4", "path": str(clip.path)}
    job = Job.objects.create(project=project, video=video, kind="import", queue="cpu", parameters=parameters)
    fill(job, monkeypatch)
    assert attempt.run(str(job.id), "here@elsewhere", importing.work, importing.tidy) == "failed"
    job.refresh_from_db()
    video.refresh_from_db()
    sentence = f"The disk that holds {settings.DATA} is full."
    assert (job.error, video.state, video.error) == (sentence, "failed", sentence)
    assert job.result == {"reason": "disk"} and not Blob.objects.exists() and not whole.leftovers()
    monkeypatch.undo()  # somebody makes room
    monkeypatch.setattr(broker, "send", lambda **_: True)  # and we are the worker
    jobs.retry(job=job, user=None)
    assert attempt.run(str(job.id), "here@elsewhere", importing.work, importing.tidy) == "done"
    assert whole.imported(video)["counts"] == (1, 1) and not whole.leftovers()


def test_a_full_disk_of_the_database_is_one_sentence(project: Project) -> None:
    job = Job.objects.create(project=project, kind="pretend", queue="cpu")

    def work(_: attempt.Attempt) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$")

    began = time.monotonic()
    assert attempt.run(str(job.id), "here@elsewhere", work) == "failed"
    assert time.monotonic() - began < 30  # it is not waited for as a database that is away
    assert Job.objects.get(id=job.id).error == "The database's disk is full."


def test_what_killed_jobs_began_to_store_is_erased_at_the_next_start(project: Project) -> None:
    blobs, runs = storage.local_path("blobs"), storage.local_path("runs")
    assert blobs is not None and runs is not None
    known, began, waits, fresh = uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    Blob.objects.create(sha256="a" * 64, bytes=1, ready=True)
    video = Video.objects.create(project=project, name="clip.mp4")
    Run.objects.create(id=known, video=video, profile="embedded")
    Job.objects.create(project=project, kind="perceive", queue="gpu", parameters={"run": str(waits)})
    for folder in (blobs / ("a" * 64), blobs / ("b" * 64), *(runs / str(r) for r in (known, began, waits, fresh))):
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
        os.utime(folder, (0, 0))
    os.utime(runs / str(fresh))  # may be on its way into the database
    services.erase_unregistered()
    tracks.erase_unregistered()
    assert {p.name for p in blobs.iterdir()} == {"a" * 64}
    assert {p.name for p in runs.iterdir()} == {str(known), str(waits), str(fresh)}
