"""Places at responses, blind verdicts on their claims, and the word of a third person where they differ.

A place is a `Rating`; it is free again after `LEASE` unless completed, and every save of its holder prolongs it. Places
are handed out one request after another per audit (an advisory lock held for milliseconds), so that each response goes
to exactly `raters` people. Verdicts may change until the response is completed; those before the machine's word was
asked for are the blind ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pghistory
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from webapp.accounts.models import User
from webapp.audit.models import Audit, AuditAdjudication, Claim, HumanVerdict, MachineVerdict, Rating, Response, Verdict
from webapp.audit.models import Relevance as Relevances
from webapp.audit.services import need_open
from webapp.audit.shown import has_mask
from webapp.bench.answering import has_seen
from webapp.bench.checks import storable
from webapp.lib.errors import Refused, Stale

LEASE = timedelta(hours=2)
QUEUE_LOCK = 0x41554449  # the first half of the advisory lock's key; the second is the audit's
MOST_REASON = 4000
COUNTED = "SELECT f.audit_id, count(*) FROM ({}) f GROUP BY f.audit_id"
NOT_THIRD = "What raters said is for a third person, once all of them are done; you are one of them, or they are not."

# Completed ratings and other people's living places are taken. Whoever saw the key of the question in the bench, or
# made that question, never gets a response to it, nor does who decided a claim of it.
HAS_PLACE = """
NOT EXISTS (SELECT FROM audit_rating m WHERE m.response_id = r.id AND m.user_id = %(user)s AND m.completed IS NOT NULL)
AND NOT EXISTS (SELECT FROM bench_question q WHERE q.id = r.question_id AND q.created_by_id = %(user)s)
AND NOT EXISTS (SELECT FROM bench_keyseen s WHERE s.question_id = r.question_id AND s.user_id = %(user)s)
AND NOT EXISTS (SELECT FROM audit_auditadjudication d JOIN audit_claim k ON k.id = d.claim_id
                WHERE k.response_id = r.id AND d.user_id = %(user)s)
AND (SELECT count(*) FROM audit_rating t WHERE t.response_id = r.id AND t.user_id <> %(user)s
     AND (t.completed IS NOT NULL OR t.until > %(now)s)) < a.raters
"""
FREE = f"""
SELECT r.id FROM audit_response r JOIN audit_audit a ON a.id = r.audit_id
WHERE r.audit_id = %(audit)s AND a.state = 'open' AND r.state = 'done' AND NOT r.judged
  AND (%(response)s::uuid IS NULL OR r.id = %(response)s) AND {HAS_PLACE}
ORDER BY r.position
LIMIT 1
"""

# Only these can be without a place for a person though not all raters are done; all others have one
DOUBTFUL = """
SELECT t.response_id FROM audit_rating t WHERE t.user_id = %(user)s AND t.completed IS NOT NULL
UNION SELECT t.response_id FROM audit_rating t WHERE t.completed IS NULL AND t.until > %(now)s
UNION SELECT x.id FROM audit_response x JOIN bench_question q ON q.id = x.question_id WHERE q.created_by_id = %(user)s
UNION SELECT x.id FROM audit_response x JOIN bench_keyseen s ON s.question_id = x.question_id
      WHERE s.user_id = %(user)s
UNION SELECT k.response_id FROM audit_auditadjudication d JOIN audit_claim k ON k.id = d.claim_id
      WHERE d.user_id = %(user)s
"""
WAITING = f"""
WITH doubtful AS MATERIALIZED ({DOUBTFUL})
SELECT a.id, (SELECT coalesce(sum(y.processed), 0)::bigint FROM audit_tally y WHERE y.audit_id = a.id)
    - (SELECT count(*) FROM audit_response j WHERE j.audit_id = a.id AND j.judged)
    - (SELECT count(*) FROM doubtful b JOIN audit_response r ON r.id = b.response_id
       WHERE r.audit_id = a.id AND r.state = 'done' AND NOT r.judged AND NOT ({HAS_PLACE}))
