"""Endpoints of jobs: list, one, cancel, retry, and the live stream of a project's jobs."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, StreamingHttpResponse
from ninja import Router

from webapp.accounts.access import allowed, check, project_for, projects_of
from webapp.accounts.models import User
from webapp.jobs import queries, services
from webapp.jobs.models import Job
from webapp.lib import live
from webapp.lib.errors import Refused

router = Router()
TRAINING = ("snapshot", "preflight", "train", "evaluate")  # jobs that only who trains starts, ends and tries again


@router.get("/jobs")
def list_jobs(request: HttpRequest, project: str = "", state: str = "", limit: int = 100) -> list[dict[str, Any]]:
    """The newest jobs of one project (by its short name) or of all of mine."""
    if project:
        ids = [project_for(request.user, project, "view").id]
    else:
        ids = list(projects_of(request.user).values_list("id", flat=True))
    if state and state not in Job.State.values:
        raise Refused(f"There is no state {state!r}; there is: {', '.join(Job.State.values)}.", "state")
    found = queries.of_projects(ids)
    if state:
        found = found.filter(state=state)
    return queries.rows(found[: max(1, min(limit, queries.LIMIT))], cast(User, request.user))


@router.get("/jobs/{uuid:job_id}")
def get_job(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
    return _story(request, job_id)


@router.post("/jobs/{uuid:job_id}/cancel")
def cancel_job(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
    job = _mine(request, job_id)
    services.cancel(job=job, user=cast(User, request.user))
    return _story(request, job_id)


@router.post("/jobs/{uuid:job_id}/retry")
def retry_job(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
    job = _mine(request, job_id)
    services.retry(job=job, user=cast(User, request.user))
    return _story(request, job_id)


def _story(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
    job = _job(request, job_id)
    told = queries.story(job, cast(User, request.user))
    if job.kind in TRAINING and "review" not in allowed(request.user, job.project_id):
        told["log"] = "What it logged may quote items with their keys, so it is for reviewers."
    return told


def _job(request: HttpRequest, job_id: UUID) -> Job:
    job = Job.objects.select_related("video", "project", "created_by").filter(id=job_id).first()
    if job is None:
        raise Http404("There is no such job, or it is not yours to see.")
    check(request.user, job.project_id, "view")
    return job


def _mine(request: HttpRequest, job_id: UUID) -> Job:
    """A job this person may cancel or try again: one's own, or anybody's for those who manage jobs."""
    job = _job(request, job_id)
    actions = allowed(request.user, job.project_id)
    if job.kind in TRAINING and "train" not in actions:
        raise PermissionDenied("Only project admins may cancel or retry what trains or evaluates a model.")
    if "manage_jobs" not in actions and (job.created_by_id != request.user.pk or "annotate" not in actions):
        raise PermissionDenied("Only curators may cancel or retry a job that somebody else started.")
    return job


@router.get("/projects/{slug:slug}/jobs/stream")
async def stream(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Server-sent events: `job` for each job of the project that changes. Access is looked up again at every step."""
    user = cast(User, await request.auser())
    project = await sync_to_async(project_for)(user, slug, "view")

    def look() -> list[live.Message]:
        user.refresh_from_db(fields=["is_active", "is_superuser"])
        check(user, project.id, "view")
        return [("job", row) for row in queries.rows(reversed(queries.live_of(project.id)), user)]

    return live.stream(look)
