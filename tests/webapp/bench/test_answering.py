"""Who is handed what, what an answer is, and what a complete round decides."""

from __future__ import annotations

import uuid
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from tests.webapp.bench.scene import Scene, make_questions, say
from webapp.accounts.models import Membership, User
from webapp.bench import answering, services
from webapp.bench.models import Answer, KeySeen, Lease, Question
from webapp.lib.errors import Refused

pytestmark = pytest.mark.django_db
KEY, WRONG = "b", "a"  # Cid, Ben: options are named by position


@pytest.fixture
def rater(people: SimpleNamespace) -> Any:
    """`rater(name)`: another annotator."""

    def make(name: str) -> User:
        user = User.objects.create(username=name)
        Membership.objects.create(project=people.one, user=user, role="annotator")
        return user

    return make


def state_of(question: Question) -> str:
    question.refresh_from_db()
    return question.state


def test_it_hands_each_item_to_two_people_and_then_to_nobody(people: Any, scene: Scene, rater: Any) -> None:
    make_questions(scene, 2)
    ann, bea, cas = rater("ann"), rater("bea"), rater("cas")
    for user in (ann, bea):
        for _ in range(2):
            found = answering.next_item(project=people.one, user=user)
            assert found is not None
            answering.answer(question_id=found.question_id, user=user, id=uuid.uuid4(), chosen=[KEY])
    assert answering.next_item(project=people.one, user=cas) is None
    assert answering.next_item(project=people.one, user=ann) is None


def test_it_hands_out_the_same_item_until_it_is_answered_or_given_back(people: Any, scene: Scene) -> None:
    first, second = make_questions(scene, 2)
    held = [answering.next_item(project=people.one, user=people.bob) for _ in range(3)]
    assert {found.question_id for found in held if found} == {first.id}
    orders = {tuple(found.order) for found in held if found}
    assert len(orders) == 1  # the options do not move when the page is loaded again
    answering.give_back(question_id=first.id, user=people.bob)
    assert not Lease.objects.exists()


def test_it_never_hands_out_what_somebody_made_or_saw_the_key_of(people: Any, scene: Scene) -> None:
    made = make_questions(scene, 1, user=people.cora)[0]
    seen = make_questions(scene, 1)[0]
    services.reveal(questions=[seen], user=people.rita)
    found = answering.next_item(project=people.one, user=people.cora)
    assert found is not None and found.question_id == seen.id
    found = answering.next_item(project=people.one, user=people.rita)
    assert found is not None and found.question_id == made.id


def test_a_lease_ends_when_its_holder_looks_at_the_key(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    found = answering.next_item(project=people.one, user=people.rita)
    assert found is not None
    services.reveal(questions=[question], user=people.rita)
    with pytest.raises(Refused):
        answering.answer(question_id=question.id, user=people.rita, id=uuid.uuid4(), chosen=[KEY])
    assert answering.next_item(project=people.one, user=people.rita) is None


def test_a_lease_that_ran_out_frees_the_place(people: Any, scene: Scene, rater: Any) -> None:
    question = make_questions(scene, 1)[0]
    ann, bea, cas = rater("ann"), rater("bea"), rater("cas")
    for user in (ann, bea):
        assert answering.next_item(project=people.one, user=user)
    assert answering.next_item(project=people.one, user=cas) is None
    Lease.objects.filter(user=ann).update(until=timezone.now() - timedelta(seconds=1))
    found = answering.next_item(project=people.one, user=cas)
    assert found is not None and found.question_id == question.id
    with pytest.raises(Refused, match="ran out"):  # the third person has the place now
        answering.answer(question_id=question.id, user=ann, id=uuid.uuid4(), chosen=[KEY])
    answering.give_back(question_id=question.id, user=cas)  # nobody has it: the late answer counts
    assert answering.answer(question_id=question.id, user=ann, id=uuid.uuid4(), chosen=[KEY]).user == ann


def test_two_who_agree_with_the_key_accept_it(people: Any, scene: Scene, rater: Any) -> None:
    question = make_questions(scene, 1)[0]
    say(question, rater("ann"), KEY)
    assert state_of(question) == "answering"
    say(question, rater("bea"), KEY)
    assert state_of(question) == "accepted"
    assert not Lease.objects.exists()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"chosen": KEY}, {"chosen": WRONG}),
        ({"chosen": WRONG}, {"chosen": WRONG}),  # they agree, and not with the key
        ({"chosen": KEY}, {"special": "cannot_tell"}),
        ({"chosen": KEY}, {"special": "two_right"}),
        ({"special": "bad_clip"}, {"special": "bad_clip"}),
    ],
)
def test_everything_else_is_disputed(people: Any, scene: Scene, rater: Any, first: Any, second: Any) -> None:
    question = make_questions(scene, 1)[0]
    for name, said in (("ann", first), ("bea", second)):
        say(question, rater(name), *([said["chosen"]] if "chosen" in said else []), special=said.get("special", ""))
    assert state_of(question) == "disputed"


