"""A run that was trained elsewhere and comes back: the folder as `ml.training.folder` has it, or an exported one around
it, with the snapshot it was made from in this project.

Taken are its settings, metrics, rollouts, log, TensorBoard files, final model and the weights of its checkpoints; never
what a training keeps to go on from, which is pickled: an imported run is read and evaluated here, not resumed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.db import DataError, transaction

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.training import configs
from ml.training.folder import ENDED, RunFolder, State, is_held, read_lines
from webapp.accounts.models import User
from webapp.lib.errors import Refused
from webapp.library.models import Project
from webapp.runs import exporting, folders, recording, services, withdrawal
from webapp.runs.models import STAGES, DatasetSnapshot, SnapshotItem, TrainingRun

PLAIN = ("config.yaml", "run.json", "state.json", "metrics.jsonl", "rollouts.jsonl", "log.txt")
WEIGHTS = {".safetensors", ".json", ".txt", ".jinja", ".model"}  # what a model's folder may hold
BATCH = 1000


def import_folder(*, folder: Path, project: Project, user: User | None, name: str = "") -> TrainingRun:
    """The run of a folder. Raises Refused, naming what is wrong with it."""
    try:
        return _import(Returned(folder, project), user, name)
    except (FormatError, configs.ConfigError) as error:
        raise Refused(str(error), "folder") from error
    except DataError as error:
        raise Refused(
            f"{folder} holds text or a number that the database cannot keep, such as a NUL.", "folder"
        ) from error


class Returned:
    """What a run's folder says, checked. Raises FormatError, ConfigError, Refused."""

    def __init__(self, folder: Path, project: Project) -> None:
        inner = folder / "run"
        self.path = inner if not (folder / "run.json").is_file() and (inner / "run.json").is_file() else folder
        self.project = project
        refuse_links(folder, self.path)
        run = RunFolder(self.path)
        self.about = _object(self.path / "run.json")
        state = run.state()
        if state is None:
            raise FormatError(f"{self.path} is no run's folder: it has no state.json.")
        if state.state not in ENDED or is_held(run):
            raise FormatError(f"The run in {self.path} has not ended: it is {state.state}.")
        self.state: State = state
        stage = read_as.text(read_as.member(self.about, "stage", "run.json"), "run.json: stage")
        if stage not in STAGES:
            raise FormatError(
                f"{self.path}: a run of the stage {stage!r} cannot be shown; of {', '.join(STAGES)} it can."
            )
        self.stage = stage
        self.config = configs.load(self.path / "config.yaml", stage)
        self.snapshot = self._snapshot()
        note = self.path.parent / exporting.NOTE
        self.note = _object(note) if note.is_file() else {}
        self.metrics = [_metric(line, f"metrics.jsonl, step {line['step']}") for line in read_lines(run.metrics)]
        self.rollouts = [_rollout(line, f"rollouts.jsonl, step {line['step']}") for line in read_lines(run.rollouts)]

    def _snapshot(self) -> DatasetSnapshot:
        told = read_as.mapping(read_as.member(self.about, "snapshot", "run.json"), "run.json: snapshot")
        hash = read_as.text(read_as.member(told, "hash", "run.json: snapshot"), "run.json: snapshot.hash")
        rows = DatasetSnapshot.objects.filter(project=self.project, hash=hash, state=DatasetSnapshot.State.READY)
        found = rows.order_by("-number").first() if hash else None
        if found is None:
            raise FormatError(
                f"{self.path} was trained on a snapshot with the hash {hash[:12]}…, which the project "
                f"{self.project.name} does not have; make it there first."
            )
        return found

    @property
    def model(self) -> str:
        told = self.about.get("model")
        return str(told.get("name", ""))[:120] if isinstance(told, Mapping) else ""

    def origin(self) -> TrainingRun | None:
        """The run of the studio that was exported, where it still is there."""
        try:
            id = UUID(str(self.note.get("run")))
        except ValueError:
            return None
        return TrainingRun.objects.filter(project=self.project, id=id).first()


def refuse_links(given: Path, run: Path) -> None:
    """Raises FormatError where anything that would be taken is a link, or lies behind one: it may lead to any file of
    this machine. `given` itself may be one: whoever names it knows."""
    parts = [run / name for name in (folders.FINAL, "checkpoints", "tensorboard")]
    named = [run, run.parent / exporting.NOTE, *(run / name for name in PLAIN), *parts]
    for path in chain(named, *(part.rglob("*") for part in parts)):
        if path.is_symlink() and path != given:
            raise FormatError(f"{path} is a link; copy the folder with what its links stand for (cp -rL) first.")


def _import(told: Returned, user: User | None, name: str) -> TrainingRun:
    known = TrainingRun.objects.filter(project=told.project, imported=True, about=told.about, step=told.state.step)
    twin = known.first()
    if twin is not None:
        raise Refused(f"This folder is in the project already: it is run {twin.number}.", "folder")
    id = uuid4()
    target = folders.run(id)
    try:
        _copy(told.path, target)
        with transaction.atomic():
            return _write(told, id, user, name)
    except BaseException:
        folders.remove(target)
        raise


