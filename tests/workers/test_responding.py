"""Responses of an endpoint to questions of the bench; the endpoint is a scripted server over real HTTP."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ml.endpoint.server import KEY, Answer, Server, fails, says
from tests.workers import filmed
from webapp.accounts.models import User
from webapp.audit import producing, reporting
from webapp.audit.models import Audit, Response
from webapp.bench.models import Question
from webapp.bench.services import bench_of
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from workers.attempt import run
from workers.tasks import responding


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    return filmed.make(project, *filmed.source(tmp_path), tmp_path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Server]]:
    running: list[Server] = []

    def start(script: Any) -> Server:
        running.append(Server(script).__enter__())
        values = {"URL": running[-1].config().url, "MODEL": "m-1", "KEY": KEY, "RATE": "6000", "ATTEMPTS": "1"}
        for name, value in (values | {"TIMEOUT": "1"}).items():
            monkeypatch.setenv(f"SIGHTLINE_ENDPOINT_{name}", value)
        return running[-1]

    yield start
    for server in running:
        server.__exit__(None, None, None)


def make_question(video: Video, number: int, key: str = "b", state: str = "accepted") -> Question:
    names = [(letter, f"Person {n}") for n, letter in enumerate("abcd")]
    return Question.objects.create(
        project=video.project, video=video, number=number, category="mutual_gaze", difficulty="easy", text="Who looks?",
        shown="Who looks?", options=[{"id": id, "text": text, "value": text} for id, text in names], key=[key],
        start=60, end=100, state=state, proof=None,
    )  # fmt: skip


def do(video: Video, user: User, **more: Any) -> tuple[Audit, Job]:
    audit, job = producing.request_responses(project=video.project, user=user, **more)
    run(str(job.id), "test@here", responding.respond)
    job.refresh_from_db()
    return audit, job


def test_questions_are_answered_from_their_clips_and_what_was_paid_for_is_kept(
    video: Video, served: Callable[[Any], Server]
) -> None:
    user = User.objects.create(username="cora")
    for number in (1, 2):
        make_question(video, number)
    make_question(video, 3, state="draft")  # nobody decided it: it is not asked
    bench_of(video.project)
    reply = {"thinking": "At 0.5 s, Person 1 looks at Person 0.", "answer": "B"}
    server = served([says(reply), Answer(pause_s=3.0)])
    audit, job = do(video, user)
    assert job.state == "failed" and job.result["reason"] == "endpoint"  # it timed out at the second question
    told = producing.spent(audit)
    assert (told["calls"], told["failed"], told["tokens_in"]) == (1, 1, 100)  # a job that failed was paid for, too
    first = Response.objects.get()
    assert first.text == "<think>At 0.5 s, Person 1 looks at Person 0.</think>\n<answer>B</answer>"
    assert (first.letters, first.key, first.correct, first.model) == (["B"], ["B"], True, "scripted-1")
    assert set(first.person_map) == {"0", "1"} and first.rendering == "tags"
    assert first.provenance["prompt"] and first.provenance["frames"]
    parts: list[dict[str, Any]] = server.asked[0]["messages"][1]["content"]
    words, pictures = ([part for part in parts if (part["type"] == "text") is told] for told in (True, False))
    assert len(pictures) == len(first.provenance["frames"]) >= 2
    jpeg = base64.b64decode(pictures[0]["image_url"]["url"].partition(",")[2])
    assert jpeg[:2] == b"\xff\xd8" and "Who looks?" in words[0]["text"] and "B) Person 1" in words[0]["text"]
    again = served([says(reply | {"answer": "A"})])
    same, job = do(video, user)
    assert job.state == "done" and same.id == audit.id and len(again.asked) == 1  # the rest only
    assert job.result["spent"] == {"calls": 2, "failed": 1, "tokens_in": 200, "tokens_out": 20}
    assert reporting.about(Audit.objects.get(id=audit.id))["responses_cost"] == job.result["spent"]
    assert list(Response.objects.order_by("position").values_list("correct", flat=True)) == [True, False]
    assert Job.objects.filter(kind="audit", parameters__audit=str(audit.id)).count() == 1
    assert "B" not in str(job.result) and "key" not in job.log


def test_a_model_on_this_machine_answers_in_its_own_words(
    video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is a double; a real one of random weights answers in the long tests of `ml.evidence.answering`."""
    folder = tmp_path / "some-vlm"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    monkeypatch.setenv("SIGHTLINE_LOCAL_MODEL", str(folder))
    monkeypatch.setattr("ml.torchside.missing", lambda: [])
    asked: list[tuple[Any, Any]] = []

    def said(self: Any, messages: Any, pictures: Any, *, reasoning: bool, most: int) -> tuple[str, str]:
        asked.append((messages, pictures))
        if len(asked) == 2:
            raise MemoryError
        return "<think>\nAt 0.5 s, Person 1 looks.</think><answer>B", "stop"  # it stops at the closing tag

    monkeypatch.setattr("ml.evaluation.local.Weights.said", said)
    monkeypatch.setattr("ml.evaluation.local.Weights.free", lambda self: None)
    user = User.objects.create(username="cora")
    for number in (1, 2):
        make_question(video, number)
    audit, job = do(video, user, model="local")
    assert (job.state, job.queue, job.result["answered"], job.result["broken"]) == ("done", "gpu", 1, 1)
    first = Response.objects.get()
    assert first.text.endswith("<answer>B</answer>") and (first.answer, first.correct) == ("B", True)
    assert first.model == "some-vlm" and len(first.provenance["by"]["fingerprint"]) == 64
    messages, pictures = asked[0]
    parts = messages[1]["content"]
    assert [part["type"] for part in parts] == ["text", "image"] * len(pictures) + ["text"] and len(pictures) >= 2
    assert parts[0]["text"] == f"<{pictures[0].second:.1f} seconds>" and pictures[0].jpeg[:2] == b"\xff\xd8"
    assert "B) Person 1" in parts[-1]["text"] and "<answer>" in messages[0]["content"][0]["text"]
    again, job = do(video, user, model="local")
    assert again.id == audit.id and len(asked) == 3 and Response.objects.count() == 2  # what ran out of memory only


def test_no_local_model_says_so_before_and_a_wrong_folder_in_the_job(
    video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User.objects.create(username="cora")
    make_question(video, 1)
    with pytest.raises(Refused, match="SIGHTLINE_LOCAL_MODEL names the folder"):
        producing.request_responses(project=video.project, user=user, model="local")
    with pytest.raises(Refused, match="no model 'other'"):
        producing.request_responses(project=video.project, user=user, model="other")
    monkeypatch.setenv("SIGHTLINE_LOCAL_MODEL", str(tmp_path))
    _, job = do(video, user, model="local")
    assert job.state == "failed" and "config.json is missing" in job.error


def test_without_an_endpoint_or_questions_it_says_so(video: Video, served: Callable[[Any], Server]) -> None:
    user = User.objects.create(username="cora")
    with pytest.raises(Refused, match="No multimodal endpoint"):
        producing.request_responses(project=video.project, user=user)
    served([fails(500)])
    with pytest.raises(Refused, match="no accepted question"):
        producing.request_responses(project=video.project, user=user)
