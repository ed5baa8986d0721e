"""The bench page with its list and pictures, its settings, its buttons, and the frame of the answer page."""

from __future__ import annotations

import csv
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.access import allowed, project_for, role_in
from webapp.accounts.models import User
from webapp.accounts.pages import page, post_only, wants_part
from webapp.accounts.permissions import Action
from webapp.bench import agreeing, forms, linting, listing, pictures, queries, requests, services, writing
from webapp.bench.models import Answer, Bench
from webapp.events.models import Event
from webapp.jobs.models import Job
from webapp.jobs.services import LIVE
from webapp.lib.errors import Refused
from webapp.lib.lists import heads
from webapp.library.models import Project

JOB_KINDS = ("generate", "write", "prove", "agreement", "lint", "release")
COUNTED = 5_000  # questions up to which the page says how many answers came since the last agreement
STARTED = {
    "generate": "Questions are being made from the confirmed events.",
    "write": "A model writes questions from the confirmed events.",
    "prove": "Every proof is run again.",
    "lint": "The questions are being checked.",
    "agreement": "The agreement of the raters is being computed.",
}


def is_blind(actions: list[Action]) -> bool:
    """Whether this person may still be asked: then no page says what only comes of answers."""
    return "review" not in actions


# ---------------------------------------------------------------------------------------------------------------------
# The bench page


@login_required
@require_safe
def bench(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, "view")
    actions = allowed(request.user, project.id)
    blind = is_blind(actions)
    wanted = listing.Wanted.read(request.GET, blind=blind)
    part = wants_part(request)
    context = _list_context(project, cast(User, request.user), wanted, blind=blind) | {"actions": actions}
    if not part:
        context |= _side_context(project, cast(User, request.user), wanted, actions)
    answer = page(request, "bench/question_table.html" if part else "bench/bench.html", context, project=project)
    answer["Vary"] = "HX-Request"
    return answer


def _list_context(project: Project, user: User, wanted: listing.Wanted, *, blind: bool) -> dict[str, Any]:
    found = listing.question_page(project, wanted, blind=blind)
    return {
        "page": found,
        "rows": listing.rows_of(found, user, blind=blind),
        "wanted": wanted,
        "columns": _columns(wanted),
        "earlier": wanted.address(before=found.earlier) if found.earlier else "",
        "later": wanted.address(after=found.later) if found.later else "",
        "count_limit": listing.COUNT_LIMIT,
    }


def _columns(wanted: listing.Wanted) -> dict[str, dict[str, str]]:
    """For each sortable column: the address a click on its head leads to, and aria-sort's word."""
    pairs = {
        "number": ("oldest", "newest"),
        "category": ("category", "-category"),
        "state": ("state", "-state"),
    }
    return heads(wanted, pairs, listing.SORTS)


def _side_context(project: Project, user: User, wanted: listing.Wanted, actions: list[Action]) -> dict[str, Any]:
    board = queries.dashboard(project, user, role_in(user, project.id) or "viewer")
    bench = services.bench_of(project)
    blind = is_blind(actions)
    given = Answer.objects.filter(question__project=project)
    # counting the answers of a very large bench would take longer than the rest of the page
    since = given.count() - bench.agreement_at if sum(board["states"].values()) <= COUNTED else 0
    states = pictures.states(board["states"], wanted, blind=blind)
    stale = 0 if blind else board["stale"]
    return {
        "total": sum(board["states"].values()),
        "states": states,
        "all_states": wanted.address(state=""),
        "disputed": board["states"].get("disputed", 0),
        "stale": {"count": stale, "address": wanted.address(stale="" if wanted.stale else "1")} if stale else None,
        "waiting": board["waiting"],
        "bench": bench,
        **(_why_empty(project) if not any(board["states"].values()) else {}),
        "agreement": pictures.agreement(board["agreement"], since, simulated=agreeing.simulated(project)),
        "answers": given.exists(),
        "lint": None if blind else linting.latest(project),
        "composition": pictures.composition(board["categories"], board["quotas"], wanted),
        "writes": writing.is_offered(),
        "jobs": live_jobs(project),
        "job_kinds": " ".join(JOB_KINDS),
        "groups": forms.grouped_categories(),
        "difficulties": listing.DIFFICULTIES,
        "origin_words": listing.ORIGIN_WORDS,
    }


def _why_empty(project: Project) -> dict[str, Any]:
    """Whether anything is confirmed that a question could be about, and when questions were last looked for in vain."""
    last = Job.objects.filter(project=project, kind="generate", state=Job.State.DONE).order_by("-ended").first()
    return {
        "confirmed": Event.objects.filter(video__project=project, status=Event.Status.CONFIRMED).exists(),
        "fruitless": last.ended if last else None,
    }


def live_jobs(project: Project) -> list[Job]:
    """The project's bench jobs that wait or run, oldest first."""
    found = Job.objects.filter(project=project, kind__in=JOB_KINDS, state__in=LIVE).order_by("created")
    return list(found.defer("log", "result", "parameters")[:20])


