"""Accepting a run that waited: compare it with the video as it is now, switch, derive events."""

from __future__ import annotations

from celery import Task

from webapp.jobs.broker import app
from webapp.library.models import Video
from webapp.tracks.models import Run
from workers.attempt import Attempt, run


@app.task(name="sightline.accept", bind=True)
def accept_run(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work)


def work(attempt: Attempt) -> None:
    from webapp.tracks.acceptance import accept

    job = attempt.job
    attempt.progress("compare", 0.0)

    def write() -> None:
        # locked, so that nobody edits between comparing and accepting
        Video.objects.select_for_update(of=("self",)).get(jobs=job)
        accept(run=Run.objects.get(id=job.parameters["run"]), user=job.created_by)

    attempt.finish({"run": job.parameters["run"]}, write)
