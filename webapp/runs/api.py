"""Endpoints of snapshots and training runs: lists, one run as it moves, its rollouts, and what an admin does with it.

Rollouts show keys, so they are for reviewers and above; whoever trains is an admin. A change that somebody else was
quicker with is answered with 409 and a sentence that says what the run is now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from webapp.accounts.access import check, project_for
from webapp.accounts.models import User
from webapp.bench import services as bench
from webapp.bench.access import question_for
from webapp.bench.models import Release
from webapp.lib import live
from webapp.lib.errors import Refused, Stale
from webapp.lib.http import UserRequest
from webapp.library.models import Project
from webapp.runs import exporting, queries, services
from webapp.runs.access import run_by_number, snapshot_by_number
from webapp.runs.models import DatasetSnapshot, Metric, TrainingRun

router = Router()
RUNS = "/projects/{slug:slug}/runs"
SNAPSHOTS = "/projects/{slug:slug}/snapshots"
MOST = 2**31 - 1


class SnapshotIn(Schema):
    """`releases`: their numbers. `questions`: the project's accepted ones, as they are now."""

    releases: list[int] = Field(default=[], max_length=services.MOST_RELEASES)
    questions: bool = False
    name: str = Field(default="", max_length=200)
    validation_share: float = 0.1
    seed: int = 0


class RunIn(Schema):
    """`snapshot`, `parent`: numbers."""

    stage: str = Field(max_length=10)
    snapshot: int
    preset: str = Field(max_length=60)
    base_model: str = Field(default="", max_length=120)
    parent: int | None = None
    overrides: dict[str, Any] = Field(default={}, max_length=services.MOST_OVERRIDES)
    name: str = Field(default="", max_length=200)
    seed: int | None = None


class VersionIn(Schema):
    version: int


class DraftIn(VersionIn):
    """Only what is given changes."""

    name: str | None = Field(default=None, max_length=200)
    snapshot: int | None = None
    preset: str | None = Field(default=None, max_length=60)
    base_model: str | None = Field(default=None, max_length=120)
    parent: int | None = None
    overrides: dict[str, Any] | None = Field(default=None, max_length=services.MOST_OVERRIDES)
    seed: int | None = None


class NameIn(VersionIn):
    name: str = Field(max_length=200)


def _snapshot(project: Project, number: int) -> DatasetSnapshot:
    found = DatasetSnapshot.objects.filter(project=project, number=number).first() if 0 <= number <= MOST else None
    if found is None:
        raise Refused(f"{project.name} has no snapshot {number}.", "snapshot")
    return found


def _run(project: Project, number: int) -> TrainingRun:
    found = TrainingRun.objects.filter(project=project, number=number).first() if 0 <= number <= MOST else None
    if found is None:
        raise Refused(f"{project.name} has no run {number}.", "parent")
    return found


@contextmanager
def _said(run: TrainingRun) -> Iterator[None]:
    """A conflict in words: what the run is now."""
    try:
        yield
    except Stale as stale:
        state = (stale.theirs or {}).get("state", "gone")
        raise HttpError(409, f"Somebody else was quicker: run {run.number} is {state} now.") from stale


# ---------------------------------------------------------------------------------------------------------------------
# Snapshots


@router.get(SNAPSHOTS)
def list_snapshots(request: UserRequest, slug: str) -> dict[str, Any]:
    return {"snapshots": queries.snapshots_of(project_for(request.user, slug, "view"))}


@router.post(SNAPSHOTS)
def post_snapshot(request: UserRequest, slug: str, wanted: SnapshotIn) -> dict[str, Any]:
    project = project_for(request.user, slug, "train")
    told = wanted.dict()
    numbers = set(told.pop("releases"))
    releases = list(Release.objects.filter(project=project, number__in=[n for n in numbers if 0 <= n <= MOST]))
    missing = sorted(numbers - {release.number for release in releases})
    if missing:
        raise Refused(f"{project.name} has no release {missing[0]}.", "releases")
    made = services.create_snapshot(project=project, user=request.user, releases=releases, **told)
    return queries.snapshot_row(made)


@router.get(f"{SNAPSHOTS}/{{int:number}}")
def get_snapshot(request: UserRequest, slug: str, number: int) -> dict[str, Any]:
    snapshot, _ = snapshot_by_number(request.user, slug, number, "view")
    return queries.snapshot_details(snapshot)


@router.get(f"{SNAPSHOTS}/{{int:number}}/items")
def get_items(request: UserRequest, slug: str, number: int, page: int = 1) -> dict[str, Any]:
    """Which revision of which question each row is, a hundred at a time."""
    snapshot, _ = snapshot_by_number(request.user, slug, number, "view")
    rows, count = queries.revisions_of(snapshot, _page(page))
    return {"items": rows, "count": count}


