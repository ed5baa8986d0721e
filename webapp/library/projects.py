"""Writes of projects."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from webapp.accounts.models import User
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from webapp.library.services import PROVENANCE

CHANGEABLE = ("name", "description", "licence", "consent", "link_identities")


def create_project(*, user: User, slug: str, **fields: Any) -> Project:
    """A new project; its slug stays. Raises Refused when the slug is taken or is none."""
    if slug != slugify(slug) or not slug or slug == "new":
        raise Refused("Use only a-z, 0-9 and - in the short name, and not the word new.", "slug")
    try:
        with transaction.atomic():
            return Project.objects.create(slug=slug, **_known(fields, CHANGEABLE))
    except IntegrityError as error:
        raise Refused(f"There is already a project with the short name {slug}.", "slug") from error


def change_project(*, project: Project, **fields: Any) -> Project:
    for name, value in _known(fields, CHANGEABLE).items():
        setattr(project, name, value)
    project.save(update_fields=list(fields))
    return project


def set_provenance(*, video: Video, name: str, **provenance: str) -> Video:
    """The video's name, and where it comes from: source_recording, licence, consent_note."""
    for field, value in _known({"name": name, **provenance}, ("name", *PROVENANCE)).items():
        setattr(video, field, value)
    video.save(update_fields=["name", *provenance])
    return video


def _known(fields: dict[str, Any], allowed: tuple[str, ...]) -> dict[str, Any]:
    unknown = set(fields) - set(allowed)
    if unknown:
        raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")
    return fields
