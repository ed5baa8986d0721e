"""The list of audits, bringing responses in, and the page of one audit with its responses."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from ml.formats.errors import FormatError
from webapp.accounts.access import allowed, project_for, role_in
from webapp.accounts.models import User
from webapp.accounts.pages import page, post_only
from webapp.audit import forms, importing, producing, queries, services
from webapp.audit.access import audit_by_number
from webapp.exchange import responses
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Project, Video

STALE = "Somebody else changed this audit in the meantime. Look at it and do it again."


# ---------------------------------------------------------------------------------------------------------------------
# All audits


@login_required
@require_safe
def audits(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, "view")
    user = cast(User, request.user)
    rows = queries.audits_of(project, user, role_in(user, project.id) or "viewer")
    imports = "audit" in allowed(user, project.id)
    context = {
        "rows": [shown(row) for row in rows],
        "videos": Video.objects.filter(project=project, state=Video.State.READY).exists(),
        "job_kinds": " ".join((*queries.WORK, importing.KIND)),
        "importing": importing.under_way(project) if imports else [],
        "failed": importing.last_failed(project) if imports else None,
    }
    return page(request, "audit/audits.html", context, project=project)


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row with what pages draw of it: how far it is, and what the person does next."""
    processed = row["responses"] and row["processed"] / row["responses"]
    rated = row["responses"] and row["rated"] / row["responses"]
    return row | {"processed_share": processed, "rated_share": rated}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """Bring a file of responses in, and start to process it."""
    project = project_for(request.user, slug, "audit")
    posted = request.method == "POST"
    form = forms.ImportForm(request.POST, request.FILES) if posted else forms.ImportForm()
    if posted and form.is_valid():
        try:
            return _imported(request, project, form.cleaned_data)
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.sentence)
        except FormatError as error:
            form.add_error("file", str(error))
    return _new_page(request, project, form, forms.ProduceForm(auto_id="produce_%s"))


def _new_page(request: HttpRequest, project: Project, form: forms.ImportForm, how: forms.ProduceForm) -> HttpResponse:
    context = {
        "form": form,
        "how": how,
        "produces": producing.offered(),
        "sample": forms.sample_line(),
        "required": forms.REQUIRED,
        "at_once": f"{responses.AT_ONCE:,}",
    }
    failed = bool(form.errors or how.errors)
    return page(request, "audit/new.html", context, project=project, status=422 if failed else 200)


@login_required
@post_only
def produce(request: HttpRequest, slug: str) -> HttpResponse:
    """Have the configured model answer the accepted questions, at its price, and audit what it says."""
    project = project_for(request.user, slug, "audit")
    how = forms.ProduceForm(request.POST, auto_id="produce_%s")
    if how.is_valid():
        try:
            made, _ = producing.request_responses(project=project, user=cast(User, request.user), **how.cleaned_data)
            messages.success(request, "The model is being asked; its replies are audited as they come.")
            return redirect("audit", slug, made.number)
        except Refused as refused:
            how.add_error(refused.field if refused.field in how.fields else None, refused.sentence)
    return _new_page(request, project, forms.ImportForm(), how)


def _imported(request: HttpRequest, project: Project, wanted: dict[str, Any]) -> HttpResponse:
    user = cast(User, request.user)
    file: UploadedFile = wanted.pop("file")
    done = responses.import_upload(file=file, project=project, user=user, **wanted)
    if isinstance(done, Job):
        messages.success(request, "These are many responses: they are being imported. The audit is here once all are.")
        return redirect("audits", project.slug)
    known = f" {done.known} were there already." if done.known else ""
    messages.success(request, f"{done.made} response{'s are' if done.made != 1 else ' is'} in.{known}")
    _start(request, done.audit, user)
    return redirect("audit", project.slug, done.audit.number)


# ---------------------------------------------------------------------------------------------------------------------
# One audit


@login_required
@require_safe
def audit(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Its responses, how far they are, and what this person may do next."""
    found, role = audit_by_number(request.user, slug, number, "view")
    user = cast(User, request.user)
    row = queries.audit_row(found, user, role)
    only = request.GET.get("show", "")
    only = only if only in queries.PARTS else "all"
    listed = queries.response_list(found, user, role, part=only, first=_first(request.GET.get("from", "")))
    first, count = listed["first"], listed["tallies"][only]
    context = {
        "audit": found,
        "row": shown(row),
        "responses": listed["list"],
        "count": count,
        "first": first,
        "earlier": max(0, first - queries.PAGE) if first else None,
        "later": first + queries.PAGE if first + queries.PAGE < count else None,
        "only": only,
        "tallies": [(name, WORDS[name], listed["tallies"][name]) for name in queries.PARTS],
        "summariser_words": forms.SUMMARISER_WORDS.get(row["summariser"], row["summariser"]),
        "grounder_words": forms.GROUNDER_WORDS.get(row["grounder"], row["grounder"]),
        "form": forms.SettingsForm(initial={"name": found.name, "raters": found.raters, "version": found.version}),
        "actions": allowed(user, found.project_id),
        "job_kinds": " ".join(queries.WORK),
    }
    return page(request, "audit/audit.html", context, project=found.project)


WORDS = {"all": "All", "open": "Open places", "mine": "Yours", "disputed": "Disputed", "failed": "Failed"}


def _first(word: str) -> int:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 8 else 0


@login_required
@post_only
def start(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Process what is not processed; after failures, only that."""
    found, _ = audit_by_number(request.user, slug, number, "audit")
    _start(request, found, cast(User, request.user))
    return redirect("audit", slug, number)


def _start(request: HttpRequest, audit: Any, user: User) -> None:
    try:
        services.request_audit(audit=audit, user=user)
        messages.success(request, "They are being cut into claims, and what these name is looked for.")
    except Refused as refused:
        messages.error(request, refused.sentence)


@login_required
@post_only
def finish(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """End the audit: everything is shown to everybody, and the report is made."""
    found, _ = audit_by_number(request.user, slug, number, "audit")
    word = request.POST.get("version", "")
    version = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else -1
    try:
        force = request.POST.get("force") == "1"
        services.finish(audit=found, user=cast(User, request.user), version=version, force=force)
        messages.success(request, "The audit is finished.")
        return redirect("audit_report", slug, number)
    except Refused as refused:
        messages.error(request, refused.sentence)
    except Stale:
        messages.error(request, STALE)
    return redirect("audit", slug, number)


@login_required
@post_only
def settings(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Another name, or another number of raters."""
    found, _ = audit_by_number(request.user, slug, number, "audit")
    form = forms.SettingsForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Write a name, and how many people judge each response: 1 to 10.")
        return redirect("audit", slug, number)
    wanted = form.cleaned_data
    version = wanted.pop("version")
    try:
        services.configure(audit=found, user=cast(User, request.user), version=version, changes=wanted)
        messages.success(request, "Saved.")
    except Refused as refused:
        messages.error(request, refused.sentence)
    except Stale:
        messages.error(request, STALE)
    return redirect("audit", slug, number)
