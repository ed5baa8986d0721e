"""What workers write of snapshots and training runs, and how a job's end shows in them.

Every function is one transaction, or part of the one that ends a job. Rows are locked in one order: videos, job,
snapshot or run. What an attempt writes begins with `jobs.services.held`: one that lost its job writes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import pstdev
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ml.training import configs
from webapp.bench.models import Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.runs import services
from webapp.runs.models import Checkpoint, DatasetSnapshot, Metric, Rollout, SnapshotItem, TrainingRun

LOG_BYTES = 16 * 1024
GONE = "A video of this snapshot was withdrawn or deleted while it was built; make it again."
CHANGED = "The draft was changed while it was looked at."
LARGEST = sys.float_info.max  # a whole number may be larger
OVERLONG = "overlong"  # as `ml.training.rollouts` calls it
MOVED_ON = "This run does not wait for this job any more."
WAITS = (TrainingRun.State.QUEUED, TrainingRun.State.RUNNING, TrainingRun.State.STOPPING)

# ---------------------------------------------------------------------------------------------------------------------
# Snapshots


@dataclass(frozen=True)
class Origin:
    """Where a row of a snapshot is from."""

    question: UUID | None
    version: int
    video: UUID
    release: UUID | None


def begin_snapshot(*, snapshot_id: UUID) -> None:
    DatasetSnapshot.objects.filter(id=snapshot_id).update(state=DatasetSnapshot.State.BUILDING, error="")


def hold_videos(*, ids: Collection[UUID]) -> None:
    """Lock the videos of a snapshot that is about to be written, before its job's row is locked. Raises Refused."""
    locked = Video.objects.select_for_update(no_key=True).filter(id__in=ids).order_by("id")
    if len(list(locked.values_list("id"))) != len(set(ids)):
        raise Refused(GONE, "releases")


def keep_snapshot(
    *,
    snapshot_id: UUID,
    facts: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    origins: Mapping[str, Origin],
) -> None:
    """Write the rows of a snapshot that is built; its files are in their place. `rows`: lines of rows.jsonl; `origins`:
    where each comes from, by its id. Call in the transaction that ends the job, once its row is locked. Raises Refused.
    """
    used = [origins[row["id"]] for row in rows]
    snapshot = DatasetSnapshot.objects.select_for_update().filter(id=snapshot_id).first()
    if snapshot is None:
        raise Refused("This snapshot was deleted meanwhile.", "snapshot")
    snapshot.items.all().delete()
    asked = Question.objects.filter(id__in={origin.question for origin in used})
    there = set(asked.select_for_update(no_key=True).order_by("id").values_list("id", flat=True))
    made = (_item(snapshot, row, origin, there) for row, origin in zip(rows, used, strict=True))
    SnapshotItem.objects.bulk_create(made, batch_size=1000)
    snapshot.state, snapshot.error = DatasetSnapshot.State.READY, ""
    snapshot.facts, snapshot.hash = dict(facts), facts["hash"]
    snapshot.save()


def _item(
    snapshot: DatasetSnapshot, row: Mapping[str, Any], origin: Origin, questions: Collection[UUID]
) -> SnapshotItem:
    return SnapshotItem(
        snapshot=snapshot,
        item_hash=row["id"],
        question_id=origin.question if origin.question in questions else None,
        question_version=origin.version,
        video_id=origin.video,
        release_id=origin.release,
        split=row["split"],
        row={name: value for name, value in row.items() if name not in ("id", "split", "reasoning", "clip")},
    )


def follow_snapshot(job: Job) -> None:
    """Keep a snapshot's state in step with its job, however that one ended."""
    rows = DatasetSnapshot.objects.filter(id=job.parameters.get("snapshot"), job=job)
    if job.state == Job.State.QUEUED:
        rows.exclude(state=DatasetSnapshot.State.READY).update(state=DatasetSnapshot.State.QUEUED, error="")
    elif job.state != Job.State.DONE:
        error = job.error or "The making of this snapshot was cancelled."
        rows.exclude(state=DatasetSnapshot.State.READY).update(state=DatasetSnapshot.State.FAILED, error=error)


# ---------------------------------------------------------------------------------------------------------------------
# Preflight


@transaction.atomic
def keep_preflight(*, run_id: UUID, key: str, told: Mapping[str, Any]) -> None:
    """Keep what a preflight found, unless the run was changed since it began. Once the job's row is locked."""
    row = TrainingRun.objects.select_for_update().filter(id=run_id).first()
    if row is not None and row.preflight.get("for") == key:
        row.preflight = {**told, "state": "done", "for": key, "at": timezone.now().isoformat()}
        row.save(update_fields=["preflight"])


