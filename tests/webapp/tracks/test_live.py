"""What the workspace hears while a run is accepted."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from tests.webapp.factories import make_run, make_video
from webapp.jobs import services as jobs
from webapp.tracks import services


@pytest.mark.django_db(transaction=True)
def test_the_stream_says_which_run_a_job_accepts(people: SimpleNamespace) -> None:
    video = make_video(people.one)
    make_run(video)  # the one in force
    layers = [make_run(video, accepted=False) for _ in range(2)]
    jobs.create(project=people.one, kind="derive", queue="cpu", video=video, parameters={}, user=people.cora)
    services.request_acceptance(run=layers[1], user=people.cora)
    client = AsyncClient()

    async def first_messages() -> str:
        await client.aforce_login(people.vera)
        response = await client.get(f"/api/v1/videos/{video.id}/stream")
        async for piece in response.streaming_content:  # type: ignore[attr-defined]
            return bytes(piece).decode()
        return ""

    lines = async_to_sync(first_messages)().splitlines()
    told: list[dict[str, Any]] = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data")]
    assert {job["kind"]: job["run"] for job in told if "kind" in job} == {"accept": str(layers[1].id), "derive": None}
