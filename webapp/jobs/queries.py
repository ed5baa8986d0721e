"""Reads of jobs, and the form in which pages and API show one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from webapp.jobs.models import Job
from webapp.jobs.services import FINAL

LIMIT = 200


def of_projects(project_ids: list[UUID]) -> QuerySet[Job]:
    """Jobs of these projects, newest first, without their long texts."""
    found = Job.objects.filter(project_id__in=project_ids).select_related("video", "project", "created_by")
    return found.defer("log", "parameters").order_by("-created")


def row(job: Job) -> dict[str, Any]:
    """A job in lists and streams: where it is, not what it logged."""
    return {
        "id": str(job.id),
        "kind": job.kind,
        "queue": job.queue,
        "project": str(job.project_id),
        "video": str(job.video_id) if job.video_id else None,
        "name": job.video.name if job.video else "",
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


def story(job: Job) -> dict[str, Any]:
    """One job with its log and result."""
    return row(job) | {"log": job.log, "result": job.result}


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
