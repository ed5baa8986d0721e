"""Look-ups of questions for a person and an action, as `webapp.accounts.access` has them for projects and videos."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404

from webapp.accounts.access import Somebody, check
from webapp.accounts.permissions import Action, Role, role_allows
from webapp.bench.models import Question


def question_for(user: Somebody, question_id: UUID, action: Action) -> tuple[Question, Role]:
    """The question and the person's role in its project; Http404 or PermissionDenied as everywhere."""
    found = Question.objects.select_related("project", "video", "clip").filter(id=question_id).first()
    if found is None:
        raise Http404("There is no such question, or it is not yours to see.")
    return found, check(user, found.project_id, action)


def may_see_keys(role: Role) -> bool:
    """Reviewers and above see keys before a question is decided; whoever looks is never asked to answer it."""
    return role_allows(role, "review")
