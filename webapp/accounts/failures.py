"""Failure answers: a page in plain words, or JSON below /api/ and for htmx, which shows its sentence."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from psycopg.errors import LockNotAvailable


def _answer(request: HttpRequest, status: int, sentence: str, template: str = "") -> HttpResponse:
    if request.path.startswith("/api/") or request.headers.get("HX-Request"):
        return JsonResponse({"error": sentence}, status=status)
    return render(request, template or f"{status}.html", {"sentence": sentence, "status": status}, status=status)


class Busy:
    """Middleware: a request that waited too long for rows somebody else holds answers 503, to be sent again."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return busy(request) if isinstance(exception.__cause__, LockNotAvailable) else None


def busy(request: HttpRequest) -> HttpResponse:
    response = _answer(request, 503, BUSY_SENTENCE)
    response["Retry-After"] = "2"
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return _answer(request, 413, "The request is larger than this studio takes at once.", "400.html")
    return _answer(request, 400, "The browser sent a request that cannot be read.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, str(exception) or "Your role does not allow this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    words = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return _answer(request, 404, words or "There is no such page, or it is not yours to see.")


def broken(request: HttpRequest) -> HttpResponse:
    return _answer(request, 500, "Something went wrong here. It was logged; nothing you saved is lost.")


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form's token does not fit: the page is older than the login, or it came from another site."""
    if request.path.startswith("/api/") or request.headers.get("HX-Request"):
        return JsonResponse({"error": CSRF_SENTENCE}, status=403)
    return render(request, "403_csrf.html", {"sentence": CSRF_SENTENCE, "page": _sender(request)}, status=403)


def _sender(request: HttpRequest) -> str:
    """The page of this studio that the form was on: what it posts to need not be a page."""
    came_from = request.headers.get("Referer", "")
    fine = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure())
    return came_from if fine else request.path


BUSY_SENTENCE = "Somebody else's change is being written here. Nothing of yours was saved; try again in a moment."
CSRF_SENTENCE = "This page is older than your login. Load it again and repeat the last step."
