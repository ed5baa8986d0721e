"""Who may see, cancel and retry which job."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from webapp.jobs.models import Job

BASE = "/api/v1/jobs"


@pytest.fixture
def job(people: SimpleNamespace, video: Any) -> Job:
    return Job.objects.create(
        project=people.one, video=video, kind="perceive", queue="gpu", state="running", stage="people", share=0.25,
        stages=[["shots", 1.5], ["people", 2.25]], log="one\ntwo\n", created_by=people.cora, worker="gpu@far-0.x/1-2",
    )  # fmt: skip


@pytest.fixture
def client_of(people: SimpleNamespace, as_user: Any) -> Any:
    return lambda name: as_user(getattr(people, name))


def post(client: Any, path: str) -> Any:
    return client.post(path, content_type="application/json")


def test_a_member_sees_a_job_with_its_log(client_of: Any, job: Job) -> None:
    found = client_of("vera").get(f"{BASE}/{job.id}").json()
    assert (found["state"], found["stage"], found["share"], found["name"]) == ("running", "people", 0.25, "clip.mp4")
    assert found["stages"] == [{"stage": "shots", "seconds": 1.5}, {"stage": "people", "seconds": 2.25}]
    assert found["log"] == "one\ntwo\n"


def test_an_outsider_sees_nothing_and_somebody_unknown_must_log_in(client_of: Any, client: Any, job: Job) -> None:
    assert client_of("charlie").get(f"{BASE}/{job.id}").status_code == 404
    assert client_of("charlie").get(BASE).json() == []
    assert client_of("charlie").get(f"{BASE}?project=one").status_code == 404
    assert client_of("vera").get(f"{BASE}/{uuid4()}").status_code == 404
    assert client.get(f"{BASE}/{job.id}").status_code == 401 and client.get(BASE).status_code == 401
    assert post(client, f"{BASE}/{job.id}/cancel").status_code == 401


def test_lists_are_filtered_by_project_and_state(client_of: Any, job: Job, people: SimpleNamespace) -> None:
    Job.objects.create(project=people.one, kind="derive", queue="cpu", state="done")
    vera = client_of("vera")
    assert [row["kind"] for row in vera.get(f"{BASE}?project=one").json()] == ["derive", "perceive"]
    assert [row["id"] for row in vera.get(f"{BASE}?state=running").json()] == [str(job.id)]
    assert "log" not in vera.get(BASE).json()[0]
    bad = vera.get(f"{BASE}?state=sleeping")
    assert bad.status_code == 422 and "sleeping" in bad.json()["error"]


def test_a_list_takes_the_same_queries_however_long_it_is(
    client_of: Any, job: Job, people: SimpleNamespace, django_assert_num_queries: Any
) -> None:
    vera = client_of("vera")
    vera.get(BASE)
    with django_assert_num_queries(4):  # session, user, my projects, jobs
        vera.get(BASE)
    for _ in range(5):
        Job.objects.create(project=people.one, kind="derive", queue="cpu", created_by=people.bob)
    with django_assert_num_queries(4):
        vera.get(BASE)


@pytest.mark.parametrize(
    ("who", "status"),
    [("vera", 403), ("bob", 403), ("rita", 403), ("cora", 200), ("alice", 200), ("root", 200), ("charlie", 404)],
)
def test_cancel_follows_the_roles(client_of: Any, job: Job, who: str, status: int) -> None:
    assert post(client_of(who), f"{BASE}/{job.id}/cancel").status_code == status
    job.refresh_from_db()
    assert job.cancel_requested == (status == 200)


def test_an_annotator_may_cancel_what_they_started_themselves(
    client_of: Any, job: Job, people: SimpleNamespace
) -> None:
    Job.objects.filter(id=job.id).update(created_by=people.bob, state="queued")
    found = post(client_of("bob"), f"{BASE}/{job.id}/cancel")
    assert found.status_code == 200 and found.json()["state"] == "cancelled"


def test_cancel_and_retry_refuse_what_makes_no_sense(client_of: Any, job: Job) -> None:
    cora = client_of("cora")
    refused = post(cora, f"{BASE}/{job.id}/retry")
    assert refused.status_code == 409 and "this one is running" in refused.json()["error"]
    Job.objects.filter(id=job.id).update(state="failed", error="x")
    assert post(cora, f"{BASE}/{job.id}/cancel").status_code == 409
    again = post(cora, f"{BASE}/{job.id}/retry")
    assert again.status_code == 200 and (again.json()["state"], again.json()["error"]) == ("queued", "")
    assert cora.get(f"{BASE}/{job.id}/retry").status_code == 405


@pytest.mark.django_db(transaction=True)
def test_the_stream_sends_the_projects_jobs_at_once(people: SimpleNamespace, job: Job) -> None:
    client = AsyncClient()

    async def first_message() -> str:
        await client.aforce_login(people.vera)
        response = await client.get("/api/v1/projects/one/jobs/stream")
        assert response.status_code == 200 and response["Content-Type"] == "text/event-stream"
        async for piece in response.streaming_content:  # type: ignore[attr-defined]
            return bytes(piece).decode()
        return ""

    text = async_to_sync(first_message)()
    assert text.startswith("event: job\n")
    assert json.loads(text.split("data: ", 1)[1].split("\n")[0])["id"] == str(job.id)


@pytest.mark.django_db(transaction=True)
def test_the_stream_is_closed_to_outsiders(people: SimpleNamespace) -> None:
    client = AsyncClient()

    async def status() -> int:
        await client.aforce_login(people.charlie)
        return (await client.get("/api/v1/projects/one/jobs/stream")).status_code

    assert async_to_sync(status)() == 404
