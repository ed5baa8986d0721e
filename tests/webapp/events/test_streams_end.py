"""An open event stream ends at its next look once its reader may not see the project, or what it tells of is gone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.test import AsyncClient

from webapp.accounts.models import Membership, User
from webapp.accounts.services import remove_member
from webapp.jobs.models import Job
from webapp.library.services import delete_video

pytestmark = pytest.mark.django_db(transaction=True)


def removed(people: SimpleNamespace, video: Any) -> None:
    remove_member(membership=Membership.objects.get(user=people.vera, project=people.one))


def shut_out(people: SimpleNamespace, video: Any) -> None:
    User.objects.filter(id=people.vera.id).update(is_active=False)


def erased(people: SimpleNamespace, video: Any) -> None:
    delete_video(video=video)


@pytest.mark.parametrize(
    "address, ends",
    [
        ("/api/v1/videos/{video}/stream", removed),
        ("/api/v1/videos/{video}/stream", shut_out),
        ("/api/v1/videos/{video}/stream", erased),
        ("/api/v1/projects/one/jobs/stream", removed),
        ("/api/v1/projects/one/jobs/stream", shut_out),
    ],
)
def test_a_stream_ends_with_the_access(
    people: SimpleNamespace, video: Any, monkeypatch: Any, address: str, ends: Callable[[SimpleNamespace, Any], None]
) -> None:
    monkeypatch.setattr("webapp.lib.live.STEP_S", 0.01)
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    Job.objects.create(project=people.one, video=video, kind="perceive", queue="gpu")
    client = AsyncClient()

    def take_away() -> None:
        ends(people, video)
        Job.objects.create(project=people.one, kind="lint", queue="cpu", stage="a secret")

    async def told() -> list[str]:
        await client.aforce_login(people.vera)
        response = await client.get(address.format(video=video.id))
        pieces = []
        async for piece in response.streaming_content:  # type: ignore[attr-defined]
            pieces.append(bytes(piece).decode())
            if len(pieces) == 1:
                await sync_to_async(take_away)()
        return pieces

    pieces = async_to_sync(told)()  # it comes to an end by itself
    assert len(pieces) == 1 and "secret" not in pieces[0]
