"""The list of training runs, the page of one run, runs compared, and what of a run is taken out as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from webapp.accounts.access import allowed, project_for
from webapp.accounts.pages import page
from webapp.accounts.permissions import LEAST_ROLE, Role
from webapp.bench.models import Release
from webapp.runs import exporting, folders, preflight_lines, queries, run_settings
from webapp.runs.access import run_by_number
from webapp.runs.models import Metric, TrainingRun
from webapp.runs.services import OVER

SHOWS = ("curves", "watch", "lineage")
KINDS = "snapshot preflight train evaluate"


# ---------------------------------------------------------------------------------------------------------------------
# All runs


@login_required
@require_safe
def runs(request: HttpRequest, slug: str) -> HttpResponse:
    """The project's runs, newest first: a fixed number of queries."""
    project = project_for(request.user, slug, "view")
    snapshots, ready = queries.snapshot_counts(project)
    context = {
        "rows": queries.runs_of(project),
        "most": queries.LIMIT,
        "snapshots": snapshots,
        "ready": ready,
        "why_not": why_not(request.user, project.id),
        "job_kinds": KINDS,
    }
    return page(request, "runs/runs.html", context, project=project)


def why_not(user: Any, project_id: Any) -> str:
    """Why this person may not train here, "" where they may."""
    if "train" in allowed(user, project_id):
        return ""
    least = LEAST_ROLE["train"]
    return f"Making, starting and stopping runs needs the role {least}."


# ---------------------------------------------------------------------------------------------------------------------
# One run


@login_required
@require_safe
def run(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Where it is, its curves, what it came from, and what this person may do to it now."""
    found, role = run_by_number(request.user, slug, number, "view")
    wanted = request.GET.get("show", "")
    show = wanted if wanted in SHOWS else "curves"
    context = head(request, found, role, show)
    if found.state == TrainingRun.State.DRAFT and show == "curves":
        context["preflight"] = preflight_lines.listed(found.preflight)
        context["changed"] = [
            (name, run_settings.label(name), run_settings.shown(value)) for name, value in found.overrides.items()
        ]
    if show == "lineage":
        context |= {
            "lineage": queries.lineage_of(found),
            "checkpoints": queries.checkpoints_of(found),
            "settings": run_settings.listed(found.stage, found.config, found.overrides),
            "releases": Release.objects.filter(project=found.project).order_by("-number"),
            "about": about(found),
        }
    return page(request, "runs/run.html", context, project=found.project)


def head(request: HttpRequest, found: TrainingRun, role: Role, show: str) -> dict[str, Any]:
    """What the head of a run's pages shows."""
    slug, number = found.project.slug, found.number
    row = queries.run_row(found, role)
    return {
        "run": found,
        "row": row,
        "show": show,
        "why_not": why_not(request.user, found.project_id),
        "why_no_start": why_no_start(row["preflight"], withdrawn=found.snapshot.withdrawn),
        "no_step": no_step(row),
        "address": f"/api/v1/projects/{slug}/runs/{number}",
    }


def why_no_start(told: Mapping[str, Any], *, withdrawn: bool) -> str:
    """What of a draft's preflight is in the way of a start, "" where nothing is."""
    if withdrawn:
        return "Items of its snapshot were withdrawn; choose another snapshot"
    if told.get("state") == "failed":
        return "The preflight failed: look again, or change the run"
    if told.get("state") != "done":
        return "The preflight is not through yet"
    if not told["fresh"]:
        return "Something changed since the preflight: look again"
    return "The preflight says no; what it found stands below" if told.get("errors") else ""


def no_step(row: Mapping[str, Any]) -> str:
    """Where a run is that has logged no step."""
    state, job = row["state"], row["job"] or {}
    if state in OVER:
        return "It ended before its first step was logged."
    if state == "stopping":
        return "It is being stopped."
    if state == "queued" or job.get("state") == "queued":
        return "It waits for a worker; its curves begin here with the first step."
    if job.get("stage") == "train":
        return "The model is loaded and the first step is under way; the curves begin with it."
    return "Starting: packages and the model are loaded; the curves begin with the first step."


def about(found: TrainingRun) -> list[tuple[str, str]]:
    """What run.json tells of where the run began; folders of the machine stay out of it."""
    told = found.about
    model, versions = told.get("model") or {}, told.get("versions") or {}
    lines = []
    if model.get("fingerprint"):
        lines.append(("Fingerprint of its weights", str(model["fingerprint"])))
    if told.get("rows") is not None:
        lines.append(("Rows it saw", f"{told['rows']:,}"))
    if versions:
        lines.append(("Packages", ", ".join(f"{name} {version}" for name, version in versions.items())))
    lines.append(("Seed", str(found.seed)))
    return lines


@login_required
@require_safe
def metrics_csv(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Every logged step, of the metrics that are named (`name`, repeated) or of all."""
    found, _ = run_by_number(request.user, slug, number, "view")
    rows = list(Metric.objects.filter(run=found).order_by("step").values_list("step", "time", "values"))
    known = list(dict.fromkeys(name for _, _, values in rows for name in values))
    names = [name for name in dict.fromkeys(request.GET.getlist("name")) if name in known] or known
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["step", "time", *names])
    for step, time, values in rows:
        table.writerow([step, time, *(values.get(name) for name in names)])
    return attached(text.getvalue(), "text/csv; charset=utf-8", f"{slug}-run-{number}.csv")


def attached(text: str, kind: str, name: str) -> HttpResponse:
    answer = HttpResponse(text, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


# ---------------------------------------------------------------------------------------------------------------------
# The run's folder


@login_required
@require_safe
def download(request: HttpRequest, slug: str, number: int) -> StreamingHttpResponse:
    """The run's folder as a tar file, without its checkpoints but with the final model."""
    found, _ = run_by_number(request.user, slug, number, "train")
    folder = folders.run(found.id)
    if not (folder / "run.json").is_file():
        raise Http404("This run has no folder yet: it was never started here.")
    name = exporting.name_of(found)
    return exporting.tar_response(without_checkpoints(folder, name), name)


def without_checkpoints(folder: Path, top: str) -> Iterator[exporting.Entry]:
    """What of a run's folder leaves it: no checkpoints (optimizer states, many times the model's size), no pictures."""
    kept_back = {f"{top}/{name}" for name in ("checkpoints", "frames", folders.STOP, folders.PROCESS)}
    for name, path in exporting.below(folder, top):
        if "/".join(name.split("/")[:2]) not in kept_back:
            yield name, path


# ---------------------------------------------------------------------------------------------------------------------
# Several runs


@login_required
@require_safe
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Curves over each other, and in which settings the runs differ."""
    project = project_for(request.user, slug, "view")
    numbers = [int(word) for word in ",".join(request.GET.getlist("runs")).split(",") if whole(word)]
    found = queries.runs_to_compare(project, numbers)
    others = [row for row in queries.runs_of(project) if row["state"] != "draft"]
    rows = queries.compared(found)
    settings = list(dict.fromkeys(name for row in rows for name in row["settings"]))
    context = {
        "chosen": rows,
        "others": others,
        "numbers": [row["number"] for row in rows],
        "settings": [(name, [run_settings.written(row["settings"].get(name)) for row in rows]) for name in settings],
        "curves": [{"number": row["number"], "name": row["name"], "columns": row["metrics"]} for row in rows],
        "most": queries.MOST_COMPARED,
    }
    return page(request, "runs/compare.html", context, project=project)


def whole(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10
