"""The bench's endpoints: what a whole round looks like over HTTP, and that lists ask a fixed number of times."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.webapp.bench.scene import Scene, make_questions, say
from webapp.accounts.models import Membership, User
from webapp.bench import services
from webapp.bench.models import Clip, Question
from webapp.jobs.models import Job

pytestmark = pytest.mark.django_db
API = "/api/v1"


def post(client: Any, address: str, **body: Any) -> Any:
    return client.post(API + address, body, content_type="application/json")


def patch(client: Any, address: str, **body: Any) -> Any:
    return client.patch(API + address, body, content_type="application/json")


@pytest.fixture
def bea(people: Any) -> User:
    user = User.objects.create(username="bea")
    Membership.objects.create(project=people.one, user=user, role="annotator")
    return user


def test_a_question_goes_from_draft_to_accepted(people: Any, scene: Scene, as_user: Any, bea: User) -> None:
    question = make_questions(scene, 1, opened=False)[0]
    cora = as_user(people.cora)
    opened = post(cora, "/projects/one/questions/open", ids=[str(question.id)]).json()
    assert opened == {"opened": [str(question.id)], "refused": []}
    for user in (people.bob, bea):
        client = as_user(user)
        found = post(client, "/projects/one/bench/next").json()
        assert found["question"]["text"].startswith("Who follows the gaze of Person 0 at ")
        assert (found["waiting"], 1100 < found["left_s"] <= 1200) == (1, True)
        said = post(client, f"/questions/{question.id}/answer", id=str(uuid.uuid4()), chosen=["b"], seconds=0.01)
        assert said.status_code == 200 and said.json()["seconds"] == 0.0
    assert post(as_user(bea), "/projects/one/bench/next").json()["why"] == "No question is open for answers now."
    whole = post(as_user(people.rita), f"/questions/{question.id}/reveal").json()
    assert (whole["state"], whole["key"], whole["letter"]) == ("accepted", ["b"], "B")
    assert {answer["user"] for answer in whole["answers"]} == {"bob", "bea"}
    following = "gaze following of Person 0 (leader) and Person 2 (follower)"
    assert whole["sentence"] == f"Rests on {following} (4.0 to 5.0 s of the video)."
    assert [(mark["id"], mark["start"], mark["end"]) for mark in whole["marks"]] == [(str(scene.following), 100, 125)]
    assert whole["reasoning"] == "Person 2 follows Person 0 from 4.0 s to 5.0 s."


def test_a_dispute_is_decided_over_http(people: Any, scene: Scene, as_user: Any, bea: User) -> None:
    question = make_questions(scene, 1)[0]
    say(question, people.bob, "b")
    say(question, bea, special="cannot_tell")
    rita = as_user(people.rita)
    assert rita.get(f"{API}/questions/{question.id}").json()["may_adjudicate"]
    verdict = {"id": str(uuid.uuid4()), "verdict": "edit", "reason": "Say when.", "fields": {"text": "Who follows?"}}
    done = post(rita, f"/questions/{question.id}/adjudicate", **verdict).json()
    assert done == post(rita, f"/questions/{question.id}/adjudicate", **verdict).json()
    assert (done["question"]["state"], done["question"]["round"]) == ("answering", 2)
    assert done["question"]["adjudications"][0]["reason"] == "Say when."
    assert [answer["special"] for answer in done["question"]["answers"]] == ["", "cannot_tell"]


def test_times_are_the_clips(people: Any, scene: Scene, as_user: Any) -> None:
    """The clip begins 1.5 s before the question's span, so the question's 4.0 s are the clip's 1.5 s."""
    question = make_questions(scene, 1)[0]
    found = post(as_user(people.bob), "/projects/one/bench/next").json()["question"]
    assert found["text"] == "Who follows the gaze of Person 0 at 1.5 s? (Wording 0)"
    assert 2.4 < found["clip_start_s"] <= 2.5
    clip = Clip.objects.get(video=scene.video)
    assert (found["clip"]["id"], found["clip"]["ready"]) == (str(clip.id), False)
    question.refresh_from_db()
    assert question.clip == clip and Job.objects.filter(kind="clip").count() == 1


def test_a_video_without_pictures_says_so(people: Any, scene: Scene, as_user: Any) -> None:
    make_questions(scene, 1)
    scene.video.has_pixels = False
    scene.video.save()
    clip = post(as_user(people.bob), "/projects/one/bench/next").json()["question"]["clip"]
    assert clip["ready"] is False and "no pictures" in clip["error"]


def test_a_place_is_given_back(people: Any, scene: Scene, as_user: Any) -> None:
    question = make_questions(scene, 1)[0]
    client = as_user(people.bob)
    post(client, "/projects/one/bench/next")
    assert post(client, f"/questions/{question.id}/give-back").status_code == 204
    assert post(client, f"/questions/{question.id}/answer", id=str(uuid.uuid4()), chosen=["b"]).status_code == 422


