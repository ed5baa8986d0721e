"""Accepting a run that waited: compare it with the video as it is now, derive its events, then switch in one step."""

from __future__ import annotations

from celery import Task

from webapp.jobs.broker import app
from webapp.tracks.models import Run
from workers.attempt import Attempt, run


@app.task(name="sightline.accept", bind=True)
def accept_run(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work)


def work(attempt: Attempt) -> None:
    from webapp.tracks.acceptance import accept

    job = attempt.job
    attempt.progress("compare", 0.0)
    layer = Run.objects.get(id=job.parameters["run"])
    accept(run=layer, user=job.created_by, write=lambda piece: attempt.finish({"run": job.parameters["run"]}, piece))
