"""People, what they may do in which project, and one-time login links."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models

from webapp.accounts.permissions import ROLES


class User(AbstractUser):
    """A person with a login. `is_superuser` makes a site admin; `preferences` holds theme, key map and panel sizes."""

    display_name = models.CharField(max_length=100, blank=True)
    preferences = models.JSONField(default=dict, blank=True)

    @property
    def shown_name(self) -> str:
        return self.display_name or self.username


class Membership(models.Model):
    """One person's role in one project."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=[(r, r) for r in ROLES])
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} as {self.role}"


class LoginLink(models.Model):
    """A link that logs one person in, once. Only the token's sha256 is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="login_links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"login link of {self.user}"


class LoginFailure(models.Model):
    """A wrong name or password, kept for the quarter of an hour in which it counts against more tries."""

    username = models.CharField(max_length=150)
    address = models.CharField(max_length=45)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["username", "address", "created"], name="login_failures")]

    def __str__(self) -> str:
        return f"{self.username} from {self.address}"