def test_settings_are_read_and_changed(people: Any, as_user: Any) -> None:
    client = as_user(people.cora)
    changed = patch(client, "/projects/one/bench", raters=3, quotas=[{"category": "mutual_gaze", "most": 40}])
    assert changed.json()["raters"] == 3
    board = client.get(f"{API}/projects/one/bench").json()
    assert board["settings"]["raters"] == 3 and board["settings"]["rendering"] == "tags"
    assert board["quotas"][0]["missing"] == 40
    refused = patch(client, "/projects/one/bench", raters=99)
    assert (refused.status_code, refused.json()["field"]) == (422, "raters")
    assert patch(client, "/projects/one/bench", pad_before_s=None).status_code == 422


def test_an_edit_meets_another_one(people: Any, scene: Scene, as_user: Any) -> None:
    question = make_questions(scene, 1)[0]
    client = as_user(people.cora)
    first = patch(client, f"/questions/{question.id}", version=1, fields={"text": "Who?"}).json()
    assert (first["version"], first["state"], first["shown"]) == (2, "draft", "Who?")
    assert patch(client, f"/questions/{question.id}", version=1, fields={"text": "Whom?"}).status_code == 409


def test_work_is_asked_for(people: Any, scene: Scene, as_user: Any) -> None:
    client = as_user(people.cora)
    body: dict[str, Any] = {"video": str(scene.video.id), "categories": ["mutual_gaze"], "most": 5, "seed": 3}
    first, again = (post(client, "/projects/one/bench/generate", **body).json() for _ in range(2))
    assert first == again
    job = Job.objects.get(id=first["job"])
    assert job.parameters == {"categories": ["mutual_gaze"], "most": 5, "seed": 3} and job.video == scene.video
    for body in ({"categories": ["weather"]}, {"most": 0}, {"seed": -1}):
        assert post(client, "/projects/one/bench/generate", **body).status_code == 422
    assert post(client, "/projects/one/bench/generate", video=str(uuid.uuid4())).status_code == 404
    assert post(client, "/projects/one/bench/prove").json() == post(client, "/projects/one/bench/prove").json()
    refused = post(client, "/projects/one/bench/agreement")
    assert refused.json()["error"] == "Nobody has answered a question of this project yet."


def test_a_video_of_another_project_is_not_here(people: Any, scene: Scene, as_user: Any) -> None:
    root = as_user(people.root)
    assert post(root, "/projects/two/bench/generate", video=str(scene.video.id)).status_code == 404


# ---------------------------------------------------------------------------------------------------------------------
# Cost


def queries(client: Any, address: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(API + address).status_code == 200
    return len(asked)


@pytest.mark.parametrize("address", ["/projects/one/questions", "/projects/one/bench", "/videos/{video}/questions"])
@pytest.mark.parametrize("who", ["bob", "rita"])
def test_lists_ask_a_fixed_number_of_times(people: Any, scene: Scene, as_user: Any, address: str, who: str) -> None:
    services.configure(
        project=people.one, user=people.alice, changes={"quotas": [{"most": 99}, {"letter": "A", "most": 9}]}
    )
    client = as_user(getattr(people, who))
    make_questions(scene, 1)
    address = address.format(video=scene.video.id)
    few = queries(client, address)
    make_questions(scene, 30)
    for question in Question.objects.filter(number__lt=10):
        say(question, people.alice, "b")
    assert queries(client, address) == few <= 15


def test_one_question_asks_a_fixed_number_of_times(people: Any, scene: Scene, as_user: Any, bea: User) -> None:
    one, other = make_questions(scene, 2)
    for question in (one, other):
        services.reveal(questions=[question], user=people.rita)
    client = as_user(people.rita)
    few = queries(client, f"/questions/{one.id}")
    say(other, people.bob, "b")
    say(other, bea, "a")
    assert queries(client, f"/questions/{other.id}") <= few + 2


@pytest.mark.parametrize(
    ("field", "value"),
    [("category", []), ("category", {}), ("options", None), ("options", 0), ("options", {}), ("key", [10**400])],
)
def test_a_field_of_the_wrong_type_is_refused(people: Any, scene: Scene, as_user: Any, field: str, value: Any) -> None:
    number: dict[str, Any] = {"kind": "number", "options": [], "key": [3], "proof": None}
    question = make_questions(scene, 1, opened=False, **number)[0]
    refused = patch(as_user(people.cora), f"/questions/{question.id}", version=1, fields={field: value})
    assert (refused.status_code, refused.json()["field"]) == (422, field)


def test_a_number_beyond_all_measure_is_no_answer(people: Any, scene: Scene, as_user: Any) -> None:
    question = make_questions(scene, 1, opened=False, kind="number", options=[], key=[3], proof=None)[0]
    Question.objects.filter(id=question.id).update(state="answering")
    client = as_user(people.bob)
    assert post(client, "/projects/one/bench/next").json()["question"]["id"] == str(question.id)
    for chosen in ([10**400], [True], ["3"], [[3]], [], [3, 3]):
        said = post(client, f"/questions/{question.id}/answer", id=str(uuid.uuid4()), chosen=chosen)
        assert (said.status_code, said.json()["field"]) == (422, "chosen")
