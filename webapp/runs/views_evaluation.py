"""Pages of evaluations: the leaderboard, one evaluation, its items and files, and the form that starts one."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_safe

from ml.evaluation import published
from ml.evaluation.scoring import READINGS
from webapp.accounts.access import allowed, project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page, post_only
from webapp.bench import services as bench
from webapp.lib import lists
from webapp.lib.errors import Refused
from webapp.runs import evaluating, evaluation_form, exporting, folders, leaderboard, queries
from webapp.runs import evaluation_items as items_of
from webapp.runs import evaluation_pictures as pictures
from webapp.runs.access import evaluation_by_number
from webapp.runs.evaluation_values import (
    CONTROL_MEANS,
    CONTROL_WORDS,
    KIND_WORDS,
    READING_MEANS,
    READING_WORDS,
    grounded,
    measured,
    rho_items,
)
from webapp.runs.models import Evaluation

Answer = TypeVar("Answer", bound=HttpResponseBase)
JOB_KINDS = ("evaluate",)


# ---------------------------------------------------------------------------------------------------------------------
# The leaderboard


@login_required
@require_safe
def board(request: HttpRequest, slug: str) -> HttpResponse:
    """`?release=` and `?sort=` as `leaderboard.Wanted` knows them."""
    project = project_for(request.user, slug, "view")
    wanted = leaderboard.Wanted.of(request.GET)
    found = leaderboard.board(project, wanted)
    points = leaderboard.model_points(found.rows)
    title, rho = leaderboard.relation(points, "models")
    context = {
        "board": found,
        "rows": [{"row": row, "chart": pictures.whisker(row.accuracy)} for row in found.rows],
        "wanted": wanted,
        "heads": lists.heads(wanted, leaderboard.PAIRS, leaderboard.SORTS),
        "published": leaderboard.published_rows(),
        "chance": published.CHANCE,
        "cautions": published.CAUTIONS,
        "known_rho": published.GROUNDED_RHO,
        "points": leaderboard.told(points),
        "scatter": pictures.scatter(points, title) if rho is not None else "",
        "scatter_title": title,
        "job_kinds": " ".join(JOB_KINDS),
    }
    return page(request, "runs/leaderboard.html", context, project=project)


@login_required
@require_safe
def board_file(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """The table with controls and published rows, as CSV or JSON."""
    project = project_for(request.user, slug, "view")
    found = leaderboard.board(project, leaderboard.Wanted.of(request.GET))
    rows = leaderboard.exported(found)
    name = f"{project.slug}-leaderboard-{found.release.number if found.release else 'none'}.{kind}"
    if kind == "json":
        tree = {
            "release": found.release.number if found.release else None,
            "release_sha256": found.release.sha256 if found.release else None,
            "cautions": [*published.CAUTIONS, "The published rows are of GRASP-Bench, another benchmark."],
            "rows": rows,
        }
        return _attached(json.dumps(tree, indent=1, ensure_ascii=False).encode(), name, "application/json")
    answer = _attached(b"", name, "text/csv; charset=utf-8")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    writer = csv.DictWriter(answer, columns)
    writer.writeheader()
    writer.writerows({column: _cell(value) for column, value in row.items()} for row in rows)
    return answer


def _cell(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _attached(data: bytes, name: str, kind: str) -> HttpResponse:
    return _attaching(HttpResponse(data, content_type=kind), name)


def _attaching(answer: Answer, name: str) -> Answer:
    answer["Content-Disposition"] = content_disposition_header(True, name)
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return answer


# ---------------------------------------------------------------------------------------------------------------------
# Start, stop, go on


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def evaluate(request: HttpRequest, slug: str) -> HttpResponse:
    """The form, filled in from `?model=` and `?release=`; and what it starts."""
    project = project_for(request.user, slug, "train")
    if request.method == "POST":
        posted = evaluation_form.as_posted(request.POST, project)
        form = evaluation_form.EvaluateForm(posted, request.FILES, project=project)
        if form.is_valid():
            try:
                made = evaluating.start(project=project, user=cast(User, request.user), **form.wanted())
                messages.success(request, f"Evaluation {made.number} is queued.")
                return redirect("evaluation", slug, made.number)
            except Refused as refused:
                form.add_error(refused.field if refused.field in form.fields else None, refused.sentence)
    else:
        given = {name: request.GET[name] for name in ("model", "release", "control", "name") if name in request.GET}
        form = evaluation_form.EvaluateForm(project=project, initial=given)
    return page(request, "runs/evaluate.html", {"form": form}, project=project, status=422 if form.errors else 200)


@login_required
@post_only
def stop(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    found, _ = evaluation_by_number(request.user, slug, number, "train")
    return _done(request, found, evaluating.stop, "It stops within seconds; what is answered is kept.")


@login_required
@post_only
def again(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Go on with one that failed or was stopped."""
    found, _ = evaluation_by_number(request.user, slug, number, "train")
    return _done(request, found, evaluating.again, "It goes on where it was.")


