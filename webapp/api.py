"""/api/v1: what the pages themselves use. Session cookie and X-CSRFToken; every failure is {"error": sentence}."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.security import SessionAuth

from webapp.accounts import api as accounts
from webapp.accounts.failures import CSRF_SENTENCE
from webapp.audit import api as audit
from webapp.bench import api as bench
from webapp.events import api as events
from webapp.jobs import api as jobs
from webapp.jobs.services import JobError
from webapp.lib.errors import Refused, Stale
from webapp.library import api as library
from webapp.runs import api as runs
from webapp.tracks import api as tracks

api = NinjaAPI(version="1", urls_namespace="api", auth=SessionAuth(csrf=True), docs_url=None, openapi_url=None)
APPS = (accounts, library, tracks, events, bench, audit, runs, jobs)
for app in APPS:
    api.add_router("", app.router)


def _failure(request: HttpRequest, status: int, sentence: str, **more: Any) -> HttpResponse:
    return api.create_response(request, {"error": sentence, **more}, status=status)


@api.exception_handler(AuthenticationError)
def not_logged_in(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return _failure(request, 401, "You are not logged in.")


@api.exception_handler(PermissionDenied)
def forbidden(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return _failure(request, 403, str(error) or "Your role does not allow this.")


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return _failure(request, 404, str(error) or "There is no such thing, or it is not yours to see.")


@api.exception_handler(HttpError)
def refused_by_ninja(request: HttpRequest, error: HttpError) -> HttpResponse:
    sentence = CSRF_SENTENCE if error.status_code == 403 else str(error.message)
    return _failure(request, error.status_code, sentence)


@api.exception_handler(ValidationError)
def not_valid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first thing wrong, as a sentence that names the field."""
    first = error.errors[0]
    field = ".".join(str(part) for part in first["loc"][1:] if part not in ("data", "payload"))
    return _failure(request, 422, f"{field or 'The request'}: {first['msg']}.", field=field)


@api.exception_handler(Refused)
def refused(request: HttpRequest, error: Refused) -> HttpResponse:
    return _failure(request, 422, error.sentence, field=error.field)


@api.exception_handler(Stale)
def stale(request: HttpRequest, error: Stale) -> HttpResponse:
    return _failure(request, 409, "Somebody else changed this in the meantime. Load it again.")


@api.exception_handler(audit.Conflict)
def conflict(request: HttpRequest, error: audit.Conflict) -> HttpResponse:
    """A stale edit of one's own audit: both versions, so that the page can offer a merge."""
    stale, sentence = error.stale, "This was changed in the meantime, perhaps in another tab."
    return _failure(request, 409, sentence, kind=stale.kind, id=stale.id, base=stale.base, theirs=stale.theirs)


@api.exception_handler(DataError)
def not_storable(request: HttpRequest, error: DataError) -> HttpResponse:
    """Text with a NUL, or a number that no column holds, where nothing before refused it."""
    return _failure(request, 422, "The request holds a character or a number that cannot be stored.")


@api.exception_handler(UnicodeEncodeError)
def not_text(request: HttpRequest, error: UnicodeEncodeError) -> HttpResponse:
    """Half of a surrogate pair, which JSON can say and no column holds, where nothing before refused it."""
    return _failure(request, 422, "The request holds a character that cannot be stored.")


@api.exception_handler(RecursionError)
def too_deep(request: HttpRequest, error: RecursionError) -> HttpResponse:
    return _failure(request, 422, "The request holds lists or objects that are nested too deeply.")


@api.exception_handler(JobError)
def wrong_job_state(request: HttpRequest, error: JobError) -> HttpResponse:
    return _failure(request, 409, str(error))