def follow_preflight(job: Job) -> None:
    """A preflight that ended without an answer says so in its run."""
    row = TrainingRun.objects.select_for_update().filter(id=job.parameters.get("run")).first()
    if row is None or row.preflight.get("for") != job.parameters.get("for") or row.preflight.get("state") == "done":
        return
    if job.state == Job.State.QUEUED:
        row.preflight = row.preflight | {"state": "queued"}
    elif job.state == Job.State.DONE:
        row.preflight = row.preflight | {"state": "failed", "error": CHANGED}
    else:
        row.preflight = row.preflight | {"state": "failed", "error": job.error or "It was cancelled."}
    row.save(update_fields=["preflight"])


# ---------------------------------------------------------------------------------------------------------------------
# Training


@dataclass
class News:
    """What a training process wrote since the last look. `checkpoints`: all complete ones there are now."""

    state: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[Mapping[str, Any]] = ()
    rollouts: Sequence[Mapping[str, Any]] = ()
    checkpoints: Sequence[Mapping[str, Any]] = ()
    log: str = ""
    log_bytes: int = 0


@transaction.atomic
def begin_training(*, job: Job, run_id: UUID) -> TrainingRun:
    """The run of this attempt, which is running from now on. Raises ClaimLost, or Refused where the job is old."""
    jobs.held(job=job)
    rows = TrainingRun.objects.select_for_update(of=("self",)).select_related("snapshot", "parent")
    run = rows.filter(id=run_id, job=job, state__in=WAITS).first()
    if run is None:
        raise Refused(MOVED_ON, "run")
    if run.state == TrainingRun.State.QUEUED:
        run.state, run.error = TrainingRun.State.RUNNING, ""
        run.started = run.started or timezone.now()
        run.save(update_fields=["state", "error", "started"])
    return run


@transaction.atomic
def rewind(*, job: Job, run_id: UUID, step: int | None) -> None:
    """The training went on from `step` (None: from its beginning): what came after it in rows is gone in the files."""
    jobs.held(job=job)
    after = {} if step is None else {"step__gt": step}
    for table in (Metric, Rollout):
        table.objects.filter(run_id=run_id, **after).delete()


@transaction.atomic
def keep_news(*, job: Job, run_id: UUID, news: News, weights: Mapping[str, float]) -> str:
    """Write what is new; the run's state, which may have become "stopping". Raises ClaimLost, Refused.

    A new checkpoint is what the next attempt goes on from: the attempts before it are not counted any more.
    """
    row = jobs.held(job=job)
    run = TrainingRun.objects.select_for_update(of=("self",)).select_related("snapshot").filter(id=run_id).first()
    if run is None or run.job_id != job.id:
        raise Refused(MOVED_ON, "run")
    if news.metrics:
        keep_metrics(run=run, lines=news.metrics)
    if news.rollouts:
        keep_rollouts(run=run, lines=news.rollouts, weights=weights)
    if keep_checkpoints(run=run, found=news.checkpoints) and row.attempts > 1:
        row.attempts = 1
        row.save(update_fields=["attempts"])
    state = news.state
    run.step, run.max_steps = state.get("step", run.step), state.get("max_steps") or run.max_steps
    run.attempt = state.get("attempt", run.attempt)
    run.resumed_from = state.get("resumed_from", run.resumed_from)
    if news.log_bytes:
        run.log = _tail(run.log + news.log)
        run.log_bytes = news.log_bytes
    run.save(update_fields=["step", "max_steps", "attempt", "resumed_from", "log", "log_bytes"])
    return run.state


def _tail(text: str) -> str:
    data = text.replace("\0", "").encode("utf-8", "replace")
    return data[-LOG_BYTES:].decode(errors="ignore")


