"""The check of a project's questions as a job: counts in its result, findings for the page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webapp.bench.conftest import no_broker, scene
from tests.webapp.bench.scene import Pretended, Scene, make_questions
from tests.webapp.conftest import people
from webapp.bench import linting
from webapp.jobs import services as jobs
from workers.tasks.linting import lint

__all__ = ["no_broker", "people", "scene"]
pytestmark = pytest.mark.django_db


def test_the_job_keeps_what_the_page_shows_and_tells_counts_only(people: Any, scene: Scene) -> None:
    make_questions(scene, 2)
    job = linting.request_lint(project=people.one, user=people.cora)
    claimed = jobs.claim(job_id=job.id, worker="here")
    assert claimed is not None
    lint(Pretended(claimed))  # type: ignore[arg-type]
    job.refresh_from_db()
    assert job.state == "done", job.error
    assert {name: job.result[name] for name in ("items", "error")} == {"items": 2, "error": 2}
    assert all(isinstance(value, int | float) for value in job.result.values())
    shown = linting.latest(people.one)
    assert shown is not None
    assert {row["code"] for row in shown["rows"] if row["severity"] == "error"} == {"option_count"}
