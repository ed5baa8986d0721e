"""Writes of snapshots and training runs by people: making, starting, stopping, going on, cloning, deleting.

What workers write is in `recording`, what a withdrawal does in `withdrawal`. Every function takes keywords only and is
one transaction; who may call it is checked before. Raises Refused, or Stale where somebody else was there first: every
change by a person counts the run's `version` up, changes by a worker do not. Rows are locked in one order: videos,
project, jobs, snapshot, run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any
from uuid import UUID

from django.db import transaction

from ml.formats import frontmatter
from ml.training import configs
from webapp.accounts.models import User
from webapp.bench import releases as bench_releases
from webapp.bench.models import Release
from webapp.events.services import storable
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Project
from webapp.runs import basemodels, folders
from webapp.runs.models import STAGES, DatasetSnapshot, Evaluation, Numbers, TrainingRun

MOST_NAME = 120
MOST_RELEASES = 100
MOST_OVERRIDES = 100
OVER = (TrainingRun.State.STOPPED, TrainingRun.State.FAILED, TrainingRun.State.DONE)
LIVE = (TrainingRun.State.QUEUED, TrainingRun.State.RUNNING, TrainingRun.State.STOPPING)
CHANGES = ("name", "snapshot", "base_model", "parent", "preset", "overrides", "seed")


@transaction.atomic
def next_number(*, project: Project, kind: str) -> int:
    """The next number of a snapshot, run or evaluation: it is not given again."""
    Numbers.objects.get_or_create(project=project)
    row = Numbers.objects.select_for_update().get(project=project)
    number = int(getattr(row, kind))
    setattr(row, kind, number + 1)
    row.save(update_fields=[kind])
    return number


def checked_name(name: str, default: str) -> str:
    name = name.strip() or default
    if len(name) > MOST_NAME or not storable(name):
        raise Refused(f"A name has at most {MOST_NAME} characters.", "name")
    return name


# ---------------------------------------------------------------------------------------------------------------------
# Snapshots


@transaction.atomic
def create_snapshot(
    *,
    project: Project,
    user: User | None,
    releases: Sequence[Release] = (),
    questions: bool = False,
    name: str = "",
    validation_share: float = 0.1,
    seed: int = 0,
) -> DatasetSnapshot:
    """A snapshot of these releases' items and, with `questions`, of the project's accepted questions as they are now;
    a worker builds it. Of a question that is in several of them the newest is taken. Raises Refused."""
    if not releases and not questions:
        raise Refused("Choose at least one release, or the accepted questions of the project.", "releases")
    if len(releases) > MOST_RELEASES:
        raise Refused(f"A snapshot is made of at most {MOST_RELEASES} releases.", "releases")
    if any(release.project_id != project.id for release in releases):
        raise Refused("A release of another project cannot go into this one's snapshot.", "releases")
    if isinstance(validation_share, bool) or not 0 <= validation_share <= 0.9:
        raise Refused("The validation share is a number from 0 to 0.9.", "validation_share")
    if questions and not releases and not bench_releases.releasable(project).exists():
        raise Refused("There is no accepted question with a clip that is cut.", "questions")
    _check_seed(seed)
    number = next_number(project=project, kind="snapshot")
    made = DatasetSnapshot(
        project=project,
        number=number,
        name=checked_name(name, f"Snapshot {number}"),
        sources={"releases": [str(release.id) for release in releases], "questions": questions},
        validation_share=float(validation_share),
        seed=seed,
        created_by=user,
    )
    made.job = jobs.create(
        project=project, kind="snapshot", queue="cpu", parameters={"snapshot": str(made.id)}, user=user
    )
    made.save()
    return made


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise Refused("A seed is a whole number from 0 to 2,147,483,647.", "seed")


@transaction.atomic
def delete_snapshot(*, snapshot: DatasetSnapshot) -> None:
    """Remove a snapshot that no run was made with, and its files. Raises Refused."""
    _lock_job(snapshot.job_id)
    row = DatasetSnapshot.objects.select_for_update().filter(id=snapshot.id).first()
    if row is None:
        return
    first = row.runs.order_by("number").first()
    if first is not None:
        raise Refused(f"Run {first.number} was made with this snapshot; delete its runs first.", "snapshot")
    if row.state in (DatasetSnapshot.State.QUEUED, DatasetSnapshot.State.BUILDING):
        raise Refused("This snapshot is being built; cancel its job first.", "snapshot")
    id = row.id
    row.delete()
    transaction.on_commit(lambda: folders.remove(folders.snapshot(id)))


# ---------------------------------------------------------------------------------------------------------------------
# Drafts


@transaction.atomic
def create_run(
    *,
    project: Project,
    user: User | None,
    stage: str,
    snapshot: DatasetSnapshot,
    preset: str,
    base_model: str = "",
    parent: TrainingRun | None = None,
    overrides: Mapping[str, Any] | None = None,
    name: str = "",
    seed: int | None = None,
    cloned_from: TrainingRun | None = None,
) -> TrainingRun:
    """A draft, and the job that looks whether it can run. It begins with the weights of a configured folder
    (`base_model`) or of another run's final model (`parent`). `overrides`: dotted setting -> value. Raises Refused."""
    wanted = Wanted(stage, snapshot, preset, base_model, parent, dict(overrides or {}), seed)
    config = wanted.checked(project)
    number = next_number(project=project, kind="run")
    held = DatasetSnapshot.objects.select_for_update(no_key=True).filter(id=snapshot.id).first()
    if held is None:
        raise Refused(f"Snapshot {snapshot.number} was deleted meanwhile.", "snapshot")
    check_whole(held)
    run = TrainingRun.objects.create(
        project=project,
        number=number,
        name=checked_name(name, f"Run {number}"),
        stage=stage,
        snapshot=snapshot,
        base_model=base_model,
        parent=parent,
        cloned_from=cloned_from,
        preset=preset,
        overrides=wanted.overrides,
        config=stored(config),
        seed=config.train.seed,
        max_steps=config.train.max_steps,
        withdrawn=_saw_withdrawn(parent),
        created_by=user,
    )
    _ask_preflight(run, user)
    return run


