"""Until a question is decided, nothing tells whoever may answer it its key, what others said, or that they disagree.

The key is the person with the number 7, who is named nowhere but as an option: whatever a channel says is searched for
what would give it away.
"""

from __future__ import annotations

import json
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from tests.webapp.bench.scene import Scene, make_questions, run_job, say
from webapp.accounts.models import Membership, User
from webapp.bench import answering, queries, services
from webapp.bench.models import KeySeen, Question
from webapp.jobs.models import Job

pytestmark = pytest.mark.django_db
API = "/api/v1"
# fields of a question that say its key or come of answers; and words of its trace and its proof
TELLTALE = ("key", "letter", "proof", "value", "reasoning", "marks", "answers", "adjudications", "stale_why", "round",
            "version", "sentence", "provenance", "template", "raw_options", "chosen")  # fmt: skip


def tells(content: Any) -> set[str]:
    """Telltale fields anywhere in a JSON answer."""
    if isinstance(content, dict):
        found = {name for name in content if name in TELLTALE and content[name] not in ("", None)}
        if content.get("round") == 1:  # said of every question
            found.discard("round")
        return found.union(*(tells(value) for value in content.values())) if content else found
    if isinstance(content, list):
        return set().union(*(tells(value) for value in content)) if content else set()
    return set()


@pytest.fixture
def disputed(people: SimpleNamespace, scene: Scene) -> Question:
    question = make_questions(scene, 1)[0]
    for name, chosen in (("ann", "b"), ("bea", "a")):
        user = User.objects.create(username=name)
        Membership.objects.create(project=people.one, user=user, role="annotator")
        say(question, user, chosen)
    question.refresh_from_db()
    assert question.state == "disputed"
    return question


BLIND = ("vera", "bob")  # viewer, annotator
CHANNELS = (
    "/projects/one/bench",
    "/projects/one/questions",
    "/videos/{video}/questions",
    "/questions/{question}",
)


@pytest.mark.parametrize("who", BLIND)
@pytest.mark.parametrize("channel", CHANNELS)
def test_an_address_of_the_api_tells_nothing(
    people: Any, scene: Scene, as_user: Any, disputed: Question, who: str, channel: str
) -> None:
    open_one, draft = make_questions(scene, 1)[0], make_questions(scene, 1, opened=False)[0]
    client = as_user(getattr(people, who))
    for question in (open_one, draft, disputed):
        answer = client.get(API + channel.format(video=scene.video.id, question=question.id))
        assert answer.status_code == 200
        assert not tells(answer.json())
        assert "disputed" not in json.dumps(answer.json()).replace('"disputed": 0', "")


@pytest.mark.parametrize("who", BLIND)
@pytest.mark.parametrize("page", ["/p/one/bench/", "/p/one/bench/?state=disputed", "/p/one/bench/composition.csv"])
def test_a_page_tells_no_dispute(people: Any, as_user: Any, disputed: Question, who: str, page: str) -> None:
    answer = as_user(getattr(people, who)).get(page)
    assert answer.status_code == 200
    assert "disputed" not in answer.content.decode().lower().replace("?state=disputed", "")
    told = as_user(people.rita).get("/p/one/bench/").content.decode().lower()
    assert "disputed" in told  # whoever may decide it is told


@pytest.mark.parametrize("who", BLIND)
@pytest.mark.parametrize("page", ["/q/{question}/edit/", "/p/one/bench/adjudicate/?question={question}"])
def test_pages_with_a_key_are_not_for_raters(
    people: Any, as_user: Any, disputed: Question, who: str, page: str
) -> None:
    assert as_user(getattr(people, who)).get(page.format(question=disputed.id)).status_code == 403


def test_disputed_looks_like_answering(people: Any, scene: Scene, as_user: Any, disputed: Question) -> None:
    other = make_questions(scene, 1)[0]
    client = as_user(people.bob)
    rows = {row["number"]: row for row in client.get(f"{API}/projects/one/questions").json()["questions"]}
    alike = [
        {k: v for k, v in rows[q.number].items() if k not in ("id", "number", "text", "address")}
        for q in (disputed, other)
    ]
    assert alike[0] == alike[1]
    for state, count in (("answering", 2), ("disputed", 2)):  # a filter for what is not to be known filters nothing out
        found = client.get(f"{API}/projects/one/questions?state={state}").json()
        assert found["count"] == count, state
    states = client.get(f"{API}/projects/one/bench").json()["states"]
    assert (states["answering"], states["disputed"]) == (2, 0)
    assert as_user(people.rita).get(f"{API}/projects/one/bench").json()["states"]["disputed"] == 1


def test_the_queue_tells_nothing(people: Any, scene: Scene, as_user: Any) -> None:
    question = make_questions(scene, 1)[0]
    client = as_user(people.bob)
    found = client.post(f"{API}/projects/one/bench/next").json()
    assert found["question"]["id"] == str(question.id)
    assert not tells(found)
    assert {tuple(option) for option in found["question"]["options"]} == {("id", "text")}
    answer = client.post(
        f"{API}/questions/{question.id}/answer",
        {"id": str(uuid.uuid4()), "chosen": ["b"]},
        content_type="application/json",
    )
    assert set(answer.json()) == {"id", "seconds"}


