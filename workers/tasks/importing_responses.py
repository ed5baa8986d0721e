"""A file of very many responses becomes an audit: all are placed first, then all are written in one transaction.

Placed ones lie in the job's folder in batches, so an attempt that starts over places the rest only. Until the last
one is written nobody sees any: a cancelled, killed or failed import leaves nothing behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Task
from django.core.files.storage import default_storage

from ml.formats import responses as format
from ml.formats.errors import FormatError
from ml.media.files import write_whole
from webapp.audit import importing, services
from webapp.audit.services import Draft, Made
from webapp.exchange import responses
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from workers.attempt import Attempt, run

BATCH = 500


@app.task(name="sightline.import-responses", bind=True)
def import_responses(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    told = attempt.job.parameters
    project = attempt.job.project
    folder = attempt.folder / "placed"
    folder.mkdir(exist_ok=True)
    if not told["stored"] or not default_storage.exists(told["stored"]):
        raise Refused("The file is not here any more; bring it in again.", "file")
    with storage.local(told["stored"]) as path:
        total = count(attempt, path, told["shown"])
        place(attempt, path, folder, project, told["shown"], total)
    files = sorted(folder.glob("*.jsonl"))
    videos = {tree["video"] for file in files for tree in trees(file)}

    def write() -> dict[str, Any]:
        how = {name: told[name] for name in importing.HOW}
        batches = drafts(attempt, files, videos)
        made = services.create_large(
            project=project, user=attempt.job.created_by, batches=batches, videos=videos, **how
        )
        if made.made:
            services.request_audit(audit=made.audit, user=attempt.job.created_by)
        return result(made)

    attempt.finish({}, write)


def result(made: Made) -> dict[str, Any]:
    return {"audit": str(made.audit.id), "number": made.audit.number, "made": made.made, "known": made.known}


def tidy(job: Job | None, folder: Path) -> None:
    """The file goes with a job that is done, cancelled or gone; a failed one keeps it, to be tried again."""
    if job is not None and job.state != Job.State.FAILED and job.parameters["stored"]:
        importing.drop(job.parameters["stored"])


def count(attempt: Attempt, path: Path, shown: str) -> int:
    """How many responses the file holds. Raises FormatError for one that is broken, or holds too many."""
    attempt.progress("read", 0.0)
    total = 0
    for total, _ in enumerate(format.read(path), 1):
        if total % BATCH == 0:
            attempt.progress("read", min(1.0, total / services.MOST_RESPONSES))
        responses.need_few(total, shown)
    return total


def place(attempt: Attempt, path: Path, folder: Path, project: Project, shown: str, total: int) -> None:
    """Place every response in its video, batch by batch; those that an earlier attempt placed are left. Raises
    FormatError with the first fault and how many there are."""
    homes, faults, found = responses.Homes(project), [], format.read(path)
    for first in range(1, total + 1, BATCH):
        attempt.progress("check", (first - 1) / total)
        batch, file = list(islice(found, BATCH)), folder / f"{first:06}.jsonl"
        if file.exists():
            continue
        placed, wrong = responses.placed(batch, homes, shown, first=first)
        faults += wrong
        if not wrong:
            write_whole(file, "".join(f"{json.dumps(tree_of(draft))}\n" for draft in placed).encode())
    if faults:
        raise responses.refusal(faults)


def drafts(attempt: Attempt, files: list[Path], videos: set[str]) -> Iterator[list[Draft]]:
    """The placed responses, batch by batch. Raises what `progress` raises, so that writing them can be cancelled."""
    homes = {str(video.id): video for video in Video.objects.filter(id__in=videos)}
    for done, file in enumerate(files):
        attempt.progress("write", done / len(files))
        yield [draft_of(tree, homes) for tree in trees(file)]


def trees(file: Path) -> Iterator[dict[str, Any]]:
    with file.open() as lines:
        yield from map(json.loads, lines)


def tree_of(draft: Draft) -> dict[str, Any]:
    fields = {name: getattr(draft, name) for name in Draft.__dataclass_fields__}
    return fields | {"video": str(draft.video.id), "clip": draft.clip and str(draft.clip)}


def draft_of(tree: dict[str, Any], homes: dict[str, Video]) -> Draft:
    if tree["video"] not in homes:
        raise FormatError("A video of these responses is gone.")
    return Draft(**tree | {"video": homes[tree["video"]], "clip": tree["clip"] and UUID(tree["clip"])})
