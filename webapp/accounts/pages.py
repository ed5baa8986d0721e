"""Answers of pages: the whole page, or only the changed part when htmx asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import render
from django.urls import Resolver404, resolve

from webapp.accounts.access import allowed
from webapp.library.models import Project


def page(
    request: HttpRequest, template: str, context: dict[str, Any], *, project: Project | None = None, status: int = 200
) -> HttpResponse:
    """Render with what the frame needs: `project`, and `actions` the person may do in it."""
    frame = {"project": project, "actions": allowed(request.user, project.id)} if project else {}
    return render(request, template, frame | context, status=status)


def post_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For addresses that forms post to. Who comes there by GET, as after a login in between, is led to the page above
    and told that nothing was changed."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            return view(request, *args, **kwargs)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["POST"])
        messages.warning(request, "Nothing was changed: this step has to be sent from its page. Do it again here.")
        return HttpResponseRedirect(_page_above(request.path))

    return guarded


def _page_above(path: str) -> str:
    """The nearest address above `path` that is a page with forms: of a video, its details."""
    while path.count("/") > 2:
        path = path.rstrip("/").rpartition("/")[0] + "/"
        for page in (f"{path}details/", path):
            try:
                resolve(page)
            except Resolver404:
                continue
            return page
    return "/"


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
