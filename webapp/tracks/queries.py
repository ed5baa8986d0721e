"""Reads of who is who."""

from __future__ import annotations

from webapp.library.models import Video
from webapp.tracks.models import Person


def roots_of(video: Video) -> dict[str, str]:
    """Person id -> id of the person it was merged into, in the end (itself when it was not)."""
    parents = {str(p.id): str(p.merged_into_id or "") for p in Person.objects.filter(video=video)}

    def root(person: str) -> str:
        while parents[person]:
            person = parents[person]
        return person

    return {person: root(person) for person in parents}
