"""The stream of a run's page: its state and last step as they change, and an end with the access or with the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.test import AsyncClient

from tests.webapp.training import made
from webapp.accounts.models import Membership, User
from webapp.accounts.services import remove_member
from webapp.library.models import Project
from webapp.runs import recording, services
from webapp.runs.models import TrainingRun

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> TrainingRun:
    """A draft that vera, a viewer, may see."""
    monkeypatch.setattr("webapp.lib.live.STEP_S", 0.01)
    project = Project.objects.create(slug="one", name="One")
    Membership.objects.create(project=project, user=User.objects.create(username="vera"), role="viewer")
    return made.run(made.snapshot(project))


def told(run: TrainingRun, acts: list[Callable[[TrainingRun], None]]) -> list[str]:
    """Pieces of the stream; after each one the next thing happens. It must come to an end by itself."""

    async def listen() -> list[str]:
        client = AsyncClient()
        await client.aforce_login(await User.objects.aget(username="vera"))
        response: Any = await client.get(f"/api/v1/projects/one/runs/{run.number}/stream")
        pieces: list[str] = []
        async for piece in response.streaming_content:
            pieces.append(bytes(piece).decode())
            if len(pieces) <= len(acts):
                await sync_to_async(acts[len(pieces) - 1])(run)
        return pieces

    return async_to_sync(listen)()


def started(run: TrainingRun) -> None:
    services.start(run=run, user=None, version=run.version)


def logged(run: TrainingRun) -> None:
    recording.keep_metrics(run=run, lines=[{"step": 3, "time": 1.0, "values": {"loss": 0.25}}])


def removed(run: TrainingRun) -> None:
    remove_member(membership=Membership.objects.get(user__username="vera"))
    TrainingRun.objects.filter(id=run.id).update(error="a secret")


def shut_out(run: TrainingRun) -> None:
    User.objects.update(is_active=False)
    TrainingRun.objects.filter(id=run.id).update(error="a secret")


def deleted(run: TrainingRun) -> None:
    services.delete(run=run, version=run.version)


def test_it_tells_what_changes_and_nothing_twice(run: TrainingRun) -> None:
    pieces = told(run, [started, logged, removed])
    events = [
        [(block.split("\n")[0], json.loads(block.split("\n")[1].removeprefix("data: "))) for block in blocks]
        for blocks in ([one for one in piece.split("\n\n") if one] for piece in pieces)
    ]
    assert [[name for name, _ in one] for one in events] == [
        ["event: run", "event: metrics"], ["event: run"], ["event: run", "event: metrics"],
    ]  # fmt: skip
    assert [one[0][1]["state"] for one in events] == ["draft", "queued", "queued"]
    assert events[2][0][1]["loss"] == 0.25 and events[2][1][1] == {"step": 3}
    assert not any(events[0][0][1]["may"].values())  # for a viewer


@pytest.mark.parametrize("ends", [removed, shut_out, deleted])
def test_it_ends_with_the_access_and_with_the_run(run: TrainingRun, ends: Callable[[TrainingRun], None]) -> None:
    pieces = told(run, [ends])
    assert len(pieces) == 1 and "secret" not in pieces[0]
