"""What jobs of audits work on, for those who may know: of an open audit nobody below a reviewer is told."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from uuid import UUID

from django.urls import reverse

from webapp.accounts.access import role_in
from webapp.accounts.models import User
from webapp.accounts.permissions import role_allows
from webapp.audit import importing
from webapp.audit.access import may_see
from webapp.audit.models import Audit
from webapp.jobs.models import Job
from webapp.jobs.queries import Subject

KINDS = ("audit", "respond", "reprompt", "audit-report", importing.KIND)


def subjects(jobs: Sequence[Job], user: User) -> dict[UUID, Subject]:
    """The audit of each job, or the file of an import that has none yet."""
    ids = {job.id: job.parameters.get("audit") or job.result.get("audit") for job in jobs}
    audits = Audit.objects.select_related("project").in_bulk({id for id in ids.values() if id})
    role = cache(lambda project: role_in(user, project) or "viewer")
    found = {}
    for job in jobs:
        audit = audits.get(UUID(ids[job.id])) if ids[job.id] else None
        if audit is not None and may_see(audit, role(audit.project_id)):
            address = reverse("audit", args=[audit.project.slug, audit.number])
            found[job.id] = Subject(audit.name, address)
        elif job.kind == importing.KIND and role_allows(role(job.project_id), "review"):
            found[job.id] = Subject(job.parameters["shown"], "")
    return found
