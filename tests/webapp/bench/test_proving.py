"""Edits put proofs in doubt at once; running them again says which stand and what changed."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.webapp.bench.scene import Scene, make_questions, say
from tests.webapp.factories import make_proposal
from webapp.bench import proving, services
from webapp.bench.models import Question
from webapp.bench.proving import prove
from webapp.events.models import Event
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.tracks.models import Tracklet

pytestmark = pytest.mark.django_db


def fresh(question: Question) -> Question:
    question.refresh_from_db()
    return question


def event_version(id: Any) -> int:
    return Event.objects.get(id=id).version


def test_a_proof_that_stands_stays(scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    done = prove(scene.video)
    assert (done.proofs, done.standing, done.fell, done.rose) == (1, 1, [], [])
    assert not fresh(question).stale and question.stood == scene.video.revision


EDITS = {
    "a confirmed event's role": lambda s: s.edit(
        "event.update", s.following, 1,
        participants=[[str(s.people[0].id), "leader"], [str(s.people[1].id), "follower"]],
    ),
    "a confirmed event's span": lambda s: s.edit("event.update", s.following, 1, end=140),
    "a confirmed event rejected": lambda s: s.edit("event.update", s.following, 1, status="rejected"),
    "a confirmed event deleted": lambda s: s.edit("event.delete", s.following, 1),
    "another event confirmed": lambda s: s.edit(
        "event.create", uuid.uuid4(), type="sudden_gaze_shift", start=5, end=20, status="confirmed",
        participants=[[str(s.people[2].id), "member"]],
    ),
    "coverage taken away": lambda s: s.edit("coverage.delete", s.coverage, 1),
    "coverage changed": lambda s: s.edit("coverage.update", s.coverage, 1, end=100),
    "two people merged": lambda s: s.edit("person.merge", s.people[2].id, 1, into=str(s.people[1].id)),
    "a tracklet given to somebody else": lambda s: s.edit(
        "tracklet.assign", Tracklet.objects.get(track=2).id, 1, person=str(s.people[1].id)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_of_a_fact_makes_it_stale_at_once(scene: Scene, what: str) -> None:
    question = make_questions(scene, 1)[0]
    EDITS[what](scene)
    assert fresh(question).is_stale and question.doubted and not question.stale
    job = Job.objects.get(kind="prove")
    assert (job.video_id, job.state, job.created_by) == (scene.video.id, "queued", None)


@pytest.mark.parametrize(
    "edit",
    [
        lambda s: s.edit("event.update", s.following, 1, note="seen twice"),
        lambda s: s.edit("person.update", s.people[0].id, 1, name="Ann"),
        lambda s: s.edit(
            "correction.create", uuid.uuid4(), person=str(s.people[0].id), start=0, end=9, kind="point", x=0.5, y=0.5
        ),
        lambda s: s.edit(
            "event.create", uuid.uuid4(), type="sudden_gaze_shift", start=5, end=20, status="rejected",
            participants=[[str(s.people[2].id), "member"]],
        ),
    ],
    ids=["a note", "a name", "a gaze correction", "a rejected event"],
)  # fmt: skip
def test_an_edit_of_no_fact_leaves_it(scene: Scene, edit: Any) -> None:
    question = make_questions(scene, 1)[0]
    edit(scene)
    assert not fresh(question).stale and not question.doubted
    assert not Job.objects.exists()


def test_a_proposal_inside_coverage_is_decided_first(scene: Scene, people: Any) -> None:
    """Whether Ben follows Ann's gaze, too, nobody has said."""
    question = make_questions(scene, 1)[0]
    follows = [(scene.people[0], "leader"), (scene.people[1], "follower")]
    waits = make_proposal(scene.video, "gaze_following", 110, 128, follows)
    assert prove(scene.video).fell
    assert "The proposal gaze following of Person 0 and Person 1 from 4.4 s to 5.1 s waits for a word" in (
        fresh(question).stale_why
    )
    scene.edit("event.update", waits.id, 1, status="rejected")
    assert fresh(question).doubted
    assert prove(scene.video).rose == [question.number]


def test_a_new_proposal_moves_what_proofs_rest_on() -> None:
    row = {"status": "proposed", "type": "pointing", "start": 1, "end": 9, "participants": [], "modality": "gesture"}
    assert proving.moves_facts("events.gestures", [("event", "x", None, row)])
    assert not proving.moves_facts("events.gestures", [("event", "x", row, row | {"confidence": 0.3})])
    assert not proving.moves_facts("events.gestures", [("event", "x", None, row | {"status": "rejected"})])


