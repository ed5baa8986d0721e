"""The leased queue and what comes of answers: each item goes to exactly `raters` people per round.

A lease is a place; it is free again after `LEASE` unless answered, and goes when it is. Places are handed out one
request after another per project (an advisory lock held for milliseconds), so fifty at once never share the last place,
nor hear that nothing is left because somebody else's hand is on what is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import pghistory
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F
from django.utils import timezone

from webapp.accounts.models import User
from webapp.bench import checks, services
from webapp.bench.models import Adjudication, Answer, Bench, KeySeen, Lease, Question
from webapp.bench.quotas import ACCEPTED, Room, kind_of
from webapp.lib.errors import Refused
from webapp.library.models import Project

State = Question.State
LEASE = timedelta(minutes=20)
QUEUE_LOCK = 0x51554555  # the first half of the advisory lock's key; the second is the project's
MOST_REASON = 4000

# ---------------------------------------------------------------------------------------------------------------------
# Handing out

# Answers of the round and other people's living leases take places. Who made a question, saw its key or answered it in
# any round never gets it: these are passed by in the order of numbers with one look into a hash each (NOT IN), since
# somebody may have answered most of what is open; only what is left is looked at for a place.
FREE = """
SELECT q.id FROM (
    SELECT o.id, o.number FROM bench_question o
    WHERE o.project_id = %(project)s AND o.state = 'answering' AND NOT o.stale
      AND o.created_by_id IS DISTINCT FROM %(user)s
      AND o.id NOT IN (SELECT a.question_id FROM bench_answer a WHERE a.user_id = %(user)s)
      AND o.id NOT IN (SELECT s.question_id FROM bench_keyseen s WHERE s.user_id = %(user)s)
    ORDER BY o.number OFFSET 0
) c JOIN LATERAL (
    SELECT b.id, b.round FROM bench_question b JOIN library_video v ON v.id = b.video_id
    WHERE b.id = c.id AND (b.proof IS NULL OR b.stood >= v.doubted) OFFSET 0
) q ON true
WHERE (SELECT count(*) FROM bench_answer a WHERE a.question_id = q.id AND a.round = q.round)
    + (SELECT count(*) FROM bench_lease l WHERE l.question_id = q.id AND l.round = q.round
       AND l.until > %(now)s AND l.user_id <> %(user)s) < %(raters)s
ORDER BY c.number
LIMIT %(limit)s
"""
HASH_MEMORY = "SET LOCAL work_mem = '64MB'"  # for the hashes of somebody's answers: past it, PostgreSQL would not hash
COUNT_LIMIT = 200  # questions waiting for one person, beyond which nobody counts


def next_item(*, project: Project, user: User) -> Lease | None:
    """The question this person answers next: the one they hold already, else the first with a free place they may have.

    None when nothing is left for them. Never one whose key they saw, that they made, or answered in any round.
    """
    bench = services.bench_of(project)
    with transaction.atomic():
        _queue_up(project.id)
        held = _held(project, user)
        if held is not None:
            return held
        while free := _free(project, user, bench.raters, 1):
            lease = _lease(free[0], user, bench.raters)
            if lease is not None:
                return lease
        return None


def _queue_up(project_id: UUID) -> None:
    """Wait for one's turn: nobody else hands out places of this project until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [QUEUE_LOCK, str(project_id)])


def _held(project: Project, user: User) -> Lease | None:
    """The person's living lease of a question that still waits for answers; none of a question that moved on."""
    living = Lease.objects.filter(user=user, question__project=project, until__gt=timezone.now())
    for lease in living.select_related("question__video__blob", "question__video__run", "question__clip"):
        question = lease.question
        if question.state == State.ANSWERING and not question.is_stale and lease.round == question.round:
            return lease
    return None


def _free(project: Project, user: User, raters: int, limit: int) -> list[UUID]:
    wanted: dict[str, Any] = {"project": project.id, "user": user.pk, "raters": raters, "limit": limit}
    wanted["now"] = timezone.now()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(HASH_MEMORY)
        cursor.execute(FREE, wanted)
        return [row[0] for row in cursor.fetchall()]


def waiting(*, project: Project, user: User) -> int:
    """How many questions have a free place for this person, up to one above `COUNT_LIMIT`."""
    return len(_free(project, user, services.bench_of(project).raters, COUNT_LIMIT + 1))


def _lease(question_id: UUID, user: User, raters: int) -> Lease | None:
    """A place of the question; None when an answer or an edit that ended just now left none."""
    question = services.locked_question(question_id)
    if question.state != State.ANSWERING or question.is_stale or not _room(question, user, raters):
        return None
    now = timezone.now()
    order = [option["id"] for option in question.options]
    random.SystemRandom().shuffle(order)
    lease, _ = Lease.objects.update_or_create(
        question=question,
        round=question.round,
        user=user,
        defaults={"order": order, "until": now + LEASE, "begun": now},
        create_defaults={"order": order, "until": now + LEASE},
    )
    lease.question = question
    return lease


