"""Look-ups of snapshots, runs and evaluations for a person and an action, as `webapp.accounts.access` has them."""

from __future__ import annotations

from typing import Any

from django.http import Http404

from webapp.accounts.access import Somebody, check
from webapp.accounts.permissions import Action, Role
from webapp.runs.models import DatasetSnapshot, Evaluation, TrainingRun

GONE = "There is no such {}, or it is not yours to see."
MOST = 2**31 - 1


def run_by_number(user: Somebody, slug: str, number: int, action: Action) -> tuple[TrainingRun, Role]:
    """The run and the person's role in its project; Http404 or PermissionDenied as everywhere."""
    rows = TrainingRun.objects.select_related("project", "snapshot", "parent", "cloned_from", "job", "created_by")
    return _found(user, rows, slug, number, action, "run")


def snapshot_by_number(user: Somebody, slug: str, number: int, action: Action) -> tuple[DatasetSnapshot, Role]:
    rows = DatasetSnapshot.objects.select_related("project", "job", "created_by")
    return _found(user, rows, slug, number, action, "snapshot")


def evaluation_by_number(user: Somebody, slug: str, number: int, action: Action) -> tuple[Evaluation, Role]:
    rows = Evaluation.objects.select_related("project", "run", "release", "job", "created_by")
    return _found(user, rows, slug, number, action, "evaluation")


def _found(user: Somebody, rows: Any, slug: str, number: int, action: Action, what: str) -> tuple[Any, Role]:
    found = rows.filter(project__slug=slug, number=number).first() if 0 <= number <= MOST else None
    if found is None:
        raise Http404(GONE.format(what))
    return found, check(user, found.project_id, action)