def test_an_undo_is_an_edit(scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    done = scene.edit("event.update", scene.following, 1, status="rejected")
    prove(scene.video)
    assert fresh(question).stale and not question.doubted
    scene.edit("undo", done.id)
    assert fresh(question).doubted
    assert prove(scene.video).rose == [question.number]
    assert not fresh(question).stale and question.stale_why == ""


def test_a_person_is_no_longer_follower(scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    EDITS["a confirmed event's role"](scene)
    done = prove(scene.video)
    why = fresh(question).stale_why
    assert done.fell == [(question.number, why)]
    assert "Person 2 is no longer follower of gaze following at 4.0 s." in why
    assert "Person 1 is now follower of gaze following at 4.0 s." in why
    assert question.stale and not question.doubted


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("a confirmed event rejected", "The gaze following at 4.0 s is rejected now."),
        ("a confirmed event deleted", "The gaze following at 4.0 s was deleted."),
        ("coverage taken away", "It is no longer said that all of gaze from 0.0 to 6.0 s is marked."),
        ("coverage changed", "to be marked in full, gaze from 0.0 to 6.0 s, is gaze from 0.0 to 4.0 s now."),
        ("two people merged", "Person 2 was merged into Person 1."),
    ],
)  # fmt: skip
def test_it_says_what_changed(scene: Scene, what: str, sentence: str) -> None:
    question = make_questions(scene, 1)[0]
    EDITS[what](scene)
    prove(scene.video)
    assert sentence in fresh(question).stale_why