def _saw_withdrawn(parent: TrainingRun | None) -> bool:
    """Whether the weights that a run begins with learned from a video that was withdrawn since."""
    return parent is not None and parent.withdrawn


class Wanted:
    """What a run is asked to be, before it is one."""

    def __init__(
        self,
        stage: str,
        snapshot: DatasetSnapshot,
        preset: str,
        base_model: str,
        parent: TrainingRun | None,
        overrides: dict[str, Any],
        seed: int | None,
    ) -> None:
        self.stage, self.snapshot, self.preset = stage, snapshot, preset
        self.base_model, self.parent, self.overrides = base_model, parent, overrides
        if seed is not None:
            _check_seed(seed)
            self.overrides["train.seed"] = seed

    def checked(self, project: Project) -> configs.Config:
        """The configuration as resolved. Raises Refused for anything that could not be started."""
        if self.stage not in STAGES:
            raise Refused(f"There is no stage {self.stage!r}; there is: {', '.join(STAGES)}.", "stage")
        self._check_snapshot(project)
        if (self.parent is None) == (not self.base_model):
            raise Refused("Choose a model: one of the configured folders, or the final model of a run.", "base_model")
        if self.parent is not None:
            check_parent(self.parent, project)
        else:
            basemodels.model_path(self.base_model)
        return resolved(self.stage, self.preset, self.overrides)

    def _check_snapshot(self, project: Project) -> None:
        snapshot = self.snapshot
        if snapshot.project_id != project.id:
            raise Refused("A run trains on a snapshot of its own project.", "snapshot")
        if snapshot.state != DatasetSnapshot.State.READY:
            raise Refused(f"Snapshot {snapshot.number} is not ready: it is {snapshot.state}.", "snapshot")
        check_whole(snapshot)
        if not snapshot.facts.get("counts", {}).get("train", {}).get(self.stage):
            lacks = "items with a reasoning trace" if self.stage == "sft" else "items with options and one right letter"
            raise Refused(f"Snapshot {snapshot.number} has no {lacks} to train on.", "snapshot")


def check_whole(snapshot: DatasetSnapshot) -> None:
    """Raises Refused where a video of the snapshot was withdrawn."""
    if snapshot.withdrawn:
        raise Refused(
            f"A video of snapshot {snapshot.number} was withdrawn or deleted; make a new snapshot and clone the run.",
            "snapshot",
        )


def check_unread(run: TrainingRun) -> None:
    """Raises Refused while an evaluation reads the run's folder, or waits to. Call with the run locked."""
    reading = run.evaluations.filter(state__in=(Evaluation.State.QUEUED, Evaluation.State.RUNNING))
    first = reading.order_by("number").first()
    if first is not None:
        raise Refused(
            f"Evaluation {first.number} asks a model of run {run.number}; wait for its end, or stop it first.", "state"
        )


def check_parent(parent: TrainingRun, project: Project) -> None:
    """Raises Refused unless the run's final model is there to begin with."""
    if parent.project_id != project.id:
        raise Refused("A run begins with a model of its own project.", "parent")
    if parent.state != TrainingRun.State.DONE or not (folders.run(parent.id) / folders.FINAL).is_dir():
        raise Refused(f"Run {parent.number} has no final model; it is {parent.state}.", "parent")


