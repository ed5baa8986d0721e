"""The people of the bench, and a worker in a thread of its own that does the jobs the pages ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser.bench import seed


@pytest.fixture
def cora(crew: SimpleNamespace) -> Any:
    """A curator."""
    from webapp.accounts.models import Membership, User

    user = User.objects.create(username="cora", display_name="Cora", password=crew.bob.password)
    Membership.objects.create(project=crew.project, user=user, role="curator")
    crew.cora = user
    return user


@pytest.fixture
def dora(crew: SimpleNamespace) -> Any:
    """A second annotator."""
    from webapp.accounts.models import Membership, User

    user = User.objects.create(username="dora", display_name="Dora", password=crew.bob.password)
    Membership.objects.create(project=crew.project, user=user, role="annotator")
    crew.dora = user
    return user


@pytest.fixture
def video(crew: SimpleNamespace) -> Any:
    return seed.make_video(crew.project)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> Iterator[Callable[[], None]]:
    """Jobs are done one after another as soon as they are asked for; call it to wait until none is left."""
    from django.db import close_old_connections, connection

    pool = ThreadPoolExecutor(1)
    waiting: list[Any] = []

    def do(kind: str, job_id: str) -> None:
        try:
            works()[kind](job_id)
        finally:
            close_old_connections()

    def send(*, kind: str, job_id: str, queue: str) -> bool:
        waiting.append(pool.submit(do, kind, job_id))
        return True

    def settle() -> None:
        while waiting:
            waiting.pop(0).result(timeout=120)

    monkeypatch.setattr("webapp.jobs.broker.send", send)
    yield settle
    pool.submit(lambda: connection.close()).result()
    pool.shutdown(wait=True)


def works() -> dict[str, Callable[[str], Any]]:
    """What the workers do for each kind of job."""
    from workers.attempt import run
    from workers.tasks import benching, clipping, linting, releasing

    def by(work: Any, *more: Any) -> Callable[[str], Any]:
        return lambda job_id: run(job_id, "cpu@test", work, *more)

    return {
        "generate": by(benching.generate),
        "prove": by(benching.prove),
        "agreement": by(benching.agree),
        "clip": by(clipping.work, clipping.tidy),
        "lint": by(linting.lint),
        "release": by(releasing.work, releasing.tidy),
    }
