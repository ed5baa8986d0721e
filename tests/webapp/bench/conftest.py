"""The scene, and no broker."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.webapp.bench.scene import Scene, make_scene


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are rows here; nobody has to be told."""
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def scene(people: SimpleNamespace) -> Scene:
    """The scene in project `one`, made by alice."""
    return make_scene(people.one, people.alice)
