"""Folders of one test are gone after it, and jobs are rows that nobody has to be told of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from webapp.runs import folders


@pytest.fixture(autouse=True)
def own_folders() -> Iterator[None]:
    yield
    for name in ("snapshots", "runs", "evaluations", "models"):
        folders.remove(Path(settings.DATA) / name)


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