@router.delete(f"{SNAPSHOTS}/{{int:number}}", response={204: None})
def delete_snapshot(request: UserRequest, slug: str, number: int) -> Any:
    snapshot, _ = snapshot_by_number(request.user, slug, number, "train")
    services.delete_snapshot(snapshot=snapshot)
    return 204, None


def _page(page: int) -> int:
    if not 1 <= page <= 1_000_000:
        raise Refused("Pages are counted from 1.", "page")
    return page


# ---------------------------------------------------------------------------------------------------------------------
# Runs


@router.get(RUNS)
def list_runs(request: UserRequest, slug: str) -> dict[str, Any]:
    return {"runs": queries.runs_of(project_for(request.user, slug, "view"))}


@router.post(RUNS)
def post_run(request: UserRequest, slug: str, wanted: RunIn) -> dict[str, Any]:
    """Make a draft; its preflight begins at once."""
    project = project_for(request.user, slug, "train")
    told = wanted.dict()
    told["snapshot"] = _snapshot(project, wanted.snapshot)
    told["parent"] = None if wanted.parent is None else _run(project, wanted.parent)
    made = services.create_run(project=project, user=request.user, **told)
    return queries.run_row(made, "admin")


@router.get(f"{RUNS}/compare")
def compare(request: UserRequest, slug: str, runs: str = "") -> dict[str, Any]:
    """Runs by number, as "3,5", side by side."""
    project = project_for(request.user, slug, "view")
    words = [word for word in runs.split(",") if word.strip()]
    if not words or not all(word.strip().isascii() and word.strip().isdigit() and len(word) < 10 for word in words):
        raise Refused("Name runs by their numbers, as in 3,5.", "runs")
    return {"runs": queries.compared(queries.runs_to_compare(project, [int(word) for word in words]))}


@router.get(f"{RUNS}/{{int:number}}/state")
def get_state(request: UserRequest, slug: str, number: int) -> dict[str, Any]:
    run, role = run_by_number(request.user, slug, number, "view")
    return queries.run_row(run, role)


@router.get(f"{RUNS}/{{int:number}}/metrics")
def get_metrics(request: UserRequest, slug: str, number: int, since: int = -1) -> dict[str, Any]:
    """Metrics behind step `since` as columns of at most 2000 points."""
    run, _ = run_by_number(request.user, slug, number, "view")
    return queries.metric_columns(run, max(-1, min(since, MOST)))


@router.get(f"{RUNS}/{{int:number}}/log")
def get_log(request: UserRequest, slug: str, number: int, after: int = 0) -> dict[str, Any]:
    """The end of the log behind byte `after`. A traceback may quote a row with its key, so it is for reviewers."""
    run, _ = run_by_number(request.user, slug, number, "review")
    return queries.log_tail(run, max(0, after))


@router.get(f"{RUNS}/{{int:number}}/checkpoints")
def get_checkpoints(request: UserRequest, slug: str, number: int) -> dict[str, Any]:
    run, _ = run_by_number(request.user, slug, number, "view")
    return {"checkpoints": queries.checkpoints_of(run)}


@router.get(f"{RUNS}/{{int:number}}/lineage")
def get_lineage(request: UserRequest, slug: str, number: int) -> dict[str, Any]:
    run, _ = run_by_number(request.user, slug, number, "view")
    return queries.lineage_of(run)


@router.get(f"{RUNS}/{{int:number}}/rollouts")
def get_rollouts(
    request: UserRequest, slug: str, number: int, category: str = "", sort: str = "step", page: int = 1
) -> dict[str, Any]:
    """Twenty prompts with their answers, newest first or where the answers' rewards differ most. Keys show: who asks
    counts as having seen them."""
    run, _ = run_by_number(request.user, slug, number, "review")
    if sort not in queries.SORTS:
        raise Refused(f"Sort by one of {', '.join(queries.SORTS)}.", "sort")
    rows, count = queries.rollout_page(run, category[:40], sort, _page(page))
    bench.saw(user=request.user, ids=queries.questions_of(run, [row.item_hash for row in rows]))
    return {
        "rollouts": [queries.rollout_row(row) for row in rows],
        "count": count,
        "page": page,
        "size": queries.PAGE,
        "categories": [{"category": name, "count": n} for name, n in queries.rollout_categories(run)],
    }


@router.get(f"{RUNS}/{{int:number}}/stream")
async def stream(request: UserRequest, slug: str, number: int) -> StreamingHttpResponse:
    """Server-sent events: `run` with its state, `metrics` with the last step. Access is looked up at every step."""
    user = cast(User, await request.auser())
    run, _ = await sync_to_async(run_by_number)(user, slug, number, "view")

    def look() -> list[live.Message]:
        user.refresh_from_db(fields=["is_active", "is_superuser"])
        role = check(user, run.project_id, "view")
        last = Metric.objects.filter(run=run).order_by("-step").values_list("step", flat=True).first()
        return [("run", queries.run_row(run, role)), ("metrics", {"step": last})]

    return live.stream(look)