def resolved(stage: str, preset: str, overrides: Mapping[str, Any]) -> configs.Config:
    """The settings of a shipped preset with what differs. Never a path: those are the studio's. Raises Refused."""
    if preset not in [one.name for one in configs.presets(stage)]:
        names = ", ".join(one.name for one in configs.presets(stage))
        raise Refused(f"There is no preset {preset!r} of {stage}; there is: {names}.", "preset")
    if len(overrides) > MOST_OVERRIDES:
        raise Refused(f"At most {MOST_OVERRIDES} settings may differ from a preset.", "overrides")
    path = next((name for name in overrides if name.partition(".")[0] == "paths"), None)
    if path is not None:
        raise Refused(f"{path} is not for you to set: the studio knows where its snapshots and models are.", path)
    try:
        return configs.load(preset, stage, overrides)
    except configs.ConfigError as error:
        raise Refused(str(error), "overrides") from error


def stored(config: configs.Config) -> dict[str, Any]:
    """The settings as the row keeps them, without paths."""
    return {name: value for name, value in configs.tree(config).items() if name != "paths"}


def settings_file(run: TrainingRun) -> str:
    """The settings of a run as a file for the training command, in the order of their sections."""
    told = {name: run.config[name] for name in ("stage", "preset") if name in run.config}
    for section, (shape, _) in configs.SECTIONS.items():
        if section in run.config:
            kept = run.config[section]
            told[section] = {one.name: kept[one.name] for one in fields(shape) if one.name in kept}
    return frontmatter.dump(told)


@transaction.atomic
def change_draft(*, run: TrainingRun, user: User | None, version: int, changes: Mapping[str, Any]) -> TrainingRun:
    """Change a draft (any of `CHANGES`); it is looked at anew. Raises Refused, Stale."""
    unknown = set(changes) - set(CHANGES)
    if unknown:
        raise Refused(f"A draft has no {', '.join(sorted(unknown))} to change.", "changes")
    row = _held(run, version)
    if row.state != TrainingRun.State.DRAFT:
        raise Refused(f"Run {row.number} is no draft any more; clone it to change its settings.", "state")
    now = {name: getattr(row, name) for name in CHANGES if name != "seed"} | {"seed": None} | dict(changes)
    wanted = Wanted(
        row.stage, now["snapshot"], now["preset"], now["base_model"], now["parent"], dict(now["overrides"]), now["seed"]
    )
    config = wanted.checked(row.project)
    row.name = checked_name(now["name"], f"Run {row.number}")
    row.snapshot, row.base_model, row.parent = wanted.snapshot, wanted.base_model, wanted.parent
    row.preset, row.overrides, row.config = wanted.preset, wanted.overrides, stored(config)
    row.seed, row.max_steps = config.train.seed, config.train.max_steps
    row.preflight, row.withdrawn = {}, _saw_withdrawn(row.parent)  # a draft learned nothing itself yet
    _save(row)
    _ask_preflight(row, user)
    return row


