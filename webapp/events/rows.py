"""Curated rows as dictionaries: what the page gets, what the ledger keeps, and what undo restores.

A full row of an event also has `details` and `machine`; `public` leaves them out (they are fetched one by one).
Dictionaries are plain JSON: ids are strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.db import models

from webapp.events.models import AnnotationSet, Coverage, Event, GazeCorrection, Participation
from webapp.library.models import Video
from webapp.tracks.models import IdentityProposal, Person, Tracklet

Row = dict[str, Any]
PRIVATE = ("details", "machine")


def public(row: Row | None) -> Row | None:
    return None if row is None else {key: value for key, value in row.items() if key not in PRIVATE}


def _id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


# ---------------------------------------------------------------------------------------------------------------------
# Rows out


def participants_of(event: Event) -> list[list[str]]:
    """[person id, role] in a fixed order; uses what the query brought along or prefetched, where it did."""
    if event.people is not None:
        return event.people
    return sorted([str(p.person_id), p.role] for p in event.participations.all())


def differs(machine: Row | None, type: str, start: int, end: int, participants: list[list[str]]) -> bool:
    """A human changed what the rules proposed (type, span or roles)."""
    if not machine or machine.get("gone"):
        return False
    proposed = (machine["type"], machine["start"], machine["end"], sorted(machine["roles"]))
    return proposed != (type, start, end, participants)


def event_row(event: Event, participants: list[list[str]] | None = None) -> Row:
    """`participants` saves asking the database where the caller knows them."""
    people = participants_of(event) if participants is None else participants
    return {
        "id": str(event.id),
        "set": event.set.kind,
        "modality": event.modality,
        "type": event.type,
        "start": event.start,
        "end": event.end,
        "confidence": event.confidence,
        "status": event.status,
        "origin": event.origin,
        "edited": differs(event.machine, event.type, event.start, event.end, people),
        "stale": bool(event.machine and event.machine.get("stale")),
        "note": event.note,
        "version": event.version,
        "participants": people,
        "details": event.details,
        "machine": event.machine,
    }


def person_row(person: Person) -> Row:
    return {
        "id": str(person.id),
        "number": person.number,
        "name": person.name,
        "colour": person.colour,
        "merged_into": _id(person.merged_into_id),
        "version": person.version,
    }


def tracklet_row(tracklet: Tracklet) -> Row:
    return {
        "id": str(tracklet.id),
        "run": str(tracklet.run_id),
        "track": tracklet.track,
        "start": tracklet.start,
        "end": tracklet.end,
        "person": str(tracklet.person_id),
        "human": tracklet.human,
        "version": tracklet.version,
    }


def correction_row(correction: GazeCorrection) -> Row:
    return {
        "id": str(correction.id),
        "person": str(correction.person_id),
        "start": correction.start,
        "end": correction.end,
        "kind": correction.kind,
        "x": correction.x,
        "y": correction.y,
        "target_person": _id(correction.target_person_id),
        "version": correction.version,
    }


def coverage_row(coverage: Coverage) -> Row:
    return {
        "id": str(coverage.id),
        "persons": coverage.persons,
        "modality": coverage.modality,
        "start": coverage.start,
        "end": coverage.end,
        "version": coverage.version,
    }


def identity_row(proposal: IdentityProposal) -> Row:
    return {
        "id": str(proposal.id),
        "first": str(proposal.first_id),
        "second": str(proposal.second_id),
        "similarity": proposal.similarity,
        "state": proposal.state,
        "version": proposal.version,
    }


MODELS: dict[str, type[models.Model]] = {
    "event": Event,
    "person": Person,
    "tracklet": Tracklet,
    "correction": GazeCorrection,
    "coverage": Coverage,
    "identity": IdentityProposal,
}
ROW_OF: dict[str, Callable[[Any], Row]] = {
    "event": event_row,
    "person": person_row,
    "tracklet": tracklet_row,
    "correction": correction_row,
    "coverage": coverage_row,
    "identity": identity_row,
}


# An event with its set and roles, and the set it moves to when a human says a word: one query for every save
LOCKED_EVENT = """
SELECT e.*, s.kind AS set_kind,
       (SELECT w.id FROM events_annotationset w WHERE w.video_id = e.video_id AND w.kind = 'working') AS working_id,
       ARRAY(SELECT ARRAY[p.person_id::text, p.role::text] FROM events_participation p
             WHERE p.event_id = e.id) AS people
FROM events_event e JOIN events_annotationset s ON s.id = e.set_id
WHERE e.id = %s AND e.video_id = %s
FOR UPDATE OF e
"""


def current(kind: str, id: str, video: Video) -> Any:
    """The stored object of this video, locked for the transaction, or None."""
    if kind == "event":
        return _event(id, video)
    through_run = {"run__video": video} if kind == "tracklet" else {"video": video}
    return MODELS[kind]._default_manager.select_for_update(of=("self",)).filter(pk=id, **through_run).first()


def _event(id: str, video: Video) -> Event | None:
    event: Any
    for event in Event.objects.raw(LOCKED_EVENT, [id, video.id]):
        event.people.sort()
        event.set = AnnotationSet(id=event.set_id, video_id=video.id, kind=event.set_kind)
        return cast(Event, event)
    return None


def move_to_working(event: Event, video: Video) -> None:
    """A human's word was said on the event: it belongs to the shared working set from now on."""
    if event.set.kind != "working":
        known = getattr(event, "working_id", None)
        event.set = AnnotationSet(id=known, video=video, kind="working") if known else set_of(video, "working")


def current_row(kind: str, id: str, video: Video) -> Row | None:
    found = current(kind, id, video)
    return None if found is None else ROW_OF[kind](found)


# ---------------------------------------------------------------------------------------------------------------------
# Rows in


def set_of(video: Video, kind: str) -> AnnotationSet:
    """The video's shared set of a kind; made at the first use."""
    return AnnotationSet.objects.get_or_create(video=video, kind=kind)[0]


def write_participants(event: Event, participants: list[list[str]]) -> None:
    """Make the event's roles exactly these, touching only what differs."""
    wanted = {(person, role) for person, role in participants}
    for row in event.participations.all():
        if (str(row.person_id), row.role) in wanted:
            wanted.discard((str(row.person_id), row.role))
        else:
            row.delete()
    Participation.objects.bulk_create([Participation(event=event, person_id=p, role=r) for p, r in sorted(wanted)])


def restore(kind: str, video: Video, row: Row, version: int, user: Any) -> Row:
    """Write a full row back under its id with a new version; returns the row as stored."""
    values = {key: value for key, value in row.items() if key not in ("id", "version", "participants")}
    if kind == "event":
        people = row["participants"]
        for derived in ("edited", "stale"):
            values.pop(derived)
        values |= {"set": set_of(video, row["set"]), "video": video, "changed_by": user}
        event, _ = Event.objects.update_or_create(id=row["id"], defaults=values | {"version": version})
        write_participants(event, people)
        return event_row(event)
    for name in ("person", "target_person", "merged_into", "first", "second", "run"):
        if name in values:
            values[f"{name}_id"] = values.pop(name)
    if kind in ("correction", "coverage"):
        values |= {"set": set_of(video, "working"), "changed_by": user}
    if kind != "tracklet":
        values["video"] = video
    if kind == "coverage":
        values["persons"] = row["persons"]
    object_, _ = MODELS[kind]._default_manager.update_or_create(id=row["id"], defaults=values | {"version": version})
    return ROW_OF[kind](object_)
