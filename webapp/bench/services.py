"""Writes of questions: settings, drafts, edits, signatures, opening, discarding, and who saw a key.

Answers, leases and adjudications are written in `answering`, proofs in `proving`, jobs are asked for in `requests`.
Every function is one transaction and takes keywords only; who may call it is checked before (`webapp.bench.access`).
Raises Refused (a sentence and a field) or Stale (edited meanwhile). Rows are locked in one order: video, questions,
bench.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pghistory
from django.db import connection, transaction
from django.utils import timezone

from ml.questions.clip import RENDERINGS
from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.models import Membership, User
from webapp.accounts.permissions import roles_that_may
from webapp.bench import checks, proving, wording
from webapp.bench.models import Bench, KeySeen, Lease, Question
from webapp.bench.quotas import ACCEPTED, OPEN, PLANNED, Room, check_quotas, kind_of, words_of
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Project, Video

State = Question.State
UNDECIDED = (State.DRAFT, State.ANSWERING, State.DISPUTED, State.RESERVE)
EDITABLE = {"text", "options", "key", "proof", "reasoning", "kind", "category", "start", "end"}
MOST_AT_ONCE = 500

# ---------------------------------------------------------------------------------------------------------------------
# Settings


def bench_of(project: Project) -> Bench:
    """The project's settings, made at the first use."""
    return Bench.objects.get_or_create(project=project)[0]


def configure(*, project: Project, user: User, changes: Mapping[str, Any]) -> Bench:
    """Change settings: raters, rendering, blur_faces, pad_before_s, pad_after_s, quotas. Raises Refused.

    Higher quotas let questions of the reserve in.
    """
    bench_of(project)
    with transaction.atomic(), pghistory.context(user=user.pk, why="bench.settings"):
        bench = Bench.objects.select_for_update().get(project=project)
        for name, value in changes.items():
            setattr(bench, name, _setting(name, value))
        bench.save(update_fields=[*changes])
        let_in(bench)
    if "raters" in changes:
        from webapp.bench.answering import settle_complete

        settle_complete(project=project)  # after the bench's row is free: questions are locked before it
    return bench


def _setting(name: str, value: Any) -> Any:
    if name == "quotas":
        return check_quotas(value)
    if name == "rendering" and value in RENDERINGS:
        return value
    if name == "blur_faces" and isinstance(value, bool):
        return value
    if name == "raters" and isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10:
        return value
    if name in ("pad_before_s", "pad_after_s") and isinstance(value, int | float) and 0 <= value <= 60:
        return float(value)
    told = {
        "rendering": f"The rendering is one of {', '.join(RENDERINGS)}.",
        "blur_faces": "Faces are blurred or not.",
        "raters": "Between 1 and 10 people answer each question.",
        "pad_before_s": "The padding is between 0 and 60 seconds.",
        "pad_after_s": "The padding is between 0 and 60 seconds.",
    }
    raise Refused(told.get(name, f"There is no setting {name!r}."), name)


def let_in(bench: Bench) -> int:
    """Accept what the reserve holds and the quotas have room for now, lowest number first. Its row is locked."""
    room = Room.of(bench, ACCEPTED)
    found = Question.objects.select_for_update(of=("self",), skip_locked=True).select_related("video")
    waiting = found.filter(project=bench.project_id, state=State.RESERVE).standing()
    chosen = [
        question.id
        for question in waiting.order_by("number")
        if room.take(kind_of(question, question.video.source_recording))
    ]
    return Question.objects.filter(id__in=chosen).update(state=State.ACCEPTED, changed=timezone.now())


FOLD = """
WITH old AS (DELETE FROM bench_questioncount WHERE project_id IN (
    SELECT project_id FROM bench_questioncount GROUP BY project_id HAVING count(*) > %(most)s) RETURNING *)
INSERT INTO bench_questioncount (project_id, state, category, difficulty, letter, n)
SELECT project_id, state, category, difficulty, letter, sum(n) FROM old GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0
"""


