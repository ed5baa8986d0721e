"""Edits of identity: names, merges, splits, re-assignments. Called inside the edit ledger's transaction.

A merge only makes one person an alias of another; tracklets, roles and corrections keep the person they name and are
read through the alias. So a merge is one row, and taking it back loses nothing.
"""

from __future__ import annotations

import re
import uuid
from uuid import UUID

from django.db.models import F

from webapp.accounts.models import User
from webapp.events import rows
from webapp.events.services import Change, Fields, absent, find, frame, known_persons, take, text, uuid_of
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Video
from webapp.tracks.models import IdentityProposal, Person, Tracklet


def update_person(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    take(fields, {"name", "colour"})
    person: Person = find("person", video, id, version)
    before = rows.person_row(person)
    if "name" in fields:
        person.name = text(fields, "name", 80)
    if "colour" in fields:
        colour = fields["colour"]
        if not isinstance(colour, str) or not re.fullmatch(r"#[0-9a-f]{6}|", colour):
            raise Refused("A colour is written #rrggbb, or left empty.", "colour")
        person.colour = colour
    return [_saved(person, before)]


def _saved(person: Person, before: rows.Row) -> Change:
    person.version += 1
    person.save()
    return ("person", str(person.id), before, rows.person_row(person))


def root_of(person: Person) -> Person:
    """The person this one was merged into, through any number of merges."""
    while person.merged_into is not None:
        person = person.merged_into
    return person


def merge_person(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Make the person an alias of `into`."""
    take(fields, {"into"})
    into = Person.objects.filter(video=video, id=uuid_of(fields.get("into"), "into")).first()
    if into is None:
        raise Refused("The person to merge into is not in this video.", "into")
    person: Person = find("person", video, id, version)
    if root_of(into).id == person.id:
        raise Refused("These are the same person already.", "into")
    if person.merged_into_id is not None:
        raise Refused("This person is merged into another one already.", "object")
    before = rows.person_row(person)
    person.merged_into = root_of(into)
    return [_saved(person, before)]


def split_person(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Give some of the person's tracklets, or their part from frame `at` on, to a new person.

    `version` is the person's, so that two people who split at once see each other.
    """
    take(fields, {"tracklets", "at", "new"})
    person: Person = find("person", video, id, version)
    before = rows.person_row(person)
    ids = fields.get("tracklets")
    if not isinstance(ids, list) or not ids:
        raise Refused("Which tracklets move to the new person?", "tracklets")
    moved = list(
        Tracklet.objects.select_for_update().filter(
            run__video=video, id__in=[uuid_of(i, "tracklets") for i in ids], person__in=family(person)
        )
    )
    if len(moved) != len(set(ids)):
        raise Stale(kind="person", id=str(id), base=version, theirs=before)
    changes = [_saved(person, before), _new_person(video, uuid_of(fields.get("new"), "new"))]
    at = None if fields.get("at") is None else frame(fields, "at")
    for tracklet in sorted(moved, key=lambda t: (t.start, t.track)):
        changes += _give(tracklet, changes[1][1], at)
    return changes


def family(person: Person) -> list[UUID]:
    """The person and every alias of it."""
    found, fresh = [person.id], [person.id]
    while fresh:
        fresh = list(Person.objects.filter(merged_into__in=fresh).values_list("id", flat=True))
        found += fresh
    return found


def _new_person(video: Video, id: UUID) -> Change:
    absent("person", video, id)
    person = Person.objects.create(id=id, video=video, number=give_number(video))
    return ("person", str(id), None, rows.person_row(person))


def give_number(video: Video) -> int:
    """The next person number of the video; the caller holds the video's row lock."""
    Video.objects.filter(id=video.id).update(next_person=F("next_person") + 1)
    video.refresh_from_db(fields=["next_person"])
    return video.next_person - 1


def refuse_if_used(person: Person) -> None:
    """A person who is about to vanish by undo must not take later work with them."""
    used = (person.tracklets, person.participations, person.corrections, person.looked_at_by)
    covered = person.video.coverage.filter(persons__contains=[str(person.id)])
    if any(rows_.exists() for rows_ in used) or covered.exists():
        raise Refused(f"{person} is used by later edits; undo those first.", "object")
    if person.aliases.exists() or person.merged_into_id is not None:
        raise Refused(f"{person} was merged since; undo that first.", "object")


def _give(tracklet: Tracklet, person: str, at: int | None) -> list[Change]:
    """Move a tracklet, or its part from `at` on, to a person."""
    before = rows.tracklet_row(tracklet)
    tracklet.version += 1
    tracklet.human = True
    if at is None or at <= tracklet.start:
        tracklet.person_id = UUID(person)
        tracklet.save()
        return [("tracklet", str(tracklet.id), before, rows.tracklet_row(tracklet))]
    if at >= tracklet.end:
        raise Refused(f"The tracklet ends at frame {tracklet.end}, before the split at {at}.", "at")
    rest = Tracklet(
        id=uuid.uuid4(),
        run_id=tracklet.run_id,
        track=tracklet.track,
        start=at,
        end=tracklet.end,
        person_id=UUID(person),
        human=True,
    )
    tracklet.end = at
    tracklet.save()
    rest.save(force_insert=True)
    return [
        ("tracklet", str(tracklet.id), before, rows.tracklet_row(tracklet)),
        ("tracklet", str(rest.id), None, rows.tracklet_row(rest)),
    ]


def assign_tracklet(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Say whose tracklet it is."""
    take(fields, {"person"})
    person = str(uuid_of(fields.get("person"), "person"))
    known_persons(video, [person], "person")
    tracklet: Tracklet = find("tracklet", video, id, version)
    return _give(tracklet, person, None)


def answer_identity(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Say whether two persons are one. "same" merges the higher number into the lower.

    "different" takes no merge back: which one it was, and what was built on it, only undo knows.
    """
    take(fields, {"state"})
    if fields.get("state") not in ("same", "different"):
        raise Refused("The answer is same or different.", "state")
    proposal: IdentityProposal = find("identity", video, id, version)
    before = rows.identity_row(proposal)
    low, high = sorted((root_of(proposal.first), root_of(proposal.second)), key=lambda p: p.number)
    if fields["state"] == "different" and low.id == high.id:
        raise Refused("These two are merged. Undo the merge first, then say that they are different.", "state")
    proposal.state, proposal.decided_by = fields["state"], user
    proposal.version += 1
    proposal.save()
    changes: list[Change] = [("identity", str(id), before, rows.identity_row(proposal))]
    if fields["state"] == "same" and low.id != high.id:
        changes += merge_person(video=video, user=user, id=high.id, version=high.version, fields={"into": low.id})
    return changes