def keep_metrics(*, run: TrainingRun, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write lines of metrics.jsonl; a step that is there is replaced."""
    by_step = {
        line["step"]: Metric(run=run, step=line["step"], time=line.get("time", 0), values=finite(line["values"]))
        for line in lines
    }
    Metric.objects.bulk_create(
        by_step.values(),
        batch_size=1000,
        update_conflicts=True,
        unique_fields=["run", "step"],
        update_fields=["time", "values"],
    )


def finite(values: Mapping[str, Any]) -> dict[str, float | None]:
    """Numbers as JSON can hold them: what is not finite has no value."""
    return {
        name: value if isinstance(value, int | float) and -LARGEST <= value <= LARGEST else None
        for name, value in values.items()
    }


def weights_of(run: TrainingRun) -> dict[str, float]:
    """Reward name -> weight of a run, with what the trainer takes off for length; {} where it has no rewards."""
    if run.stage != "grpo":
        return {}
    told = run.config.get("rewards", {})
    return configs.Rewards(told.get("preset", "grasp"), told.get("weights", {})).chosen() | {OVERLONG: 1.0}


def keep_rollouts(*, run: TrainingRun, lines: Sequence[Mapping[str, Any]], weights: Mapping[str, float]) -> None:
    """Write lines of rollouts.jsonl; those of an item whose video was withdrawn are left out."""
    asked = {line["row"] for line in lines}
    items = {one.item_hash: one for one in SnapshotItem.objects.filter(snapshot=run.snapshot, item_hash__in=asked)}
    made = {
        (line["step"], line["row"]): _rollout(run, line, items[line["row"]].row, weights)
        for line in lines
        if line["row"] in items and not items[line["row"]].withdrawn
    }
    Rollout.objects.bulk_create(
        made.values(),
        batch_size=500,
        update_conflicts=True,
        unique_fields=["run", "step", "item_hash"],
        update_fields=["category", "question", "options", "answer", "row", "completions", "disagreement"],
    )


def _rollout(
    run: TrainingRun, line: Mapping[str, Any], item: Mapping[str, Any], weights: Mapping[str, float]
) -> Rollout:
    row = {name: item[name] for name in ("gt_events", "visible_persons", "answer_text", "kind") if name in item}
    return Rollout(
        run=run,
        step=line["step"],
        item_hash=line["row"],
        category=str(line.get("category", ""))[:40],
        question=_clean(line.get("question", "")),
        options=[_clean(option) for option in line.get("options", [])],
        answer=_clean(line.get("answer") or ""),
        row=row,
        completions=[
            dict(one) | {"text": _clean(one["text"]), "rewards": finite(one["rewards"])} for one in line["completions"]
        ],
        disagreement=disagreement(line["completions"], weights),
    )


def _clean(text: Any) -> str:
    """Text as the database can hold it: models write anything."""
    return str(text).replace("\0", "�").encode("utf-8", "replace").decode()


def disagreement(completions: Sequence[Mapping[str, Any]], weights: Mapping[str, float]) -> float:
    """Population standard deviation of the answers' weighted sums of rewards; a reward without a value adds nothing."""
    totals = [
        sum(weight * (rewards.get(name) or 0.0) for name, weight in weights.items())
        for rewards in (finite(one["rewards"]) for one in completions)
    ]
    return float(pstdev(totals)) if len(totals) > 1 and all(map(isfinite, totals)) else 0.0


def keep_checkpoints(*, run: TrainingRun, found: Sequence[Mapping[str, Any]]) -> bool:
    """Write which complete checkpoints there are; whether one of them is new. Those that are gone are forgotten."""
    known = {one.path: one for one in run.checkpoints.all()}
    there = {one["path"]: one for one in found}
    fresh = [
        Checkpoint(
            run=run, step=one["step"], path=path, bytes=one["bytes"], final=one.get("final", False),
            withdrawn=run.withdrawn,
        )
        for path, one in there.items()
        if path not in known
    ]  # fmt: skip
    Checkpoint.objects.bulk_create(fresh)
    Checkpoint.objects.filter(id__in=[one.id for path, one in known.items() if path not in there]).delete()
    return bool(fresh)


def end_training(*, job: Job, run_id: UUID, state: TrainingRun.State, about: Mapping[str, Any], sentence: str) -> None:
    """The run is done, or stopped as it was asked. Call in the transaction that ends its job, once that is locked."""
    run = TrainingRun.objects.select_for_update(of=("self",)).filter(id=run_id, job=job).first()
    if run is None:
        raise Refused(MOVED_ON, "run")
    run.state, run.error, run.about, run.ended = state, sentence, dict(about), timezone.now()
    run.save(update_fields=["state", "error", "about", "ended"])


def follow_training(job: Job) -> None:
    """Keep a run's state in step with its job, however that one ended. The job's row is locked."""
    run = TrainingRun.objects.select_for_update(of=("self",)).filter(id=job.parameters.get("run"), job=job).first()
    if run is None or job.state == Job.State.DONE:
        return
    if job.state == Job.State.QUEUED:
        if run.state == TrainingRun.State.STOPPING:
            return  # the next attempt stops it
        if run.state not in WAITS:  # the job is tried again
            services.check_unread(run)
        run.state, run.error, run.ended = TrainingRun.State.QUEUED, "", None
    elif job.state == Job.State.CANCELLED:
        run.state = TrainingRun.State.STOPPED if run.attempt else TrainingRun.State.DRAFT
        run.error, run.ended = _cancelled(run), timezone.now()
        if not run.attempt:
            run.job = None  # tried again, it would train what the draft has become since
    else:
        run.state, run.error, run.ended = TrainingRun.State.FAILED, job.error, timezone.now()
    run.save(update_fields=["state", "error", "ended", "job"])


def _cancelled(run: TrainingRun) -> str:
    if not run.attempt:
        return ""
    last = run.checkpoints.filter(final=False).order_by("-step").first()
    where = f"it goes on from step {last.step}" if last else "it has no checkpoint, so it begins anew"
    return f"Ended at once, without a checkpoint; resumed, {where}."
