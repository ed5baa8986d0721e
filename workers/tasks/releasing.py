"""Cutting a release: freeze, lint and describe what is accepted, then write rows and files in one step."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from celery import Task

from webapp.bench.models import Release
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from workers.attempt import Attempt, run

NAMESPACE = uuid.UUID("3a0f4c1e-55f1-4c63-9c5e-3f0a6a4a8a51")
ARCHIVE = "metadata.zip"


@app.task(name="sightline.release", bind=True)
def cut_release(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def release_id(job: Job) -> uuid.UUID:
    """The release's id is its job's, so that what a killed attempt stored is found again."""
    return uuid.uuid5(NAMESPACE, str(job.id))


def work(attempt: Attempt) -> None:
    from webapp.bench import releases
    from webapp.exchange import release_folder

    job, wanted = attempt.job, attempt.job.parameters
    id = release_id(job)
    try:
        made = releases.draft(
            project=job.project,
            notes=wanted["notes"],
            names=wanted["names"],
            shares=wanted["shares"],
            progress=attempt.progress,
        )
    except releases.NothingNew as same:
        if not wanted["or_last"]:
            raise
        return attempt.finish(told(same.before) | {"new": False})
    attempt.progress("write", 0.0)
    archive = attempt.folder / ARCHIVE
    archive.write_bytes(release_folder.pack(release_folder.metadata(release_folder.content_of_draft(made))))
    attempt.progress("store", 0.0)
    storage.put(archive, f"releases/{id}/{ARCHIVE}")

    def write() -> dict[str, Any]:
        return told(releases.keep(made=made, user=job.created_by, id=id))

    attempt.finish({"new": True, "items": len(made.items), "bytes": archive.stat().st_size}, write)


def told(release: Release) -> dict[str, Any]:
    return {"release": str(release.id), "number": release.number, "sha256": release.sha256}


def tidy(job: Job | None, folder: Path) -> None:
    """A release that did not come to be leaves no files."""
    if job is not None and not Release.objects.filter(id=release_id(job)).exists():
        storage.delete_tree(f"releases/{release_id(job)}")
