"""The audit page of one response, taking a place at it, and deciding disputes. What it shows comes from the API."""

from __future__ import annotations

from functools import cache
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from webapp.accounts.models import User
from webapp.accounts.pages import page, post_only
from webapp.accounts.permissions import Role
from webapp.audit import queries, rating
from webapp.audit.access import audit_by_number, response_for
from webapp.audit.models import Audit, Response
from webapp.lib.errors import Refused
from webapp.tracks.views import SCRIPTS
from webapp.tracks.views import modules as workspace_modules

API = "/api/v1"
PARTS = (
    "api", "database", "dom", "help", "keymap", "keys", "palette", "player", "times", "transport", "vocabulary",
)  # fmt: skip


@cache
def modules() -> list[str]:
    """Everything the page's script imports, so that the browser fetches the modules at once."""
    own = sorted(str(path.relative_to(SCRIPTS)) for path in (SCRIPTS / "js" / "audit").glob("*.js"))
    wanted = {f"js/workspace/{name}.js" for name in PARTS} | {
        f"js/workspace/timeline/{n}.js" for n in ("ruler", "window")
    }
    shared = [name for name in workspace_modules() if name in wanted]
    return [*own, *shared, "js/masks/rle.js", "js/live.js", "js/http.js", "js/bench/login.js"]


@login_required
@require_safe
def response(request: HttpRequest, response_id: UUID) -> HttpResponse:
    found, role = response_for(request.user, response_id, "view")
    return response_page(request, found, role)


def response_page(
    request: HttpRequest, found: Response, role: Role, *, disputed: list[str] | None = None
) -> HttpResponse:
    """`disputed`: ids of the claims that this person decides, who then sees what the raters said."""
    user = cast(User, request.user)
    task = queries.task(found, user, role, adjudicate=disputed is not None)
    context = {
        "audit": found.audit,
        "response": found,
        "task": task,
        "video": found.video,
        "data": page_data(found, user, task, disputed),
        "modules": modules(),
        "take": None if disputed is not None else _take(found, user, task),
        "correct_hidden": "correct" not in task,
        "key_places": key_places(task),
        "summariser": summariser_words(found.audit.summariser),
        "empty": empty_words(task),
    }
    return page(request, "audit/response.html", context, project=found.audit.project)


def page_data(found: Response, user: User, task: dict[str, Any], disputed: list[str] | None) -> dict[str, Any]:
    """What main.js starts from: who looks, and where the data lie."""
    video = found.video
    query = "?adjudicate=1" if disputed is not None else ""
    return {
        "api": API,
        "task": f"/audit/responses/{found.id}{query}",
        "response": str(found.id),
        "video": str(video.id),
        "slug": found.audit.project.slug,
        "proxy": reverse("video_piece", args=[video.id, "proxy.mp4"]) if video.has_pixels else None,
        "has_audio": video.has_audio,
        "sprite": static("icons/sprite.svg"),
        "rates": bool(task["may"]["rate"]),
        "adjudicates": disputed is not None,
        "disputed": disputed or [],
        "grounder": found.audit.grounder,
        "user": {"id": user.id, "username": user.username, "name": user.shown_name},
        "preferences": {"keys": user.preferences.get("keys", {})},
    }


def _take(found: Response, user: User, task: dict[str, Any]) -> dict[str, Any] | None:
    """The line above the picture for somebody who has no place here, or has completed theirs."""
    if task["audit_state"] == Audit.State.FINISHED:
        return None
    if task["seat"] and task["seat"]["completed"]:
        return {"may": False, "sentence": "You have completed this response: what you said of it stays."}
    if task["may"]["rate"]:
        return None
    free = found.state == Response.State.DONE and rating.has_place(found, user)
    if free:
        return {"may": True, "sentence": "You are looking. Take this response, and your verdicts count."}
    return {"may": False, "sentence": "You are looking: this response has no place for you."}


def key_places(task: dict[str, Any]) -> list[int]:
    """Which options are right, once everybody may know."""
    key = {str(one).strip().casefold() for one in task.get("key") or []}
    options = enumerate(task["options"])
    return [
        k
        for k, text in options
        if text.strip().casefold() in key or (k < 26 and "abcdefghijklmnopqrstuvwxyz"[k] in key)
    ]


def summariser_words(name: str) -> str:
    """How claims were cut, with the warning where that is a heuristic."""
    return {
        "rules": "cut by rules, a heuristic",
        "smollm": "cut by a small model, a fallback",
        "local": "cut by a local model",
        "endpoint": "cut by the endpoint's model",
    }.get(name, name)


def empty_words(task: dict[str, Any]) -> dict[str, str]:
    """Why there are no claims."""
    if task["state"] == Response.State.FAILED:
        return {"title": "This response could not be processed", "sentence": task["error"]}
    if task["package"] is None:
        return {
            "title": "Not processed yet",
            "sentence": "Claims and masks are here once the audit's job has come to it.",
        }
    return {"title": "No claims", "sentence": "Nothing in what the model said can be held against a picture."}


# ---------------------------------------------------------------------------------------------------------------------
# Places


@login_required
@post_only
def next_one(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """A place at the next response, and its page."""
    found, _ = audit_by_number(request.user, slug, number, "review")
    try:
        mine = rating.next_response(audit=found, user=cast(User, request.user))
    except Refused as refused:
        messages.error(request, refused.sentence)
        return redirect("audit", slug, number)
    if mine is None:
        messages.success(request, "Nothing is left for you in this audit.")
        return redirect("audit", slug, number)
    return redirect("audit_response", mine.response_id)


@login_required
@post_only
def take(request: HttpRequest, response_id: UUID) -> HttpResponse:
    found, _ = response_for(request.user, response_id, "review")
    try:
        rating.take(response=found, user=cast(User, request.user))
    except Refused as refused:
        messages.error(request, refused.sentence)
    return redirect("audit_response", response_id)


@login_required
@post_only
def give_back(request: HttpRequest, response_id: UUID) -> HttpResponse:
    """Let the place go; what was said there stays."""
    found, _ = response_for(request.user, response_id, "review")
    rating.give_back(response=found, user=cast(User, request.user))
    messages.success(request, f"Response {found.position} is free again; what you said of it is kept.")
    return redirect("audit", found.audit.project.slug, found.audit.number)


# ---------------------------------------------------------------------------------------------------------------------
# Disputes


@login_required
@require_safe
def adjudicate(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The disputed claims of one response after another, for a third person; `?response=` names one."""
    found, role = audit_by_number(request.user, slug, number, "review")
    rows = queries.disputes(found, cast(User, request.user))
    wanted = request.GET.get("response", "")
    first = next((row for row in rows if row["response"] == wanted), rows[0] if rows else None)
    if first is None:
        return page(request, "audit/nothing_disputed.html", {"audit": found}, project=found.project)
    response, _ = response_for(request.user, UUID(first["response"]), "review")
    if response.audit_id != found.id:
        raise PermissionDenied("This response belongs to another audit.")
    disputed = [row["claim"] for row in rows if row["response"] == first["response"]]
    return response_page(request, response, role, disputed=disputed)