def fold_counts(*, most: int = 2000) -> None:
    """Sum up the counts of questions where a project has more than `most` rows of them; one statement."""
    with connection.cursor() as cursor:
        cursor.execute(FOLD, {"most": most})


def refill(project_id: UUID) -> None:
    """A place among the accepted became free, or a question of the reserve stands again. Call inside `atomic`."""
    let_in(Bench.objects.select_for_update().get(project=project_id))


# ---------------------------------------------------------------------------------------------------------------------
# Making


def create_questions(
    *,
    video: Video,
    drafts: Sequence[Any],
    user: User | None,
    origin: str = Question.Origin.TEMPLATE,
    provenance: Mapping[str, Any] | None = None,
) -> list[Question]:
    """Questions from `ml.questions.draft.Draft`s, numbered once; those the video has already, or that no quota has room
    for, are left out. Option ids are given anew by position (a, b, c, ...), in proofs too.

    A template's proof was run by whoever made it, and holds while the video is at the proof's revision; others are run
    here. `user` made the questions, and so saw their keys. Raises Refused with the first fault.
    """
    bench_of(video.project)
    with transaction.atomic(), pghistory.context(user=user.pk if user else None, why="question.create"):
        locked = (
            Video.objects.select_for_update(no_key=True, of=("self",)).select_related("blob", "run").get(id=video.id)
        )
        asked = fresh(locked, drafts)
        if not asked:
            return []
        names, clock = wording.names_of([locked.id]), wording.clock_from(wording.seconds_of(locked))
        made = [_question(locked, draft, user, origin, provenance or {}) for draft in asked]
        for question in made:
            checks.check_question(question, locked, names)
            question.shown = wording.printed(question.text, names, clock)
            question.letter = checks.letter_of(question)
        bench = Bench.objects.select_for_update().get(project=locked.project_id)
        room = Room.of(bench, PLANNED)
        made = [question for question in made if room.take(kind_of(question, locked.source_recording))]
        proving.mark_new(made, locked, trusted=origin == Question.Origin.TEMPLATE)
        for number, question in enumerate(made, bench.next_number):
            question.number = number
        bench.next_number += len(made)
        bench.save(update_fields=["next_number"])
        Question.objects.bulk_create(made, batch_size=500)
        if made and not locked.has_questions:
            Video.objects.filter(id=locked.id).update(has_questions=True)
        return made


def fresh(video: Video, drafts: Sequence[Any], *, within: float = 0.0) -> list[Any]:
    """Drafts whose words the video does not ask yet, each once; also what was rejected does not come back.

    Words are the same where they print the same people and, each moment at most `within` seconds off, the same times:
    who reads a question back from print has lost which frame a tenth of a second stood for.
    """
    texts = Question.objects.filter(video=video).values_list("text", flat=True)
    if not within:
        known, found = set(texts), []
        for draft in drafts:
            if draft.text not in known:
                known.add(draft.text)
                found.append(draft)
        return found
    names, seconds = wording.names_of([video.id]), wording.seconds_of(video)
    asked: dict[str, list[list[float]]] = defaultdict(list)

    def new(text: str) -> bool:
        words, moments = wording.words_and_moments(text, names, seconds)
        rows = asked[words]
        again = any(
            len(row) == len(moments) and all(abs(a - b) <= within for a, b in zip(moments, row, strict=True))
            for row in rows
        )
        rows.append(moments)
        return not again

    for text in texts:
        new(text)
    return [draft for draft in drafts if new(draft.text)]


