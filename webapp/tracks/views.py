"""The workspace page: a frame and the addresses of its data; everything else is fetched by the page's own script."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse

from webapp.accounts.access import allowed, video_for
from webapp.accounts.models import User
from webapp.library.models import Video

SCRIPTS = settings.BASE_DIR / "static"


@cache
def modules() -> list[str]:
    """Everything main.js imports, so that the browser fetches the modules at once and not one after another."""
    return sorted(str(path.relative_to(SCRIPTS)) for path in (SCRIPTS / "js" / "workspace").rglob("*.js"))


@login_required
def workspace(request: HttpRequest, video_id: UUID) -> HttpResponse:
    """The page of one video; its state (frame, selection, filters) is in the query string and belongs to the script."""
    video = video_for(request.user, video_id, "view")
    if video.state != Video.State.READY:
        return redirect("video_details", video.id)
    assert isinstance(request.user, User)
    context = {
        "project": video.project,
        "actions": allowed(request.user, video.project_id),
        "video": video,
        "data": page_data(video, request.user),
        "modules": modules(),
    }
    return render(request, "workspace/workspace.html", context)


def page_data(video: Video, user: User) -> dict[str, Any]:
    """What main.js starts from: who looks, and where the data lie."""
    media = {name: reverse("video_piece", args=[video.id, piece]) for name, piece in PIECES.items()}
    files = {}
    if video.run_id:
        run = [video.id, video.run_id]
        files = {name: reverse("run_piece", args=[*run, f"{name}.bin"]) for name in ("tracks", "ribbon")}
    return {
        "video": str(video.id),
        "api": "/api/v1",
        "sprite": static("icons/sprite.svg"),
        "user": {"id": user.id, "username": user.username, "name": user.shown_name},
        "preferences": {name: user.preferences.get(name, {}) for name in ("keys", "panels")},
        "proxy": media["proxy"] if video.has_pixels else None,
        "waveform": media["waveform"] if video.has_audio else None,
        "tracks": files.get("tracks"),
        "ribbon": files.get("ribbon"),
        "triage": reverse("triage", args=[video.project.slug]),
    }


PIECES = {"proxy": "proxy.mp4", "waveform": "waveform.bin"}
