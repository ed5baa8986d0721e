"""Snapshots of items to train on: the list, making one, and the page of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from webapp.accounts.access import project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page
from webapp.lib.errors import Refused
from webapp.runs import forms, queries, services
from webapp.runs.access import snapshot_by_number
from webapp.runs.views import KINDS, whole, why_not


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def snapshots(request: HttpRequest, slug: str) -> HttpResponse:
    """All of them; sent, the form has a worker make another one."""
    posted = request.method == "POST"
    project = project_for(request.user, slug, "train" if posted else "view")
    form = forms.SnapshotForm(project, request.POST) if posted else forms.SnapshotForm(project)
    if posted and form.is_valid():
        try:
            made = services.create_snapshot(project=project, user=cast(User, request.user), **form.wanted())
            messages.success(request, f"Snapshot {made.number} is being made.")
            return redirect("snapshots", slug)
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.sentence)
    context = {
        "rows": queries.snapshots_of(project),
        "most": queries.LIMIT,
        "form": form,
        "any_release": bool(form.known),
        "why_not": why_not(request.user, project.id),
        "job_kinds": KINDS,
    }
    return page(request, "runs/snapshots.html", context, project=project, status=422 if form.errors else 200)


@login_required
@require_safe
def snapshot(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """What is in it: counts, leaks, coverage, and which revision of which question each item is."""
    found, _ = snapshot_by_number(request.user, slug, number, "view")
    word = request.GET.get("page", "")
    at = max(1, int(word)) if whole(word) and len(word) < 7 else 1
    items, count = queries.revisions_of(found, at)
    row = queries.snapshot_details(found)
    context = {
        "snapshot": found,
        "row": row,
        "why_no_validation": why_no_validation(row),
        "items": items,
        "count": count,
        "earlier": at - 1 if at > 1 else None,
        "later": at + 1 if at * 100 < count else None,
        "why_not": why_not(request.user, found.project_id),
        "job_kinds": KINDS,
    }
    return page(request, "runs/snapshot.html", context, project=found.project)


def why_no_validation(row: Mapping[str, Any]) -> str:
    """Why a snapshot that is made has no item for validation, "" where it has some."""
    if row["state"] != "ready" or row["validation"].get("items"):
        return ""
    if not row["validation_share"]:
        return "No share for validation was asked for."
    if len(row["recordings"].get("train", ())) < 2:
        return "A recording is never divided between the parts, and all items are of one: it went to training."
    return "Recordings that share a video or a clip are never divided, and all of these do: they went to training."
