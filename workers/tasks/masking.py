"""Masks of people at the samples of the accepted run, stored with the run's files.

Finished pieces lie in the job's folder, so an attempt that starts over goes on after them. Where another run was
accepted meanwhile, masks are made for that one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from celery import Task

from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Run
from workers.attempt import Attempt, run

if TYPE_CHECKING:
    from ml.evidence.grounding.protocol import Masks

RUNS = "runs"  # in the job's folder: ids of the runs beside whose files something was stored


@app.task(name="sightline.masks", bind=True)
def make_masks(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    from webapp.tracks import masking

    while True:
        attempt.progress("masks", 0.0)
        video = Video.objects.select_related("project", "blob", "run").get(jobs=attempt.job)
        if video.run is None or video.blob is None or not video.has_pixels:
            raise Refused("Masks need a video with pictures and an accepted run.", "video")
        run_id = video.run.id
        about = look(attempt, video, video.run)

        def write(video: Video = video, run_id: UUID = run_id, about: Any = about) -> dict[str, Any]:
            return {"counts": masking.settle(video=video, run_id=run_id, about=about)}

        try:
            return attempt.finish({name: about[name] for name in ("masker", "seconds", "notes")}, write)
        except masking.Outdated:
            attempt.say("Another run was accepted meanwhile; masks are made for that one.")


def look(attempt: Attempt, video: Video, wanted: Run) -> dict[str, Any]:
    """Make the masks of a run and store them with its files; returns what masks.json holds."""
    from ml.media import masks as packed
    from ml.media.index import FrameIndex
    from ml.perception.masks.run import FILE, make
    from ml.perception.sightings import FILE as SIGHTINGS

    assert video.blob is not None
    folder = attempt.folder / f"result-{wanted.id}"
    folder.mkdir(exist_ok=True)
    with (
        storage.local(video.blob.original) as path,
        storage.local(f"{video.blob.folder}/frames.npz") as frames,
        storage.local(f"{wanted.folder}/samples.parquet") as samples,
        storage.local_if_there(f"{wanted.folder}/{SIGHTINGS}") as sightings,
    ):
        about = make(
            video=path,
            index=FrameIndex.load(frames),
            shots=[(shot["start"], shot["end"]) for shot in wanted.manifest["shots"]],
            samples=samples,
            out=folder,
            work=attempt.folder / f"masks-{wanted.id}",
            sha256=video.blob.sha256,
            sightings=sightings,
            progress=attempt.progress,
        )
    masks = packed.read(folder / FILE)
    write_for_pages(folder, masks)
    with (attempt.folder / RUNS).open("a") as said:
        said.write(f"{wanted.id}\n")
    storage.put_folder(folder, wanted.folder)
    return about


def write_for_pages(folder: Path, masks: Masks) -> None:
    """The blocks of `webapp.tracks.masks` beside a packed file of tracks."""
    from webapp.tracks.masks import write_blocks

    write_blocks(folder, frame=masks.frame, track=masks.object, score=masks.score, box=masks.box, counts=masks.counts)


def person_masks_of(run: Run, spans: dict[int, list[tuple[int, int, int]]], folder: Path) -> Path | None:
    """The masks of a run by person number, as a packed file in `folder`; None where the run has none.

    `spans`: raw track -> (start, end, number), as `webapp.events.gesturing.Snapshot` has them.
    """
    from ml.media import masks as packed
    from ml.perception.masks.run import FILE, by_person

    if not run.masks:
        return None
    with storage.local(f"{run.folder}/{FILE}") as path:
        masks, about = packed.read(path), packed.meta(path)
    target = folder / f"person-{FILE}"
    packed.write(target, by_person(masks, spans), about)
    return target


def tidy(job: Job | None, folder: Path) -> None:
    """Of a run that was erased while its masks were stored nothing is left."""
    said = folder / RUNS
    for id in said.read_text().split() if said.exists() else ():
        if not Run.objects.filter(id=id).exists():
            storage.delete_tree(f"runs/{id}")