# ---------------------------------------------------------------------------------------------------------------------
# What an admin does


@router.patch(f"{RUNS}/{{int:number}}")
def patch_run(request: UserRequest, slug: str, number: int, wanted: DraftIn) -> dict[str, Any]:
    """Change a draft; its preflight begins anew."""
    run, role = run_by_number(request.user, slug, number, "train")
    changes = wanted.dict(exclude_unset=True, exclude={"version"})
    if changes.get("snapshot") is not None:
        changes["snapshot"] = _snapshot(run.project, changes["snapshot"])
    if changes.get("parent") is not None:
        changes["parent"] = _run(run.project, changes["parent"])
    if any(changes.get(name, "") is None for name in ("name", "snapshot", "preset", "base_model", "overrides")):
        raise Refused("Leave out what is not to change.", "changes")
    with _said(run):
        changed = services.change_draft(run=run, user=request.user, version=wanted.version, changes=changes)
    return queries.run_row(changed, role)


@router.post(f"{RUNS}/{{int:number}}/name")
def post_name(request: UserRequest, slug: str, number: int, wanted: NameIn) -> dict[str, Any]:
    run, role = run_by_number(request.user, slug, number, "train")
    with _said(run):
        return queries.run_row(services.rename(run=run, version=wanted.version, name=wanted.name), role)


@router.post(f"{RUNS}/{{int:number}}/preflight")
def post_preflight(request: UserRequest, slug: str, number: int) -> dict[str, Any]:
    run, role = run_by_number(request.user, slug, number, "train")
    services.request_preflight(run=run, user=request.user)
    return queries.run_row(run, role)


@router.post(f"{RUNS}/{{int:number}}/start")
def post_start(request: UserRequest, slug: str, number: int, wanted: VersionIn) -> dict[str, Any]:
    run, role = run_by_number(request.user, slug, number, "train")
    with _said(run):
        return queries.run_row(services.start(run=run, user=request.user, version=wanted.version), role)


@router.post(f"{RUNS}/{{int:number}}/stop")
def post_stop(request: UserRequest, slug: str, number: int, wanted: VersionIn) -> dict[str, Any]:
    """Stop with a checkpoint at the end of the step; cancelling the job instead ends it at once."""
    run, role = run_by_number(request.user, slug, number, "train")
    with _said(run):
        return queries.run_row(services.stop(run=run, user=request.user, version=wanted.version), role)


@router.post(f"{RUNS}/{{int:number}}/resume")
def post_resume(request: UserRequest, slug: str, number: int, wanted: VersionIn) -> dict[str, Any]:
    run, role = run_by_number(request.user, slug, number, "train")
    with _said(run):
        return queries.run_row(services.resume(run=run, user=request.user, version=wanted.version), role)


@router.post(f"{RUNS}/{{int:number}}/clone")
def post_clone(request: UserRequest, slug: str, number: int) -> dict[str, Any]:
    run, role = run_by_number(request.user, slug, number, "train")
    return queries.run_row(services.clone(run=run, user=request.user), role)


@router.post(f"{RUNS}/{{int:number}}/delete")
def post_delete(request: UserRequest, slug: str, number: int, wanted: VersionIn) -> dict[str, Any]:
    run, _ = run_by_number(request.user, slug, number, "train")
    with _said(run):
        services.delete(run=run, version=wanted.version)
    return {"deleted": number}


@router.get(f"{RUNS}/{{int:number}}/final")
def get_final(request: UserRequest, slug: str, number: int) -> StreamingHttpResponse:
    """The final model as a tar file."""
    run, _ = run_by_number(request.user, slug, number, "train")
    return exporting.tar_response(exporting.final_model(run), f"{exporting.name_of(run)}-final")


@router.get(f"{RUNS}/{{int:number}}/export")
def get_export(request: UserRequest, slug: str, number: int) -> StreamingHttpResponse:
    """The run with its snapshot as a tar file, as a cluster takes it."""
    run, _ = run_by_number(request.user, slug, number, "train")
    return exporting.tar_response(exporting.for_cluster(run), exporting.name_of(run))


@router.get("/questions/{uuid:question_id}/runs")
def runs_of_question(request: UserRequest, question_id: UUID) -> dict[str, Any]:
    """The runs that trained on a question, whatever its revision."""
    question, _ = question_for(request.user, question_id, "view")
    return {"runs": [queries.brief(run) for run in queries.runs_that_saw(question)]}


@router.get("/projects/{slug:slug}/models")
def list_models(request: UserRequest, slug: str) -> dict[str, Any]:
    """The configured model folders, by name."""
    project_for(request.user, slug, "train")
    return {"models": queries.base_models()}