@pytest.mark.parametrize(
    ("kind", "key", "same", "other"),
    [
        ("multiple", ["a", "b"], ["b", "a"], ["a"]),
        ("yes_no", ["a"], ["a"], ["b"]),
        ("number", [3], [3.0], [4]),
    ],
)
def test_each_kind_compares_as_it_must(
    people: Any, scene: Scene, rater: Any, kind: str, key: list[Any], same: list[Any], other: list[Any]
) -> None:
    options = [{"id": "a", "text": "Yes", "value": True}, {"id": "b", "text": "No", "value": False}]
    more = {"kind": kind, "key": key, "options": [] if kind == "number" else options, "proof": None}
    questions = make_questions(scene, 2, opened=False, **more)
    for question in questions:
        services.sign_question(question_id=question.id, user=people.cora, version=1)
    ids = [question.id for question in questions]
    assert not services.open_questions(project=people.one, user=people.cora, ids=ids).refused
    ann, bea = rater("ann"), rater("bea")
    say(questions[0], ann, *same)
    say(questions[0], bea, *same)
    say(questions[1], ann, *same)
    say(questions[1], bea, *other)
    assert [state_of(question) for question in questions] == ["accepted", "disputed"]


def test_answers_in_words_go_to_a_person(people: Any, scene: Scene, rater: Any) -> None:
    more = {"kind": "open", "key": ["Cid follows."], "options": [], "proof": None}
    question = make_questions(scene, 1, opened=False, **more)[0]
    services.sign_question(question_id=question.id, user=people.cora, version=1)
    services.open_questions(project=people.one, user=people.cora, ids=[question.id])
    say(question, rater("ann"), "Cid follows.")
    say(question, rater("bea"), "Cid follows.")
    assert state_of(question) == "disputed"


