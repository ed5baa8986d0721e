"""The only way to a project or to anything in one: look it up for a person and an action.

Somebody outside a project gets 404, as if it were not there; a member whose role is too low gets 403.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404

from webapp.accounts.models import Membership, User
from webapp.accounts.permissions import LEAST_ROLE, ROLE_WORDS, Action, Role, actions_of, role_allows, roles_that_may
from webapp.library.models import Project, Video

Somebody = User | AnonymousUser


def role_in(user: Somebody, project_id: UUID) -> Role | None:
    """The person's role; site admins are admins everywhere; None for outsiders."""
    if not user.is_authenticated or not user.is_active:
        return None
    if user.is_superuser:
        return "admin"
    role = Membership.objects.filter(user=user, project_id=project_id).values_list("role", flat=True).first()
    return cast("Role | None", role)


def check(user: Somebody, project_id: UUID, action: Action) -> Role:
    """The person's role when it allows the action; Http404 for outsiders, PermissionDenied for a lower role."""
    role = role_in(user, project_id)
    if role is None:
        raise Http404("There is no such page, or it is not yours to see.")
    require(role, action)
    return role


def require(role: Role, action: Action) -> None:
    """Raises PermissionDenied, in words, when the role does not allow the action."""
    if not role_allows(role, action):
        least = LEAST_ROLE[action]
        raise PermissionDenied(f"This needs the role {least} ({ROLE_WORDS[least]}); yours is {role}.")


def project_for(user: Somebody, slug: str, action: Action) -> Project:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise Http404("There is no such page, or it is not yours to see.")
    check(user, project.id, action)
    return project


def video_for(user: Somebody, video_id: UUID, action: Action) -> Video:
    video = Video.objects.select_related("project", "blob", "run").filter(id=video_id).first()
    if video is None:
        raise Http404("There is no such page, or it is not yours to see.")
    check(user, video.project_id, action)
    return video


# What edits need of a video. Written out, since the hot path of every save spends more on composing than on asking.
LOCKED_VIDEO = """
SELECT v.id, v.project_id, v.frames, v.shots, v.revision, v.next_person, v.proposed_count, v.reviewed_count,
    v.has_questions, v.doubted
FROM library_video v
WHERE v.id = %(video)s AND (%(admin)s OR EXISTS (
    SELECT FROM accounts_membership m
    WHERE m.project_id = v.project_id AND m.user_id = %(user)s AND m.role = ANY(%(roles)s)))
FOR NO KEY UPDATE OF v
"""


def locked_video(user: Somebody, video_id: UUID, action: Action) -> Video:
    """As `video_for`, with the video's row locked until the transaction ends: one query. Who may not locks nothing."""
    if user.is_authenticated and user.is_active:
        wanted = {"video": video_id, "admin": user.is_superuser, "user": user.pk, "roles": roles_that_may(action)}
        for video in Video.objects.raw(LOCKED_VIDEO, wanted):
            return video
    video_for(user, video_id, action)  # says why not
    raise Http404("There is no such page, or it is not yours to see.")


def projects_of(user: Somebody) -> Any:
    """Projects the person may see."""
    if not user.is_authenticated:
        return Project.objects.none()
    if user.is_superuser:
        return Project.objects.all()
    return Project.objects.filter(memberships__user=user)


def allowed(user: Somebody, project_id: UUID) -> list[Action]:
    """Everything the person may do in the project."""
    role = role_in(user, project_id)
    return actions_of(role) if role else []


def require_site_admin(user: Somebody) -> None:
    if not (user.is_authenticated and user.is_superuser):
        raise PermissionDenied("Only a site admin may do this.")
