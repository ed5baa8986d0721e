"""Evaluations: started, stopped, gone on with, kept; and what a withdrawal or a retirement leaves of them.

    start(project=, user=, release=, model="run:3:40", ...) -> Evaluation     with its job `evaluate`
    stop(evaluation=, user=)   again(evaluation=, user=)

Who is evaluated is a word of `offered`: "run:3" (its final model), "run:3:40" (a checkpoint), "folder:NAME" (a
configured one), "endpoint" or "predictions" (an uploaded file). Files lie in DATA/evaluations/<id>/ as
`ml.evaluation.folder` writes them, beside `given/` with what was uploaded, until it is counted. The row holds the
results, which are counted again without the items that were retired or withdrawn since (a job with "recount").
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from ml.endpoint import Config, NotConfigured
from ml.evaluation.controls import CONTROLS
from ml.evaluation.folder import only_writer
from ml.evaluation.frames import MOST_FRAMES
from ml.formats.errors import FormatError
from webapp.accounts.models import User
from webapp.bench.models import Release, ReleaseItem
from webapp.events.services import storable
from webapp.exchange.responses import LARGEST_UPLOAD, copy_name
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from webapp.runs import basemodels, folders, services
from webapp.runs.models import Checkpoint, Evaluation, TrainingRun

KIND = "evaluate"
MOST_NAME = 120
MOST_TOKENS, MOST_SEED, MOST_ITEMS = 32_768, 2**31 - 1, 1_000_000
GIVEN = "given"  # folder of an uploaded file
TRAINING = (TrainingRun.State.QUEUED, TrainingRun.State.RUNNING, TrainingRun.State.STOPPING)
ITEM_FILES = ("items.jsonl", "replies.jsonl")


class Changed(Exception):
    """Items of the release were retired or withdrawn while they were asked or counted."""


@dataclass(frozen=True)
class Settings:
    """How a model is asked; nothing of it is known of a file. `frames`: most pictures of a clip; `tokens`: most new
    ones, None for the usual; `limit`: so many items only, evenly spaced; `seed`: of control and intervals."""

    reasoning: bool = True
    frames: int = MOST_FRAMES
    tokens: int | None = None
    limit: int | None = None
    seed: int = 0

    def checked(self) -> Settings:
        """Itself. Raises Refused naming the field."""
        _within("frames", "the number of pictures", self.frames, 1, MOST_FRAMES)
        _within("tokens", "the number of new tokens", self.tokens, 1, MOST_TOKENS)
        _within("limit", "the number of items", self.limit, 1, MOST_ITEMS)
        _within("seed", "the seed", self.seed, 0, MOST_SEED)
        return self


def _within(field: str, words: str, value: int | None, low: int, high: int) -> None:
    if value is not None and not low <= value <= high:
        raise Refused(f"{words.capitalize()} lies between {low:,} and {high:,}.", field)


# ---------------------------------------------------------------------------------------------------------------------
# Who can be evaluated


@dataclass(frozen=True)
class Chosen:
    """A model that is there: its kind and name, and for a run which checkpoint (None: its final model)."""

    kind: str
    name: str
    run: TrainingRun | None = None
    checkpoint: int | None = None


def offered(project: Project) -> list[tuple[str, list[tuple[str, str]]]]:
    """(group, [(word, label)]) for a select; what is not set up is not offered."""
    kept = Checkpoint.objects.filter(run__project=project).exclude(run__state__in=TRAINING)
    kept = kept.select_related("run").order_by("-run__number", "-step")
    runs = [(_word(one), f"Run {one.run.number} {one.run.name}: {_part(one)}") for one in kept]
    local = [(f"folder:{one['name']}", f"{one['name']} ({one['about']})") for one in basemodels.base_models()]
    with suppress(NotConfigured):
        local.append(("endpoint", f"{Config.from_environment().model}: the configured endpoint, at its price"))
    groups = [("Trained here", runs), ("Not trained here", local), ("Asked elsewhere", [FILE])]
    return [(words, found) for words, found in groups if found]


FILE = ("predictions", "A file of its replies")


def _word(one: Checkpoint) -> str:
    return f"run:{one.run.number}" if one.final else f"run:{one.run.number}:{one.step}"


def _part(one: Checkpoint) -> str:
    return f"final model, step {one.step}" if one.final else f"checkpoint at step {one.step}"


def chosen(project: Project, word: str) -> Chosen:
    """The model of that word. Raises Refused where there is none."""
    kind, _, rest = word.partition(":")
    if kind == "run":
        return _of_run(project, *rest.partition(":")[::2])
    if kind == "folder":
        basemodels.model_path(rest)  # refuses a name that is not configured
        return Chosen("folder", rest)
    if word == "endpoint":
        try:
            return Chosen("endpoint", Config.from_environment().model)
        except NotConfigured as error:
            raise Refused(str(error), "model") from error
    if word == "predictions":
        return Chosen("predictions", "")
    raise Refused(f"There is no model {word[:60]!r} to evaluate.", "model")


def _of_run(project: Project, number: str, step: str) -> Chosen:
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in (number, step or "0")):
        raise Refused("A run's model is named as run:3, or run:3:40 for a checkpoint.", "model")
    run = TrainingRun.objects.filter(project=project, number=int(number)).first()
    if run is None:
        raise Refused(f"There is no run {int(number)} in this project.", "model")
    check_rests(run)
    kept = checkpoint_of(run, int(step) if step else None)
    if kept is None:
        what = f"no complete checkpoint at step {int(step)}" if step else "no final model yet"
        raise Refused(f"Run {run.number} has {what}.", "model")
    told = "final" if kept.final else f"step {kept.step}"
    return Chosen("run", f"{run.name} ({told})"[:200], run, None if kept.final else kept.step)


def check_rests(run: TrainingRun) -> None:
    """Raises Refused while it trains: it may drop a checkpoint while that is being read."""
    if run.state in TRAINING:
        raise Refused(f"Run {run.number} is still training; evaluate it once it has ended or was stopped.", "model")


def checkpoint_of(run: TrainingRun, step: int | None) -> Checkpoint | None:
    """The complete checkpoint at a step; of None the final model."""
    rows = run.checkpoints.filter(final=True) if step is None else run.checkpoints.filter(final=False, step=step)
    return rows.order_by("-step").first()


def model_of(evaluation: Evaluation) -> str:
    """What `ml.evaluation` is given as the model: a path, or "endpoint". Raises Refused where it is gone."""
    if evaluation.model_kind == "endpoint":
        return "endpoint"
    if evaluation.model_kind == "folder":
        return str(basemodels.model_path(evaluation.model))
    if evaluation.model_kind == "predictions":
        given = given_file(evaluation)
        if given is None:
            raise Refused("The uploaded file went with a video that was withdrawn; upload one without it.", "file")
        return str(given)
    kept = checkpoint_of(evaluation.run, evaluation.checkpoint) if evaluation.run else None
    if kept is None:
        raise Refused("The run's model is no longer there.", "model")
    check_rests(kept.run)
    return str(folders.run(kept.run_id) / kept.path)


def given_file(evaluation: Evaluation) -> Path | None:
    """The uploaded file, while it is there."""
    return next((path for path in sorted((folders.evaluation(evaluation.id) / GIVEN).glob("*"))), None)


# ---------------------------------------------------------------------------------------------------------------------
# Start, stop, go on


def start(
    *,
    project: Project,
    user: User | None,
    release: Release,
    model: str,
    name: str = "",
    control: str = "",
    settings: Settings | None = None,
    file: UploadedFile | None = None,
) -> Evaluation:
    """Queue the evaluation of a model on a release. Asked for again while that waits or runs, it is the same one.

    `model`: a word of `offered`; "predictions" comes with `file`. `control`: one of CONTROLS or "". Raises Refused.
    """
    who = chosen(project, model)
    told = (settings or Settings()).checked()
    if control and control not in CONTROLS:
        raise Refused(f"There is no control {control[:40]!r}; there is: {', '.join(CONTROLS)}.", "control")
    if release.project_id != project.id:
        raise Refused("The release is of another project.", "release")
    if len(name) > MOST_NAME or not storable(name):
        raise Refused(f"A name has at most {MOST_NAME} characters.", "name")
    id = uuid4()
    kept: dict[str, Any] = {"seed": told.seed, "limit": told.limit}
    if who.kind == "predictions":
        kept |= {"file": _take(id, file)}
        who = Chosen("predictions", name.strip() or Path(kept["file"]["name"]).stem[:MOST_NAME])
    else:
        kept |= {"reasoning": told.reasoning, "frames": told.frames, "tokens": told.tokens}
    try:
        made = _start(id, project, user, release, who, name.strip(), control, kept)
    except BaseException:
        folders.remove(folders.evaluation(id))
        raise
    if made.id != id:  # the second of two clicks
        folders.remove(folders.evaluation(id))
    return made


@transaction.atomic
def _start(
    id: UUID,
    project: Project,
    user: User | None,
    release: Release,
    who: Chosen,
    name: str,
    control: str,
    kept: dict[str, Any],
) -> Evaluation:
    Project.objects.select_for_update(no_key=True).get(id=project.id)
    if who.run is not None:  # from here on it neither goes on nor goes away (`services.check_unread`)
        held = TrainingRun.objects.select_for_update(no_key=True).filter(id=who.run.id).first()
        if held is None:
            raise Refused(f"Run {who.run.number} was deleted meanwhile.", "model")
        check_rests(held)
    what = {
        "model_kind": who.kind,
        "model": who.name,
        "run": who.run,
        "checkpoint": who.checkpoint,
        "release": release,
        "control": control,
        "settings": kept,
    }
    live = Evaluation.objects.filter(project=project, state__in=(Evaluation.State.QUEUED, Evaluation.State.RUNNING))
    same = live.filter(**what).first()
    if same is not None:
        return same
    if who.kind == "predictions":
        _check_file(project, release, control, kept["file"])
    number = services.next_number(project=project, kind="evaluation")
    job = jobs.create(project=project, kind=KIND, queue=_queue(who.kind), parameters={"evaluation": str(id)}, user=user)
    made = {"id": id, "project": project, "number": number, "name": (name or who.name)[:MOST_NAME]}
    withdrawn = bool(who.run and who.run.withdrawn)
    return Evaluation.objects.create(**made, **what, withdrawn=withdrawn, job=job, created_by=user)


def _check_file(project: Project, release: Release, control: str, file: dict[str, str]) -> None:
    """Raises Refused where the same bytes were counted as asked in another way: replies were given once."""
    counted = Evaluation.objects.filter(project=project, release=release, settings__file__sha256=file["sha256"])
    other = counted.exclude(control=control).exclude(state=Evaluation.State.FAILED).order_by("number").first()
    if other is not None:
        told = f"under the control “{other.control}”" if other.control else "without a control"
        raise Refused(f"Evaluation {other.number} counts this very file {told}.", "file")


def _queue(kind: str) -> str:
    """Weights take a device of the training queue; an endpoint and a file need none, and wait for none."""
    return "train" if kind in ("run", "folder") else "cpu"


def _take(id: UUID, file: UploadedFile | None) -> dict[str, str]:
    """Keep an uploaded file; its name and sha256. Raises Refused."""
    if file is None:
        raise Refused("Choose the file of the model's replies.", "file")
    if (file.size or 0) > LARGEST_UPLOAD:
        raise Refused(f"A file of replies has at most {LARGEST_UPLOAD >> 20} MB.", "file")
    if not file.size:
        raise Refused("The file is empty.", "file")
    folder = folders.evaluation(id) / GIVEN
    folder.mkdir(parents=True)
    digest = hashlib.sha256()
    path = folder / copy_name(file.name or "replies.jsonl")
    with path.open("wb") as copy:
        for piece in file.chunks():
            digest.update(piece)
            copy.write(piece)
    return {"name": path.name, "sha256": digest.hexdigest()}


def stop(*, evaluation: Evaluation, user: User | None) -> None:
    """Ask its job to stop; what is answered is kept. Raises Refused (JobError) where it is over."""
    if evaluation.job is None:
        raise Refused("This evaluation has no job any more.", "evaluation")
    jobs.cancel(job=evaluation.job, user=user)


def again(*, evaluation: Evaluation, user: User | None) -> None:
    """Go on with one that failed or was stopped, where it was. Raises Refused (JobError)."""
    if evaluation.job is None:
        raise Refused("This evaluation has no job any more; start another one.", "evaluation")
    jobs.retry(job=evaluation.job, user=user)


def follow_job(job: Job) -> None:
    """The evaluation's state follows its job's: failed, cancelled, queued again. (Done comes with the results.)"""
    states = (Job.State.FAILED, Job.State.CANCELLED, Job.State.QUEUED)
    if job.state in states and "recount" not in job.parameters:
        rows = Evaluation.objects.filter(job=job).exclude(state=Evaluation.State.DONE)
        rows.update(state=job.state, error=job.error, ended=job.ended)


# ---------------------------------------------------------------------------------------------------------------------
# From the worker


def began(*, evaluation_id: UUID) -> None:
    """Its job runs now."""
    waiting = Evaluation.objects.filter(id=evaluation_id, state=Evaluation.State.QUEUED)
    waiting.update(state=Evaluation.State.RUNNING, error="")


def standing(release_id: UUID | None) -> dict[str, int]:
    """How many items of a release were withdrawn and retired so far: one query. Neither ever falls."""
    found = ReleaseItem.objects.filter(release=release_id).aggregate(
        withdrawn=Count("id", filter=Q(item__has_key="withdrawn")),
        retired=Count("id", filter=Q(retired__isnull=False)),
    )
    return {name: int(count) for name, count in found.items()}


def keep(*, evaluation_id: UUID, results: dict[str, Any], out: dict[str, int]) -> None:
    """Write the results. Call inside the transaction that ends the job. `out`: the `standing` they were counted under.

    Raises Changed where that is another one by now; a withdrawal that goes on just now is waited for.
    """
    row = Evaluation.objects.select_for_update(of=("self",)).get(id=evaluation_id)
    if standing(row.release_id) != out:
        raise Changed
    row.results = results | {"out": out}
    if row.state != Evaluation.State.DONE:
        row.state, row.error, row.ended = Evaluation.State.DONE, "", timezone.now()
    row.version += 1
    row.save(update_fields=["results", "state", "error", "ended", "version"])


# ---------------------------------------------------------------------------------------------------------------------
# Items that go


def recount(*, evaluation: Evaluation) -> Job:
    """Queue the counting of a finished evaluation without the items that are gone, unless that waits already."""
    parameters = {"evaluation": str(evaluation.id), "recount": True}
    waiting = Job.objects.filter(kind=KIND, state=Job.State.QUEUED, parameters=parameters)
    project = Project(id=evaluation.project_id)
    return waiting.first() or jobs.create(project=project, kind=KIND, queue="cpu", parameters=parameters)


def follow_release(job: Job) -> None:
    """A release was written anew, since items of it were retired or withdrawn: its evaluations are counted again."""
    if job.state == Job.State.DONE and "rewrite" in job.parameters:
        done = Evaluation.objects.filter(release=job.parameters["rewrite"], state=Evaluation.State.DONE)
        for evaluation in done.select_related("release"):
            if evaluation.results.get("out") != standing(evaluation.release_id):
                recount(evaluation=evaluation)


def scrub(video: Video) -> list[str]:
    """Of a video that is about to be erased no reply stays. No storage folder goes with it: the files lie in DATA."""
    hit = Q(question__video=video) | Q(item__provenance__video=str(video.id))
    gone = Q(item__has_key="withdrawn")  # what the bench scrubbed a moment ago says no more than this
    items = ReleaseItem.objects.filter(release__project=video.project_id)
    hits = set(items.filter(hit).values_list("release", flat=True))
    counts = dict(items.filter(gone).values_list("release").annotate(n=Count("id")))
    rows = Evaluation.objects.select_for_update(of=("self",)).filter(release__in={*hits, *counts})
    for evaluation in rows.order_by("number"):
        known = evaluation.results.get("out", {}).get("withdrawn", 0)
        if evaluation.release_id not in hits and counts[evaluation.release_id] == known:
            continue
        evaluation.withdrawn = True
        evaluation.version += 1
        evaluation.save(update_fields=["withdrawn", "version"])
        if evaluation.state == Evaluation.State.DONE:
            recount(evaluation=evaluation)
        transaction.on_commit(partial(erase, evaluation.id))
    return []


def erase(id: UUID) -> None:
    """Take the lines of items that are withdrawn out of an evaluation's files. An uploaded file goes, and the logs in
    lmms-eval's form, which come again with the recount. Where somebody writes just now, he does it when he stops."""
    folder, release = folders.evaluation(id), Evaluation.objects.filter(id=id).values_list("release", flat=True).first()
    there = ReleaseItem.objects.filter(release=release).exclude(item__has_key="withdrawn")
    stay = set(there.values_list("item__id", flat=True))
    forget_upload(id)
    if not folder.exists():
        return
    with suppress(FormatError), only_writer(folder):
        folders.remove(folder / "lmms_eval")
        for name in ITEM_FILES:
            path = folder / name
            if path.exists():
                lines = path.read_bytes().splitlines()
                folders.write(path, b"".join(line + b"\n" for line in lines if _id(line) in stay).decode())


def _id(line: bytes) -> str:
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError):  # cut short by a kill
        return ""


def forget_upload(id: UUID) -> None:
    """An uploaded file goes once it is counted, since its replies stand in the folder."""
    folders.remove(folders.evaluation(id) / GIVEN)