def test_the_same_answer_again_is_the_same(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    answering.next_item(project=people.one, user=people.bob)
    id = uuid.uuid4()
    for _ in range(3):
        kept = answering.answer(question_id=question.id, user=people.bob, id=id, chosen=[KEY])
        assert kept.id == id
    assert Answer.objects.count() == 1
    with pytest.raises(Refused, match="answered this question already"):
        answering.answer(question_id=question.id, user=people.bob, id=uuid.uuid4(), chosen=[KEY])
    with pytest.raises(Refused, match="taken"):
        answering.answer(question_id=question.id, user=people.rita, id=id, chosen=[KEY])


def test_an_answer_needs_the_question_in_hand(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    with pytest.raises(Refused, match="not yours"):
        answering.answer(question_id=question.id, user=people.bob, id=uuid.uuid4(), chosen=[KEY])


@pytest.mark.parametrize(
    "said",
    [
        {"chosen": []},
        {"chosen": ["a", "b"]},
        {"chosen": ["z"]},
        {"chosen": [1]},
        {"chosen": [KEY], "special": "bad_clip"},
        {"special": "unknown"},
        {"chosen": [KEY], "seconds": -1.0},
        {"chosen": [KEY], "seconds": float("nan")},
    ],
)
def test_it_refuses_what_is_no_answer(people: Any, scene: Scene, said: dict[str, Any]) -> None:
    question = make_questions(scene, 1)[0]
    answering.next_item(project=people.one, user=people.bob)
    with pytest.raises(Refused):
        answering.answer(question_id=question.id, user=people.bob, id=uuid.uuid4(), **said)
    assert not Answer.objects.exists()


def test_time_is_what_the_page_measured_and_never_more_than_there_was(people: Any, scene: Scene, rater: Any) -> None:
    question = make_questions(scene, 1)[0]
    ann, bea = rater("ann"), rater("bea")
    for user in (ann, bea):
        answering.next_item(project=people.one, user=user)
    Lease.objects.update(begun=timezone.now() - timedelta(seconds=60))
    short = answering.answer(question_id=question.id, user=ann, id=uuid.uuid4(), chosen=[KEY], seconds=12.5)
    long = answering.answer(question_id=question.id, user=bea, id=uuid.uuid4(), chosen=[KEY], seconds=9999.0)
    assert short.seconds == 12.5
    assert 59 < long.seconds < 90


def test_options_come_in_an_order_of_ones_own_that_is_kept(people: Any, scene: Scene, rater: Any) -> None:
    question = make_questions(scene, 1)[0]
    services.configure(project=people.one, user=people.alice, changes={"raters": 10})
    orders = set()
    for n in range(10):
        kept = say(question, rater(f"rater-{n}"), KEY)
        assert sorted(kept.order) == ["a", "b", "c"]
        orders.add(tuple(kept.order))
    assert len(orders) > 1  # all ten alike: once in six to the ninth


# ---------------------------------------------------------------------------------------------------------------------
# Adjudication


@pytest.fixture
def disputed(scene: Scene, rater: Any) -> Question:
    question = make_questions(scene, 1)[0]
    say(question, rater("ann"), KEY)
    say(question, rater("bea"), WRONG)
    question.refresh_from_db()
    return question


def decide(question: Question, user: Any, verdict: str, reason: str = "Looked twice.", **more: Any) -> Any:
    return answering.adjudicate(
        question_id=question.id, user=user, id=more.pop("id", uuid.uuid4()), verdict=verdict, reason=reason, **more
    )


@pytest.mark.parametrize(("verdict", "state"), [("accept", "accepted"), ("reject", "rejected"), ("edit", "draft")])
def test_a_third_person_decides(people: Any, disputed: Question, verdict: str, state: str) -> None:
    said = decide(disputed, people.rita, verdict)
    assert state_of(disputed) == state
    assert (said.round, said.reason) == (1, "Looked twice.")
    assert KeySeen.objects.filter(question=disputed, user=people.rita).exists()


def test_the_same_verdict_again_is_the_same(people: Any, disputed: Question) -> None:
    id = uuid.uuid4()
    assert decide(disputed, people.rita, "accept", id=id) == decide(disputed, people.rita, "accept", id=id)
    with pytest.raises(Refused, match="Nobody disputes"):
        decide(disputed, people.rita, "reject")


def test_a_reason_is_needed(people: Any, disputed: Question) -> None:
    with pytest.raises(Refused, match="Say why"):
        decide(disputed, people.rita, "accept", "  ")
    assert state_of(disputed) == "disputed"


def test_who_answered_does_not_decide(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    say(question, people.rita, KEY)
    say(question, people.bob, WRONG)
    with pytest.raises(Refused, match="third person"):
        decide(question, people.rita, "accept")


def test_an_edit_that_is_proven_goes_round_again_to_new_people(
    people: Any, scene: Scene, disputed: Question, rater: Any
) -> None:
    version = disputed.version
    decide(disputed, people.rita, "edit", fields={"text": "Who follows her gaze?"})
    disputed.refresh_from_db()
    assert (disputed.state, disputed.round, disputed.version) == ("answering", 2, version + 1)
    for name in ("ann", "bea"):
        assert answering.next_item(project=people.one, user=User.objects.get(username=name)) is None
    assert answering.next_item(project=people.one, user=people.rita) is None
    say(disputed, rater("cas"), KEY)
    assert state_of(disputed) == "answering"  # answers of the first round do not count in the second
    say(disputed, rater("dan"), KEY)
    assert state_of(disputed) == "accepted"


def test_an_edit_without_proof_waits_for_a_word(people: Any, disputed: Question) -> None:
    decide(disputed, people.rita, "edit", fields={"proof": None, "text": "Who is nicer?"})
    assert state_of(disputed) == "draft"


def test_only_an_edit_changes_the_question(people: Any, disputed: Question) -> None:
    with pytest.raises(Refused):
        decide(disputed, people.rita, "accept", fields={"text": "Other"})


def test_fewer_raters_decide_what_is_complete_then(people: Any, scene: Scene, rater: Any) -> None:
    question = make_questions(scene, 1)[0]
    say(question, rater("ann"), KEY)
    services.configure(project=people.one, user=people.alice, changes={"raters": 1})
    assert state_of(question) == "accepted"
