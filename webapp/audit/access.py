"""Look-ups of audits, responses and claims for a person and an action, as `webapp.accounts.access` has them.

An open audit is for reviewers and above: what is in it would tell a possible rater, or anybody they talk to, what
others said. Once it is finished everybody in the project reads it.
"""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404

from webapp.accounts.access import Somebody, check
from webapp.accounts.permissions import Action, Role, role_allows
from webapp.audit.models import Audit, Claim, Response

GONE = "There is no such {}, or it is not yours to see."
OPEN = "This audit is not finished; until then it is for reviewers only. Yours is the role {}."


def audit_for(user: Somebody, audit_id: UUID, action: Action) -> tuple[Audit, Role]:
    """The audit and the person's role in its project; Http404 or PermissionDenied as everywhere."""
    found = Audit.objects.select_related("project", "created_by").filter(id=audit_id).first()
    if found is None:
        raise Http404(GONE.format("audit"))
    return found, _checked(user, found, action)


def audit_by_number(user: Somebody, slug: str, number: int, action: Action) -> tuple[Audit, Role]:
    """As `audit_for`, by the number an audit has in its project."""
    found = Audit.objects.select_related("project", "created_by").filter(project__slug=slug, number=number).first()
    if found is None:
        raise Http404(GONE.format("audit"))
    return found, _checked(user, found, action)


def response_for(user: Somebody, response_id: UUID, action: Action) -> tuple[Response, Role]:
    rows = Response.objects.select_related("audit__project", "video__blob", "video__run", "clip", "package")
    found = rows.filter(id=response_id).first()
    if found is None:
        raise Http404(GONE.format("response"))
    return found, _checked(user, found.audit, action)


def claim_for(user: Somebody, claim_id: UUID, action: Action) -> tuple[Claim, Role]:
    rows = Claim.objects.select_related("response__audit__project", "response__video")
    found = rows.filter(id=claim_id).first()
    if found is None:
        raise Http404(GONE.format("claim"))
    return found, _checked(user, found.response.audit, action)


def _checked(user: Somebody, audit: Audit, action: Action) -> Role:
    role = check(user, audit.project_id, action)
    if not may_see(audit, role):
        raise PermissionDenied(OPEN.format(role))
    return role


def may_see(audit: Audit, role: Role) -> bool:
    """Whether this role may look into the audit at all."""
    return audit.state == Audit.State.FINISHED or role_allows(role, "review")
