"""The first site admin and the one-time link that logs them in: no default password exists."""

from __future__ import annotations

import getpass
from datetime import timedelta

from django.db import transaction

from webapp.accounts.models import User
from webapp.accounts.services import make_link
from webapp.studio.errors import StudioError


@transaction.atomic
def site_admin() -> User:
    """The first site admin, made without a password when there is none."""
    admin = User.objects.filter(is_superuser=True, is_active=True).order_by("id").first()
    if admin is not None:
        return admin
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        name = "admin"
    user = User(username=name, is_superuser=True, is_staff=False)
    user.set_unusable_password()
    user.save()
    return user


def person(name: str | None) -> User:
    """The user of this name, or the first site admin. Raises StudioError."""
    if name is None:
        return site_admin()
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise StudioError(f"There is no user {name!r}.")
    return user


def login_address(address: str, user: User, hours: int = 1, after: str = "") -> str:
    """A full link that logs `user` in once and then leads to the page `after` (default: the projects)."""
    link = f"{address}/link/{make_link(user=user, life=timedelta(hours=hours))}/"
    return f"{link}?next={after}" if after else link
