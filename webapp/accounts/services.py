"""Writes of users, login links, memberships and preferences; the only place that writes these tables."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import authenticate
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from webapp.accounts.models import LoginFailure, LoginLink, Membership, User
from webapp.accounts.permissions import ROLES
from webapp.lib.errors import Refused
from webapp.library.models import Project

LINK_LIFE = timedelta(hours=72)
FAILURES_ALLOWED = 10
FAILURES_WINDOW = timedelta(minutes=15)

# ---------------------------------------------------------------------------------------------------------------------
# Logging in


class TooManyFailures(Exception):
    """Nobody may try this name from this address before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__("too many failed logins")
        self.until = until

    @property
    def sentence(self) -> str:
        minutes = max(1, -(-int((self.until - timezone.now()).total_seconds()) // 60))
        return f"Too many failed logins. Wait {minutes} minute{'s' if minutes > 1 else ''}, then try again."


def check_password(*, request: HttpRequest, username: str, password: str) -> User | None:
    """The active user with this name and password, or None. Raises TooManyFailures after 10 failures in 15 minutes."""
    address = request.META.get("REMOTE_ADDR", "")[:45]
    name = username.strip().lower()[:150]
    since = timezone.now() - FAILURES_WINDOW
    recent = LoginFailure.objects.filter(username=name, address=address, created__gte=since).order_by("-created")
    times = list(recent.values_list("created", flat=True)[:FAILURES_ALLOWED])
    if len(times) == FAILURES_ALLOWED:
        raise TooManyFailures(times[-1] + FAILURES_WINDOW)
    user = authenticate(request, username=username.strip(), password=password)
    if isinstance(user, User):
        recent.delete()
        return user
    LoginFailure.objects.filter(created__lt=since).delete()
    LoginFailure.objects.create(username=name, address=address)
    return None


def make_link(*, user: User, life: timedelta = LINK_LIFE) -> str:
    """Token of a new one-time login link; older unused links of the person stop working."""
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        LoginLink.objects.filter(user=user, used__isnull=True).delete()
        LoginLink.objects.create(user=user, token_sha256=_digest(token), expires=timezone.now() + life)
    return token


def link_user(token: str) -> User | None:
    """Whom the link would log in; None when it is unknown, used, expired or the person is deactivated."""
    link = _open_links().filter(token_sha256=_digest(token)).select_related("user").first()
    return link.user if link else None


def use_link(*, token: str) -> User | None:
    """Burn the link. Of two clicks at once exactly one gets the user."""
    user = link_user(token)
    burnt = _open_links().filter(token_sha256=_digest(token)).update(used=timezone.now())
    return user if burnt else None


def _open_links() -> Any:
    return LoginLink.objects.filter(used__isnull=True, expires__gt=timezone.now(), user__is_active=True)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# Users


@transaction.atomic
def create_user(*, username: str, display_name: str = "", site_admin: bool = False) -> tuple[User, str]:
    """A new person without a password, and the token of the link that logs them in for the first time."""
    if not re.fullmatch(r"[\w.@+-]{1,150}", username):
        raise Refused("A user name has only letters, digits and . @ + - _ in it.", "username")
    if User.objects.filter(username__iexact=username).exists():
        raise Refused(f"There is already a user {username}.", "username")
    user = User(username=username, display_name=display_name, is_superuser=site_admin)
    user.set_unusable_password()
    user.save()
    return user, make_link(user=user)


@transaction.atomic
def set_active(*, user: User, active: bool) -> None:
    """Deactivated people keep their work and their name, and cannot log in; open sessions end at once."""
    if not active:
        _keep_a_site_admin(user)
        LoginLink.objects.filter(user=user, used__isnull=True).delete()
    user.is_active = active
    user.save(update_fields=["is_active"])


@transaction.atomic
def set_site_admin(*, user: User, site_admin: bool) -> None:
    if not site_admin:
        _keep_a_site_admin(user)
    user.is_superuser = site_admin
    user.save(update_fields=["is_superuser"])


def _keep_a_site_admin(user: User) -> None:
    admins = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    if list(admins.values_list("id", flat=True)) == [user.id]:
        raise Refused("This is the last active site admin; make somebody else one first.")


def set_password(*, user: User, password: str) -> None:
    user.set_password(password)
    user.save(update_fields=["password"])


def set_display_name(*, user: User, display_name: str) -> None:
    user.display_name = display_name
    user.save(update_fields=["display_name"])


# ---------------------------------------------------------------------------------------------------------------------
# Preferences

THEMES = ("system", "light", "dark")
ACTION_NAME = re.compile(r"[a-z][a-zA-Z0-9_.:-]{0,59}")
KEY_NAME = re.compile(r"[\x20-\x7e]{1,30}")


def _checked_keys(value: Any) -> dict[str, str]:
    """A key map: action to key, such as {"confirm": "Enter"}; no key twice."""
    if not isinstance(value, dict) or len(value) > 200:
        raise Refused("The key map must be an object of at most 200 actions.", "keys")
    seen: dict[str, str] = {}
    for action, key in value.items():
        if not ACTION_NAME.fullmatch(action) or not isinstance(key, str) or not KEY_NAME.fullmatch(key):
            raise Refused(f"The key map's entry {action[:60]!r} is not an action with a key.", "keys")
        if key in seen:
            raise Refused(f"The key {key} is given to both {seen[key]} and {action}.", "keys")
        seen[key] = action
    return value


def _checked_panels(value: Any) -> dict[str, float]:
    """Sizes of the workspace's panels in CSS pixels, or shares."""
    fine = isinstance(value, dict) and len(value) <= 40
    if not fine or not all(
        ACTION_NAME.fullmatch(name) and isinstance(size, int | float) and 0 <= size <= 10_000
        for name, size in value.items()
    ):
        raise Refused("Panel sizes must be an object of at most 40 numbers from 0 to 10000.", "panels")
    return value


def _checked_theme(value: Any) -> str:
    if value not in THEMES:
        raise Refused("The theme is one of system, light and dark.", "theme")
    return str(value)


CHECKS = {"theme": _checked_theme, "keys": _checked_keys, "panels": _checked_panels}


@transaction.atomic
def set_preferences(*, user: User, changes: dict[str, Any]) -> dict[str, Any]:
    """Replace the named preferences of one's own profile; the others stay. Returns all of them."""
    checked = {}
    for name, value in changes.items():
        if name not in CHECKS:
            raise Refused(f"There is no preference {name[:60]!r}.", name[:60])
        checked[name] = CHECKS[name](value)
    stored = User.objects.select_for_update().get(id=user.id)
    stored.preferences = {**stored.preferences, **checked}
    stored.save(update_fields=["preferences"])
    user.preferences = stored.preferences
    return dict(stored.preferences)


# ---------------------------------------------------------------------------------------------------------------------
# Memberships


@transaction.atomic
def add_member(*, project: Project, username: str, role: str) -> Membership:
    user = User.objects.filter(username__iexact=username.strip(), is_active=True).first()
    if user is None:
        raise Refused(f"There is no user {username.strip()[:150]!r}; a site admin can create one.", "username")
    _check_role(role)
    membership, created = Membership.objects.get_or_create(project=project, user=user, defaults={"role": role})
    if not created:
        raise Refused(f"{user.shown_name} is already a member, as {membership.role}.", "username")
    return membership


@transaction.atomic
def change_role(*, membership: Membership, role: str) -> Membership:
    _check_role(role)
    if role != "admin":
        _keep_an_admin(membership)
    membership.role = role
    membership.save(update_fields=["role"])
    return membership


@transaction.atomic
def remove_member(*, membership: Membership) -> None:
    _keep_an_admin(membership)
    membership.delete()


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise Refused(f"The role is one of {', '.join(ROLES)}.", "role")


def _keep_an_admin(membership: Membership) -> None:
    """Refuse to take away the project's last admin; the project row is locked, so two at once cannot both go."""
    Project.objects.select_for_update().get(id=membership.project_id)
    admins = Membership.objects.filter(project_id=membership.project_id, role="admin", user__is_active=True)
    if list(admins.values_list("id", flat=True)) == [membership.id]:
        raise Refused("This is the project's last admin; give somebody else that role first.", "role")