def _room(question: Question, user: User, raters: int) -> bool:
    """Whether the locked question has a place for this person in its round."""
    taken = Answer.objects.filter(question=question, round=question.round).count()
    others = Lease.objects.filter(question=question, round=question.round, until__gt=timezone.now()).exclude(user=user)
    return taken + others.count() < raters


def give_back(*, question_id: UUID, user: User) -> None:
    """Let go of a lease without an answer; the place is free at once."""
    Lease.objects.filter(question_id=question_id, user=user).delete()


# ---------------------------------------------------------------------------------------------------------------------
# Answers


def answer(
    *,
    question_id: UUID,
    user: User,
    id: UUID,
    chosen: Sequence[Any] = (),
    special: str = "",
    seconds: float | None = None,
) -> Answer:
    """Answer the question one holds a lease for. The same id again is the same answer.

    `chosen`: option ids, or [number], or [text]; or `special`: cannot_tell, two_right, bad_clip. `seconds`: since it
    was shown, as the page measured; at most the time since it was handed out. The last answer of a round decides:
    accepted when all agree with the key, else disputed. Raises Refused.
    """
    with transaction.atomic(), pghistory.context(user=user.pk, why="question.answer"):
        question = services.locked_question(question_id)
        known = Answer.objects.filter(id=id).first()
        if known is not None:
            if known.user_id != user.pk or known.question_id != question.id:
                raise Refused("This id is taken.", "id")
            return known
        lease = _lease_to_answer(question, user)
        elapsed = (timezone.now() - lease.begun).total_seconds()
        given = Answer(
            id=id,
            question=question,
            round=question.round,
            user=user,
            chosen=[] if special else checked_choice(question, chosen),
            special=_special(special, chosen),
            order=lease.order,
            seconds=min(_seconds(seconds, elapsed), elapsed),
        )
        try:
            with transaction.atomic():
                given.save(force_insert=True)
        except IntegrityError as error:
            raise Refused("This id is taken.", "id") from error
        lease.delete()
        settle(question)
        return given


def _lease_to_answer(question: Question, user: User) -> Lease:
    """The person's lease, also one that ran out while nobody else took the place."""
    mine = Answer.objects.filter(question=question, round=question.round, user=user)
    lease = Lease.objects.filter(question=question, user=user, round=question.round).first()
    if mine.exists():
        raise Refused("You have answered this question already.", "question")
    if has_seen(question, user):
        raise Refused("You saw the key of this question, so your answer would not be blind.", "question")
    if question.state != State.ANSWERING or lease is None:
        raise Refused("This question is not yours to answer (any more). Go on to the next one.", "question")
    if lease.until <= timezone.now() and not _room(question, user, services.bench_of(question.project).raters):
        raise Refused("Your time for this question ran out and somebody else has it now.", "question")
    return lease


def checked_choice(question: Question, chosen: Sequence[Any]) -> list[Any]:
    """What was chosen, in its stored form. Raises Refused."""
    if question.kind == "number":
        return [checks.number_of(chosen, "chosen")]
    if question.kind == "open":
        return [checks.text_of(chosen, "chosen")]
    return checks.check_picks(chosen, question.options, question.kind, "chosen")


def _special(special: str, chosen: Sequence[Any]) -> str:
    if special and special not in Answer.Special.values:
        raise Refused(f"There is no answer {special!r}; there is: {', '.join(Answer.Special.values)}.", "special")
    if special and chosen:
        raise Refused("Either something is chosen, or one of the special answers; not both.", "special")
    return special


def _seconds(seconds: float | None, elapsed: float) -> float:
    if seconds is None:
        return elapsed
    if not 0 <= seconds < float("inf"):
        raise Refused("The time is a number of seconds.", "seconds")
    return seconds


def settle(question: Question) -> None:
    """Decide the locked question if its round is complete: the last answer calls this, and a proof that stands again.

    Answers in words are for a person to judge. While a proof is in doubt nothing is decided.
    """
    if question.state != State.ANSWERING or question.is_stale:
        return
    answers = list(Answer.objects.filter(question=question, round=question.round))
    if len(answers) < services.bench_of(question.project).raters:
        return
    if agreed(question, answers):
        accept(question)
    else:
        question.state = State.DISPUTED
    question.save(update_fields=["state", "changed"])
    Lease.objects.filter(question=question).delete()


