"""Perception: a run folder by `ml.perception`, its display files, then the run and its events in one step.

The run's id is fixed when the job is made, so an attempt that starts over writes the same run. The first run of a video
is accepted at once, and so is a later one while nobody has edited anything; otherwise it waits as a layer.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from uuid import UUID

from celery import Task

from webapp.events import derivation
from webapp.events.models import Edit
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks import acceptance
from webapp.tracks import services as tracks
from workers.attempt import Attempt, run


@app.task(name="sightline.perceive", bind=True)
def perceive(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work)


def work(attempt: Attempt) -> None:
    job = attempt.job
    video = Video.objects.select_related("project", "blob").get(jobs=job)
    if video.blob is None or not video.has_pixels:
        raise Refused("Perception needs a video with pictures.", "video")
    folder = attempt.folder / "run"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        look(attempt, video, folder)
        (folder / "complete").touch()
    attempt.progress("events", 0.0)
    manifest = json.loads((folder / "run.json").read_text())
    result = {"run": job.parameters["run"], "gaze_samples": manifest["gaze_samples"]}
    attempt.finish(result, lambda: store(video.id, job, folder))


def look(attempt: Attempt, video: Video, folder: Path) -> None:
    """Everything that looks at pictures, and the files the page draws from."""
    from ml.perception.pipeline import perceive as perceive_file
    from ml.social.display import write_display

    from ml.media.index import FrameIndex

    assert video.blob is not None
    parameters = attempt.job.parameters
    with storage.local(video.blob.original) as path, storage.local(f"{video.blob.folder}/frames.npz") as frames:
        index = FrameIndex.load(frames)
        perceive_file(
            path,
            folder,
            index=index,
            profile=parameters["profile"],
            rate=parameters["rate"],
            identity=video.project.link_identities,
            sha256=video.blob.sha256,
            progress=attempt.progress,
        )
    attempt.progress("display", 0.0)
    write_display(folder, folder / "samples.parquet", index.seconds, index.frames, video.width / video.height)


def store(video_id: UUID, job: Job, folder: Path) -> None:
    """The run with its events, in the transaction that ends the job."""
    video = Video.objects.select_for_update().get(id=video_id)
    (folder / "complete").unlink(missing_ok=True)
    manifest = json.loads((folder / "run.json").read_text())
    added = tracks.add_run(
        run_id=UUID(job.parameters["run"]),
        video=video,
        job=job,
        profile=job.parameters["profile"],
        origin="perception",
        manifest=manifest,
        folder=folder,
    )
    tracks.save_report(run=added, plan=acceptance.plan(video=video, run=added), revision=video.revision)
    if video.run is not None and Edit.objects.filter(video=video, user__isnull=False).exists():
        return
    tracks.accept_run(run=added, user=None)
    found = derivation.compute(video=video, job=job, preset="strict", min_confidence=None)
    derivation.apply(derivation=found, user=None)
