"""Writes of events, gaze corrections, coverage and comments. Called inside the edit ledger's transaction.

Each function returns the changes it made as (kind, id, before, after) with full rows; None stands for "not there".
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from webapp.accounts.models import User
from webapp.events import rows
from webapp.events.models import Comment, Coverage, Event, GazeCorrection
from webapp.events.rules import check_roles, check_span, modality_of
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Video
from webapp.tracks.models import Person
from webapp.tracks.queries import roots_of

Change = tuple[str, str, rows.Row | None, rows.Row | None]
Fields = dict[str, Any]

EVENT_FIELDS = {"status", "start", "end", "type", "participants", "note"}
CORRECTION_FIELDS = {"person", "start", "end", "kind", "x", "y", "target_person"}
COVERAGE_FIELDS = {"persons", "modality", "start", "end"}


def take(fields: Fields, allowed: set[str]) -> Fields:
    """The fields, if all of them are known."""
    unknown = sorted(set(fields) - allowed)
    if unknown:
        raise Refused(f"There is no field {unknown[0]!r} here.", unknown[0])
    return fields


def frame(fields: Fields, name: str) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(f"{name!r} must be a frame number, not {value!r}.", name)
    return value


def text(fields: Fields, name: str, most: int) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str) or len(value) > most or not storable(value):
        raise Refused(f"{name!r} must be text of at most {most} characters.", name)
    return value.strip()


def storable(text: str) -> bool:
    """Whether the database can hold the text: no NUL, and no half of a surrogate pair."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def known_persons(video: Video, ids: list[str], field: str) -> dict[UUID, UUID | None]:
    """Whom each of these persons was merged into. Raises Refused unless every id is a person of the video."""
    wanted = {uuid_of(i, field) for i in ids}
    people = Person.objects.filter(video=video, id__in=wanted).values_list("id", "merged_into_id")
    found: dict[UUID, UUID | None] = dict(people)
    if wanted - found.keys():
        raise Refused("A person named here is not in this video.", field)
    return found


def uuid_of(value: Any, field: str) -> UUID:
    try:
        return UUID(str(value))
    except ValueError:
        raise Refused(f"{value!r} is not an id.", field) from None


def participants(video: Video, fields: Fields) -> list[list[str]]:
    given = fields.get("participants")
    if not isinstance(given, list) or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in given):
        raise Refused("'participants' must be a list of [person id, role].", "participants")
    pairs = [[str(uuid_of(person, "participants")), str(role)] for person, role in given]
    merged_into = known_persons(video, [person for person, _ in pairs], "participants")
    if any(merged_into.values()):
        roots = roots_of(video)
        if len({roots[person] for person, _ in pairs}) < len({person for person, _ in pairs}):
            raise Refused("Two of the people named were merged into one.", "participants")
    return sorted(pairs)


def find(kind: str, video: Video, id: UUID, version: int | None) -> Any:
    """The row an edit is about. Stale unless it is there and at the version the edit was made from."""
    found = rows.current(kind, str(id), video)
    if found is None or found.version != version:
        theirs = None if found is None else rows.public(rows.ROW_OF[kind](found))
        raise Stale(kind=kind, id=str(id), base=version, theirs=theirs)
    return found


def absent(kind: str, video: Video, id: UUID) -> None:
    """Raises Stale when the id is taken in this video, Refused when it is taken elsewhere."""
    theirs = rows.current_row(kind, str(id), video)
    if theirs is not None:
        raise Stale(kind=kind, id=str(id), base=None, theirs=rows.public(theirs))
    if rows.MODELS[kind]._default_manager.filter(pk=id).exists():
        raise Refused("This id is taken.", "object")


# ---------------------------------------------------------------------------------------------------------------------
# Events


def create_event(*, video: Video, user: User, id: UUID, fields: Fields) -> list[Change]:
    """A human-made event in the working set, confirmed unless the fields say otherwise."""
    take(fields, EVENT_FIELDS | {"modality"})
    absent("event", video, id)
    event = Event(
        id=id,
        video=video,
        set=rows.set_of(video, "working"),
        modality=modality_of(str(fields.get("type"))),
        type=fields["type"],
        start=frame(fields, "start"),
        end=frame(fields, "end"),
        status=_status(fields.get("status", Event.Status.CONFIRMED)),
        note=text(fields, "note", 4000),
        origin=Event.Origin.HUMAN,
        changed_by=user,
    )
    people = participants(video, fields)
    _check(video, event, people)
    event.save(force_insert=True)
    rows.write_participants(event, people)
    return [("event", str(id), None, rows.event_row(event, people))]


