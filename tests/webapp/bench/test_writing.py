"""Model-written questions, from the request to stored drafts: the endpoint is a scripted server over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ml.endpoint import EndpointError
from tests.ml.endpoint.server import KEY, Answer, Server, fails, said, says
from tests.webapp.bench.scene import Pretended, Scene
from webapp.bench import services
from webapp.bench.models import Question
from webapp.bench.writing import request_writing
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from workers.tasks import writing

pytestmark = pytest.mark.django_db


def item(**more: Any) -> dict[str, Any]:
    """Who looks at Person 0, who looks back? Person 1 (from 1 to 3 s)."""
    fields = {
        "category": "gaze_target",
        "form": "eye_contact_partner",
        "question": "Who makes eye contact with Person 0 between 0.4 s and 3.6 s?",
        "options": ["Person 1", "Person 2", "Persons 1 and 2", "No one"],
        "answer": "A",
        "answer_text": "Person 1",
        "reasoning": "<think>Person 0 and Person 1 make eye contact from 1.0 s to 3.0 s.</think>",
        "source_event_ids": ["E1"],
        "time_range": [0.4, 3.6],
    }
    return fields | more


FREE = item(
    form="other",
    question="Which person is looked at by Person 0 for two seconds between 0.4 s and 3.6 s?",
    category="gaze_event_type",
)
OTHER = item(
    question="With whom does Person 1 share mutual gaze between 0.0 s and 4.0 s?",
    options=["Person 2", "Person 0", "No one", "Persons 0 and 2"],
)
STRANGER = item(question="Who makes eye contact with Person 8 between 0.4 s and 3.6 s?")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Server]]:
    """`served(script)`: the endpoint of this installation."""
    running: list[Server] = []

    def start(script: Any) -> Server:
        server = Server(script).__enter__()
        running.append(server)
        for name, value in (("URL", server.config().url), ("MODEL", "m-1"), ("KEY", KEY), ("RATE", "6000")):
            monkeypatch.setenv(f"SIGHTLINE_ENDPOINT_{name}", value)
        return server

    yield start
    for server in running:
        server.__exit__(None, None, None)


class Trial(Pretended):
    def __init__(self, job: Job, folder: Path) -> None:
        super().__init__(job)
        self.folder = folder


def write(scene: Scene, folder: Path) -> Job:
    job = request_writing(project=scene.video.project, user=scene.user, video=scene.video)
    claimed = jobs.claim(job_id=job.id, worker="here")
    assert claimed is not None
    writing.write(Trial(claimed, folder))  # type: ignore[arg-type]
    job.refresh_from_db()
    return job


def test_what_is_proven_what_is_not_and_what_is_refused(scene: Scene, served: Any, tmp_path: Path) -> None:
    server = served([says({"items": [item(), FREE, STRANGER]}, tokens=(900, 200))])
    job = write(scene, tmp_path)
    proven, free = Question.objects.order_by("number")
    ann, ben, _ = (str(person.id) for person in scene.people)
    assert proven.origin == "model" and proven.state == "draft" and proven.template == "eye_contact_partner"
    assert proven.text == f"Who makes eye contact with {{p:{ann}}} between {{t:10}} and {{t:90}}?"
    assert proven.proof is not None and not proven.stale and proven.signed_by is None
    key = next(option for option in proven.options if [option["id"]] == proven.key)
    assert key["value"] == ben and proven.proof["key"] == proven.key
    assert proven.provenance["model"] == "scripted-1" and len(proven.provenance["prompt"]) == 64
    assert free.proof is None and free.signed_by is None and free.state == "draft"
    assert free.provenance["unproven"] == "it asks something that no template asks"
    told = {name: job.result[name] for name in ("videos", "calls", "items", "questions", "proven", "unsigned")}
    assert told == {"videos": 1, "calls": 1, "items": 3, "questions": 2, "proven": 1, "unsigned": 1}
    assert job.result["refused"] == {"people": 1} and job.result["spent"]["tokens_in"] == 900
    assert len(server.asked) == 1 and "mutual gaze" in said(server.asked[0])
    assert {proven.created_by, free.created_by} == {scene.user}  # whoever had them written never answers them


@pytest.mark.parametrize(("letter", "proven"), [("A", False), ("B", True), ("C", False), ("D", False)])
def test_only_the_right_key_gets_a_proof(letter: str, proven: bool, scene: Scene, served: Any, tmp_path: Path) -> None:
    """Person 1 shares mutual gaze with Person 0."""
    told = OTHER["options"]["ABCD".index(letter)]
    served([says({"items": [OTHER | {"answer": letter, "answer_text": told}]})])
    write(scene, tmp_path)
    assert (Question.objects.get().proof is not None) is proven


def test_only_what_is_proven_or_signed_is_handed_to_raters(scene: Scene, served: Any, tmp_path: Path) -> None:
    served([says({"items": [item(), FREE]})])
    write(scene, tmp_path)
    proven, free = Question.objects.order_by("number")
    project, user = scene.video.project, scene.user
    done = services.open_questions(project=project, user=user, ids=[proven.id, free.id])
    assert done.opened == [proven.id] and [number for number, _ in done.refused] == [free.number]
    services.sign_question(question_id=free.id, user=user, version=free.version)
    assert services.open_questions(project=project, user=user, ids=[free.id]).opened == [free.id]


def test_the_jobs_result_tells_no_key(scene: Scene, served: Any, tmp_path: Path) -> None:
    served([says({"items": [item(), FREE, STRANGER]})])
    told = json.dumps(write(scene, tmp_path).result)
    for secret in ("Person", "E1", "eye contact", KEY, str(scene.people[1].id)):
        assert secret not in told


def test_what_was_answered_is_not_asked_again_after_a_kill(scene: Scene, served: Any, tmp_path: Path) -> None:
    server = served([says({"items": [item()]})])
    first = write(scene, tmp_path)
    again = write(scene, tmp_path)  # the same folder: what a killed attempt left
    assert len(server.asked) == 1 and first.result["questions"] == 1
    assert again.result["questions"] == 0 and again.result["known"] == 1


def test_a_reply_that_stays_broken_is_counted(scene: Scene, served: Any, tmp_path: Path) -> None:
    served([says("no"), says("no")])
    result = write(scene, tmp_path).result
    assert result["broken"] == 1 and result["questions"] == 0


def test_an_endpoint_that_refuses_is_one_sentence(scene: Scene, served: Any, tmp_path: Path) -> None:
    served([fails(401, KEY)])
    with pytest.raises(EndpointError, match="does not accept the configured key") as caught:
        write(scene, tmp_path)
    assert KEY not in str(caught.value)
    log = Job.objects.get(kind="write").log  # what was asked of the model is told where the job fails, too
    assert "calls 0" in log and "failed 1" in log


def test_without_an_endpoint_the_request_says_so(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL", raising=False)
    with pytest.raises(Refused, match="No multimodal endpoint is set up here"):
        request_writing(project=scene.video.project, user=scene.user)
    assert not Job.objects.filter(kind="write").exists()


def test_one_request_at_a_time(scene: Scene, served: Any) -> None:
    served([])
    first = request_writing(project=scene.video.project, user=scene.user)
    assert request_writing(project=scene.video.project, user=scene.user) == first
    assert request_writing(project=scene.video.project, user=scene.user, video=scene.video) != first


def test_the_api_queues_it(scene: Scene, served: Any, as_user: Any, people: Any) -> None:
    served([Answer()])
    body = {"data": json.dumps({"video": str(scene.video.id)}), "content_type": "application/json"}
    response = as_user(people.cora).post("/api/v1/projects/one/bench/write", **body)
    job = Job.objects.get(kind="write")
    assert response.status_code == 200 and response.json() == {"job": str(job.id)} and job.video == scene.video
    refused = as_user(people.bob).post("/api/v1/projects/one/bench/write", **body)
    assert refused.status_code == 403


def test_the_page_offers_it_where_there_is_an_endpoint(
    scene: Scene, served: Any, as_user: Any, people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served([says({"items": [item()]})])
    write(scene, tmp_path)
    client, button = as_user(people.cora), b'value="write"'
    assert button in client.get("/p/one/bench/").content
    assert client.post("/p/one/bench/run/", {"what": "write"}).status_code == 302
    assert Job.objects.filter(kind="write", state="queued", video=None).count() == 1
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL")
    assert button not in client.get("/p/one/bench/").content