def clone(*, run: TrainingRun, user: User | None, snapshot: DatasetSnapshot | None = None) -> TrainingRun:
    """A draft with the same settings, on the same snapshot or another. Raises Refused."""
    return create_run(
        project=run.project,
        user=user,
        stage=run.stage,
        snapshot=snapshot or run.snapshot,
        preset=run.preset,
        base_model=run.base_model,
        parent=run.parent,
        overrides=run.overrides,
        name=f"{run.name[: MOST_NAME - 8]} (again)",
        cloned_from=run,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Preflight


def preflight_key(run: TrainingRun) -> str:
    """A digest of everything that a preflight looked at: another one, and it has to look again."""
    looked = [str(run.snapshot_id), run.snapshot.hash, run.base_model, str(run.parent_id), run.stage, run.config]
    return hashlib.sha256(json.dumps(looked, sort_keys=True).encode()).hexdigest()


@transaction.atomic
def request_preflight(*, run: TrainingRun, user: User | None) -> Job:
    """Queue another look at a draft; asked again while one waits or runs, it is the same job. Raises Refused."""
    row = TrainingRun.objects.select_for_update(of=("self",)).select_related("snapshot", "project").get(id=run.id)
    if row.state in LIVE:
        raise Refused(f"Run {row.number} is {row.state} already.", "state")
    return _ask_preflight(row, user)


def _ask_preflight(run: TrainingRun, user: User | None) -> Job:
    key = preflight_key(run)
    asked = {"run": str(run.id), "for": key}
    live = Job.objects.filter(kind="preflight", state__in=jobs.LIVE, parameters=asked).first()
    job = live or jobs.create(project=run.project, kind="preflight", queue="cpu", parameters=asked, user=user)
    run.preflight = {"state": "queued", "for": key, "job": str(job.id)}
    TrainingRun.objects.filter(id=run.id).update(preflight=run.preflight)
    return job


def need_preflight(run: TrainingRun) -> None:
    """Raises Refused unless a preflight looked at the run as it is and found nothing wrong."""
    told = run.preflight
    if told.get("state") == "queued":
        raise Refused("The preflight is not done yet; wait for it.", "preflight")
    if told.get("state") == "failed":
        raise Refused(f"The preflight failed: {told.get('error', '')}", "preflight")
    if told.get("state") != "done" or told.get("for") != preflight_key(run):
        raise Refused("Something changed since the preflight; run it again.", "preflight")
    if told.get("errors"):
        raise Refused(f"The preflight says no: {told['errors'][0]}", "preflight")


# ---------------------------------------------------------------------------------------------------------------------
# Running


@transaction.atomic
def start(*, run: TrainingRun, user: User | None, version: int) -> TrainingRun:
    """Queue a draft whose preflight is fresh and good. Asked twice, it starts once. Raises Refused, Stale."""
    row = _held(run, version)
    if row.state != TrainingRun.State.DRAFT:
        raise Refused(f"Run {row.number} was started already: it is {row.state}.", "state")
    need_preflight(row)
    return _queue(row, user)


@transaction.atomic
def resume(*, run: TrainingRun, user: User | None, version: int) -> TrainingRun:
    """Queue a stopped or failed run again; it goes on from its last complete checkpoint. Raises Refused, Stale."""
    row = _held(run, version)
    if row.state not in (TrainingRun.State.STOPPED, TrainingRun.State.FAILED):
        raise Refused(f"Only a stopped or failed run goes on; run {row.number} is {row.state}.", "state")
    if row.imported:
        raise Refused("A run that was imported goes on where it ran; clone it to train here.", "state")
    return _queue(row, user)


def _queue(row: TrainingRun, user: User | None) -> TrainingRun:
    check_whole(row.snapshot)
    check_unread(row)
    if row.parent is not None:
        check_parent(row.parent, row.project)
    row.withdrawn = row.withdrawn or _saw_withdrawn(row.parent)
    row.state, row.error, row.ended = TrainingRun.State.QUEUED, "", None
    row.job = jobs.create(project=row.project, kind="train", queue="train", parameters={"run": str(row.id)}, user=user)
    _save(row)
    return row


@transaction.atomic
def stop(*, run: TrainingRun, user: User | None, version: int) -> TrainingRun:
    """Ask a run to stop with a checkpoint; one that waits stops at once. Raises Refused, Stale.

    Cancelling its job instead ends it at once, back at its last checkpoint.
    """
    job = _lock_job(run.job_id)
    row = _held(run, version)
    if row.state not in LIVE:
        raise Refused(f"Run {row.number} does not run: it is {row.state}.", "state")
    if row.state == TrainingRun.State.STOPPING:
        return row
    if job is not None and job.state == Job.State.QUEUED:
        jobs.cancel(job=job, user=user)  # its follower says what the run is then
        row.refresh_from_db(fields=["state", "error", "ended", "job"])
    else:
        row.state = TrainingRun.State.STOPPING
    _save(row)
    return row


@transaction.atomic
def delete(*, run: TrainingRun, version: int) -> None:
    """Remove a run that does not run, with its checkpoints. Raises Refused, Stale."""
    row = _held(run, version)
    if row.state in LIVE:
        raise Refused(f"Run {row.number} is {row.state}; stop it first.", "state")
    child = row.children.order_by("number").first()
    if child is not None:
        raise Refused(f"Run {child.number} begins with this run's model; delete that one first.", "state")
    check_unread(row)
    id = row.id
    row.delete()
    transaction.on_commit(lambda: folders.remove(folders.run(id)))


@transaction.atomic
def rename(*, run: TrainingRun, version: int, name: str) -> TrainingRun:
    """Give a run another name, whatever its state. Raises Refused, Stale."""
    row = _held(run, version)
    row.name = checked_name(name, f"Run {row.number}")
    _save(row)
    return row


def _lock_job(id: UUID | None) -> Job | None:
    return Job.objects.select_for_update().filter(id=id).first() if id is not None else None


def _held(run: TrainingRun, version: int) -> TrainingRun:
    """The locked row, if it is still at this version. Raises Refused, Stale."""
    rows = TrainingRun.objects.select_for_update(of=("self",)).select_related("project", "snapshot", "parent")
    row = rows.filter(id=run.id).first()
    if row is None:
        raise Refused(f"Run {run.number} was deleted meanwhile.", "run")
    if row.version != version or row.job_id != run.job_id:
        theirs = {"version": row.version, "state": row.state}
        raise Stale(kind="run", id=str(row.id), base=version, theirs=theirs)
    return row


def _save(row: TrainingRun) -> None:
    row.version += 1
    row.save()
