"""Reads of jobs, and the form in which pages and API show one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from webapp.accounts.models import User
from webapp.jobs.models import Job
from webapp.jobs.services import FINAL

LIMIT = 200


@dataclass(frozen=True)
class Subject:
    """What a job works on, where that is no video: its name, and the address of its page ("": none)."""

    name: str
    address: str


Namer = Callable[[Sequence[Job], User], Mapping[UUID, Subject]]
_namers: dict[str, Namer] = {}


def name_subjects(kinds: Iterable[str], namer: Namer) -> None:
    """Have a function say what jobs of these kinds work on, of those that the person may know of."""
    _namers.update(dict.fromkeys(kinds, namer))


def subjects_of(jobs: Iterable[Job], user: User) -> dict[UUID, Subject]:
    """What jobs without a video work on, as this person may know; one call of each namer."""
    asked: dict[Namer, list[Job]] = defaultdict(list)
    for job in jobs:
        if job.video_id is None and job.kind in _namers:
            asked[_namers[job.kind]].append(job)
    return {id: subject for namer, some in asked.items() for id, subject in namer(some, user).items()}


def rows(jobs: Iterable[Job], user: User) -> list[dict[str, Any]]:
    """Several jobs as `row` has them."""
    listed = list(jobs)
    subjects = subjects_of(listed, user)
    return [row(job, subjects.get(job.id)) for job in listed]


def of_projects(project_ids: list[UUID]) -> QuerySet[Job]:
    """Jobs of these projects, newest first, without their long texts."""
    found = Job.objects.filter(project_id__in=project_ids).select_related("video", "project", "created_by")
    return found.defer("log").order_by("-created")


def row(job: Job, subject: Subject | None = None) -> dict[str, Any]:
    """A job in lists and streams: what it works on, where it is, not what it logged."""
    return {
        "id": str(job.id),
        "kind": job.kind,
        "queue": job.queue,
        "project": str(job.project_id),
        "video": str(job.video_id) if job.video_id else None,
        "name": job.video.name if job.video else subject.name if subject else "",
        "state": job.state,
        "stage": job.stage,
        "share": round(job.share, 3),
        "stages": [{"stage": stage, "seconds": seconds} for stage, seconds in job.stages],
        "error": job.error,
        "attempts": job.attempts,
        "cancel_requested": job.cancel_requested,
        "created": job.created.isoformat(),
        "started": job.started.isoformat() if job.started else None,
        "ended": job.ended.isoformat() if job.ended else None,
        "seconds": seconds_of(job),
    }


def story(job: Job, user: User) -> dict[str, Any]:
    """One job with its log and result."""
    return rows([job], user)[0] | {"log": job.log, "result": job.result}


def seconds_of(job: Job) -> float | None:
    """Wall seconds of the last attempt so far; None before it began."""
    if job.started is None:
        return None
    return round(((job.ended or timezone.now()) - job.started).total_seconds(), 1)


def live_of(project_id: UUID) -> list[Job]:
    """What the job page watches: everything that is not over, and what ended lately."""
    found = of_projects([project_id])
    open_ones = list(found.exclude(state__in=FINAL)[:LIMIT])
    return open_ones + list(found.filter(state__in=FINAL).order_by("-ended")[:20])
