"""Files of very many responses: a job places them and writes them, while nobody waits.

The file lies in the store until the job is done or cancelled; after a failure it stays for another try, a week at most.
What the job does is in `workers.tasks.importing_responses`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from webapp.accounts.models import User
from webapp.audit import services
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library.models import Project

KIND = "import-responses"
HOW = (
    "source",
    "name",
    "summariser",
    "grounder",
    "raters",
    "deletion",
)  # for `create_large`
FORGOTTEN = timedelta(days=7)


def request_import(
    *,
    path: Path,
    shown: str,
    source: str,
    project: Project,
    user: User | None,
    name: str,
    summariser: str,
    grounder: str,
    raters: int,
    deletion: bool,
) -> Job:
    """Queue the import of this file, called `shown` by its owner; the audit is there once all of it is in.

    Asked again for the same while that job waits or runs, it is the same job. Raises Refused.
    """
    services.check_choices(summariser=summariser, grounder=grounder, raters=raters, deletion=deletion)
    services.need_set_up(summariser=summariser, grounder=grounder)
    name = services.checked_name(name)
    forget_old(project=project)
    stored = f"imports/{uuid4()}/{path.name}"
    storage.put(path, stored)
    how: dict[str, Any] = {"source": source, "summariser": summariser, "grounder": grounder}
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(id=project.id)
        same = {f"parameters__{key}": value for key, value in how.items()}
        live = Job.objects.filter(project=project, kind=KIND, state__in=jobs.LIVE, **same).first()
        if live is None:
            how |= {"name": name, "raters": raters, "deletion": deletion, "shown": shown, "stored": stored}
            return jobs.create(project=project, kind=KIND, queue="cpu", parameters=how, user=user)
    drop(stored)
    return live


def drop(stored: str) -> None:
    """Remove a stored file, with its folder."""
    storage.delete_tree(stored.rpartition("/")[0])


def forget_old(*, project: Project) -> None:
    """Remove the files of imports that failed a week ago and that nobody tried again."""
    failed = Job.objects.filter(project=project, kind=KIND, state=Job.State.FAILED)
    for job in failed.filter(ended__lt=timezone.now() - FORGOTTEN).exclude(parameters__stored=""):
        drop(job.parameters["stored"])
        Job.objects.filter(id=job.id).update(parameters=job.parameters | {"stored": ""})


def under_way(project: Project) -> list[Job]:
    """Imports that wait or run, oldest first."""
    return list(Job.objects.filter(project=project, kind=KIND, state__in=jobs.LIVE).order_by("created"))


def last_failed(project: Project) -> Job | None:
    """The newest import, where it failed, until it is forgotten."""
    last = Job.objects.filter(project=project, kind=KIND).order_by("-created").first()
    if last is None or last.state != Job.State.FAILED or last.ended is None:
        return None
    return last if last.ended > timezone.now() - FORGOTTEN else None


def names(found: Iterable[Job]) -> dict[UUID, str]:
    """What these jobs bring in."""
    return {job.id: job.parameters["shown"] for job in found}
