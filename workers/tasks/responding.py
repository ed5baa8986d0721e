"""Responses that the configured endpoint, or a model on this machine, gives to questions of the bench, kept one by one,
then audited.

A reply is in the database before the next question is asked, so an attempt that starts over pays for none twice. Clips
are shown as they were cut for raters; one that nobody cut is cut here, for the asking only. Logs hold counts, no key.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from celery import Task

from ml.endpoint import BrokenReply, Config
from ml.torchside import MissingPackages
from webapp.audit import producing, services
from webapp.audit.models import Audit
from webapp.audit.producing import LOCAL_MODEL
from webapp.audit.services import Draft
from webapp.bench.models import Question
from webapp.jobs.broker import app
from webapp.lib import storage
from webapp.lib.errors import Refused
from workers.attempt import Attempt, run

if TYPE_CHECKING:
    from ml.evidence.answering import Answered, Answerer
    from ml.media.index import FrameIndex
    from webapp.bench.models import Clip

BROKEN = 3  # questions in a row without a usable reply, after which the model is not up to the task


@app.task(name="sightline.respond", bind=True)
def answer_questions(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, respond)


def respond(attempt: Attempt) -> None:
    audit = Audit.objects.select_related("project").get(id=attempt.job.parameters["audit"])
    wanted = producing.unanswered(audit)
    counts = {"questions": len(wanted), "answered": 0, "broken": 0, "gone": 0}
    share, broken = 0.0, 0
    by = audit.settings["produce"].get("by", "endpoint")
    with closing(answerer(by, lambda: attempt.progress("respond", share))) as model:
        for done, id in enumerate(wanted):
            share = done / len(wanted)
            attempt.progress("respond", share)
            question = Question.objects.select_related("video__blob", "video__run", "project", "clip").filter(id=id)
            one = question.first()
            if one is None or one.state not in producing.ASKED:
                counts["gone"] += 1
                continue
            try:
                with paid(audit, model):
                    answer(attempt, audit, one, model)
                counts["answered"], broken = counts["answered"] + 1, 0
            except BrokenReply:
                counts["broken"], broken = counts["broken"] + 1, broken + 1
                if broken >= BROKEN:
                    raise
    attempt.progress("respond", 1.0)

    def write() -> dict[str, Any]:
        if audit.responses.exists():
            services.request_audit(audit=audit, user=attempt.job.created_by)
        return {"spent": producing.spent(audit)}

    attempt.finish(counts, write)


@contextmanager
def paid(audit: Audit, model: Answerer) -> Iterator[None]:
    """Keep what is asked in here costs, also where nothing comes of it."""
    before = model.spent()
    try:
        yield
    finally:
        cost = {name: value - before.get(name, 0) for name, value in model.spent().items()}
        producing.keep_spent(audit=audit, spent={name: value for name, value in cost.items() if value})


def answerer(by: str, stop: Callable[[], None]) -> Answerer:
    """Who answers. Raises NotConfigured, MissingPackages, and Refused where the folder holds no model."""
    from ml.evidence.answering import ByEndpoint, ByFolder

    if by == "endpoint":
        return ByEndpoint(Config.from_environment(), stop)
    try:
        return ByFolder(Path(os.environ.get(LOCAL_MODEL, "")), stop)
    except MissingPackages:
        raise
    except ValueError as error:  # no model there
        raise Refused(str(error), "model") from error


def answer(attempt: Attempt, audit: Audit, question: Question, model: Answerer) -> None:
    """Ask one question and keep the reply. Raises BrokenReply, Refused."""
    from ml.evidence.answering import ask
    from webapp.bench.clips import ensure_clip
    from webapp.bench.services import bench_of

    clip = ensure_clip(question=question, bench=bench_of(question.project))
    folder = attempt.folder / "clips" / clip.recipe
    stored, index = clip_files(attempt, question, clip, folder)
    text, options = as_asked(question, clip.start)
    with storage.local(stored) if stored else nullcontext(folder / "clip.mp4") as shown:
        said = ask(
            model,
            clip=shown,
            index=index,
            stamped=clip.rendering == "grasp",
            question=text,
            options=options,
        )
    draft = draft_of(question, clip, text, options, said)
    producing.keep_response(audit=audit, draft=replace(draft, provenance={**draft.provenance, "by": model.about}))


def clip_files(attempt: Attempt, question: Question, clip: Clip, folder: Path) -> tuple[str, FrameIndex]:
    """Name of the clip in the store, "" where it was cut into `folder` because nobody had; and its frame index."""
    from ml.media.clips import cut, plan
    from ml.media.index import FrameIndex
    from webapp.bench.clips import appearances
    from workers.tasks.clipping import tracks

    video = question.video
    if video.blob is None:
        raise Refused("A question without pictures cannot be asked.", "video")
    with storage.local(f"{video.blob.folder}/frames.npz") as times:
        source_index = FrameIndex.load(times)
    index = plan(source_index, clip.start, clip.end, clip.rendering).index
    clip.refresh_from_db()
    if clip.ready:
        return f"{clip.folder}/clip.mp4", index
    if not (folder / "clip.mp4").exists():
        folder.mkdir(parents=True, exist_ok=True)
        tagged = clip.rendering != "clean" or clip.blur_faces
        who = appearances(video, clip.start, clip.end) if tagged else None
        wanted = {"seen_by": who.run, "tracklets": who.tracklets} if who else {"seen_by": None}
        with storage.local(video.blob.original) as source:
            cut(
                source, source_index, clip.start, clip.end, clip.rendering, folder,
                tracks=tracks(video, wanted, source_index) if who else None, person_map=clip.person_map,
                blur=clip.blur_faces, progress=attempt.progress,
            )  # fmt: skip
    return "", index


def as_asked(question: Question, start: int) -> tuple[str, list[str]]:
    """The question's words and options as the clip's watchers read them."""
    from webapp.bench import wording

    names = wording.names_of([question.video_id])
    clock = wording.clock_from(wording.seconds_of(question.video), start)
    options = [wording.printed(option["text"], names, clock) for option in question.options]
    return wording.printed(question.text, names, clock), options


def draft_of(question: Question, clip: Clip, text: str, options: list[str], said: Answered) -> Draft:
    from ml.evidence.answering import VERSION
    from ml.evidence.correctness import is_correct
    from ml.evidence.reading import parsed
    from webapp.audit.tags import tag_of

    read = parsed(said.text)
    letters = list(read.letters)
    key = key_of(question)
    known = f"{question.id} {question.version} {said.model} {said.prompt}"
    return Draft(
        video=question.video,
        start=clip.start,
        end=clip.end,
        rendering=clip.rendering,
        model=said.model,
        text=said.text,
        digest=hashlib.sha256(known.encode()).hexdigest(),
        person_map={tag_of(tag): person for tag, person in clip.person_map.items()},
        asked=text,
        options=options,
        answer=said.answer,
        letters=letters,
        key=key,
        correct=is_correct(key, answer=said.answer, letters=letters, options=options),
        repairs=list(read.repairs),
        provenance={"prompt": said.prompt, "frames": said.frames, "number": question.number, "rules": VERSION},
        clip=clip.id if clip.ready else None,
        question=question.id,
    )


def key_of(question: Question) -> list[Any]:
    """The key as letters of the options in the order asked, or as it is for numbers and words."""
    letters = {option["id"]: ascii_uppercase[at] for at, option in enumerate(question.options)}
    return [letters.get(one, one) if isinstance(one, str) else one for one in question.key]