FROM audit_audit a WHERE a.id = ANY(%(audits)s) AND a.state = 'open'
"""


# ---------------------------------------------------------------------------------------------------------------------
# Places


def next_response(*, audit: Audit, user: User) -> Rating | None:
    """The response this person rates next: the one they hold already, else the first with a place for them; None when
    nothing is left for them."""
    with transaction.atomic():
        _queue_up(audit.id)
        hold_open(audit.id)
        held = _held(audit, user)
        if held is not None:
            return held
        free = _free(audit.id, user)
        return _seat(free, user) if free else None


def take(*, response: Response, user: User) -> Rating:
    """A place at this very response. Raises Refused when it has none for this person."""
    with transaction.atomic():
        _queue_up(response.audit_id)
        hold_open(response.audit_id)
        mine = Rating.objects.filter(response=response, user=user).first()
        if mine is not None and (mine.completed or mine.until > timezone.now()):
            return mine
        if not has_place(response, user):
            raise Refused("This response has no place for you: it is not ready, or others rate it.", "response")
        return _seat(response.id, user)


def _queue_up(audit_id: UUID) -> None:
    """Wait for one's turn: nobody else hands out places of this audit until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [QUEUE_LOCK, str(audit_id)])


def _held(audit: Audit, user: User) -> Rating | None:
    living = Rating.objects.filter(user=user, response__audit=audit, completed=None, until__gt=timezone.now())
    return living.filter(response__state=Response.State.DONE).order_by("response__position").first()


def _free(audit: UUID, user: User, response: UUID | None = None) -> UUID | None:
    """The first response with a place for this person; `response`: only this one."""
    with connection.cursor() as cursor:
        told: dict[str, Any] = {"audit": audit, "user": user.pk, "now": timezone.now(), "response": response}
        cursor.execute(FREE, told)
        found = cursor.fetchone()
        return found[0] if found else None


def has_place(response: Response, user: User) -> bool:
    """Whether this person could take a place at the response now."""
    return _free(response.audit_id, user, response.id) is not None


def waiting(audits: Sequence[UUID], user: User) -> dict[UUID, int]:
    """How many responses of each audit have a place for this person; one query."""
    with connection.cursor() as cursor:
        cursor.execute(WAITING, {"audits": list(audits), "user": user.pk, "now": timezone.now()})
        return dict(cursor.fetchall())


def _seat(response_id: UUID, user: User) -> Rating:
    now = timezone.now()
    rating, _ = Rating.objects.update_or_create(
        response_id=response_id, user=user, completed=None, defaults={"until": now + LEASE}
    )
    return rating


def give_back(*, response: Response, user: User) -> None:
    """Let go of a place; what was said there stays, and is there again when the same person takes a place."""
    Rating.objects.filter(response=response, user=user, completed=None).update(until=timezone.now())


def seat_of(response: Response, user: User) -> Rating | None:
    """The person's place: completed, or living."""
    mine = Rating.objects.filter(response=response, user=user).first()
    return mine if mine is not None and (mine.completed or mine.until > timezone.now()) else None


def need_seat(response: Response, user: User) -> Rating:
    """The person's living place, prolonged. Call inside `atomic`. Raises Refused without one.

    One that ran out is theirs again while nobody else has taken it; one whose key they saw since is lost. The video is
    held first, as deletions lock it.
    """
    hold_video(response.video_id)
    hold_open(response.audit_id)
    now = timezone.now()
    if Rating.objects.filter(response=response, user=user, completed=None, until__lte=now).exists():
        _queue_up(response.audit_id)  # before its row is locked, as those who hand out places do
    mine = Rating.objects.select_for_update().filter(response=response, user=user).first()
    if mine is None:
        raise Refused("This response is not yours to rate; take the next one.", "response")
    if mine.completed is not None:
        raise Refused("You have completed this response: what you said of it stays.", "response")
    if response.question is not None and has_seen(response.question, user):
        raise Refused("You have seen the key of this question, so this response is not yours to rate.", "response")
    if mine.until <= now and not has_place(response, user):
        raise Refused("Your time for this response ran out and somebody else has it now.", "response")
    mine.until = now + LEASE
    mine.save(update_fields=["until"])
    return mine


def hold_video(video_id: UUID) -> None:
    """Keep the video from being erased until the transaction ends. Raises Refused when it is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM library_video WHERE id = %s FOR KEY SHARE", [video_id])
        if cursor.fetchone() is None:
            raise Refused("This video is gone.", "video")


def hold_open(audit_id: UUID) -> None:
    """Keep the audit open, with the raters it has, until the transaction ends; raters do not wait for each other.
    Raises Refused when it is finished."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM audit_audit WHERE id = %s FOR KEY SHARE", [audit_id])
    need_open(Audit.objects.get(id=audit_id))