@login_required
@post_only
def run(request: HttpRequest, slug: str) -> HttpResponse:
    """A button of the page's head: generate, prove, lint or agreement."""
    project = project_for(request.user, slug, "question")
    user = cast(User, request.user)
    what = request.POST.get("what", "")
    try:
        if what == "generate":
            requests.request_generation(project=project, user=user)
        elif what == "write":
            writing.request_writing(project=project, user=user)
        elif what == "prove":
            requests.request_proofs_of_project(project=project, user=user)
        elif what == "lint":
            linting.request_lint(project=project, user=user)
        elif what == "agreement":
            requests.request_agreement(project=project, user=user)
        else:
            raise Refused("There is no such work.", "what")
        messages.success(request, STARTED[what])
    except Refused as refused:
        messages.error(request, refused.sentence)
    return redirect("bench", slug)


@login_required
@post_only
def selected(request: HttpRequest, slug: str) -> HttpResponse:
    """Open the selected drafts for answers, or discard what nobody decided on."""
    project = project_for(request.user, slug, "question")
    user = cast(User, request.user)
    ids = _ids(request.POST.getlist("question"))
    if not ids:
        messages.error(request, "No question was selected.")
    elif request.POST.get("what") == "discard":
        count = services.discard_questions(project=project, user=user, ids=ids)
        messages.success(request, f"{count} question{'s are' if count != 1 else ' is'} rejected.")
    else:
        _say_opened(request, services.open_questions(project=project, user=user, ids=ids))
    wanted = listing.Wanted.read(request.GET, blind=False)
    if not wants_part(request):
        return redirect(reverse("bench", args=[slug]) + wanted.here)
    context = _list_context(project, user, wanted, blind=False) | {"swapped": True}
    return page(request, "bench/question_table.html", context, project=project)


def _say_opened(request: HttpRequest, done: services.Opened) -> None:
    count = len(done.opened)
    if count:
        messages.success(request, f"{count} question{'s are' if count != 1 else ' is'} handed to the raters.")
    for number, sentence in done.refused[:5]:
        messages.error(request, f"Question {number}: {sentence}")
    if len(done.refused) > 5:
        messages.error(request, f"And {len(done.refused) - 5} more could not be opened.")


def _ids(words: list[str]) -> list[UUID]:
    try:
        return [UUID(word) for word in words[: services.MOST_AT_ONCE]]
    except ValueError as error:
        raise Http404("A selected question has no proper id.") from error


@login_required
@require_safe
def composition_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """What the picture of the composition shows, as CSV."""
    project = project_for(request.user, slug, "view")
    user = cast(User, request.user)
    board = queries.dashboard(project, user, role_in(user, project.id) or "viewer")
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="composition-{project.slug}.csv"'
    writer = csv.writer(answer)
    writer.writerow(["category", "group", "difficulty", "accepted", "open", "draft"])
    for row in board["categories"]:
        difficulty = CATEGORIES[row["slug"]].difficulty
        writer.writerow([row["slug"], row["group"], difficulty, row["accepted"], row["open"], row["draft"]])
    return answer


# ---------------------------------------------------------------------------------------------------------------------
# Settings and the frame of the answer page


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, "question")
    bench = services.bench_of(project)
    names = tuple(forms.SettingsForm.base_fields)
    form = forms.SettingsForm(request.POST or None, initial={name: getattr(bench, name) for name in names})
    quotas = forms.Quotas.read(request.POST) if request.method == "POST" else forms.Quotas.of(bench.quotas)
    if request.method == "POST":
        try:
            lines = quotas.cleaned()
            if form.is_valid():
                changes = {name: form.cleaned_data[name] for name in form.changed_data}
                services.configure(
                    project=project,
                    user=cast(User, request.user),
                    changes=changes | _new_quotas(lines, bench, request.POST.get("quotas_were", "")),
                )
                messages.success(request, "Saved.")
                return redirect("bench", slug)
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.sentence)
    spare = [forms.QuotaLine() for _ in range(3)]
    context = {
        "form": form,
        "quotas": quotas.lines + spare,
        "quotas_mark": forms.mark_of(bench.quotas),
        "categories": forms.grouped_categories(),
        "difficulties": listing.DIFFICULTIES,
    }
    return page(request, "bench/settings.html", context, project=project, status=422 if form.errors else 200)


def _new_quotas(lines: list[dict[str, Any]], bench: Bench, shown: str) -> dict[str, Any]:
    """The quotas where this person changed them; `shown`: the mark of those on their page. Raises Refused."""
    mark = forms.mark_of(lines)
    if mark in (shown, forms.mark_of(bench.quotas)):
        return {}
    if shown and shown != forms.mark_of(bench.quotas):
        raise Refused(
            "Somebody else changed the quotas in the meantime. Yours are below; save again to put them in their place.",
            "quotas",
        )
    return {"quotas": lines}


NOBODY = UUID(int=0)


@login_required
@require_safe
def answer(request: HttpRequest, slug: str) -> HttpResponse:
    """The frame of the answer page: its script asks for one question after another."""
    project = project_for(request.user, slug, "annotate")
    user = cast(User, request.user)
    data = {
        "api": "/api/v1",
        "next": f"/projects/{project.slug}/bench/next",
        "answer": f"/questions/{NOBODY}/answer",
        "nobody": str(NOBODY),
        "sprite": static("icons/sprite.svg"),
        "user": {"id": user.id, "username": user.username, "name": user.shown_name},
    }
    return page(request, "bench/answer.html", {"data": data}, project=project)
