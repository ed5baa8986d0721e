"""Reads of snapshots and runs, and the form in which pages and API show them. Each is a fixed number of queries."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.http import Http404

from webapp.accounts.models import User
from webapp.accounts.permissions import Role, role_allows
from webapp.bench.models import Question, Release
from webapp.jobs.models import Job
from webapp.jobs.queries import row as job_row
from webapp.library.models import Project
from webapp.runs import basemodels, folders
from webapp.runs.access import GONE
from webapp.runs.models import Checkpoint, DatasetSnapshot, Evaluation, Metric, Rollout, SnapshotItem, TrainingRun
from webapp.runs.services import LIVE, OVER, preflight_key

Row = dict[str, Any]
LIMIT = 200
PAGE = 20
MOST_POINTS = 2000
MOST_COMPARED = 8
SORTS = {"disagreement": ("-disagreement", "id"), "step": ("-step", "id")}
LAST = {"loss": "loss", "reward": "reward", "accuracy": "rewards/accuracy/mean"}  # shown in lists -> metric

LONG = (  # columns that grow with a run, its snapshot or its job, and that no row shows
    "log", "about", "snapshot__facts", "snapshot__sources", "job__log", "job__result",
    "parent__log", "parent__about", "cloned_from__log", "cloned_from__about",
)  # fmt: skip

base_models = basemodels.base_models


def name_of(user: User | None) -> str:
    return "" if user is None else user.shown_name


# ---------------------------------------------------------------------------------------------------------------------
# Snapshots


def snapshots_of(project: Project) -> list[Row]:
    """The project's snapshots, newest first: one query."""
    rows = DatasetSnapshot.objects.filter(project=project).select_related("job", "created_by").order_by("-number")
    return [snapshot_row(one) for one in rows[:LIMIT]]


def snapshot_counts(project: Project) -> tuple[int, int]:
    """How many snapshots there are, and how many of them are ready: one query."""
    ready = Count("id", filter=Q(state=DatasetSnapshot.State.READY))
    told = DatasetSnapshot.objects.filter(project=project).aggregate(all=Count("id"), ready=ready)
    return told["all"], told["ready"]


def snapshot_row(snapshot: DatasetSnapshot) -> Row:
    counts = snapshot.facts.get("counts", {})
    train, validation = (counts.get(split, {}) for split in ("train", "validation"))
    return {
        "id": str(snapshot.id),
        "number": snapshot.number,
        "name": snapshot.name,
        "state": snapshot.state,
        "error": snapshot.error,
        "hash": snapshot.hash,
        "items": train.get("items", 0) + validation.get("items", 0),
        "train": train,
        "validation": validation,
        "leaks": snapshot.facts.get("leaks", []),
        "coverage": snapshot.facts.get("coverage", {}),
        "recordings": snapshot.facts.get("recordings", {}),
        "validation_share": snapshot.validation_share,
        "seed": snapshot.seed,
        "withdrawn": snapshot.withdrawn,
        "created": snapshot.created,
        "by": name_of(snapshot.created_by),
        "job": job_brief(snapshot.job),
    }


def snapshot_details(snapshot: DatasetSnapshot) -> Row:
    """A snapshot with the releases it is from, the runs made with it and what was withdrawn: four queries."""
    counted = snapshot.items.aggregate(
        all=Count("id"), gone=Count("id", filter=Q(withdrawn=True)), free=Count("id", filter=Q(release=None))
    )
    releases = Release.objects.filter(id__in=snapshot.sources.get("releases", [])).order_by("number")
    items = dict(snapshot.items.exclude(release=None).values_list("release").annotate(n=Count("id")).order_by())
    return snapshot_row(snapshot) | {
        "facts": snapshot.facts,
        "withdrawn_items": counted["gone"],
        "from_questions": counted["free"] if snapshot.sources.get("questions") else 0,
        "releases": [{"number": r.number, "sha256": r.sha256, "items": items.get(r.id, 0)} for r in releases],
        "runs": [brief(run) for run in snapshot.runs.order_by("number")],
    }


def job_brief(job: Job | None) -> Row | None:
    """A job as the pages of runs show it."""
    if job is None:
        return None
    told = job_row(job)
    return {name: told[name] for name in ("id", "kind", "state", "stage", "share", "error", "attempts")}


# ---------------------------------------------------------------------------------------------------------------------
# Runs


