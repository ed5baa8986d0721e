"""What is counted as it is written is what counting again finds, after every kind of write."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.webapp.audit.made import draft, give_frames, process
from tests.webapp.bench.test_queue_race import at_once
from webapp.accounts.models import User
from webapp.audit import queries, rating, recording, services
from webapp.audit.models import Audit, AuditAdjudication, Claim, HumanVerdict, Rating, Response
from webapp.bench.models import KeySeen, Question
from webapp.library import services as library
from webapp.library.models import Blob, Video


def recounted(audit: Audit, user: User) -> tuple[dict[str, Any], dict[str, int], int]:
    """An audit's figures, its parts and its responses with a place for the user, row by row."""
    audit.refresh_from_db()
    now = timezone.now()
    responses = list(Response.objects.filter(audit=audit))
    claims = list(Claim.objects.filter(response__audit=audit))
    rated = waiting = free = mine = 0
    disputed: set[Any] = set()
    disputes = 0
    for one in responses:
        seats = list(Rating.objects.filter(response=one))
        whole = [seat.user_id for seat in seats if seat.completed]
        taken = [seat.user_id for seat in seats if seat.completed or seat.until > now]
        mine += user.pk in [seat.user_id for seat in seats]
        rated += len(whole) >= audit.raters
        free += one.state == "done" and len(taken) < audit.raters and user.pk not in whole
        seen = KeySeen.objects.filter(question=one.question_id, user=user).exists()
        made = one.question is not None and one.question.created_by_id == user.pk
        decided = AuditAdjudication.objects.filter(claim__response=one, user=user).exists()
        others = len([id for id in taken if id != user.pk])
        waiting += (
            one.state == "done" and user.pk not in whole and others < audit.raters and not (seen or made or decided)
        )
        for claim in [claim for claim in claims if claim.response_id == one.id]:
            said = list(HumanVerdict.objects.filter(claim=claim, user__in=whole))
            differ = len({word.blind_verdict for word in said}) > 1 or len({word.blind_relevance for word in said}) > 1
            open_one = not AuditAdjudication.objects.filter(claim=claim).exists() and len(whole) >= audit.raters
            if differ and open_one and user.pk not in [seat.user_id for seat in seats]:
                disputes += 1
                disputed.add(one.id)
    failed = sum(one.state == "failed" for one in responses)
    figures = {
        "responses": len(responses),
        "processed": sum(one.state == "done" for one in responses),
        "failed": failed,
        "videos": len({one.video_id for one in responses}),
        "claims": len(claims),
        "models": sorted({one.model for one in responses}),
        "rated": rated,
        "mine": Rating.objects.filter(response__audit=audit, user=user, completed__isnull=False).count(),
        "waiting": waiting,
        "disputes": disputes,
    }
    parts = {"all": len(responses), "open": free, "mine": mine, "disputed": len(disputed), "failed": failed}
    return figures, parts, waiting


@pytest.fixture
def two(people: SimpleNamespace, video: Any) -> tuple[Video, Video]:
    blob = Blob.objects.create(sha256="cd" * 32, bytes=1, suffix=".mp4", ready=True)
    size = {"frames": 1000, "width": 1280, "height": 720}
    other = Video.objects.create(project=people.one, blob=blob, name="o.mp4", state="ready", **size)
    for one in (video, other):
        give_frames(one)
    return video, other


def complete(response: Response, user: User) -> Rating:
    return rating.complete(response=response, user=user)


def say(response: Response, user: User, *words: str) -> None:
    rating.take(response=response, user=user)
    claims = Claim.objects.filter(response=response).select_related("response__audit").order_by("position")
    for claim, word in zip(claims, words, strict=True):
        rating.say(claim=claim, user=user, id=uuid4(), version=None, verdict=word)