def _done(request: HttpRequest, found: Evaluation, service: Any, words: str) -> HttpResponse:
    try:
        service(evaluation=found, user=cast(User, request.user))
        messages.success(request, words)
    except Refused as refused:
        messages.error(request, refused.sentence)
    return redirect("evaluation", found.project.slug, found.number)


# ---------------------------------------------------------------------------------------------------------------------
# One evaluation


@login_required
@require_safe
def evaluation(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Its tables, or how far it is; `?with=N` holds it against another one of the release."""
    found, _ = evaluation_by_number(request.user, slug, number, "view")
    context: dict[str, Any] = {
        "evaluation": found,
        "title": items_of.name_of(found),
        "control_means": CONTROL_MEANS.get(found.control, ""),
        "control_words": CONTROL_WORDS.get(found.control, found.control),
        "kind_words": KIND_WORDS[found.model_kind],
        "facts": facts(found),
        "may_stop": found.job is not None and found.state in ("queued", "running"),
        "may_go_on": found.job is not None and found.state in ("failed", "cancelled"),
        "job_kinds": " ".join(JOB_KINDS),
        "files": files(found, allowed(request.user, found.project_id)),
    }
    if found.results:
        context |= _shown(found) | _compared(request, found)
    return page(request, "runs/evaluation.html", context, project=found.project)


def _shown(found: Evaluation) -> dict[str, Any]:
    results = found.results
    others = items_of.others_of(found)
    points = [
        {**one, "mark": str(at), "name": items_of.category_words(one["name"])}
        for at, one in enumerate(results.get("points", []), 1)
    ]
    title, rho = leaderboard.relation(points, "categories")
    told = results.get("grounded")
    tables = items_of.tables_of(results)
    for table in tables:
        for row in table["rows"]:
            row["chart"] = pictures.whisker(row["measured"])
    overall = results["overall"]
    controls = items_of.same_model(found, others)
    runs = {found.run_id} if found.run_id else set()
    seen = sum(queries.seen_in_training(found.release, runs).values()) if found.release else 0
    return {
        "overall": measured(overall),
        "counts": overall,
        "at_least": leaderboard.at_least(found),
        "marks": leaderboard.marks(found, evaluating.standing(found.release_id), seen),
        "notes": results["notes"],
        "rule": results["rule"],
        "tables": tables,
        "readings": [
            {
                "words": READING_WORDS[name],
                "means": READING_MEANS[name],
                "measured": measured(overall, name),
                "unanswered": overall["unanswered_by"][name],
                "chart": pictures.whisker(measured(overall, name)),
            }
            for name in READINGS
        ],
        "macro": results["macro"],
        "grounded": told,
        "precision": grounded(results),
        "rho": rho_items(results),
        "points": leaderboard.told(points),
        "scatter": pictures.scatter(points, title) if rho is not None else "",
        "scatter_title": title,
        "others": others,
        "controls": [one | {"chart": pictures.whisker(one["measured"])} for one in controls],
        "titles": items_of.titles_of(results, controls),
    }


def _compared(request: HttpRequest, found: Evaluation) -> dict[str, Any]:
    word = request.GET.get("with", "")
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        return {"with": None}
    other, _ = evaluation_by_number(request.user, found.project.slug, int(word), "view")
    try:
        told = items_of.comparison(found, other)
    except Refused as refused:
        messages.error(request, refused.sentence)
        return {"with": None}
    rows = [*told["readings"], *told["categories"]]
    for row in rows:
        row["chart"] = pictures.difference(row)
    return {"with": other, "comparison": told}


def facts(found: Evaluation) -> list[tuple[str, Any]]:
    """Where the figures come from, as (what, value)."""
    results, asked = found.results, found.settings
    model, bench_facts = results.get("model", {}), results.get("bench", {})
    reasoning = {True: "with reasoning", False: "for the letter alone"}.get(cast(bool, asked.get("reasoning")), "")
    told: Mapping[str, Any] = {
        "Model": f"{found.model} ({KIND_WORDS[found.model_kind]})",
        "Fingerprint": model.get("fingerprint") or model.get("sha256") or "",
        "Address": model.get("url", ""),
        "Called itself": ", ".join(results.get("served", [])),
        "Run on": ", ".join(results.get("devices", [])),
        "Asked": reasoning and f"{reasoning}, greedy, at most {asked['frames']} pictures",
        "Prompt": results.get("prompt", "") if found.model_kind != "predictions" else "",
        "Benchmark": bench_facts.get("sha256", ""),
        "Seed": str(asked["seed"]),
        "Asked at": results.get("asked", results.get("finished", ""))[:16].replace("T", " "),
        "Versions": ", ".join(f"{name} {model[name]}" for name in ("torch", "transformers") if name in model),
    }
    return [(what, value) for what, value in told.items() if value]


# ---------------------------------------------------------------------------------------------------------------------
# Items and files


@login_required
@require_safe
def items(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Item by item with key and reply. Who opens it counts as having seen the keys."""
    found, _ = evaluation_by_number(request.user, slug, number, "review")
    wanted = items_of.ItemsWanted.of(request.GET)
    told: dict[str, Any] = {"rows": [], "count": 0, "states": [], "questions": []}
    if found.results:
        try:
            told = items_of.item_page(found, wanted)
        except Refused as refused:
            messages.error(request, refused.sentence)
    bench.saw(user=cast(User, request.user), ids=told["questions"])
    beyond = (wanted.page + 1) * items_of.PAGE < told["count"]
    context = told | {
        "evaluation": found,
        "title": items_of.name_of(found),
        "wanted": wanted,
        "states": [(name, count, wanted.address(state=name, page="")) for name, count in told["states"]],
        "all_address": wanted.address(state="", page=""),
        "categories": items_of.categories_of(found.results),
        "earlier": wanted.address(page=str(wanted.page - 1 or "")) if wanted.page else "",
        "later": wanted.address(page=str(wanted.page + 1)) if beyond else "",
        "first": wanted.page * items_of.PAGE + 1,
        "last": min((wanted.page + 1) * items_of.PAGE, told["count"]),
    }
    return page(request, "runs/evaluation_items.html", context, project=found.project)


# word -> (file, or its end below lmms_eval/; what it is; type; the action that may take it)
FILES: dict[str, tuple[str, str, str, str]] = {
    "results": ("results.json", "All tables, with provenance", "application/json", "view"),
    "lmms-eval": ("lmms_eval/*_results.json", "Results as lmms-eval writes them", "application/json", "view"),
    "samples": (
        "lmms_eval/*_samples_*.jsonl",
        "Samples as lmms-eval logs them: keys show",
        "application/jsonl",
        "export",
    ),
    "items": ("items.jsonl", "Every item scored: keys show", "application/jsonl", "export"),
    "replies": ("replies.jsonl", "What was said", "application/jsonl", "export"),
}


def files(found: Evaluation, actions: list[Any]) -> list[dict[str, Any]]:
    """What there is to take away, and whether this person may."""
    if found.state != Evaluation.State.DONE:
        return []
    return [
        {"word": word, "words": words, "may": action in actions, "bytes": path.stat().st_size}
        for word, (name, words, _, action) in FILES.items()
        if (path := _path(found, name)) is not None
    ]


def _path(found: Evaluation, name: str) -> Any:
    return max(folders.evaluation(found.id).glob(name), default=None)


@login_required
@require_safe
def evaluation_file(request: HttpRequest, slug: str, number: int, what: str) -> StreamingHttpResponse:
    """Tables: for everybody in the project."""
    return _file(request, slug, number, what, "view")


@login_required
@require_safe
def evaluation_items_file(request: HttpRequest, slug: str, number: int, lines: str) -> StreamingHttpResponse:
    """What holds keys or replies: for those who may take data out."""
    return _file(request, slug, number, lines, "export")


def _file(request: HttpRequest, slug: str, number: int, what: str, action: Any) -> StreamingHttpResponse:
    found, _ = evaluation_by_number(request.user, slug, number, action)
    name, _, kind, needed = FILES.get(what, ("", "", "", ""))
    path = _path(found, name) if needed == action and found.state == Evaluation.State.DONE else None
    if path is None:
        raise Http404("This evaluation has no such file.")
    answer = StreamingHttpResponse(exporting.pieces(path), content_type=kind)
    answer["Content-Length"] = str(path.stat().st_size)
    return _attaching(answer, f"{slug}-evaluation-{number}-{path.name}")
