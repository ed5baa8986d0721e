"""Work of the bench: looking for faults in a project's questions. The job's result holds counts only, never a key."""

from __future__ import annotations

from celery import Task

from webapp.jobs.broker import app
from webapp.library.models import Project
from workers.attempt import Attempt, run


@app.task(name="sightline.lint", bind=True)
def lint_questions(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, lint)


def lint(attempt: Attempt) -> None:
    from webapp.bench import linting

    project = Project.objects.get(id=attempt.job.project_id)
    found = linting.lint_project(project, progress=attempt.progress)
    counts = {"items": found.report.items, **found.report.counts}
    attempt.finish(counts, lambda: linting.keep(project=project, found=found))
