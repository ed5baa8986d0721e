"""Deriving events: from the corrected data to a difference that a person looks at before it is applied."""

from __future__ import annotations

from typing import Any

from celery import Task

from webapp.jobs.broker import app
from webapp.library.models import Video
from workers.attempt import Attempt, run


@app.task(name="sightline.derive", bind=True)
def derive_events(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work)


def work(attempt: Attempt) -> None:
    from webapp.events.derivation import compute

    job = attempt.job
    attempt.progress("derive", 0.0)
    wanted = job.parameters

    def write() -> dict[str, Any]:
        video = Video.objects.get(jobs=job)
        found = compute(video=video, job=job, preset=wanted["preset"], min_confidence=wanted["min_confidence"])
        counts = {name: len(items) for name, items in found.difference.items()}
        return {"derivation": str(found.id), "revision": found.revision, "counts": counts}

    attempt.finish({}, write)
