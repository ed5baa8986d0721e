"""Places, blind verdicts, disputes and the end of an audit, as the services do it."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.webapp.audit.made import Scene, make_audit, relevance_of
from webapp.audit import rating, services
from webapp.audit.models import Audit, HumanVerdict, Rating
from webapp.lib.errors import Refused, Stale

pytestmark = pytest.mark.django_db


def say(scene: Scene, user: Any, *words: str, complete: bool = True) -> None:
    """Take the next response and give these verdicts to its claims, in their order."""
    assert rating.next_response(audit=scene.audit, user=user) is not None
    for claim, verdict in zip(scene.claims, words, strict=True):
        rating.say(claim=claim, user=user, id=uuid4(), version=None, verdict=verdict, relevance=relevance_of(claim))
    if complete:
        rating.complete(response=scene.response, user=user)


def test_each_response_goes_to_exactly_two_people(people: SimpleNamespace, video: Any) -> None:
    audit = make_audit(video, people.cora, responses=2)
    first = rating.next_response(audit=audit, user=people.rita)
    assert first is not None and first.response.position == 1
    again = rating.next_response(audit=audit, user=people.rita)
    assert again is not None and again.id == first.id  # the same one until it is completed
    for person in (people.cora, people.alice):
        rating.next_response(audit=audit, user=person)
    taken = list(
        Rating.objects.order_by("response__position", "id").values_list("response__position", "user__username")
    )
    assert taken == [(1, "rita"), (1, "cora"), (2, "alice")]
    with pytest.raises(Refused, match="no place for you"):
        rating.take(response=audit.responses.get(position=1), user=people.alice)


def test_a_place_that_ran_out_is_free_and_what_was_said_stays(scene: Scene, people: SimpleNamespace) -> None:
    scene.audit.raters = 1
    scene.audit.save()
    say(scene, people.rita, "supported", "supported", "supported", complete=False)
    assert rating.next_response(audit=scene.audit, user=people.cora) is None
    Rating.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert rating.next_response(audit=scene.audit, user=people.cora) is not None
    with pytest.raises(Refused, match="ran out"):
        rating.complete(response=scene.response, user=people.rita)
    assert HumanVerdict.objects.filter(user=people.rita).count() == 3
    assert rating.counted(scene.audit) == {}  # no place of them was completed


def test_the_word_before_the_machines_is_the_one_that_counts(scene: Scene, people: SimpleNamespace) -> None:
    claim = scene.claims[1]
    rating.next_response(audit=scene.audit, user=people.rita)
    with pytest.raises(Refused, match="your own verdict first"):
        rating.reveal(claim=claim, user=people.rita)
    said = rating.say(claim=claim, user=people.rita, id=uuid4(), version=None, verdict="supported")
    said = rating.say(claim=claim, user=people.rita, id=said.id, version=1, verdict="cannot_tell")  # still blind
    machine = rating.reveal(claim=claim, user=people.rita)
    assert machine is not None and machine.name == "unsupported"
    said = rating.say(claim=claim, user=people.rita, id=said.id, version=2, verdict="contradicted")
    assert (said.verdict, said.blind_verdict, said.version) == ("contradicted", "cannot_tell", 3)
    with pytest.raises(Refused, match="seen the machine's word"):
        rating.take_back(claim=claim, user=people.rita, version=3)


def test_a_verdict_from_an_old_version_is_refused_with_both(scene: Scene, people: SimpleNamespace) -> None:
    claim, id = scene.claims[0], uuid4()
    rating.next_response(audit=scene.audit, user=people.rita)
    one = rating.say(claim=claim, user=people.rita, id=id, version=None, verdict="supported")
    same = rating.say(claim=claim, user=people.rita, id=id, version=None, verdict="supported")  # a repeated request
    assert (same.id, same.version) == (one.id, 1)
    rating.say(claim=claim, user=people.rita, id=id, version=1, verdict="mask_wrong", reason="It misses the arm.")
    with pytest.raises(Stale) as conflict:
        rating.say(claim=claim, user=people.rita, id=id, version=1, verdict="contradicted")
    theirs = conflict.value.theirs
    assert conflict.value.base == 1 and theirs is not None
    assert (theirs["verdict"], theirs["version"], theirs["reason"]) == ("mask_wrong", 2, "It misses the arm.")


def test_nothing_is_completed_before_every_claim_is_rated(scene: Scene, people: SimpleNamespace) -> None:
    rating.next_response(audit=scene.audit, user=people.rita)
    rating.say(claim=scene.claims[0], user=people.rita, id=uuid4(), version=None, verdict="supported")
    with pytest.raises(rating.Unsaid) as left:
        rating.complete(response=scene.response, user=people.rita)
    assert left.value.claims == [str(claim.id) for claim in scene.claims[1:]]


def test_a_third_person_decides_what_two_dispute(scene: Scene, people: SimpleNamespace) -> None:
    say(scene, people.rita, "supported", "supported", "contradicted")
    assert rating.disputed(scene.audit) == []  # one of two is done
    say(scene, people.cora, "supported", "contradicted", "contradicted")
    disputed = scene.claims[1]
    assert rating.disputed(scene.audit) == [disputed.id]
    assert rating.disputed(scene.audit, third=people.rita) == []
    decide: dict[str, Any] = {"claim": disputed, "id": uuid4(), "verdict": "contradicted", "reason": "There is no dog."}
    with pytest.raises(Refused, match="a third person"):
        rating.adjudicate(user=people.cora, **decide)
    with pytest.raises(Refused, match="Nobody disputes"):
        rating.adjudicate(user=people.alice, **(decide | {"claim": scene.claims[0]}))
    with pytest.raises(Refused, match="Say why"):
        rating.adjudicate(user=people.alice, **(decide | {"reason": " "}))
    with pytest.raises(Refused, match="third persons may have seen"):
        services.configure(audit=scene.audit, user=people.cora, version=1, changes={"raters": 3})
    made = rating.adjudicate(user=people.alice, **decide)
    assert rating.adjudicate(user=people.alice, **decide).id == made.id
    assert rating.disputed(scene.audit) == []


def test_an_audit_ends_when_everything_is_said(scene: Scene, people: SimpleNamespace) -> None:
    say(scene, people.rita, "supported", "supported", "contradicted")
    with pytest.raises(Refused, match="1 response is not rated by all"):
        services.finish(audit=scene.audit, user=people.cora, version=1)
    say(scene, people.cora, "supported", "contradicted", "contradicted")
    with pytest.raises(Refused, match="1 claim waits for a third person"):
        services.finish(audit=scene.audit, user=people.cora, version=1)
    done = services.finish(audit=scene.audit, user=people.cora, version=1, force=True)
    assert done.state == Audit.State.FINISHED
    with pytest.raises(Refused, match="nothing of it changes"):
        rating.next_response(audit=scene.audit, user=people.alice)
    with pytest.raises(Stale):
        services.finish(audit=scene.audit, user=people.cora, version=1)


def test_whoever_saw_the_key_in_the_bench_never_rates_a_response_to_it(people: SimpleNamespace, video: Any) -> None:
    from webapp.bench.models import KeySeen, Question

    question = Question.objects.create(
        project=people.one, video=video, number=1, category="mutual_gaze", difficulty="easy", text="Who?", shown="Who?",
        start=100, end=200, created_by=people.cora,
    )  # fmt: skip
    KeySeen.objects.create(question=question, user=people.rita)
    audit = make_audit(video, people.cora, question=question.id)
    assert [rating.next_response(audit=audit, user=user) for user in (people.cora, people.rita)] == [None, None]
    assert rating.next_response(audit=audit, user=people.alice) is not None
