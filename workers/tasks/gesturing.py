"""Gestures: a detector over the video's shots, then its proposals with the job's end, in one short transaction.

Finished shots lie in the job's folder, so an attempt that starts over goes on after them. Where another run was
accepted meanwhile, who is where may be another matter altogether: everything is looked at again.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from celery import Task

from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Run
from workers.attempt import Attempt, run

RUNS = "runs"  # in the job's folder: ids of the runs beside whose files something was stored


@app.task(name="sightline.gestures", bind=True)
def find_gestures(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    from webapp.events import gesturing
    from webapp.events.derivation import Outdated

    while True:
        attempt.progress("gestures", 0.0)
        video = Video.objects.select_related("project", "blob", "run").get(jobs=attempt.job)
        snapshot = gesturing.Snapshot.of(video)
        found = look(attempt, video, snapshot.spans)

        def write(video: Video = video, snapshot: Any = snapshot, found: Any = found) -> dict[str, Any]:
            counts = gesturing.settle(
                video=video, snapshot=snapshot, about=found["detector"], gestures=found["gestures"], job=attempt.job
            )
            return {"counts": counts}

        try:
            return attempt.finish({name: found[name] for name in ("detector", "seconds", "spent", "notes")}, write)
        except Outdated:
            attempt.say("Another run was accepted meanwhile; gestures are looked for again.")


def look(attempt: Attempt, video: Video, spans: dict[int, list[tuple[int, int, int]]]) -> dict[str, Any]:
    """What the detector finds, kept with the run's files."""
    from ml.media.files import write_json
    from ml.media.index import FrameIndex
    from ml.perception.gestures import registry
    from ml.perception.gestures.protocol import Footage
    from ml.perception.gestures.run import detect, people_of
    from ml.perception.sightings import FILE as SIGHTINGS

    run_row, name = video.run, attempt.job.parameters["detector"]
    if run_row is None or video.blob is None or not video.has_pixels:
        raise Refused("Gestures need a video with pictures and an accepted run.", "video")
    try:
        detector = registry.load(name)
    except ValueError as error:  # what is configured is not enough
        raise Refused(str(error), "detector") from error
    shots = [(shot["start"], shot["end"]) for shot in run_row.manifest["shots"]]
    with (
        storage.local(video.blob.original) as path,
        storage.local(f"{video.blob.folder}/frames.npz") as frames,
        storage.local(f"{run_row.folder}/samples.parquet") as samples,
        storage.local_if_there(f"{run_row.folder}/{SIGHTINGS}") as sightings,
    ):
        index = FrameIndex.load(frames)
        footage = Footage(path, index, video.width, video.height, shots, people_of(samples, spans))
        found = detect(
            footage=footage, detector=detector, work=attempt.folder / "gestures", sha256=video.blob.sha256,
            sightings=sightings, progress=attempt.progress,
        )  # fmt: skip
    folder = attempt.folder / "result"
    folder.mkdir(exist_ok=True)
    if (made := attempt.folder / "gestures" / SIGHTINGS).exists():  # what the masks need not look for again
        shutil.copyfile(made, folder / SIGHTINGS)
    write_json(folder / f"gestures-{name}.json", found)
    with (attempt.folder / RUNS).open("a") as said:
        said.write(f"{run_row.id}\n")
    storage.put_folder(folder, run_row.folder)
    return {**found, "spent": found["counts"]}


def tidy(job: Job | None, folder: Path) -> None:
    """Of a run that was erased while its gestures were stored nothing is left."""
    said = folder / RUNS
    for id in said.read_text().split() if said.exists() else ():
        if not Run.objects.filter(id=id).exists():
            storage.delete_tree(f"runs/{id}")
