"""A task that does nothing for as long as it is told, as real stages would: reporting often, or not at all."""

from __future__ import annotations

import time

from celery import Task

from tests.workers import gates, training_double
from webapp.jobs.broker import app
from workers.attempt import Attempt, run

gates.install()
training_double.install()


@app.task(name="sightline.pretend", bind=True)
def pretend(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work)


def work(attempt: Attempt) -> None:
    for stage, seconds in attempt.job.parameters["stages"]:
        attempt.progress(stage, 0.0)
        if stage == "fault":
            raise RuntimeError("on purpose")
        if stage == "silent":
            time.sleep(seconds)
            continue
        steps = max(1, int(seconds / 0.05))
        for step in range(steps):
            time.sleep(0.05)
            attempt.progress(stage, step / steps)
    attempt.finish({"done": True})