def test_counts_are_those_of_a_recount_after_every_write(
    people: SimpleNamespace, two: tuple[Video, Video], django_capture_on_commit_callbacks: Any
) -> None:
    video, other = two
    drafts = [draft(video), draft(video, model="m-2"), draft(other), draft(other), draft(other, model="m-2")]
    made: dict[str, Any] = {"project": people.one, "user": people.cora, "source": "file:1", "raters": 3}

    def check(*expected: int) -> None:
        """`expected`: processed, claims, rated, alice's disputes, worked out by hand."""
        for user in (people.rita, people.cora, people.alice):
            figures, parts, _ = recounted(audit, user)
            row = queries.audit_row(audit, user, "admin")
            assert {name: row[name] for name in figures} == figures
            for part in queries.PARTS:
                listed = queries.response_list(audit, user, "admin", part=part)
                assert listed["tallies"] == parts and len(listed["list"]) == parts[part]
        assert (row["processed"], row["claims"], row["rated"], row["disputes"]) == expected

    audit = services.create_audit(drafts=drafts[:4], **made).audit
    check(0, 0, 0, 0)
    audit = services.create_audit(drafts=drafts, **made).audit  # one of five is new
    check(0, 0, 0, 0)
    one, second, third, fourth, fifth = Response.objects.filter(audit=audit).order_by("position")
    recording.fail_response(response_id=fifth.id, error="No.")
    recording.fail_response(response_id=fifth.id, error="Still no.")
    check(0, 0, 0, 0)
    for response in (one, second, third, fourth):
        process(response)
    process(one)  # once more: nothing new
    check(4, 12, 0, 0)
    services.request_audit(audit=audit, user=people.cora)
    check(4, 12, 0, 0)
    recording.fail_response(response_id=fifth.id, error="No.")
    recording.fail_response(response_id=one.id, error="That stays done.")
    check(4, 12, 0, 0)
    process(fifth)
    check(5, 15, 0, 0)

    say(one, people.rita, "supported", "supported", "supported")
    said = HumanVerdict.objects.select_related("claim__response__audit").get(claim__position=1)
    rating.take_back(claim=said.claim, user=people.rita, version=1)
    check(5, 15, 0, 0)
    rating.say(claim=said.claim, user=people.rita, id=uuid4(), version=None, verdict="supported")
    rating.complete(response=one, user=people.rita)
    say(one, people.cora, "contradicted", "supported", "contradicted")
    check(5, 15, 0, 0)
    rating.complete(response=one, user=people.cora)
    check(5, 15, 0, 0)  # two of three
    audit.refresh_from_db()
    audit = services.configure(audit=audit, user=people.cora, version=audit.version, changes={"raters": 2})
    check(5, 15, 1, 2)
    for user in (people.rita, people.cora):
        say(third, user, "supported", "supported", "supported" if user == people.rita else "cannot_tell")
    check(5, 15, 1, 2)  # both places are taken
    Rating.objects.filter(response=third, user=people.rita).update(until=timezone.now() - timedelta(seconds=1))
    rating.give_back(response=third, user=people.cora)
    check(5, 15, 1, 2)
    for user in (people.rita, people.cora):
        rating.take(response=third, user=user)
        rating.complete(response=third, user=user)
    check(5, 15, 2, 3)
    first = Claim.objects.select_related("response__audit").get(response=one, position=1)
    rating.adjudicate(claim=first, user=people.alice, id=uuid4(), verdict="supported", reason="Seen.")
    check(5, 15, 2, 2)
    say(second, people.alice, "supported", "supported", "supported")
    rating.complete(response=second, user=people.alice)
    check(5, 15, 2, 2)
    with django_capture_on_commit_callbacks(execute=True):
        library.delete_video(video=other)
    check(2, 6, 1, 1)


def test_a_question_whose_key_somebody_saw_is_not_counted_as_theirs(people: SimpleNamespace, video: Any) -> None:
    give_frames(video)
    question = Question.objects.create(
        project=people.one, video=video, number=1, category="mutual_gaze", difficulty="easy", text="Who?", shown="Who?",
        start=100, end=200, created_by=people.cora,
    )  # fmt: skip
    KeySeen.objects.create(question=question, user=people.rita)
    drafts = [draft(video), draft(video, question=question.id)]
    audit = services.create_audit(project=people.one, user=None, source="file:1", drafts=drafts).audit
    for response in audit.responses.all():
        process(response)
    counts = [rating.waiting([audit.id], user).get(audit.id, 0) for user in (people.cora, people.rita, people.alice)]
    assert counts == [1, 1, 2] == [recounted(audit, user)[2] for user in (people.cora, people.rita, people.alice)]


@pytest.mark.django_db(transaction=True)
def test_the_last_two_to_complete_at_the_same_moment_are_both_counted(people: SimpleNamespace, video: Any) -> None:
    give_frames(video)
    users = [people.rita, people.cora, people.alice]
    drafts = [draft(video) for _ in range(4)]
    audit = services.create_audit(project=people.one, user=None, source="file:1", drafts=drafts, raters=3).audit
    for response in audit.responses.all():
        process(response)
        for user in users:
            say(response, user, *(["supported"] * 2), "supported" if user != people.rita else "contradicted")
    for response in audit.responses.all():
        done = at_once(users, partial(complete, response))
        assert all(isinstance(seat, Rating) for seat in done)
    assert not Response.objects.filter(judged=False).exists() and Claim.objects.filter(disputed=True).count() == 4
