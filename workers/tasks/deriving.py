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
    from webapp.events import derivation

    job, wanted = attempt.job, attempt.job.parameters
    video = Video.objects.get(jobs=job)

    def write() -> dict[str, Any]:
        found = derivation.store(draft=draft, video=video, job=job)
        counts = {name: len(items) for name, items in found.difference.items()}
        return {"derivation": str(found.id), "revision": found.revision, "counts": counts}

    while True:
        attempt.progress("derive", 0.0)
        draft = derivation.draft(video=video, preset=wanted["preset"], min_confidence=wanted["min_confidence"])
        try:
            return attempt.finish({}, write)
        except derivation.Outdated:
            attempt.say("People or gaze were edited meanwhile; the events are derived again.")
