"""Import: a local copy with its sha256, everything `ml.media` makes of it, then the video and its blob in one step."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from celery import Task

from ml.media.files import write_whole
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library import services
from webapp.library.models import Blob, Upload, Video
from workers.attempt import Attempt, run

PIECE = 4 << 20


@app.task(name="sightline.import", bind=True)
def import_video(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    from ml.media.importer import prepare

    job = attempt.job
    video = Video.objects.select_related("project").get(jobs=job)
    original, sha256 = fetch(attempt)
    twin = services.twin_of(project=video.project, sha256=sha256, but=video)
    if twin is not None:
        raise services.AlreadyHere(twin)
    made = attempt.folder / "made"
    size, suffix = original.stat().st_size, job.parameters["suffix"]

    def write() -> None:
        facts: dict[str, Any] = {}
        files: list[tuple[Path, str]] = []
        services.blob_lock(sha256)
        if not Blob.objects.filter(sha256=sha256, ready=True).exists():  # else the files of another import are used
            if not (made / "import.json").exists():
                raise Refused("The other video of this file was deleted just now; import the file again.", "file")
            facts = json.loads((made / "import.json").read_text())
            files = [(original, f"original{suffix}")] + [(p, p.name) for p in sorted(made.glob("*")) if keep(p)]
        blob = services.register_blob(sha256=sha256, size=size, suffix=suffix, facts=facts, files=files)
        if Video.objects.select_for_update(no_key=True).filter(id=video.id).first() is None:
            attempt.hold()  # the job went with its video: this says so
        services.finish_import(video=video, sha256=sha256, size=size, suffix=suffix, facts=blob.facts)

    if not Blob.objects.filter(sha256=sha256, ready=True).exists():
        prepare(original, made, attempt.progress)
    attempt.progress("store", 0.0)
    attempt.finish({"sha256": sha256, "bytes": size}, write)


def tidy(job: Job | None, folder: Path) -> None:
    """After an import: what was brought only for it goes; after one that ended otherwise, what it began to store."""
    mark = folder / "sha256"
    if job is not None and job.state == Job.State.DONE:
        clear_source(job.parameters)
    elif mark.exists():
        services.erase_unclaimed(sha256=mark.read_text())


def fetch(attempt: Attempt) -> tuple[Path, str]:
    """The original in the attempt's folder, and its sha256. A copy that an earlier attempt completed is used again."""
    parameters = attempt.job.parameters
    copy, mark = attempt.folder / f"original{parameters['suffix']}", attempt.folder / "sha256"
    if mark.exists() and copy.exists():
        return copy, mark.read_text()
    if "stored" in parameters:
        with storage.local(parameters["stored"]) as source:
            sha256 = copy_and_hash(source, copy, attempt)
    else:
        source = Path(parameters["path"])
        if not source.is_file():
            raise Refused(f"The file {source} is not there.", "path")
        sha256 = copy_and_hash(source, copy, attempt)
    write_whole(mark, sha256.encode())
    return copy, sha256


def copy_and_hash(source: Path, target: Path, attempt: Attempt) -> str:
    digest, total, done = hashlib.sha256(), max(1, source.stat().st_size), 0
    with source.open("rb") as reader, target.open("wb") as writer:
        while piece := reader.read(PIECE):
            attempt.progress("copy", done / total)
            digest.update(piece)
            writer.write(piece)
            done += len(piece)
    attempt.progress("copy", 1.0)
    return digest.hexdigest()


def clear_source(parameters: dict[str, Any]) -> None:
    """Remove what was brought only for this import: an upload, or a copy in the store."""
    if "upload" in parameters:
        for upload in Upload.objects.filter(id=parameters["upload"]):
            services.upload_path(upload).unlink(missing_ok=True)
            if "stored" in parameters:  # with copies that killed requests began
                storage.delete_tree(services.arrival(upload))
    if "stored" in parameters:
        storage.delete_tree(parameters["stored"])


def keep(path: Path) -> bool:
    """Whether a file of the import's folder belongs to the blob; facts.json is import.json before its time."""
    return path.is_file() and path.name != "facts.json"
