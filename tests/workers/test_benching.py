"""The bench's jobs: questions from events, and agreement of answers."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from ml.progress import Cancelled
from tests.webapp.bench.conftest import no_broker, scene
from tests.webapp.bench.scene import Scene, make_questions, make_scene, run_job, say
from tests.webapp.conftest import people
from webapp.accounts.models import Membership, User
from webapp.bench import requests, services
from webapp.bench.models import Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Video

__all__ = ["no_broker", "people", "scene"]
pytestmark = pytest.mark.django_db


def crowded(project: Any, user: Any, name: str = "crowded.mp4") -> Scene:
    """The scene with more to ask about: mutual gaze of all pairs, one after another, and all of it covered."""
    import uuid

    scene = make_scene(project, user, name=name)
    ids = [str(person.id) for person in scene.people]
    for n, (one, other) in enumerate([(0, 1), (1, 2), (0, 2)]):
        who = [[ids[one], "member"], [ids[other], "member"]]
        start = 270 + 80 * n
        scene.edit(
            "event.create", uuid.uuid4(), type="mutual_gaze", start=start, end=start + 40, participants=who,
            status="confirmed",
        )  # fmt: skip
    scene.edit("coverage.update", scene.coverage, 1, end=550)
    return scene


def test_questions_are_made_from_what_is_confirmed(people: Any) -> None:
    scene = crowded(people.one, people.alice)
    job = run_job(requests.request_generation(project=people.one, user=people.cora, video=scene.video, seed=1))
    assert job.state == "done", job.error
    made = list(Question.objects.order_by("number"))
    assert job.result["questions"] == len(made) > 0 and job.result["videos"] == 1
    assert job.result["categories"] == dict(Counter(question.category for question in made))
    assert {question.state for question in made} == {"draft"} and not any(question.stale for question in made)
    assert {question.created_by for question in made} == {people.cora}
    assert all(question.shown and "{" not in question.shown for question in made)
    ids = [question.id for question in made]
    assert not services.open_questions(project=people.one, user=people.cora, ids=ids).refused


def test_the_same_seed_makes_nothing_twice(people: Any) -> None:
    scene = crowded(people.one, people.alice)
    for kept in (True, False):
        job = run_job(requests.request_generation(project=people.one, user=None, video=scene.video, seed=1))
        assert bool(job.result["questions"]) is kept and job.result["drafts"] > 0


def test_a_cancel_that_comes_while_questions_are_written_leaves_none(people: Any, monkeypatch: Any) -> None:
    scene = crowded(people.one, people.alice)
    job = requests.request_generation(project=people.one, user=people.cora, video=scene.video, seed=1)
    create = services.create_questions

    def cancelled_meanwhile(**wanted: Any) -> Any:
        jobs.cancel(job=Job.objects.get(id=job.id), user=people.cora)
        return create(**wanted)

    monkeypatch.setattr(services, "create_questions", cancelled_meanwhile)
    with pytest.raises(Cancelled):
        run_job(job)
    assert not Question.objects.exists() and services.bench_of(people.one).next_number == 1


def test_a_whole_project_balances_its_letters(people: Any) -> None:
    for n in range(4):
        crowded(people.one, people.alice, f"crowded-{n}.mp4")
    job = run_job(requests.request_generation(project=people.one, user=None, seed=1, categories=["mutual_gaze"]))
    assert job.result["videos"] == 4, job.error
    letters = Counter(Question.objects.filter(kind="single").values_list("letter", flat=True))
    assert len(letters) > 1 and max(letters.values()) - min(letters.get(letter, 0) for letter in "ABCD") <= 1


def test_a_video_that_is_not_ready_is_skipped(people: Any, scene: Scene) -> None:
    Video.objects.create(project=people.one, name="later.mp4", frames=0)
    job = run_job(requests.request_generation(project=people.one, user=None))
    assert (job.state, job.result["videos"], job.result["skipped"]) == ("done", 2, 1)


def test_proofs_of_a_whole_project_are_run_job(people: Any, scene: Scene) -> None:
    make_questions(scene, 3)
    scene.edit("event.update", scene.following, 1, status="rejected")
    job = run_job(requests.request_proofs_of_project(project=people.one, user=people.cora))
    assert job.result.items() >= {"videos": 1, "proofs": 3, "standing": 0, "fell": 3, "rose": 0}.items()
    assert not Video.objects.filter(doubted__gt=0).exists()


def test_a_day_of_edits_leaves_one_job_in_the_list(people: Any, scene: Scene) -> None:
    make_questions(scene, 1)
    for n in range(3):
        scene.edit("event.update", scene.following, 1 + n, end=126 + n)
        run_job(Job.objects.get(kind="prove", state="queued"))
    assert Job.objects.filter(kind="prove").count() == 1
    asked = run_job(requests.request_proofs(video=scene.video, user=people.cora))
    scene.edit("event.update", scene.following, 4, end=140)
    run_job(Job.objects.get(kind="prove", state="queued"))
    assert Job.objects.filter(id=asked.id).exists()  # what somebody asked for stays


# ---------------------------------------------------------------------------------------------------------------------
# Agreement


@pytest.fixture
def raters(people: Any, monkeypatch: pytest.MonkeyPatch) -> list[User]:
    """Three annotators; and intervals from few draws."""
    monkeypatch.setattr("webapp.bench.agreeing.REPLICATES", 50)
    users = [User.objects.create(username=f"rater-{n}") for n in range(3)]
    Membership.objects.bulk_create(Membership(project=people.one, user=user, role="annotator") for user in users)
    return users


def answered(scene: Scene, said: str, raters: list[User]) -> None:
    """One question, answered by the first raters with these letters; "?" cannot tell."""
    question = make_questions(scene, 1)[0]
    for user, word in zip(raters, said, strict=False):
        say(question, user, *([] if word == "?" else [word]), special="cannot_tell" if word == "?" else "")


def test_agreement_is_computed_and_kept(people: Any, scene: Scene, raters: list[User]) -> None:
    other = make_scene(people.one, people.alice, name="other.mp4")
    for home, said in ((scene, "bb"), (scene, "ba"), (other, "bb"), (other, "??"), (other, "aa")):
        answered(home, said, raters)
    answered(scene, "b", raters)  # a round that still runs is no unit
    job = run_job(requests.request_agreement(project=people.one, user=people.cora))
    assert job.state == "done", job.error
    bench = services.bench_of(people.one)
    assert bench.agreement_at == 11
    told = bench.agreement
    assert (told["units"], told["answers"], told["videos"], told["replicates"]) == (5, 10, 2, 50)
    whole, following = told["rows"]
    assert (whole["category"], following["category"]) == ("", "gaze_following")
    assert whole["raw"]["value"] == pytest.approx(4 / 5) and whole["specials"] == {"cannot_tell": 2}
    # Krippendorff's alpha by hand: of 10 values 5 b, 3 a, 2 special; observed disagreement 2/10, expected
    # (100 - 25 - 9 - 4) / 90
    assert whole["alpha"]["value"] == pytest.approx(1 - (2 / 10) / (62 / 90))
    assert whole["raw"]["low"] == pytest.approx(0.5) and whole["raw"]["high"] == pytest.approx(1.0)


def test_answers_in_words_and_single_ones_are_no_units(people: Any, scene: Scene, raters: list[User]) -> None:
    more = {"kind": "open", "key": ["Cid."], "options": [], "proof": None}
    question = make_questions(scene, 1, opened=False, **more)[0]
    services.sign_question(question_id=question.id, user=people.cora, version=1)
    services.open_questions(project=people.one, user=people.cora, ids=[question.id])
    for user in raters[:2]:
        say(question, user, "Cid.")
    job = run_job(requests.request_agreement(project=people.one, user=None))
    assert job.state == "done", job.error
    told = services.bench_of(people.one).agreement
    assert told["units"] == 0 and told["rows"][0]["alpha"] == {"value": None, "low": None, "high": None}


# ---------------------------------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def no_studio(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The database of the tests is there already, and jobs are run where they are followed."""
    from contextlib import contextmanager

    from webapp.studio.management.commands import questions

    @contextmanager
    def here(*_: Any) -> Any:
        yield lambda: None

    def follow(job_id: Any, *_: Any) -> Job:
        return run_job(Job.objects.get(id=job_id))

    monkeypatch.setattr(questions, "studio", here)
    monkeypatch.setattr(questions, "follow", follow)
    return SimpleNamespace()


def test_the_command_does_what_the_page_does(people: Any, no_studio: SimpleNamespace, tmp_path: Any) -> None:
    import json

    from django.core.management import call_command

    scene = crowded(people.one, people.alice)
    call_command("questions", str(scene.video.id), "--seed", "1", "--json", str(tmp_path / "made.json"))
    made = json.loads((tmp_path / "made.json").read_text())
    texts = sorted(Question.objects.values_list("text", flat=True))
    assert made["questions"] == len(texts) > 0 and made["project"] == "one"
    Question.objects.all().delete()
    run_job(requests.request_generation(project=people.one, user=people.cora, video=scene.video, seed=1))
    assert sorted(Question.objects.values_list("text", flat=True)) == texts


@pytest.mark.parametrize("arguments", ["", "--project nowhere", "nothing.mp4", "--project one --most 0"])
def test_the_command_refuses_in_words(people: Any, no_studio: SimpleNamespace, arguments: str) -> None:
    from django.core.management import call_command

    with pytest.raises(SystemExit) as end:
        call_command("questions", *arguments.split())
    assert end.value.code == 2