def complete(*, response: Response, user: User) -> Rating:
    """Say that all claims of the response are rated; from now on these verdicts stay. Raises Refused, Unsaid."""
    with transaction.atomic():
        mine = Rating.objects.filter(response=response, user=user).first()
        if mine is not None and mine.completed is not None:
            return mine
        mine = need_seat(response, user)
        said = HumanVerdict.objects.filter(claim__response=response, user=user).values("claim")
        left = list(Claim.objects.filter(response=response).exclude(id__in=said).order_by("position"))
        if left:
            raise Unsaid(left)
        mine.completed = timezone.now()
        mine.save(update_fields=["completed"])
        judge(response.audit_id, response.id)
        return mine


def judge(audit_id: UUID, response_id: UUID | None = None) -> None:
    """Note which responses (or this one) all raters have completed by now, and their disputed claims; for good, as
    completed ratings stay and raters never become more then. Call inside `atomic`, last."""
    told = {"audit": audit_id, "response": response_id}
    with connection.cursor() as cursor:
        # one completion after the other, or the last two would not see each other
        cursor.execute(f"SELECT r.id FROM audit_response r WHERE {COMPLETED} ORDER BY r.id FOR NO KEY UPDATE", told)
        cursor.execute(JUDGE, told)
        judged = [row[0] for row in cursor.fetchall()]
        cursor.execute(DISPUTED, {"responses": judged, "claim": None})
        disputed = [row[0] for row in cursor.fetchall()]
    Claim.objects.filter(id__in=disputed).update(disputed=True)


class Unsaid(Refused):
    """Claims without a verdict of this person."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        names = ", ".join(claim.name for claim in claims[:10])
        super().__init__(f"{len(claims)} claims have no verdict of yours yet: {names}.", "claims")
        self.claims = [str(claim.id) for claim in claims]


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts


def say(
    *,
    claim: Claim,
    user: User,
    id: UUID,
    version: int | None,
    verdict: str,
    relevance: str = "",
    reason: str = "",
    seconds: float | None = None,
) -> HumanVerdict:
    """Give a verdict, or change one's own (`version`: the one it was made from, None for the first word).

    The same id and words again are the same verdict. Raises Refused, Stale.
    """
    _check_words(verdict, relevance, reason)
    with transaction.atomic(), pghistory.context(user=user.pk, why="audit.verdict", reason=reason[:500]):
        need_seat(claim.response, user)
        now = HumanVerdict.objects.select_for_update().filter(claim=claim, user=user).first()
        words = {"verdict": verdict, "relevance": relevance, "reason": reason.strip()}
        if now is not None and _same(now, words) and (now.id == id or version == now.version):
            return now
        if (now.version if now else None) != version:
            raise Stale(kind="verdict", id=str(now.id if now else id), base=version, theirs=row_of(now))
        if relevance and (now is None or relevance != now.relevance):
            need_mask(claim, user)
        if now is None:
            now = HumanVerdict(id=id, claim=claim, video_id=claim.response.video_id, user=user)
            _check_id(now)
        else:
            now.version += 1
        for name, value in words.items():
            setattr(now, name, value)
        if now.machine_seen is None:
            now.blind_verdict, now.blind_relevance = verdict, relevance
        now.seconds += _seconds(seconds)
        now.save()
        return now


def need_mask(claim: Claim, user: User | None) -> None:
    """Raises Refused where there is no mask whose relevance somebody could judge; see `has_mask`."""
    if not has_mask(claim, user):
        raise Refused("This claim has no mask, so there is no relevance to judge.", "relevance")


def _same(now: HumanVerdict, words: Mapping[str, str]) -> bool:
    return all(getattr(now, name) == value for name, value in words.items())


def _check_id(row: HumanVerdict | AuditAdjudication) -> None:
    if type(row).objects.filter(id=row.id).exists():
        raise Refused("This id is taken.", "id")


def _check_words(verdict: str, relevance: str, reason: str) -> None:
    if verdict not in Verdict.values:
        raise Refused(f"There is no verdict {verdict!r}; there is: {', '.join(Verdict.values)}.", "verdict")
    if relevance and relevance not in Relevances.values:
        raise Refused(f"There is no relevance {relevance!r}; there is: {', '.join(Relevances.values)}.", "relevance")
    if len(reason) > MOST_REASON or not storable(reason):
        raise Refused(f"A reason has at most {MOST_REASON} characters.", "reason")


def _seconds(seconds: float | None) -> float:
    if seconds is None:
        return 0.0
    if not 0 <= seconds < 86_400:
        raise Refused("The time is a number of seconds.", "seconds")
    return seconds


def take_back(*, claim: Claim, user: User, version: int) -> None:
    """Undo one's first word on a claim; not once the machine's was asked for. Raises Refused, Stale."""
    with transaction.atomic(), pghistory.context(user=user.pk, why="audit.verdict.undo"):
        need_seat(claim.response, user)
        now = HumanVerdict.objects.select_for_update().filter(claim=claim, user=user).first()
        if now is None or now.version != version:
            raise Stale(kind="verdict", id=str(now.id if now else claim.id), base=version, theirs=row_of(now))
        if now.machine_seen is not None:
            raise Refused("You have seen the machine's word since: change your verdict instead.", "verdict")
        now.delete()


def reveal(*, claim: Claim, user: User) -> MachineVerdict | None:
    """The machine's verdict, for somebody who gave theirs: it is noted that they saw it. Raises Refused without one."""
    with transaction.atomic(), pghistory.context(user=user.pk, why="audit.reveal"):
        mine = HumanVerdict.objects.select_for_update().filter(claim=claim, user=user).first()
        if mine is None:
            raise Refused("Give your own verdict first.", "verdict")
        if mine.machine_seen is None:
            mine.machine_seen = timezone.now()
            mine.save(update_fields=["machine_seen"])
    return MachineVerdict.objects.filter(claim=claim, reprompt=None).first()


