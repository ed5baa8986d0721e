"""Running proofs: which questions of a video stand, and what changed for those that do not.

    doubt      web: an edit moved a fact; the video's proven questions count as stale from that revision on
    prove      worker: run the proofs of a video again and write what came out, unless it was edited meanwhile
    mark_new   web: a question that was just made or edited

A proof holds for one revision of its video. `doubt` runs inside the edit's own transaction, so no reader ever sees an
edited video with questions that still pass for proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from ml.formats.errors import FormatError
from ml.questions.facts import Facts
from webapp.bench import happenings, wording
from webapp.bench.facts import facts_of
from webapp.bench.models import OVER, Question
from webapp.events.services import Change
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Video

State = Question.State
TRIES = 5
FACT_OF_EVENT = ("type", "start", "end", "participants", "details", "edited", "confidence", "modality", "set")
FACT_OF_PROPOSAL = ("type", "start", "end", "participants", "modality")
FACT_OF_PERSON = ("number", "merged_into")


@dataclass
class Verdict:
    """What a run of one proof says: whether it stands, and in sentences why not."""

    stands: bool
    why: str = ""


@dataclass
class Proved:
    """What running a video's proofs found. `down`: (number, why) of all questions that do not stand; `fell`: of those
    that stood before, or fell for another reason; `rose`: numbers of those that stand again.
    """

    video: UUID
    revision: int
    proofs: int = 0
    standing: int = 0
    down: list[tuple[int, str]] = field(default_factory=list)
    fell: list[tuple[int, str]] = field(default_factory=list)
    rose: list[int] = field(default_factory=list)


def judge(proof: Any, facts: Facts) -> Verdict:
    """Run one proof."""
    from ml.questions.proof import evaluate, parse

    try:
        outcome = evaluate(parse(proof), facts)
    except FormatError as error:
        return Verdict(False, f"The proof cannot be run: {error}")
    if outcome.stands:
        return Verdict(True)
    return Verdict(False, " ".join(outcome.reasons) or "The proof does not stand.")


# ---------------------------------------------------------------------------------------------------------------------
# Doubt


def doubt(video: Video, kind: str, changes: Sequence[Change]) -> None:
    """Put the video's proven questions in doubt if the edit moved a fact. Called with the video's row locked, before
    the ledger writes it.

    However many questions there are, it is one number in that row. A job that runs the proofs again is asked for when
    the video falls into doubt; until it has run, another one would find nothing new.
    """
    if not video.has_questions or not moves_facts(kind, changes):
        return
    known, video.doubted = video.doubted, video.revision
    if not known:
        jobs.create_once(project_id=video.project_id, video_id=video.id, kind="prove", queue="cpu")


def follow_proofs(job: Job) -> None:
    """A run that failed or was cancelled leaves its video's questions stale, and the next edit asks for another run."""
    if job.video_id is not None and job.state in (Job.State.FAILED, Job.State.CANCELLED):
        why = f"Its proof could not be run again: {job.error or 'that was cancelled.'}"
        doubted = Video.objects.values_list("doubted", flat=True).get(id=job.video_id)
        shaken = Question.objects.filter(video_id=job.video_id, proof__isnull=False, stood__lt=doubted)
        shaken.exclude(state__in=OVER).update(stale=True, stale_why=why)
        Video.objects.filter(id=job.video_id).update(doubted=0)


def moves_facts(kind: str, changes: Sequence[Change]) -> bool:
    """Whether anything a proof rests on is different: events confirmed or still to be decided, who is who, where people
    are, coverage.
    """
    return kind == "run.accept" or any(_moves(*change) for change in changes)


