"""Fifty people ask for the next item at the same moment, each on a connection of their own."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from tests.webapp.bench.scene import make_questions, make_scene
from webapp.accounts.models import Membership, User
from webapp.bench import answering
from webapp.bench.models import Answer, Lease, Question

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = 50


@pytest.fixture
def crowd(people: SimpleNamespace) -> list[User]:
    users = [User.objects.create(username=f"rater-{n}") for n in range(PEOPLE)]
    Membership.objects.bulk_create(Membership(project=people.one, user=user, role="annotator") for user in users)
    return users


def at_once(users: list[User], act: Callable[[User], Any]) -> list[Any]:
    """Everybody acts when all are ready; what each got, or the exception."""
    start = threading.Barrier(len(users))
    results: list[Any] = [None] * len(users)

    def one(place: int) -> None:
        try:
            connection.ensure_connection()
            start.wait(60)
            results[place] = act(users[place])
        except Exception as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(n,)) for n in range(len(users))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [result for result in results if isinstance(result, Exception)]
    assert not failed, failed[:3]
    return results


def handed(people: SimpleNamespace) -> Callable[[User], uuid.UUID | None]:
    def ask(user: User) -> uuid.UUID | None:
        lease = answering.next_item(project=people.one, user=user)
        return lease.question_id if lease else None

    return ask


def test_each_item_goes_to_exactly_two(people: SimpleNamespace, crowd: list[User]) -> None:
    """25 items, 50 people, one place for each of them."""
    questions = make_questions(make_scene(people.one, people.alice), PEOPLE // 2)
    got = Counter(at_once(crowd, handed(people)))
    assert got == {question.id: 2 for question in questions}
    assert Lease.objects.count() == PEOPLE


def test_with_too_few_items_some_hear_that_nothing_is_left(people: SimpleNamespace, crowd: list[User]) -> None:
    questions = make_questions(make_scene(people.one, people.alice), 10)
    got = Counter(at_once(crowd, handed(people)))
    assert got == {question.id: 2 for question in questions} | {None: PEOPLE - 20}


def test_fifty_people_answer_everything_exactly_twice(people: SimpleNamespace, crowd: list[User]) -> None:
    """Everybody asks and answers until nothing is left for them: no item has one or three answers."""
    make_questions(make_scene(people.one, people.alice), 40)

    def work(user: User) -> int:
        done = 0
        while (lease := answering.next_item(project=people.one, user=user)) is not None:
            answering.answer(question_id=lease.question_id, user=user, id=uuid.uuid4(), chosen=["b"])
            done += 1
        return done

    assert sum(at_once(crowd, work)) == 80
    answers = Counter(Answer.objects.values_list("question_id", flat=True))
    assert set(answers.values()) == {2} and len(answers) == 40
    assert set(Question.objects.values_list("state", flat=True)) == {"accepted"}
    assert not Lease.objects.exists()


def test_one_person_in_two_windows_has_one_item(people: SimpleNamespace, crowd: list[User]) -> None:
    make_questions(make_scene(people.one, people.alice), 10)
    got = set(at_once([crowd[0]] * 10, handed(people)))
    assert len(got) == 1 and None not in got
    assert Lease.objects.count() == 1


def test_two_answers_of_one_person_at_once_are_one(people: SimpleNamespace, crowd: list[User]) -> None:
    question = make_questions(make_scene(people.one, people.alice), 1)[0]
    answering.next_item(project=people.one, user=crowd[0])
    id = uuid.uuid4()

    def say(user: User) -> uuid.UUID:
        return answering.answer(question_id=question.id, user=user, id=id, chosen=["b"]).id

    assert set(at_once([crowd[0]] * 10, say)) == {id}
    assert Answer.objects.count() == 1