def row_of(said: HumanVerdict | None) -> dict[str, Any] | None:
    """A verdict as pages and conflicts have it."""
    if said is None:
        return None
    return {
        "id": str(said.id),
        "verdict": said.verdict,
        "relevance": said.relevance,
        "reason": said.reason,
        "version": said.version,
        "revealed": said.machine_seen is not None,
        "blind_verdict": said.blind_verdict,
        "blind_relevance": said.blind_relevance,
        "changed": said.changed.isoformat(),
    }


# ---------------------------------------------------------------------------------------------------------------------
# What is left, and what is disputed


def unrated(audit: Audit) -> int:
    """Responses that are processed and have places that nobody completed."""
    return Response.objects.filter(audit=audit, state=Response.State.DONE, judged=False).count()


def counted(audit: Audit) -> dict[UUID, list[HumanVerdict]]:
    """Claim -> verdicts of completed places, by user."""
    found: dict[UUID, list[HumanVerdict]] = defaultdict(list)
    said = HumanVerdict.objects.filter(
        claim__response__audit=audit,
        claim__response__ratings__completed__isnull=False,
        claim__response__ratings__user=F("user"),
    )
    for verdict in said.select_related("user").order_by("claim__response__position", "claim__position", "created"):
        found[verdict.claim_id].append(verdict)
    return found


COMPLETED = """
r.audit_id = %(audit)s AND (%(response)s::uuid IS NULL OR r.id = %(response)s) AND r.state = 'done' AND NOT r.judged
AND EXISTS (SELECT FROM audit_rating t WHERE t.response_id = r.id AND t.completed IS NOT NULL)
"""
JUDGE = f"""
UPDATE audit_response r SET judged = true FROM audit_audit a
WHERE a.id = r.audit_id AND {COMPLETED}
  AND (SELECT count(*) FROM audit_rating x WHERE x.response_id = r.id AND x.completed IS NOT NULL) >= a.raters
RETURNING r.id
"""

# Claims of responses that all raters completed, on which these differ and nobody decided
DISPUTED = """
SELECT c.id FROM audit_claim c
JOIN audit_response r ON r.id = c.response_id
JOIN audit_audit a ON a.id = r.audit_id
JOIN audit_humanverdict v ON v.claim_id = c.id
JOIN audit_rating t ON t.response_id = r.id AND t.user_id = v.user_id AND t.completed IS NOT NULL
WHERE r.id = ANY(%(responses)s) AND a.state = 'open'
  AND NOT EXISTS (SELECT FROM audit_auditadjudication d WHERE d.claim_id = c.id)
  AND (SELECT count(*) FROM audit_rating x WHERE x.response_id = r.id AND x.completed IS NOT NULL) >= a.raters
  AND (%(claim)s::uuid IS NULL OR c.id = %(claim)s)
GROUP BY c.id
HAVING count(DISTINCT v.blind_verdict) > 1 OR count(DISTINCT v.blind_relevance) > 1
"""

