"""Endpoints of the session and of one's own profile."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from ninja import Body, Router, Schema
from ninja.errors import HttpError
from ninja.utils import check_csrf
from pydantic import Field

from webapp.accounts import services
from webapp.accounts.models import User

router = Router()


class LoginIn(Schema):
    username: str = Field(max_length=150)
    password: str = Field(max_length=256)


def _session(request: HttpRequest) -> dict[str, Any]:
    user = request.user
    who = {"id": user.id, "name": user.shown_name} if isinstance(user, User) else None
    return {"user": who, "csrf": get_token(request)}


@router.get("/session", auth=None)
def get_session(request: HttpRequest) -> dict[str, Any]:
    """Who is logged in, and a fresh CSRF token."""
    return _session(request)


@router.post("/session/login", auth=None)
def post_login(request: HttpRequest, credentials: LoginIn) -> HttpResponse:
    """Log in again in place: the page keeps its unsaved edits and sends them with the new token."""
    if check_csrf(request) is not None:
        raise HttpError(403, "CSRF check Failed")
    try:
        user = services.check_password(request=request, username=credentials.username, password=credentials.password)
    except services.TooManyFailures as failures:
        return JsonResponse({"error": failures.sentence}, status=429)
    if user is None:
        sentence = "This name and password do not belong together, or the account is deactivated."
        return JsonResponse({"error": sentence}, status=401)
    login(request, user)
    return JsonResponse(_session(request))


@router.get("/me")
def get_me(request: HttpRequest) -> dict[str, Any]:
    assert isinstance(request.user, User)
    return {
        "id": request.user.id,
        "username": request.user.username,
        "name": request.user.shown_name,
        "site_admin": request.user.is_superuser,
        "preferences": request.user.preferences,
    }


@router.patch("/me/preferences")
def patch_preferences(request: HttpRequest, changes: dict[str, Any] = Body(...)) -> dict[str, Any]:  # noqa: B008
    """Change some of one's own preferences: theme, keys (action to key), panels (name to size)."""
    assert isinstance(request.user, User)
    return services.set_preferences(user=request.user, changes=changes)
