"""What jobs of a bench work on."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.urls import reverse

from webapp.accounts.models import User
from webapp.bench.models import Release
from webapp.jobs.models import Job
from webapp.jobs.queries import Subject


def releases(jobs: Sequence[Job], user: User) -> dict[UUID, Subject]:
    """The release each job has cut, or writes anew."""
    again = {job.id: job.parameters["rewrite"] for job in jobs if "rewrite" in job.parameters}
    known = {
        str(id): number for id, number in Release.objects.filter(id__in=again.values()).values_list("id", "number")
    }
    found = {}
    for job in jobs:
        number = job.result.get("number") or known.get(again.get(job.id, ""))
        if number:
            address = reverse("release", args=[job.project.slug, number])
            found[job.id] = Subject(f"Release {number}", address)
    return found