def settle_complete(*, project: Project) -> int:
    """Decide questions whose rounds are complete since fewer raters are asked for; how many were looked at."""
    raters = services.bench_of(project).raters
    waiting = Question.objects.filter(project=project, state=State.ANSWERING, answers__round=F("round"))
    complete = waiting.annotate(n=Count("answers")).filter(n__gte=raters)
    ids = list(complete.values_list("id", flat=True))
    for question_id in ids:
        with transaction.atomic():
            settle(services.locked_question(question_id))
    return len(ids)


def agreed(question: Question, answers: Sequence[Answer]) -> bool:
    """Whether all of them chose the key. Of the kind "open" never: whether words say the same is for a person."""
    if question.kind == "open" or any(each.special for each in answers):
        return False
    return all(_same(question, each.chosen) for each in answers)


def _same(question: Question, chosen: Sequence[Any]) -> bool:
    if question.kind == "number":
        return len(chosen) == 1 and abs(float(chosen[0]) - float(question.key[0])) < 1e-9
    return set(chosen) == set(question.key)


def accept(question: Question) -> None:
    """Set the locked question's state, which the caller saves: accepted, or reserve where a quota is full."""
    bench = Bench.objects.select_for_update().get(project=question.project_id)
    room = Room.of(bench, ACCEPTED)
    source = question.video.source_recording
    question.state = State.ACCEPTED if room.has(kind_of(question, source)) else State.RESERVE


# ---------------------------------------------------------------------------------------------------------------------
# Adjudication


def adjudicate(
    *,
    question_id: UUID,
    user: User,
    id: UUID,
    verdict: str,
    reason: str,
    fields: Mapping[str, Any] | None = None,
) -> Adjudication:
    """The word of a third person on a disputed question: accept, edit (with `fields` of `services.edit_question`; goes
    round again) or reject. Not by somebody who answered it; a reason is required; idempotent by id. Raises Refused.

    An edit without fields, or with a key that is neither proven nor signed, waits as a draft until that is done.
    """
    with transaction.atomic(), pghistory.context(user=user.pk, why=f"question.{verdict[:10]}", reason=reason[:500]):
        question = services.locked_question(question_id, to_prove=True)
        known = Adjudication.objects.filter(id=id).first()
        if known is not None:
            if known.user_id != user.pk or known.question_id != question.id:
                raise Refused("This id is taken.", "id")
            return known
        _check_verdict(question, user, verdict, reason, fields)
        said = Adjudication(
            id=id, question=question, round=question.round, user=user, verdict=verdict, reason=reason.strip()
        )
        try:
            with transaction.atomic():
                said.save(force_insert=True)
        except IntegrityError as error:
            raise Refused("This id is taken.", "id") from error
        services.saw(user=user, ids=[question.id])
        _carry_out(question, user, verdict, fields)
        question.save()
        return said


def _check_verdict(question: Question, user: User, verdict: str, reason: str, fields: Mapping[str, Any] | None) -> None:
    if verdict not in Adjudication.Verdict.values:
        raise Refused(
            f"There is no verdict {verdict!r}; there is: {', '.join(Adjudication.Verdict.values)}.", "verdict"
        )
    if question.state != State.DISPUTED:
        raise Refused("Nobody disputes this question (any more).", "question")
    if not may_adjudicate(question, user):
        raise Refused("You answered this question yourself: a third person decides.", "question")
    if not reason.strip() or len(reason) > MOST_REASON or not checks.storable(reason):
        raise Refused(f"Say why, in at most {MOST_REASON} characters.", "reason")
    if verdict != Adjudication.Verdict.EDIT and fields:
        raise Refused("Only the verdict edit changes the question.", "fields")
    if verdict == Adjudication.Verdict.ACCEPT and question.is_stale:
        raise Refused("Its proof does not stand now, so it cannot be accepted.", "verdict")


def _carry_out(question: Question, user: User, verdict: str, fields: Mapping[str, Any] | None) -> None:
    if verdict == Adjudication.Verdict.ACCEPT:
        accept(question)
    elif verdict == Adjudication.Verdict.REJECT:
        question.state = State.REJECTED
    elif fields:
        services.change(question, user=user, fields=fields)
        if not services.why_not_open(question):
            question.state = State.ANSWERING
    else:
        question.state, question.round, question.signed_by = State.DRAFT, question.round + 1, None
    question.changed_by = user


def has_seen(question: Question, user: User) -> bool:
    """Whether this person saw the key: they made the question, or asked for it."""
    return question.created_by_id == user.pk or KeySeen.objects.filter(question=question, user=user).exists()


def may_adjudicate(question: Question, user: User) -> bool:
    """Whether this person is a third one: they answered the question in no round."""
    return not Answer.objects.filter(question=question, user=cast(Any, user)).exists()
