from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.webapp.audit.made import Scene, make_scene


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are rows here; nobody has to be told."""
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def scene(people: SimpleNamespace, video: Any) -> Scene:
    return make_scene(video, people.cora)
