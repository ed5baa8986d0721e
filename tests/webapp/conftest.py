"""The people of the tests: project "one" with a member of every role, an outsider with project "two", a site admin."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client

PASSWORD = "correct horse battery"
ROLES = {"alice": "admin", "rita": "reviewer", "cora": "curator", "bob": "annotator", "vera": "viewer"}


@pytest.fixture
def password() -> str:
    return PASSWORD


@cache
def hashed_password() -> str:
    return make_password(PASSWORD)  # slow on purpose, so once for all


@pytest.fixture
def people(db: None) -> SimpleNamespace:
    """alice (admin), rita, cora, bob, vera in project `one`; charlie (admin of project `two`); root (site admin)."""
    from webapp.accounts.models import Membership, User
    from webapp.library.models import Project

    hashed = hashed_password()
    one = Project.objects.create(slug="one", name="One")
    two = Project.objects.create(slug="two", name="Two")
    found: dict[str, Any] = {"one": one, "two": two}
    for name, role in ROLES.items():
        found[name] = User.objects.create(username=name, password=hashed)
        Membership.objects.create(project=one, user=found[name], role=role)
    found["charlie"] = User.objects.create(username="charlie", password=hashed)
    Membership.objects.create(project=two, user=found["charlie"], role="admin")
    found["root"] = User.objects.create(username="root", password=hashed, is_superuser=True)
    return SimpleNamespace(**found)


@pytest.fixture
def video(people: SimpleNamespace) -> Any:
    """A ready video of project `one`: 1000 frames of 1280x720, 40 s; its blob has no files."""
    from webapp.library.models import Blob, Video

    facts = {"frames": 1000, "width": 1280, "height": 720, "duration_s": 40.0, "has_audio": False, "warnings": []}
    blob = Blob.objects.create(sha256="ab" * 32, bytes=1, suffix=".mp4", ready=True, facts=facts)
    return Video.objects.create(
        project=people.one,
        blob=blob,
        name="clip.mp4",
        state="ready",
        frames=1000,
        width=1280,
        height=720,
        duration_s=40,
    )


@pytest.fixture
def as_user() -> Any:
    """`as_user(somebody)`: a client logged in as that person."""

    def log_in(user: Any, **options: Any) -> Client:
        client = Client(**options)
        client.force_login(user)
        return client

    return log_in