def _moves(kind: str, id: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> bool:
    if kind == "event":
        return _fact(before) != _fact(after)
    if kind == "person":
        return _told(before, FACT_OF_PERSON) != _told(after, FACT_OF_PERSON)
    return kind in ("tracklet", "coverage")


def _told(row: dict[str, Any] | None, names: Sequence[str]) -> list[Any] | None:
    return None if row is None else [row[name] for name in names]


def _fact(row: dict[str, Any] | None) -> list[Any] | None:
    """What proofs see of an event: of a proposal, that there may be one; of a rejected one, nothing."""
    if row is None or row["status"] == "rejected":
        return None
    return [row["status"], *(_told(row, FACT_OF_EVENT if row["status"] == "confirmed" else FACT_OF_PROPOSAL) or [])]


# ---------------------------------------------------------------------------------------------------------------------
# Runs


def prove(video: Video) -> Proved:
    """Run the proofs of all questions of a video that are not over, and write what came out. No lock while it works.

    Somebody may edit meanwhile: then all is worked out again, a few times; the edit has asked for another run anyway.
    """
    for _ in range(TRIES):
        facts = facts_of(video)
        names, clock = wording.names_of([video.id]), wording.clock_from(facts.seconds)
        found = Question.objects.filter(video=video, proof__isnull=False).exclude(state__in=OVER).order_by("number")
        said = {question: judge(question.proof, facts) for question in found}
        stood = min(
            (question.stood for question, verdict in said.items() if not verdict.stands), default=facts.revision
        )
        edits = happenings.edits_since(video.id, stood, facts.revision)
        for question, verdict in said.items():
            if not verdict.stands:
                verdict.why = " ".join([*happenings.since(question, edits, names, clock), verdict.why])
        verdicts = {question.id: (question.version, verdict) for question, verdict in said.items()}
        result = _write(video, facts.revision, verdicts)
        if result is not None:
            return result
    raise Refused("The video is being edited all the time; its proofs are run when that is over.", "video")


Verdicts = dict[UUID, tuple[int, Verdict]]  # question -> its version and what its proof says


@transaction.atomic
def _write(video: Video, revision: int, verdicts: Verdicts) -> Proved | None:
    """Keep the verdicts; None when the video was edited since. A question edited since has a verdict of its own."""
    from webapp.bench import answering, services

    locked = services.locked_video(video.id)
    if locked.revision != revision:
        return None
    result = Proved(video.id, revision)
    was, locked.doubted = locked.doubted, 0
    if was:
        locked.save(update_fields=["doubted"])
    rows = Question.objects.select_for_update(of=("self",)).filter(id__in=list(verdicts)).select_related("video")
    for question in rows.order_by("number"):
        version, verdict = verdicts[question.id]
        question.video.doubted = was
        if question.version != version or question.state in OVER:
            continue
        before = _keep(question, verdict, revision, result)
        if verdict.stands and before:
            answering.settle(question)  # its last answers may have come in while it was in doubt
            if question.state == State.RESERVE:
                services.refill(question.project_id)
    return result


def _keep(question: Question, verdict: Verdict, revision: int, result: Proved) -> bool:
    """Write one verdict and count it; whether the question was stale before."""
    before, said = question.is_stale, question.stale_why
    result.proofs += 1
    result.standing += verdict.stands
    if not verdict.stands:
        result.down.append((question.number, verdict.why))
    if not verdict.stands and verdict.why != said:
        result.fell.append((question.number, verdict.why))
    elif verdict.stands and said:
        result.rose.append(question.number)
    question.stale, question.stale_why, question.video.doubted = not verdict.stands, verdict.why, 0
    if verdict.stands:
        question.stood = revision
    question.save(update_fields=["stale", "stale_why", "stood"])
    return before


def mark_new(questions: Sequence[Question], video: Video, *, trusted: bool) -> None:
    """Set `stale` of questions that were just made or edited; the caller stores them and holds the video's row.

    `trusted`: whoever made the proof ran it; that is believed while the video is as it was then.
    """
    for question in questions:
        question.stale, question.stale_why, question.stood = False, "", video.revision
    proven = [(question, question.proof) for question in questions if question.proof is not None]
    behind = [(q, proof) for q, proof in proven if not trusted or proof.get("revision") != video.revision]
    if not behind:
        return
    facts = facts_of(video)
    for question, proof in behind:
        verdict = judge(proof, facts)
        question.stale, question.stale_why = not verdict.stands, verdict.why
