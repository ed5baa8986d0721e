"""What `up` begins before Django is loaded ends again when it cannot go on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from webapp.studio import early
from webapp.studio.lock import Lock


@pytest.mark.parametrize("reason", [OSError("no more processes"), early.StudioError("no such program")])
def test_a_web_process_that_cannot_start_leaves_nothing_behind(
    reason: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    database = SimpleNamespace(begin=lambda: said.append("begun"), stop=lambda: said.append("stopped"))
    listening: list[Any] = []

    def start_web(data: Path, socket: Any) -> Any:
        listening.append(socket)
        raise reason

    monkeypatch.setenv("SIGHTLINE_DATA", str(tmp_path))
    monkeypatch.setattr(early, "embedded", lambda data: database)
    monkeypatch.setattr(early, "start_web", start_web)
    early.begin(["up"])
    assert said == ["begun", "stopped"]
    assert early.take() is None
    assert listening[0].fileno() == -1  # closed
    lock = Lock(tmp_path)
    assert lock.take("up")  # nobody holds the folder
    lock.free()
