"""Perception: a run folder by `ml.perception`, its display files, then the run and its events in one step.

The run's id is fixed when the job is made, so an attempt that starts over writes the same run. The first run of a video
is accepted at once, and so is a later one while nobody has edited anything; otherwise it waits as a layer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Task

from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Run
from workers.attempt import Attempt, run

MASKS = "masks.parquet"  # of a profile that follows people by their masks


@app.task(name="sightline.perceive", bind=True)
def perceive(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    job = attempt.job
    video = Video.objects.select_related("project", "blob").get(jobs=job)
    if video.blob is None or not video.has_pixels:
        raise Refused("Perception needs a video with pictures.", "video")
    folder = attempt.folder / "run"
    folder.mkdir(exist_ok=True)
    manifest = look(attempt, video, folder)
    attempt.progress("events", 0.0)
    settle(attempt, video, manifest, folder)


def look(attempt: Attempt, video: Video, folder: Path) -> dict[str, Any]:
    """Everything that looks at pictures, and the files the page draws from; returns what run.json holds.

    An attempt that starts over goes on where the last one was: perception keeps its finished pieces in the folder.
    """
    from ml.media.index import FrameIndex
    from ml.perception.pipeline import Options
    from ml.perception.pipeline import perceive as perceive_file
    from ml.social.display import write_display

    assert video.blob is not None
    wanted = attempt.job.parameters
    options = Options(
        profile=wanted["profile"],
        rate=wanted["rate"],
        tracking_rate=wanted.get("tracking_rate"),
        identity=video.project.link_identities,
    )
    with storage.local(video.blob.original) as path, storage.local(f"{video.blob.folder}/frames.npz") as frames:
        index = FrameIndex.load(frames)
        manifest = perceive_file(
            video=path, index=index, out=folder, options=options, progress=attempt.progress, sha256=video.blob.sha256
        )
    attempt.progress("display", 0.0)
    if (folder / MASKS).exists():
        from ml.media import masks
        from workers.tasks.masking import write_for_pages

        write_for_pages(folder, masks.read(folder / MASKS))
    aspect = video.width / video.height
    ends = {track["track"]: track["end"] for track in manifest["tracks"]}
    write_display(
        folder, folder / "samples.parquet", seconds=index.seconds, frames=index.frames, aspect=aspect, track_ends=ends
    )
    return manifest


def settle(attempt: Attempt, video: Video, manifest: dict[str, Any], folder: Path) -> None:
    """Store the run's files and work out its events; then its rows, with the job's end, in one short transaction."""
    from webapp.tracks import acceptance, masking
    from webapp.tracks import services as tracks

    job, run_id, profile = attempt.job, UUID(attempt.job.parameters["run"]), attempt.job.parameters["profile"]
    storage.put_folder(folder, f"runs/{run_id}")

    def write(piece: Callable[[], None]) -> None:
        def both() -> None:
            Video.objects.select_for_update(no_key=True).get(id=video.id)  # before any row below it, as edits do
            tracks.add_run(
                run_id=run_id,
                video=video,
                job=job,
                profile=profile,
                origin="perception",
                manifest=manifest,
                folder=None,
            )
            if (folder / MASKS).exists():
                masking.note_masks(run_id=run_id, about=json.loads((folder / "masks.json").read_text()))
            piece()

        attempt.finish({"run": str(run_id), "gaze_samples": manifest["gaze_samples"]}, both)

    run = Run(id=run_id, video=video, profile=profile, manifest=manifest)
    acceptance.settle(run=run, user=None, write=write)


def tidy(job: Job | None, folder: Path) -> None:
    """A run that did not come to be leaves no files."""
    if job is not None and not Run.objects.filter(id=job.parameters["run"]).exists():
        storage.delete_tree(f"runs/{job.parameters['run']}")
