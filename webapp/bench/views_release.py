"""Pages of releases: the numbered list, one release with its items, its files, and the retirement of an item."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from webapp.accounts.access import project_for
from webapp.accounts.pages import page
from webapp.bench import forms
from webapp.bench.models import Question, Release
from webapp.bench.views import JOB_KINDS, live_jobs
from webapp.library.models import Project

ITEMS_SHOWN = 200


@login_required
@require_safe
def releases(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, "view")
    return _list_page(request, project, forms.ReleaseForm())


def _list_page(request: HttpRequest, project: Project, form: forms.ReleaseForm, **more: Any) -> HttpResponse:
    accepted = Question.objects.filter(project=project, state=Question.State.ACCEPTED)
    counts = accepted.aggregate(n=Count("*"), stale=Count("*", filter=Q(stale=True)))
    found = Release.objects.filter(project=project).select_related("created_by").order_by("-number")
    rows = [
        _row(one)
        for one in found.annotate(n=Count("items"), gone=Count("items", filter=Q(items__retired__isnull=False)))
    ]
    context = {
        "releases": rows,
        "accepted": counts["n"],
        "stale": counts["stale"],
        "next_number": rows[0]["number"] + 1 if rows else 1,
        "form": form,
        "jobs": live_jobs(project),
        "job_kinds": " ".join(JOB_KINDS),
    }
    return page(request, "bench/releases.html", context | more, project=project, status=422 if form.errors else 200)


def _row(release: Any) -> dict[str, Any]:
    return {
        "number": release.number,
        "sha256": release.sha256,
        "notes": release.notes,
        "items": release.n,
        "retired": release.gone,
        "created": release.created,
        "who": release.created_by.shown_name if release.created_by else "",
    }


@login_required
@require_safe
def release(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    project = project_for(request.user, slug, "view")
    found = Release.objects.filter(project=project, number=number).select_related("created_by").first()
    if found is None:
        raise Http404("There is no such release.")
    items = found.items.select_related("question").order_by("position")
    return page(request, "bench/release.html", {"release": found, "items": items[:ITEMS_SHOWN]}, project=project)