def _with_last(rows: QuerySet[TrainingRun]) -> QuerySet[TrainingRun]:
    """With the values of the last metrics as `last_values`."""
    last = Metric.objects.filter(run=OuterRef("pk")).order_by("-step").values("values")[:1]
    return rows.annotate(last_values=Subquery(last))


def runs_of(project: Project) -> list[Row]:
    """The project's runs, newest first: one query."""
    rows = TrainingRun.objects.filter(project=project).defer(*(name for name in LONG if "cloned" not in name))
    rows = _with_last(rows).select_related("snapshot", "parent", "job", "created_by").order_by("-number")
    return [_row(run) for run in rows[:LIMIT]]


def run_row(run: TrainingRun, role: Role = "viewer") -> Row:
    """Where a run is, and what this role may do to it now: two queries."""
    fresh = _with_last(TrainingRun.objects.filter(id=run.id).defer(*LONG))
    row = fresh.select_related("snapshot", "parent", "job", "created_by", "cloned_from").annotate(
        n_children=Count("children")
    )
    found = row.first()
    if found is None:  # deleted since it was looked up
        raise Http404(GONE.format("run"))
    return _row(found) | {
        "cloned_from": found.cloned_from.number if found.cloned_from else None,
        "overrides": found.overrides,
        "log_bytes": found.log_bytes,
        "may": may(found, role, children=found.n_children),
    }


def _row(run: Any) -> Row:
    values = run.last_values or {}
    return (
        brief(run)
        | {
            "id": str(run.id),
            "sentence": run.error,
            "version": run.version,
            "step": run.step,
            "max_steps": run.max_steps,
            "attempt": run.attempt,
            "resumed_from": run.resumed_from,
            "snapshot": run.snapshot.number,
            "model": model_of(run),
            "preset": run.preset,
            "seed": run.seed,
            "started": run.started.isoformat() if run.started else None,
            "ended": run.ended.isoformat() if run.ended else None,
            "created": run.created.isoformat(),
            "by": name_of(run.created_by),
            "imported": run.imported,
            "preflight": run.preflight | {"fresh": is_fresh(run)},
            "job": job_brief(run.job),
        }
        | {name: values.get(metric) for name, metric in LAST.items()}
    )


def brief(run: TrainingRun) -> Row:
    return {
        "number": run.number,
        "name": run.name,
        "stage": run.stage,
        "state": run.state,
        "withdrawn": run.withdrawn,
    }


def is_fresh(run: TrainingRun) -> bool:
    """Whether the preflight looked at the run as it is."""
    if run.state != TrainingRun.State.DRAFT:
        return True
    return run.preflight.get("state") == "done" and run.preflight.get("for") == preflight_key(run)


def model_of(run: TrainingRun) -> str:
    """What the run begins with, in words."""
    return f"the final model of run {run.parent.number}" if run.parent else run.base_model


def may(run: TrainingRun, role: Role, *, children: int) -> dict[str, bool]:
    """What this role may do to the run as it is now."""
    trains, state = role_allows(role, "train"), TrainingRun.State(run.state)
    ready = is_fresh(run) and not run.preflight.get("errors") and not run.snapshot.withdrawn
    goes_on = state in (TrainingRun.State.STOPPED, TrainingRun.State.FAILED)
    return {
        "start": trains and state == TrainingRun.State.DRAFT and ready,
        "change": trains and state == TrainingRun.State.DRAFT,
        "stop": trains and state in (TrainingRun.State.QUEUED, TrainingRun.State.RUNNING),
        "kill": trains and state in LIVE,
        "resume": trains and goes_on and not run.snapshot.withdrawn and not run.imported,
        "clone": trains,
        "delete": trains and state not in LIVE and not children,
        "download": trains and state in OVER and has_final(run),
        "export": trains and run.snapshot.state == DatasetSnapshot.State.READY and not run.snapshot.withdrawn,
        "rollouts": role_allows(role, "review"),
        "log": role_allows(role, "review"),
        "evaluate": trains and has_model(run),
    }


def has_final(run: TrainingRun) -> bool:
    return (folders.run(run.id) / folders.FINAL).is_dir()


def has_model(run: TrainingRun) -> bool:
    return run.state in OVER and (has_final(run) or run.step > 0)