def update_event(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Change an event; a proposal moves into the working set by it, under the same id."""
    take(fields, EVENT_FIELDS)
    event: Event = find("event", video, id, version)
    before = rows.event_row(event)
    people = participants(video, fields) if "participants" in fields else before["participants"]
    for name in ("start", "end"):
        if name in fields:
            setattr(event, name, frame(fields, name))
    if "type" in fields:
        event.type, event.modality = fields["type"], modality_of(str(fields["type"]))
    if "status" in fields:
        event.status = _status(fields["status"])
    if "note" in fields:
        event.note = text(fields, "note", 4000)
    if {"start", "end", "type", "participants"} & fields.keys():
        _check(video, event, people, before)
    rows.move_to_working(event, video)
    if event.machine:
        event.machine = {key: value for key, value in event.machine.items() if key != "stale"}
    event.version += 1
    event.changed_by = user
    event.save()
    if people != before["participants"]:
        rows.write_participants(event, people)
    return [("event", str(id), before, rows.event_row(event, people))]


def delete_event(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Remove a human-made event. What a rule proposed is rejected instead, so that it does not come back."""
    take(fields, set())
    event: Event = find("event", video, id, version)
    if event.origin != Event.Origin.HUMAN:
        raise Refused("A proposal is rejected, not deleted: deleted it would be proposed again.", "object")
    before = rows.event_row(event)
    event.delete()
    return [("event", str(id), before, None)]


def _status(value: Any) -> str:
    if value not in Event.Status.values:
        raise Refused(f"{value!r} is not a status; use proposed, confirmed or rejected.", "status")
    return str(value)


def _check(video: Video, event: Event, people: list[list[str]], before: rows.Row | None = None) -> None:
    """Raises Refused when the event makes no sense. An event that a later run's cut runs through may still be changed,
    as long as it does not grow over the cut's side.
    """
    grows = before is None or event.start < before["start"] or event.end > before["end"]
    check_span(event.start, event.end, video.frames, video.shots if grows else [])
    check_roles(event.type, [(person, role) for person, role in people])


def add_comment(*, event: Event, user: User, id: UUID, text: str) -> Comment:
    """A remark on an event; the same id again is the same remark. Called inside the ledger's `comment`."""
    words = text.strip()
    if not words or len(words) > 4000 or not storable(words):
        raise Refused("A comment has between 1 and 4000 characters.", "text")
    known = Comment.objects.filter(id=id).first()
    if known is not None and (known.event_id != event.id or known.user_id != user.id):
        raise Refused("This id is taken.", "id")
    return known or Comment.objects.create(id=id, video_id=event.video_id, event=event, user=user, text=words)


def keep(*, video: Video, event: Event, user: User) -> list[Change]:
    """A human's word was said on a proposal: it moves to the working set, so that no new derivation removes it."""
    if event.set.kind == "working":
        return []
    before = rows.event_row(event)
    rows.move_to_working(event, video)
    event.version += 1
    event.changed_by = user
    event.save()
    return [("event", str(event.id), before, rows.event_row(event, before["participants"]))]


# ---------------------------------------------------------------------------------------------------------------------
# Gaze corrections


def save_correction(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Create (version None) or change where a person looks during a span."""
    take(fields, CORRECTION_FIELDS)
    if version is None:
        absent("correction", video, id)
        correction = GazeCorrection(id=id, video=video, set=rows.set_of(video, "working"), version=0)
        before = None
    else:
        correction = find("correction", video, id, version)
        before = rows.correction_row(correction)
    full = (before or {}) | fields
    known_persons(video, [p for p in (full.get("person"), full.get("target_person")) if p], "person")
    if not full.get("person"):
        raise Refused("Whose gaze is corrected?", "person")
    correction.person_id = uuid_of(full["person"], "person")
    correction.start, correction.end = frame(full, "start"), frame(full, "end")
    check_span(correction.start, correction.end, video.frames, video.shots)
    if full.get("kind") not in GazeCorrection.Kind.values:
        raise Refused(f"{full.get('kind')!r} is not a kind of gaze target.", "kind")
    correction.kind = full["kind"]
    correction.x, correction.y = _point(full)
    correction.target_person_id = _target(full)
    correction.version += 1
    correction.changed_by = user
    correction.save()
    return [("correction", str(id), before, rows.correction_row(correction))]


def _point(full: Fields) -> tuple[float | None, float | None]:
    if full["kind"] not in ("point", "object"):
        return None, None
    x, y = full.get("x"), full.get("y")
    for name, value in (("x", x), ("y", y)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1 <= value <= 2:
            raise Refused(f"{name!r} must be a normalised picture coordinate, not {value!r}.", name)
    return x, y


def _target(full: Fields) -> UUID | None:
    if full["kind"] != "person":
        return None
    if not full.get("target_person") or full["target_person"] == full["person"]:
        raise Refused("Name the other person who is looked at.", "target_person")
    return uuid_of(full["target_person"], "target_person")


def delete_row(kind: str, *, video: Video, id: UUID, version: int | None) -> list[Change]:
    """Remove a correction or coverage."""
    found = find(kind, video, id, version)
    before = rows.ROW_OF[kind](found)
    found.delete()
    return [(kind, str(id), before, None)]


# ---------------------------------------------------------------------------------------------------------------------
# Coverage


def save_coverage(*, video: Video, user: User, id: UUID, version: int | None, fields: Fields) -> list[Change]:
    """Create (version None) or change "everything of this modality is marked here"."""
    take(fields, COVERAGE_FIELDS)
    if version is None:
        absent("coverage", video, id)
        coverage = Coverage(id=id, video=video, set=rows.set_of(video, "working"), version=0)
        before = None
    else:
        coverage = find("coverage", video, id, version)
        before = rows.coverage_row(coverage)
    full = (before or {"persons": []}) | fields
    if not isinstance(full["persons"], list):
        raise Refused("'persons' must be a list of person ids; empty means everybody.", "persons")
    known_persons(video, full["persons"], "persons")
    if full.get("modality") not in ("gaze", "gesture"):
        raise Refused("'modality' must be gaze or gesture.", "modality")
    coverage.persons = sorted(str(uuid_of(p, "persons")) for p in full["persons"])
    coverage.modality = full["modality"]
    coverage.start, coverage.end = frame(full, "start"), frame(full, "end")
    if not 0 <= coverage.start < coverage.end <= video.frames:
        raise Refused(f"The span [{coverage.start}, {coverage.end}) does not lie in the video.", "start")
    coverage.version += 1
    coverage.changed_by = user
    coverage.save()
    return [("coverage", str(id), before, rows.coverage_row(coverage))]
