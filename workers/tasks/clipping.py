"""Cutting a clip: the two files in the job's folder, then in the store, then the word that they are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Task

from webapp.bench.models import Clip
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.jobs.services import LIVE
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Run
from workers.attempt import Attempt, run

FILES = ("frames.npz", "clip.mp4")  # in the order they are stored: the clip itself says that all is there


@app.task(name="sightline.clip", bind=True)
def cut_clip(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    from ml.media.clips import cut
    from ml.media.index import FrameIndex
    from webapp.bench.clips import finish_clip

    wanted = attempt.job.parameters
    video = Video.objects.select_related("blob").get(jobs=attempt.job)
    clip = Clip.objects.filter(id=wanted["clip"]).first()
    if clip is None or video.blob is None:
        raise Refused("The clip is not wanted any more.", "clip")
    if clip.ready:
        return attempt.finish({"clip": str(clip.id)})
    with storage.local(video.blob.original) as source, storage.local(f"{video.blob.folder}/frames.npz") as times:
        index = FrameIndex.load(times)
        facts = cut(
            source,
            index,
            clip.start,
            clip.end,
            clip.rendering,
            attempt.folder,
            tracks=tracks(video, wanted, index) if wanted["seen_by"] else None,
            person_map=clip.person_map,
            blur=clip.blur_faces,
            progress=attempt.progress,
        )
    attempt.progress("store", 0.0)
    for name in FILES:
        storage.put(attempt.folder / name, f"{clip.folder}/{name}")
    clip_id = clip.id

    def write() -> None:
        # the video before any row below it, as deletions lock them
        there = Video.objects.select_for_update(no_key=True).filter(id=video.id).first()
        if there is None or not finish_clip(clip_id=clip_id, facts=facts):
            attempt.hold()  # the job went with its video: this says so
            raise Refused("The clip is not wanted any more.", "clip")

    attempt.finish({"clip": str(clip.id), "bytes": facts["bytes"], "warnings": facts["warnings"]}, write)


def tracks(video: Video, wanted: dict[str, Any], index: Any) -> Any:
    """Who is where, as it was when the clip was asked for."""
    import pyarrow.parquet as pq

    from ml.media.tags import COLUMNS, REACH, Tracks

    seen_by = Run.objects.filter(id=UUID(wanted["seen_by"])).first()
    if seen_by is None:
        raise Refused("The run that says who is where is gone; ask for the clip again.", "run")
    with storage.local(f"{seen_by.folder}/samples.parquet") as path:
        table = pq.read_table(path, columns=COLUMNS)
    columns = {name: table[name].to_numpy() for name in COLUMNS}
    pieces = [(int(track), int(start), int(end), str(person)) for track, start, end, person in wanted["tracklets"]]
    reach_s = REACH / float(seen_by.manifest["rate"])
    return Tracks.from_samples(columns, pieces, seconds=index.seconds, cuts=video.shots, reach_s=reach_s)


def tidy(job: Job | None, folder: Path) -> None:
    """A clip that did not come to be leaves no files; what another job has begun to store is that job's."""
    if job is None:
        return
    others = Job.objects.filter(kind="clip", state__in=LIVE, parameters__clip=job.parameters["clip"]).exclude(id=job.id)
    if not others.exists() and not Clip.objects.filter(id=job.parameters["clip"], ready=True).exists():
        storage.delete_tree(f"clips/{job.parameters['recipe']}")