def _write(told: Returned, id: UUID, user: User | None, name: str) -> TrainingRun:
    snapshot = DatasetSnapshot.objects.select_for_update().get(id=told.snapshot.id)
    origin, state = told.origin(), told.state
    parent = origin.parent if origin else None
    number = services.next_number(project=told.project, kind="run")
    run = TrainingRun.objects.create(
        id=id,
        project=told.project,
        number=number,
        name=services.checked_name(name or str(told.note.get("name", "")), f"Run {number}"),
        stage=told.stage,
        snapshot=snapshot,
        base_model="" if parent else told.model or "not named",
        parent=parent,
        cloned_from=origin,
        preset=told.config.preset,
        overrides=configs.changed(told.config) if told.config.preset else {},
        config=services.stored(told.config),
        seed=told.config.train.seed,
        state=state.state,
        error=state.sentence,
        step=state.step,
        max_steps=state.max_steps,
        attempt=state.attempt,
        resumed_from=state.resumed_from,
        about=dict(told.about),
        imported=True,
        withdrawn=snapshot.withdrawn or (parent is not None and parent.withdrawn),
        created_by=user,
        started=_moment(told.metrics[0]["time"]) if told.metrics else None,
        ended=_moment(told.metrics[-1]["time"]) if told.metrics else None,
        **_log(folders.run(id) / "log.txt"),
    )
    run.overrides = {name: value for name, value in run.overrides.items() if not name.startswith("paths.")}
    run.save(update_fields=["overrides"])
    for first in range(0, len(told.metrics), BATCH):
        recording.keep_metrics(run=run, lines=told.metrics[first : first + BATCH])
    weights = recording.weights_of(run)
    for first in range(0, len(told.rollouts), BATCH):
        recording.keep_rollouts(run=run, lines=told.rollouts[first : first + BATCH], weights=weights)
    recording.keep_checkpoints(run=run, found=list(_checkpoints(folders.run(id), state)))
    if snapshot.withdrawn:
        gone = SnapshotItem.objects.filter(snapshot=snapshot, withdrawn=True).values_list("item_hash", flat=True)
        withdrawal.erase_rollouts(folders.run(id), set(gone))
    return run


def _checkpoints(folder: Path, state: State) -> Iterator[dict[str, Any]]:
    for step in RunFolder(folder).steps():
        path = f"checkpoints/checkpoint-{step}"
        yield {"step": step, "path": path, "bytes": folders.size(folder / path)}
    if (folder / folders.FINAL).is_dir():
        size = folders.size(folder / folders.FINAL)
        yield {"step": state.step, "path": folders.FINAL, "bytes": size, "final": True}


def _copy(source: Path, target: Path) -> None:
    """Copy what is taken; plain files only."""
    target.mkdir(parents=True)
    for name in PLAIN:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
    for path in _models(source):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def _models(source: Path) -> Iterator[Path]:
    """Weights of the final model and of whole checkpoints, and TensorBoard's files."""
    folders_ = [source / folders.FINAL, *(RunFolder(source).step_folder(step) for step in RunFolder(source).steps())]
    for folder in folders_:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and not path.is_symlink() and (path.suffix in WEIGHTS or path.name == "COMPLETE"):
                yield path
    for path in sorted((source / "tensorboard").rglob("events.out.tfevents.*")):
        if path.is_file() and not path.is_symlink():
            yield path


def _object(path: Path) -> dict[str, Any]:
    try:
        return dict(read_as.mapping(read_as.load(path.read_bytes()), str(path)))
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}.") from error


def _metric(line: Mapping[str, Any], place: str) -> dict[str, Any]:
    step = read_as.whole(line["step"], f"{place}: step", high=2**31 - 1)
    values = read_as.mapping(read_as.member(line, "values", place), f"{place}: values")
    return {"step": step, "time": read_as.number(line.get("time", 0), f"{place}: time"), "values": dict(values)}


def _rollout(line: Mapping[str, Any], place: str) -> dict[str, Any]:
    step = read_as.whole(line["step"], f"{place}: step", high=2**31 - 1)
    row = read_as.text(read_as.member(line, "row", place), f"{place}: row")
    answers = read_as.sequence(read_as.member(line, "completions", place), f"{place}: completions")
    return {
        "step": step,
        "row": row,
        **{name: str(line.get(name) or "") for name in ("category", "question", "answer")},
        "options": [str(one) for one in read_as.sequence(line.get("options", []), f"{place}: options")],
        "completions": [_answer(one, f"{place}: completions[{at}]") for at, one in enumerate(answers)],
    }


def _answer(tree: Any, place: str) -> dict[str, Any]:
    one = read_as.mapping(tree, place)
    found: dict[str, Any] = {"text": read_as.text(read_as.member(one, "text", place), f"{place}.text")}
    for name in ("tokens", "advantage"):
        value = one.get(name)
        found[name] = None if value is None else read_as.number(value, f"{place}.{name}")
    rewards = read_as.mapping(read_as.member(one, "rewards", place), f"{place}.rewards")
    return found | {"clipped": bool(one.get("clipped")), "rewards": dict(rewards)}


def _log(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    data = path.read_bytes()
    text = data[-recording.LOG_BYTES :].decode(errors="ignore").replace("\0", "")
    return {"log": text, "log_bytes": len(data)}


def _moment(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
