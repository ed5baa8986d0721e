"""Answers of pages: the whole page, or only the changed part when htmx asked."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from webapp.accounts.access import allowed
from webapp.library.models import Project


def page(
    request: HttpRequest, template: str, context: dict[str, Any], *, project: Project | None = None, status: int = 200
) -> HttpResponse:
    """Render with what the frame needs: `project`, and `actions` the person may do in it."""
    frame = {"project": project, "actions": allowed(request.user, project.id)} if project else {}
    return render(request, template, frame | context, status=status)


def wants_part(request: HttpRequest) -> bool:
    """Whether htmx asked and will swap a part of the page in."""
    return bool(getattr(request, "htmx", False)) and not request.htmx.boosted  # type: ignore[attr-defined]


def changed(
    request: HttpRequest,
    part: str,
    context: dict[str, Any],
    *,
    back: str,
    project: Project | None = None,
    status: int = 200,
) -> HttpResponse:
    """After a change: the part of the page for htmx, else the page at `back` by a redirect (or 422 as a part)."""
    if wants_part(request):
        return page(request, part, context | {"swapped": True}, project=project, status=status)
    return HttpResponseRedirect(back)
