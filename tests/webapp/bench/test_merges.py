"""A merge of two people is taken back in the middle of a round: nothing said is lost, nothing decided twice."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.webapp.bench.scene import Scene, make_questions, run_job, say
from webapp.bench import answering
from webapp.jobs.models import Job

pytestmark = pytest.mark.django_db


def test_a_merge_that_is_taken_back_leaves_the_round_as_it_was(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    options, key = question.options, question.key
    say(question, people.bob, "b")
    assert answering.next_item(project=people.one, user=people.rita) is not None
    _, ben, cid = scene.people
    merge = scene.edit("person.merge", cid.id, 1, into=str(ben.id))
    assert answering.next_item(project=people.one, user=people.cora) is None  # in doubt: handed to nobody
    answering.answer(question_id=question.id, user=people.rita, id=uuid.uuid4(), chosen=["b"])  # her page was open
    assert run_job(Job.objects.filter(kind="prove", state="queued").get()).result["fell"] == 1
    question.refresh_from_db()
    assert question.stale and question.state == "answering" and "was merged into" in question.stale_why
    scene.edit("undo", merge.id)
    assert run_job(Job.objects.filter(kind="prove", state="queued").get()).result["rose"] == 1
    question.refresh_from_db()
    assert (question.stale, question.stale_why, question.state, question.round) == (False, "", "accepted", 1)
    assert (question.options, question.key, question.answers.count()) == (options, key, 2)
