"""Everybody works on the bench of one video at once: nobody is locked out, and in the end all is consistent."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from django.db import connection, transaction

from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import draft, make_questions, make_scene, say
from webapp.accounts.models import Membership, User
from webapp.bench import answering, linting, proving, releases, requests, services, withdrawal
from webapp.bench.models import Answer, Question, Release
from webapp.events.models import Event
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Video

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
    assert not Video.objects.filter(doubted__gt=0).exists()
    assert done.proofs == done.standing + len(done.down)
    numbers = list(Question.objects.values_list("number", flat=True))
    assert len(set(numbers)) == len(numbers)
    for question in Question.objects.all():
        assert Answer.objects.filter(question=question, round=question.round).count() <= 2


def test_an_edit_and_a_release_do_not_pass_each_other(people: SimpleNamespace) -> None:
    """While an edit is under way a release waits for it; then it holds nothing that was edited since."""
    scene = make_scene(people.one, people.alice)
    (question,) = accept(scene, 1)
    made = releases.draft(project=people.one)
    said = at_once(
        lambda: services.edit_question(
            question_id=question.id, user=people.cora, version=question.version, fields={"reasoning": "Look."}
        ),
        lambda: releases.keep(made=made, user=None, id=uuid.uuid4()),
    )
    assert "Questions were changed" in said and not Release.objects.exists()


def test_a_withdrawal_and_a_release_do_not_pass_each_other(people: SimpleNamespace) -> None:
    """Nothing of a video that is being erased comes into a release that is kept meanwhile."""
    scene = make_scene(people.one, people.alice)
    accept(scene, 1)
    made = releases.draft(project=people.one)
    said = at_once(
        lambda: withdrawal.scrub(Video.objects.select_for_update().get(id=scene.video.id)),
        lambda: releases.keep(made=made, user=None, id=uuid.uuid4()),
        last=lambda: Question.objects.filter(video=scene.video).delete(),
    )
    assert "Questions were changed" in said and not Release.objects.exists()


@pytest.mark.parametrize(
    "ask",
    [requests.request_proofs_of_project, requests.request_agreement, linting.request_lint],
    ids=lambda ask: ask.__name__,
)
def test_of_two_clicks_the_second_finds_the_job_of_the_first(people: SimpleNamespace, ask: Callable[..., Job]) -> None:
    scene = make_scene(people.one, people.alice)
    say(make_questions(scene, 1)[0], people.bob, "b")
    before = Job.objects.count()
    at_once(lambda: ask(project=people.one, user=people.cora), lambda: ask(project=people.one, user=people.cora))
    assert Job.objects.count() == before + 1


def at_once(first: Callable[[], object], second: Callable[[], object], last: Callable[[], object] = bool) -> str:
    """Begin the second while the transaction of the first is open, which ends after `last`; what the second says."""
    said: list[str] = []

    def work() -> None:
        try:
            with transaction.atomic():
                second()
        except Refused as refused:
            said.append(refused.sentence)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    with transaction.atomic():
        first()
        thread.start()
        thread.join(1.0)
        last()
    thread.join(30)
    assert not thread.is_alive()
    return " ".join(said)
