"""Everybody works on the bench of one video at once: nobody is locked out, and in the end all is consistent."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from django.db import connection

from tests.webapp.bench.scene import draft, make_questions, make_scene
from webapp.accounts.models import Membership, User
from webapp.bench import answering, proving, services
from webapp.bench.models import Answer, Question
from webapp.events.models import Event
from webapp.lib.errors import Refused, Stale

pytestmark = pytest.mark.django_db(transaction=True)
TURNS = 12


def test_edits_proofs_answers_and_changes_do_not_lock_each_other_out(people: SimpleNamespace) -> None:
    scene = make_scene(people.one, people.alice)
    make_questions(scene, 20)
    services.configure(project=people.one, user=people.alice, changes={"quotas": [{"most": 5}]})
    raters = [User.objects.create(username=f"rater-{n}") for n in range(4)]
    Membership.objects.bulk_create(Membership(project=people.one, user=user, role="annotator") for user in raters)
    broken: list[Exception] = []

    def edit_events(turn: int) -> None:
        version = Event.objects.get(id=scene.following).version
        scene.edit("event.update", scene.following, version, end=126 + turn)

    def prove(turn: int) -> None:
        proving.prove(scene.video)

    def change(turn: int) -> None:
        question = Question.objects.exclude(state="rejected").order_by("?")[0]
        services.edit_question(
            question_id=question.id, user=people.cora, version=question.version, fields={"reasoning": f"Turn {turn}."}
        )
        services.open_questions(project=people.one, user=people.cora, ids=[question.id])

    def make(turn: int) -> None:
        services.create_questions(video=scene.video, drafts=[draft(scene, 100 + turn)], user=people.cora)
        services.configure(project=people.one, user=people.alice, changes={"quotas": [{"most": 100 + turn}]})

    def rate(user: User) -> Callable[[int], None]:
        def one(turn: int) -> None:
            lease = answering.next_item(project=people.one, user=user)
            if lease is not None:
                chosen = ["a" if turn % 5 == 0 else "b"]
                answering.answer(question_id=lease.question_id, user=user, id=uuid.uuid4(), chosen=chosen)

        return one

    def work(act: Callable[[int], None]) -> None:
        try:
            for turn in range(TURNS):
                try:
                    act(turn)
                except (Refused, Stale):  # somebody else was first: said in words
                    continue
        except Exception as error:
            broken.append(error)
        finally:
            connection.close()

    acts = [edit_events, prove, prove, change, make, *map(rate, raters)]
    threads = [threading.Thread(target=work, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broken, broken[:3]

    done = proving.prove(scene.video)  # nobody edits any more: everything is told apart again
    assert not Question.objects.filter(doubted=True).exists()
    assert done.proofs == done.standing + len(done.down)
    numbers = list(Question.objects.values_list("number", flat=True))
    assert len(set(numbers)) == len(numbers)
    for question in Question.objects.all():
        assert Answer.objects.filter(question=question, round=question.round).count() <= 2
