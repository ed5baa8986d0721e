"""A real worker beside the real studio, and folders of runs that are gone after each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.conftest import Worker


@pytest.fixture(autouse=True)
def own_folders() -> Iterator[None]:
    from django.conf import settings

    from webapp.runs import folders

    yield
    for name in ("snapshots", "runs", "evaluations", "models"):
        folders.remove(Path(settings.DATA) / name)


@pytest.fixture
def worker(transactional_db: None, valkey: Any, tmp_path: Path) -> Iterator[Worker]:
    """Its log is printed when the test fails."""
    running = Worker(tmp_path / "worker.log")
    running.log.touch()
    running.start()
    yield running
    print(running.log.read_text())
    running.stop()