def _question(video: Video, draft: Any, user: User | None, origin: str, provenance: Mapping[str, Any]) -> Question:
    options, key, proof = checks.lettered(draft.options, draft.key, draft.proof, draft.kind)
    return Question(
        project_id=video.project_id,
        video=video,
        category=draft.category,
        difficulty=CATEGORIES[draft.category].difficulty if draft.category in CATEGORIES else "",
        kind=draft.kind,
        text=draft.text,
        options=options,
        key=key,
        proof=proof,
        reasoning=draft.reasoning,
        start=draft.start,
        end=draft.end,
        origin=origin,
        template=draft.template[:60],
        provenance=dict(provenance),
        created_by=user,
        changed_by=user,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Changing


def locked_video(video_id: UUID) -> Video:
    """The video with its row locked, so that no edit moves a fact while a proof is run on it."""
    found = Video.objects.select_for_update(no_key=True, of=("self",)).select_related("blob", "run")
    video = found.filter(id=video_id).first()
    if video is None:
        raise Stale(kind="video", id=str(video_id), base=None, theirs=None)
    return video


def locked_question(question_id: UUID, version: int | None = None, *, to_prove: bool = False) -> Question:
    """The question, locked until the transaction ends; before it its video, where its proof is to be run.

    Raises Stale unless it is there and at this version.
    """
    if to_prove:
        video_id = Question.objects.filter(id=question_id).values_list("video_id", flat=True).first()
        if video_id is not None:
            locked_video(video_id)
    found = Question.objects.select_for_update(of=("self",)).select_related(
        "video", "video__blob", "video__run", "clip"
    )
    question = found.filter(id=question_id).first()
    if question is None or (version is not None and question.version != version):
        theirs = None if question is None else {"version": question.version}
        raise Stale(kind="question", id=str(question_id), base=version, theirs=theirs)
    return question


def edit_question(
    *, question_id: UUID, user: User, version: int, fields: Mapping[str, Any], reason: str = ""
) -> Question:
    """Change text, options, key, proof, reasoning, kind, category, start or end of a question.

    It gets a new version, goes back to draft and to a new round; a signature is void. A proof that is kept must still
    fit options and key (`proof: None` takes it away). Raises Refused, Stale; a released question is never edited.
    """
    with transaction.atomic(), pghistory.context(user=user.pk, why="question.edit", reason=reason[:500]):
        question = locked_question(question_id, version, to_prove=True)
        was = question.state
        change(question, user=user, fields=fields)
        question.save()
        if was == State.ACCEPTED:
            refill(question.project_id)
        return question


def change(question: Question, *, user: User, fields: Mapping[str, Any]) -> None:
    """What an edit does to the locked question, which the caller saves. Raises Refused."""
    unknown = sorted(set(fields) - EDITABLE)
    if unknown or not fields:
        raise Refused(f"There is no field {unknown[0]!r} to edit." if unknown else "Nothing is changed.", "fields")
    if question.releases.filter(retired=None).exists():
        raise Refused("This question was released: it can be retired, never edited.", "state")
    _note_export(question)
    for name, value in fields.items():
        setattr(question, name, value)
    if {"start", "end"} & fields.keys():
        question.clip = None
    for name in ("start", "end"):
        if isinstance(getattr(question, name), bool) or not isinstance(getattr(question, name), int):
            raise Refused(f"'{name}' must be a frame number.", name)
    names = wording.names_of([question.video_id])
    checks.check_question(question, question.video, names)
    question.shown = wording.printed(question.text, names, wording.clock_from(wording.seconds_of(question.video)))
    question.difficulty, question.letter = CATEGORIES[question.category].difficulty, checks.letter_of(question)
    proving.mark_new([question], question.video, trusted=False)
    if question.state != State.DRAFT:
        question.round += 1
    question.state, question.signed_by = State.DRAFT, None
    question.version += 1
    question.changed_by = user
    Lease.objects.filter(question=question).delete()
    saw(user=user, ids=[question.id])


def _note_export(question: Question) -> None:
    """Whoever could take out a release that had this question is counted as having seen its key."""
    if question.releases.exists():
        members = Membership.objects.filter(project=question.project_id, role__in=roles_that_may("export"))
        rows = [KeySeen(question=question, user_id=user) for user in members.values_list("user_id", flat=True)]
        KeySeen.objects.bulk_create(rows, ignore_conflicts=True)


def sign_question(*, question_id: UUID, user: User, version: int) -> Question:
    """Give one's word for the key of a draft that has no proof: the item is marked free-form. Raises Refused, Stale."""
    with transaction.atomic(), pghistory.context(user=user.pk, why="question.sign"):
        question = locked_question(question_id, version)
        if question.state != State.DRAFT:
            raise Refused("Only a draft is signed; edit the question first.", "state")
        if question.proof is not None:
            raise Refused("This key has a proof, so it needs nobody's word. Take the proof away to sign it.", "proof")
        question.signed_by = question.changed_by = user
        question.save()
        saw(user=user, ids=[question.id])
        return question


@dataclass
class Opened:
    """What became of questions to open: those opened, and [number, sentence] for each that was not."""

    opened: list[UUID] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


def open_questions(*, project: Project, user: User, ids: Sequence[UUID]) -> Opened:
    """Hand drafts to the raters: those whose proof stands now or that are signed, and that a quota has room for."""
    result = Opened()
    bench_of(project)
    with transaction.atomic(), pghistory.context(user=user.pk, why="question.open"):
        questions = _several(project, ids)
        bench = Bench.objects.select_for_update().get(project=project)
        room = Room.of(bench, OPEN)
        for question in questions:
            kind = kind_of(question, question.video.source_recording)
            why = why_not_open(question)
            full = None if why else room.full(kind)
            if full is not None:
                why = f"A quota is full: {words_of(full)}."
            if why:
                result.refused.append((question.number, why))
            else:
                room.take(kind)
                result.opened.append(question.id)
        opened = Question.objects.filter(id__in=result.opened)
        opened.update(state=State.ANSWERING, changed=timezone.now(), changed_by=user)
        return result


def why_not_open(question: Question) -> str:
    """Why a question cannot be handed to raters, or "": what hinders it whatever its quota."""
    if question.state != State.DRAFT:
        return f"It is not a draft: {question.state}."
    if question.doubted:
        return "Its proof is being run again, since something was edited."
    if question.stale:
        return "Its proof does not stand."
    if question.proof is None and question.signed_by_id is None:
        return "It has no proof: somebody signs for its key first."
    return ""


def discard_questions(*, project: Project, user: User, ids: Sequence[UUID], reason: str = "") -> int:
    """Reject questions nobody decided on; how many. Their places are free, leases end."""
    with transaction.atomic(), pghistory.context(user=user.pk, why="question.discard", reason=reason[:500]):
        chosen = [question.id for question in _several(project, ids) if question.state in UNDECIDED]
        Lease.objects.filter(question__in=chosen).delete()
        rejected = Question.objects.filter(id__in=chosen)
        return rejected.update(state=State.REJECTED, changed=timezone.now(), changed_by=user)


def _several(project: Project, ids: Sequence[UUID]) -> list[Question]:
    """The project's questions with these ids, locked, by number. Raises Refused for too many."""
    if len(ids) > MOST_AT_ONCE:
        raise Refused(f"At most {MOST_AT_ONCE} questions at once.", "ids")
    found = Question.objects.select_for_update(of=("self",)).select_related("video")
    return list(found.filter(project=project, id__in=list(ids)).order_by("number"))


# ---------------------------------------------------------------------------------------------------------------------
# Keys


def reveal(*, questions: Sequence[Question], user: User) -> None:
    """Note that somebody saw the keys: they never answer these; a lease they hold ends. Call before showing one."""
    with transaction.atomic():
        saw(user=user, ids=[question.id for question in questions])


def saw(*, user: User, ids: Sequence[UUID]) -> None:
    """As `reveal`, inside the caller's transaction."""
    KeySeen.objects.bulk_create([KeySeen(question_id=id, user=user) for id in ids], ignore_conflicts=True)
    Lease.objects.filter(question__in=list(ids), user=user).delete()
