"""The report of a finished audit as JSON, CSV and a page of its own: files first, then the word that they are there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from celery import Task
from django.utils import timezone

from webapp.audit.models import Audit
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from workers.attempt import Attempt, run

TRIES = 5


@app.task(name="sightline.audit-report", bind=True)
def make_report(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    from ml.evidence import report
    from ml.media.files import write_json
    from webapp.audit import agreeing, reporting

    for _ in range(TRIES):
        attempt.progress("report", 0.0)
        audit = Audit.objects.select_related("project").get(id=attempt.job.parameters["audit"])
        rows = reporting.rows_of(audit)
        attempt.progress("report", 0.4)
        tree = report.build(rows, title=audit.name, about=reporting.about(audit))
        agreement = agreeing.agreement_of(rows)
        attempt.progress("report", 0.8)
        folder = attempt.folder / "report"
        folder.mkdir(exist_ok=True)
        write_json(folder / "report.json", tree)
        (folder / "report.csv").write_text(report.csv(tree), encoding="utf-8")
        (folder / "report.html").write_text(report.html(tree), encoding="utf-8")
        storage.put_folder(folder, audit.folder)
        facts = {
            "v": 1,
            "at": timezone.now().isoformat(timespec="seconds"),
            "sha256": hashlib.sha256((folder / "report.json").read_bytes()).hexdigest(),
            "responses": len(rows),
            "claims": sum(len(row["claims"]) for row in rows),
            "agreement": agreement,
        }

        def write(id: Any = audit.id, version: int = audit.version, facts: dict[str, Any] = facts) -> None:
            if not reporting.keep_report(audit_id=id, version=version, facts=facts):
                raise Outdated

        try:
            return attempt.finish({"responses": facts["responses"], "claims": facts["claims"]}, write)
        except Outdated:
            attempt.say("The audit was changed meanwhile; the report is made again.")
    raise Refused("The audit is changed all the time; ask for its report when that is over.", "audit")


class Outdated(Exception):
    """The audit is not what the report was made of any more."""


def tidy(job: Job | None, folder: Path) -> None:
    """Of a report that did not come to be, or whose audit lost a video meanwhile, nothing is left."""
    if job is None:
        return
    wanted = job.parameters["audit"]
    others = Job.objects.filter(kind="audit-report", parameters__audit=wanted, state__in=("queued", "running"))
    if not others.exclude(id=job.id).exists() and not Audit.objects.filter(id=wanted).exclude(report={}).exists():
        storage.delete_tree(f"audits/{wanted}")
