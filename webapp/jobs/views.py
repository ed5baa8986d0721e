"""The page of a project's jobs. Cancel and retry go through the API."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from webapp.accounts.access import project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page, wants_part
from webapp.jobs import queries
from webapp.jobs.models import Job

PAGE_SIZE = 50
HOPELESS = Q(kind="import", state=Job.State.FAILED, result__reason="input")  # the same file is refused again
FILTERS = {
    "live": ("Waiting and running", [Job.State.QUEUED, Job.State.RUNNING]),
    "failed": ("Failed", [Job.State.FAILED]),
    "done": ("Done", [Job.State.DONE]),
    "cancelled": ("Cancelled", [Job.State.CANCELLED]),
}


@login_required
@require_safe
def jobs(request: HttpRequest, slug: str) -> HttpResponse:
    """Newest first, `PAGE_SIZE` at a time, older ones by page number, at most 200 pages."""
    project = project_for(request.user, slug, "view")
    wanted = request.GET.get("state", "")
    found = (
        project.jobs.select_related("video", "project", "created_by")
        .order_by("-created")
        .annotate(cannot_change=HOPELESS)
    )
    if wanted in FILTERS:
        found = found.filter(state__in=FILTERS[wanted][1])
    wanted_page = request.GET.get("page", "")
    number = int(wanted_page) if wanted_page.isdecimal() and len(wanted_page) < 4 else 0
    rows = list(found[number * PAGE_SIZE : (number + 1) * PAGE_SIZE + 1])
    subjects = queries.subjects_of(rows, cast(User, request.user))
    for job in rows:
        job.subject = subjects.get(job.id)  # type: ignore[attr-defined]
    context = {
        "jobs": rows[:PAGE_SIZE],
        "wanted": wanted if wanted in FILTERS else "",
        "number": number,
        "filters": [(name, words) for name, (words, _) in FILTERS.items()],
        "older": number + 1 if len(rows) > PAGE_SIZE and number < 200 else None,
        "newer": number - 1 if number else None,
    }
    template = "jobs/job_table.html" if wants_part(request) else "jobs/jobs.html"
    return page(request, template, context, project=project)