# The same as they were noted; with a user: those at whose response this person has no place and said nothing
NOTED = """
SELECT r.audit_id, c.id FROM audit_claim c
JOIN audit_response r ON r.id = c.response_id
JOIN audit_audit a ON a.id = r.audit_id
WHERE a.id = ANY(%(audits)s) AND a.state = 'open' AND c.disputed
  AND (%(user)s::bigint IS NULL OR NOT EXISTS (
      SELECT FROM audit_rating y WHERE y.response_id = r.id AND y.user_id = %(user)s))
ORDER BY r.audit_id, r.position, c.position
"""


def disputed(audit: Audit, *, third: User | None = None) -> list[UUID]:
    """Claims of an open audit whose complete raters differ in verdict or relevance and on which nobody decided yet, in
    order; those that this third person may decide."""
    with connection.cursor() as cursor:
        cursor.execute(NOTED, _meant([audit.id], third))
        return [row[1] for row in cursor.fetchall()]


def is_disputed(claim: Claim) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(DISPUTED, {"responses": [claim.response_id], "claim": claim.id})
        return cursor.fetchone() is not None


def disputes(audits: Sequence[UUID], third: User | None = None) -> dict[UUID, int]:
    """How many claims of each audit this third person may decide; one query."""
    with connection.cursor() as cursor:
        cursor.execute(COUNTED.format(NOTED), _meant(audits, third))
        return dict(cursor.fetchall())


def _meant(audits: Sequence[UUID], third: User | None) -> dict[str, Any]:
    return {"audits": list(audits), "user": third.pk if third is not None else None}


def may_adjudicate(claim: Claim, user: User) -> bool:
    """Whether this person is a third one: they never took a place at the response."""
    return not Rating.objects.filter(response=claim.response_id, user=user).exists()


def may_see_raters(response: Response, user: User) -> bool:
    """Whether this person may see what raters said of a response of an open audit: all are done, they are a third."""
    seats = list(Rating.objects.filter(response=response))
    return sum(seat.completed is not None for seat in seats) >= response.audit.raters and all(
        seat.user_id != user.pk for seat in seats
    )


def left(response: Response, user: User) -> int:
    """Claims of the response without a verdict of this person."""
    said = HumanVerdict.objects.filter(claim__response=response, user=user).count()
    return Claim.objects.filter(response=response).count() - said


def adjudicate(
    *, claim: Claim, user: User, id: UUID, verdict: str, reason: str, relevance: str = ""
) -> AuditAdjudication:
    """The word of a third person, who saw both, on a claim whose raters differ; a reason is required. Idempotent by id.
    Raises Refused."""
    _check_words(verdict, relevance, reason)
    if not reason.strip():
        raise Refused("Say why.", "reason")
    with transaction.atomic(), pghistory.context(user=user.pk, why="audit.adjudicate", reason=reason[:500]):
        hold_video(claim.response.video_id)
        locked = Claim.objects.select_for_update(of=("self",)).select_related("response__audit").get(id=claim.id)
        known = AuditAdjudication.objects.filter(claim=locked).first()
        if known is not None and known.id == id and known.user_id == user.pk:
            return known
        hold_open(locked.response.audit_id)
        if not may_adjudicate(locked, user):
            raise Refused("You rated this response yourself: a third person decides.", "claim")
        if known is not None or not is_disputed(locked):
            raise Refused("Nobody disputes this claim (any more).", "claim")
        if relevance:
            need_mask(locked, None)
        said = AuditAdjudication(
            id=id,
            claim=locked,
            video_id=locked.response.video_id,
            user=user,
            verdict=verdict,
            relevance=relevance,
            reason=reason.strip(),
        )
        try:
            with transaction.atomic():
                said.save(force_insert=True)
        except IntegrityError as error:
            raise Refused("This id is taken.", "id") from error
        locked.disputed = False
        locked.save(update_fields=["disputed"])
        return said
