"""Triage: one proposal after another across a project's videos. The deciding happens in the workspace."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from webapp.accounts.access import allowed, project_for
from webapp.events import queries
from webapp.events.models import GAZE_TYPES, GESTURE_TYPES
from webapp.events.rules import words


@login_required
def triage(request: HttpRequest, slug: str) -> HttpResponse:
    """What waits, by type; `?start=1` goes to the least certain proposal."""
    project = project_for(request.user, slug, "annotate")
    type_ = request.GET.get("type", "")
    type_ = type_ if type_ in GAZE_TYPES + GESTURE_TYPES else ""
    items = queries.triage(project, type=type_)
    if request.GET.get("start") and items:
        first = items[0]
        query = urlencode({"sel": first["event"], "triage": type_ or "all"})
        return redirect(f"{reverse('workspace', args=[first['video']])}?{query}")
    for item in items:
        item |= {"label": words(item["type"]).capitalize(), "last": item["end"] - 1}
        item["percent"] = round(100 * item["confidence"])
    counts = queries.triage_counts(project)
    types = [(name, words(name).capitalize(), _counted(count)) for name, count in counts.items()]
    waiting = _counted(counts.get(type_, 0)) if type_ else f"{queries.waiting_in_all(project):,}"
    context = {
        "project": project,
        "actions": allowed(request.user, project.id),
        "waiting": waiting,
        "items": items,
        "types": types,
        "type": type_,
    }
    return render(request, "events/triage.html", context)


def _counted(count: int) -> str:
    limit = queries.TRIAGE_COUNT_LIMIT
    return f"{limit:,}+" if count > limit else f"{count:,}"