def test_an_edit_that_hurts_nothing_is_forgiven(scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    EDITS["a confirmed event's span"](scene)
    prove(scene.video)
    assert not fresh(question).stale and not question.doubted and question.stale_why == ""


def test_what_is_stale_is_not_handed_out_and_not_accepted(people: Any, scene: Scene) -> None:
    from webapp.bench import answering

    question = make_questions(scene, 1)[0]
    say(question, people.bob, "b")
    held = answering.next_item(project=people.one, user=people.rita)
    assert held is not None
    change = scene.edit("event.update", scene.following, 1, status="rejected")
    assert answering.next_item(project=people.one, user=people.cora) is None
    answering.answer(question_id=question.id, user=people.rita, id=uuid.uuid4(), chosen=["b"])
    assert fresh(question).state == "answering"  # complete, and nothing is decided on a key in doubt
    prove(scene.video)
    assert fresh(question).state == "answering" and question.stale
    scene.edit("undo", change.id)
    prove(scene.video)
    assert fresh(question).state == "accepted"


def test_questions_without_proof_are_left_alone(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1, opened=False, proof=None)[0]
    services.sign_question(question_id=question.id, user=people.cora, version=1)
    scene.edit("event.delete", scene.following, 1)
    assert not fresh(question).stale
    assert prove(scene.video).proofs == 0


def test_one_job_is_asked_for_until_it_has_run(scene: Scene) -> None:
    make_questions(scene, 3)
    for n in range(4):
        scene.edit("event.update", scene.following, event_version(scene.following), end=126 + n)
    assert Job.objects.filter(kind="prove").count() == 1


def test_a_run_that_failed_is_asked_for_again_by_the_next_edit(scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    scene.edit("event.update", scene.following, 1, end=126)
    job = jobs.claim(job_id=Job.objects.get(kind="prove").id, worker="here")
    assert job is not None
    jobs.fail(job=job, error="The disk is full.")
    assert fresh(question).stale and not question.doubted
    assert question.stale_why == "Its proof could not be run again: The disk is full."
    scene.edit("event.update", scene.following, 2, end=127)
    assert Job.objects.filter(kind="prove", state="queued").count() == 1
    assert prove(scene.video).rose == [question.number]


def test_a_new_accepted_run_puts_everything_in_doubt(scene: Scene) -> None:
    assert proving.moves_facts("run.accept", [])


def test_a_video_without_questions_costs_a_save_nothing(people: Any, scene: Scene) -> None:
    """The statements of a save are counted in tests/webapp/events; here: those that questions add."""
    with CaptureQueriesContext(connection) as before:
        scene.edit("event.update", scene.following, 1, end=126)
    make_questions(scene, 30)
    with CaptureQueriesContext(connection) as first:
        scene.edit("event.update", scene.following, 2, end=127)
    with CaptureQueriesContext(connection) as later:
        scene.edit("event.update", scene.following, 3, end=128)
    with CaptureQueriesContext(connection) as untouched:
        scene.edit("event.update", scene.following, 4, note="the end is right")

    def count(asked: CaptureQueriesContext) -> int:
        return len([one for one in asked.captured_queries if not one["sql"].startswith(("SAVEPOINT", "RELEASE"))])

    assert not [one for one in before.captured_queries if "bench_" in one["sql"]]
    assert count(later) == count(before)  # doubt is one number in the row that every save writes
    assert count(first) == count(before) + 1  # the job
    assert count(untouched) == count(before)


def test_the_history_of_questions_does_not_fill_with_doubt(scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    history = apps.get_model("bench", "QuestionEvent").objects.filter(pgh_obj_id=question.id)
    before = history.count()
    for n in range(3):
        scene.edit("event.update", scene.following, event_version(scene.following), end=126 + n)
        prove(scene.video)
    assert history.count() == before > 0


def test_a_video_that_is_edited_meanwhile_is_looked_at_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    question = make_questions(scene, 1)[0]
    real, calls = proving.facts_of, []

    def slow(video: Any) -> Any:
        found = real(video)
        calls.append(found.revision)
        if len(calls) == 1:  # somebody edits after the facts were read
            scene.edit("event.update", scene.following, 1, status="rejected")
        return found

    monkeypatch.setattr(proving, "facts_of", slow)
    prove(scene.video)
    assert len(calls) == 2 and calls[1] == calls[0] + 1
    assert fresh(question).stale and not question.doubted


def test_a_video_edited_all_the_time_is_given_up_in_words(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    make_questions(scene, 1)
    real = proving.facts_of

    def edited(video: Any) -> Any:
        found = real(video)
        scene.edit(
            "event.update", scene.following, event_version(scene.following), end=event_version(scene.following) + 125
        )
        return found

    monkeypatch.setattr(proving, "facts_of", edited)
    with pytest.raises(Refused, match="edited all the time"):
        prove(scene.video)


# ---------------------------------------------------------------------------------------------------------------------
# New and edited questions


def test_a_question_made_from_old_facts_is_proven_again(scene: Scene) -> None:
    from tests.webapp.bench.scene import draft

    made_from = draft(scene)
    scene.edit("event.update", scene.following, 1, status="rejected")
    question = services.create_questions(video=scene.video, drafts=[made_from], user=None)[0]
    assert question.stale and "false" in question.stale_why
    done = services.open_questions(project=scene.video.project, user=scene.user, ids=[question.id])
    assert done.refused == [(question.number, "Its proof does not stand.")]


def test_an_edited_key_must_be_proven(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    with pytest.raises(Refused, match="another key"):
        services.edit_question(question_id=question.id, user=people.cora, version=1, fields={"key": ["a"]})
    assert question.proof is not None
    wrong = question.proof | {"key": ["a"]}
    edited = services.edit_question(
        question_id=question.id, user=people.cora, version=1, fields={"key": ["a"], "proof": wrong}
    )
    assert (edited.state, edited.version, edited.letter) == ("draft", 2, "A")
    assert edited.stale


# ---------------------------------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def no_studio(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of the tests is there already."""
    from contextlib import contextmanager

    @contextmanager
    def here(*_: Any) -> Any:
        yield lambda: None

    monkeypatch.setattr("webapp.studio.management.commands.prove.studio", here)


def run(*arguments: str) -> int:
    try:
        call_command("prove", *arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_the_command_says_which_fell_and_why(scene: Scene, no_studio: None, tmp_path: Any) -> None:
    question = make_questions(scene, 2)[0]
    told = tmp_path / "proofs.json"
    assert run("--all", "--json", str(told)) == 0
    EDITS["a confirmed event's role"](scene)
    assert run(str(scene.video.id), "--json", str(told)) == 1
    (row,) = [json.loads(line) for line in told.read_text().splitlines()]
    assert (row["proofs"], row["standing"], row["changed"]) == (2, 0, [1, 2])
    assert row["fallen"][0]["number"] == question.number
    assert "Person 2 is no longer follower" in row["fallen"][0]["why"]
    assert run("--project", "one", "--json", str(told)) == 1
    row = json.loads(told.read_text())
    assert row["changed"] == [] and len(row["fallen"]) == 2  # nothing new, and still told


@pytest.mark.parametrize("arguments", [(), ("--project", "nowhere"), ("no-such-video",)])
def test_the_command_refuses_in_words(scene: Scene, no_studio: None, arguments: tuple[str, ...]) -> None:
    assert run(*arguments) == 2
