"""The report of a finished audit: the tables, agreement, a comparison with another audit, and its files."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from webapp.accounts.access import role_in
from webapp.accounts.models import User
from webapp.accounts.pages import page
from webapp.audit import agreeing, queries, report_pictures, reporting
from webapp.audit.access import audit_by_number
from webapp.audit.models import Audit
from webapp.lib.errors import Refused
from webapp.library import media

TYPES = {"html": "text/html", "csv": "text/csv; charset=utf-8", "json": "application/json"}


@login_required
@require_safe
def report(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """`?other=N` compares with another finished audit of the project."""
    found, role = audit_by_number(request.user, slug, number, "view")
    user = cast(User, request.user)
    row = queries.audit_row(found, user, role)
    context: dict[str, Any] = {"audit": found, "row": row, "job_kinds": "audit-report"}
    if found.state == Audit.State.FINISHED:
        tree, job = reporting.report_of(found)
        other, comparison = _comparison(request, found)
        context |= {
            "report": report_pictures.shown(tree) if tree else None,
            "costs": report_pictures.costs(tree) if tree else [],
            "job": job,
            "agreement": report_pictures.agreement(agreeing.told(found.report.get("agreement", []))) if tree else None,
            "others": _others(found, user),
            "other": other,
            "comparison": comparison,
        }
    return page(request, "audit/report.html", context, project=found.project)


def _others(found: Audit, user: User) -> list[dict[str, Any]]:
    rows = queries.audits_of(found.project, user, role_in(user, found.project_id) or "viewer")
    return [row for row in rows if row["state"] == "finished" and row["number"] != found.number]


def _comparison(request: HttpRequest, found: Audit) -> tuple[Audit | None, dict[str, Any] | None]:
    word = request.GET.get("other", "")
    if not (word.isascii() and word.isdigit() and len(word) < 9):
        return None, None
    other, _ = audit_by_number(request.user, found.project.slug, int(word), "view")
    try:
        return other, report_pictures.compared(reporting.compare(found, other))
    except Refused as refused:
        messages.error(request, refused.sentence)
        return None, None


@login_required
@require_safe
def download(request: HttpRequest, slug: str, number: int, kind: str) -> HttpResponseBase:
    """The report as a page that opens without the studio, as CSV or as JSON."""
    found, _ = audit_by_number(request.user, slug, number, "audit")
    if kind not in TYPES:
        raise Http404("There is no such file.")
    try:
        name = reporting.file_of(found, kind)
    except Refused as refused:
        messages.error(request, refused.sentence)
        return redirect("audit", slug, number)
    answer = media.serve(request, name, TYPES[kind], cache="private, no-cache", cap=media.LARGEST_RANGE)
    answer["Content-Disposition"] = content_disposition_header(True, f"{slug}-audit-{number}.{kind}")
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return answer
