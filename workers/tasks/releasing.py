"""Cutting a release: freeze, lint and describe what is accepted, then write rows and files in one step. And writing the
archive of one that is there again, after an item was retired or withdrawn.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celery import Task
from django.core.files.storage import default_storage

from webapp.bench.models import Release
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from workers.attempt import Attempt, run

if TYPE_CHECKING:
    from webapp.exchange.release_folder import Content

NAMESPACE = uuid.UUID("3a0f4c1e-55f1-4c63-9c5e-3f0a6a4a8a51")
ARCHIVE = "metadata.zip"
ERASING_S = 60.0  # after which the old archive is replaced rather than waited for


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
    if "rewrite" in wanted:
        return rewrite(attempt)
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
    archive = store(attempt, release_folder.content_of_draft(made), id)

    def write() -> dict[str, Any]:
        return told(releases.keep(made=made, user=job.created_by, id=id))

    attempt.finish({"new": True, "items": len(made.items), "bytes": archive.stat().st_size}, write)


def store(attempt: Attempt, content: Content, id: uuid.UUID) -> Path:
    """Write the archive here, then into the store, where it replaces what is there in one step."""
    from webapp.exchange import release_folder

    archive = attempt.folder / ARCHIVE
    archive.write_bytes(release_folder.pack(release_folder.metadata(content)))
    attempt.progress("store", 0.0)
    storage.put(archive, f"releases/{id}/{ARCHIVE}")
    return archive


def rewrite(attempt: Attempt) -> None:
    """The archive from the rows as they are. Where the old one is being erased, that is waited for first."""
    from webapp.exchange import release_folder

    wanted = attempt.job.parameters
    release = Release.objects.select_related("project").filter(id=wanted["rewrite"]).first()
    if release is None:
        raise Refused("The release is no longer there.", "release")
    end = time.monotonic() + ERASING_S
    while wanted["erased"] and default_storage.exists(f"{release.folder}/{ARCHIVE}") and time.monotonic() < end:
        attempt.progress("wait", 0.0)
        time.sleep(0.5)
    attempt.progress("write", 0.0)
    content = release_folder.content_of(release)
    archive = store(attempt, content, release.id)
    while (now := release_folder.content_of(release)) != content:  # something was withdrawn or retired meanwhile
        content = now
        archive = store(attempt, content, release.id)
    attempt.finish(told(release) | {"bytes": archive.stat().st_size})


def told(release: Release) -> dict[str, Any]:
    return {"release": str(release.id), "number": release.number, "sha256": release.sha256}


def tidy(job: Job | None, folder: Path) -> None:
    """A release that did not come to be leaves no files."""
    if job is not None and "rewrite" not in job.parameters and not Release.objects.filter(id=release_id(job)).exists():
        storage.delete_tree(f"releases/{release_id(job)}")