def log_tail(run: TrainingRun, after: int = 0) -> Row:
    """The end of the log behind byte `after` of it, and where it ends: {"text", "at"}. Nothing new: an empty text.

    Where more was written than is kept, the text begins later.
    """
    data = run.log.encode()
    begins = run.log_bytes - len(data)
    return {"text": data[max(0, after - begins) :].decode(errors="ignore"), "at": run.log_bytes}


def checkpoints_of(run: TrainingRun) -> list[Row]:
    """Complete checkpoints by step, the final model last."""
    return [
        {
            "step": one.step,
            "path": one.path,
            "bytes": one.bytes,
            "final": one.final,
            "withdrawn": one.withdrawn,
            "created": one.created.isoformat(),
        }
        for one in Checkpoint.objects.filter(run=run)
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Metrics

# Every k-th logged step after `since`, counted from the last one back, so that the newest is always there
THINNED = """
SELECT step, values, every FROM (
    SELECT step, values, row_number() OVER (ORDER BY step DESC) AS n,
        greatest(1, ceil(count(*) OVER () / %(most)s::float))::int AS every
    FROM runs_metric WHERE run_id = %(run)s AND step > %(since)s
) counted WHERE (n - 1) %% every = 0 ORDER BY step
"""


def metric_columns(run: TrainingRun, since: int = -1, most: int = MOST_POINTS) -> Row:
    """Metrics as columns of at most `most` points: {"columns": {"step": [..], name: [.. or null]}, "every": k, "last":
    step of the last point or null}; `every`: each how many-th logged step is among them. One query."""
    return _columns(run.id, since, most)


def _columns(run_id: UUID, since: int, most: int) -> Row:
    with connection.cursor() as cursor:
        cursor.execute(THINNED, {"run": run_id, "since": since, "most": most})
        found = [(step, json.loads(values) if isinstance(values, str) else values, k) for step, values, k in cursor]
    names = list(dict.fromkeys(name for _, values, _ in found for name in values))
    columns: dict[str, list[Any]] = {"step": [step for step, _, _ in found]}
    columns |= {name: [values.get(name) for _, values, _ in found] for name in names}
    return {
        "columns": columns,
        "every": found[0][2] if found else 1,
        "last": found[-1][0] if found else None,
    }


def compared(runs: Sequence[TrainingRun], most: int = 500) -> list[Row]:
    """Runs side by side: what differs in their settings, and their metrics as columns. One query a run."""
    flat = [_flat(run) for run in runs]
    names = list(dict.fromkeys(name for one in flat for name in one))
    differ = [name for name in names if len({repr(one.get(name)) for one in flat}) > 1]
    return [
        brief(run)
        | {"settings": {name: told.get(name) for name in differ}, "metrics": _columns(run.id, -1, most)["columns"]}
        for run, told in zip(runs, flat, strict=True)
    ]


def _flat(run: TrainingRun) -> Row:
    sections = {name: value for name, value in run.config.items() if isinstance(value, dict)}
    told: Row = {"stage": run.stage, "preset": run.preset, "model": model_of(run), "snapshot": run.snapshot.number}
    return told | {f"{section}.{name}": value for section, one in sections.items() for name, value in one.items()}


def runs_to_compare(project: Project, numbers: Sequence[int]) -> list[TrainingRun]:
    """Runs of the project by number, in the order asked for: one query."""
    rows = TrainingRun.objects.filter(project=project, number__in=numbers[:MOST_COMPARED])
    found = {run.number: run for run in rows.select_related("snapshot", "parent")}
    return [found[number] for number in dict.fromkeys(numbers[:MOST_COMPARED]) if number in found]


# ---------------------------------------------------------------------------------------------------------------------
# Rollouts


def rollout_page(
    run: TrainingRun, category: str = "", sort: str = "step", page: int = 1, size: int = PAGE
) -> tuple[list[Rollout], int]:
    """One page of rollouts (from 1), newest or most disputed first, and how many there are: two queries."""
    rows = Rollout.objects.filter(run=run)
    if category:
        rows = rows.filter(category=category)
    first = (max(1, page) - 1) * size
    return list(rows.order_by(*SORTS[sort])[first : first + size]), rows.count()


def rollout_categories(run: TrainingRun) -> list[tuple[str, int]]:
    """The categories of a run's rollouts with their counts: one query."""
    counted = Rollout.objects.filter(run=run).values_list("category").annotate(n=Count("id"))
    return list(counted.order_by("category"))


def questions_of(run: TrainingRun, hashes: Sequence[str]) -> list[UUID]:
    """The questions behind items of a run's snapshot, those that still are there: one query."""
    rows = SnapshotItem.objects.filter(snapshot=run.snapshot_id, item_hash__in=hashes).exclude(question=None)
    return list(rows.values_list("question", flat=True))


def rollout_row(rollout: Rollout) -> Row:
    return {
        "id": rollout.id,
        "step": rollout.step,
        "item": rollout.item_hash,
        "category": rollout.category,
        "question": rollout.question,
        "options": rollout.options,
        "answer": rollout.answer,
        "gt_events": rollout.row.get("gt_events", []),
        "visible_persons": rollout.row.get("visible_persons"),
        "disagreement": rollout.disagreement,
        "completions": rollout.completions,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Lineage


def lineage_of(run: TrainingRun) -> Row:
    """From what a run came and what came of it: five queries."""
    snapshot = snapshot_details(run.snapshot)
    evaluations = Evaluation.objects.filter(run=run).order_by("number")
    return {
        "snapshot": snapshot,
        "releases": snapshot["releases"],
        "items": snapshot["items"],
        "parent": brief(run.parent) if run.parent else None,
        "cloned_from": brief(run.cloned_from) if run.cloned_from else None,
        "children": [brief(one) for one in run.children.order_by("number")],
        "evaluations": [{"number": one.number, "name": one.name, "state": one.state} for one in evaluations],
    }


def revisions_of(snapshot: DatasetSnapshot, page: int = 1, size: int = 100) -> tuple[list[Row], int]:
    """Which revision of which question each row of a snapshot is: two queries."""
    rows = snapshot.items.select_related("question", "release").order_by("split", "item_hash")
    first = (max(1, page) - 1) * size
    return [
        {
            "item": one.item_hash,
            "split": one.split,
            "question": one.question.number if one.question else None,
            "text": "" if one.withdrawn else one.row.get("question", ""),
            "question_id": str(one.question_id) if one.question_id else None,
            "video_id": str(one.question.video_id) if one.question else None,
            "version": one.question_version,
            "release": one.release.number if one.release else None,
            "withdrawn": one.withdrawn,
        }
        for one in rows[first : first + size]
    ], rows.count()


def runs_that_saw(question: Question) -> list[TrainingRun]:
    """Runs that trained on a question, whatever its revision: those that began. One query."""
    seen = SnapshotItem.objects.filter(question=question, split="train").values("snapshot")
    return list(TrainingRun.objects.filter(snapshot__in=seen, attempt__gt=0).order_by("number"))


def seen_in_training(release: Release, runs: Collection[UUID]) -> dict[UUID, int]:
    """Run -> how many items of the release it, or a run whose weights it began with, trained on, in this revision or
    another: three queries, none without a run."""
    if not runs:
        return {}
    known = TrainingRun.objects.filter(project=release.project_id).values_list("id", "parent", "snapshot")
    made = {id: (parent, snapshot) for id, parent, snapshot in known}
    of_run = {run: _snapshots_before(run, made) for run in runs}
    items = list(release.items.values_list("sha256", "question"))
    same = Q(item_hash__in=[sha256 for sha256, _ in items]) | Q(question__in=[q for _, q in items if q])
    trained = SnapshotItem.objects.filter(same, snapshot__in=set().union(*of_run.values()), split="train")
    hits: dict[UUID, set[Any]] = defaultdict(set)
    for snapshot, sha256, question in trained.values_list("snapshot", "item_hash", "question"):
        hits[snapshot] |= {sha256, question}
    found = {}
    for run, snapshots in of_run.items():
        seen = set().union(*(hits[snapshot] for snapshot in snapshots)) - {None}
        found[run] = sum(sha256 in seen or question in seen for sha256, question in items)
    return found


def _snapshots_before(run: UUID, made: Mapping[UUID, tuple[UUID | None, UUID]]) -> set[UUID]:
    """The snapshots of a run and of all whose weights it began with; several of them may be on the same one."""
    snapshots: set[UUID] = set()
    met: set[UUID] = set()
    at: UUID | None = run
    while at is not None and at in made and at not in met:
        met.add(at)
        at, snapshot = made[at]
        snapshots.add(snapshot)
    return snapshots