def test_ids_of_options_tell_nothing(scene: Scene) -> None:
    """A maker may call the key "key": it is named by its place."""
    from tests.webapp.bench.scene import draft

    made = draft(scene)
    for option in (*made.options, *made.proof["options"]):
        option["id"] = {"one": "distractor-1", "two": "key", "three": "distractor-2"}[option["id"]]
    made.key = made.proof["key"] = ["key"]
    question = services.create_questions(video=scene.video, drafts=[made], user=None)[0]
    assert [option["id"] for option in question.options] == ["a", "b", "c"]
    assert question.key == ["b"] and question.proof is not None and question.proof["key"] == ["b"]
    assert not question.stale and question.letter == "B"


@pytest.mark.parametrize("who", BLIND)
def test_the_key_is_not_for_everybody(people: Any, as_user: Any, disputed: Question, who: str) -> None:
    assert as_user(getattr(people, who)).post(f"{API}/questions/{disputed.id}/reveal").status_code == 403
    assert not KeySeen.objects.filter(question=disputed, user=getattr(people, who)).exists()


def test_a_reviewer_who_looks_at_the_key_is_not_asked(people: Any, scene: Scene, as_user: Any) -> None:
    question = make_questions(scene, 1)[0]
    client = as_user(people.rita)
    blind = client.get(f"{API}/questions/{question.id}").json()
    assert not tells(blind) and blind["may_see_key"] and not blind["key_seen"]
    whole = client.post(f"{API}/questions/{question.id}/reveal").json()
    assert whole["key"] == ["b"] and whole["answers"] == []
    assert client.get(f"{API}/questions/{question.id}").json()["key"] == ["b"]
    assert client.post(f"{API}/projects/one/bench/next").json()["question"] is None


def test_nobody_sees_answers_of_a_round_that_runs(people: Any, scene: Scene, as_user: Any) -> None:
    question = make_questions(scene, 1)[0]
    say(question, people.bob, "b")
    client = as_user(people.rita)
    client.post(f"{API}/questions/{question.id}/reveal")
    assert client.get(f"{API}/questions/{question.id}").json()["answers"] == []


def test_what_is_decided_is_for_everybody_and_noted(people: Any, scene: Scene, as_user: Any) -> None:
    question = make_questions(scene, 1)[0]
    say(question, people.bob, "b")
    say(question, people.rita, "b")
    whole = as_user(people.vera).post(f"{API}/questions/{question.id}/reveal").json()
    assert whole["key"] == ["b"] and len(whole["answers"]) == 2
    # it is edited and goes round again: whoever saw the key is not asked
    services.edit_question(question_id=question.id, user=people.cora, version=1, fields={"text": "Who follows, then?"})
    assert KeySeen.objects.filter(question=question, user=people.vera).exists()
    assert as_user(people.vera).post(f"{API}/questions/{question.id}/reveal").status_code == 403


def test_letters_are_counted_of_released_ones_only(people: Any, scene: Scene, as_user: Any) -> None:
    quotas = [{"letter": "B", "most": 10}, {"category": "gaze_following", "most": 10}]
    services.configure(project=people.one, user=people.alice, changes={"quotas": quotas})
    make_questions(scene, 1)
    for who in ("bob", "rita", "cora"):
        letter, category = as_user(getattr(people, who)).get(f"{API}/projects/one/bench").json()["quotas"]
        assert (letter["accepted"], letter["open"], letter["missing"]) == (0, None, 10)
        assert (category["accepted"], category["open"], category["missing"]) == (0, 1, 10)


def test_agreement_is_for_reviewers(people: Any, scene: Scene, as_user: Any) -> None:
    bench = services.bench_of(people.one)
    bench.agreement = {"v": 1, "rows": [{"category": "", "units": 1, "raw": {"value": 0.0}}]}
    bench.save()
    assert as_user(people.bob).get(f"{API}/projects/one/bench").json()["agreement"] == {}
    assert as_user(people.rita).get(f"{API}/projects/one/bench").json()["agreement"]["rows"]


def test_jobs_and_streams_tell_nothing(people: Any, scene: Scene, as_user: Any) -> None:
    """What a job found is read by everybody in the project: counts, never why a key fell."""
    from webapp.events.api import _state

    question = make_questions(scene, 1)[0]
    scene.edit(
        "event.update", scene.following, 1,
        participants=[[str(scene.people[0].id), "leader"], [str(scene.people[1].id), "follower"]],
    )  # fmt: skip
    job = run_job(Job.objects.get(kind="prove"))
    question.refresh_from_db()
    assert "no longer follower" in question.stale_why
    client = as_user(people.bob)
    story = client.get(f"{API}/jobs/{job.id}").json()
    assert story["state"] == "done", story["error"]
    assert story["result"].items() >= {"proofs": 1, "standing": 0, "fell": 1}.items()
    told = [story, client.get(f"{API}/jobs").json(), [data for _, data in _state(people.bob, scene.video.id)]]
    told += [client.get(f"{API}/questions/{question.id}").json(), client.get(f"{API}/projects/one/questions").json()]
    assert "no longer" not in json.dumps(told) and "follower" not in json.dumps(told[:3])


def test_the_workspace_bundle_has_no_questions(people: Any, scene: Scene, as_user: Any) -> None:
    make_questions(scene, 1)
    assert "uestion" not in as_user(people.bob).get(f"{API}/videos/{scene.video.id}/bundle").content.decode()


def test_counts_for_one_person_do_not_tell_of_others(people: Any, scene: Scene) -> None:
    """How many wait for somebody depends on places, which answers and leases take alike."""
    question = make_questions(scene, 1)[0]
    assert answering.waiting(project=people.one, user=people.bob) == 1
    say(question, people.rita, "a")
    assert answering.waiting(project=people.one, user=people.bob) == 1
    board = queries.dashboard(people.one, people.bob, "annotator")
    assert board["waiting"] == 1
