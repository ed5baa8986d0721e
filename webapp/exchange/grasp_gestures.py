"""A GRASP gestures file becomes proposals of a video: imported gestures that wait for somebody's word.

Times of the file count from the first presented frame. Where the file names frames and the hash of this very media
(our own exports do), the frames are taken; else a gesture begins with the frame that is on the screen at its start and
ends before the first one that begins at or after its end. Persons are those of the video with these numbers. A gesture
that runs across a cut keeps the shot that holds most of it; the file's span stays in its details.

What people said stands: a gesture they confirmed, changed or rejected is not proposed again. The same file again
changes nothing; another one replaces what an earlier file proposed and nobody touched.
"""

from __future__ import annotations

import hashlib
import uuid
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pghistory
from django.db import transaction
from numpy.typing import NDArray

from ml.formats.grasp_gestures import GestureRecord, GesturesFile, parse
from webapp.accounts.models import User
from webapp.events import derivation, ledger, witnesses
from webapp.events.models import Event
from webapp.events.rows import Row
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.models import Person
from webapp.tracks.queries import roots_of

SOURCE = "gestures-file"
EDIT = "events.import"
CLOSE_S = 1e-6  # seconds that rounding in a file may cost
KNOWN = ("initiator_box",)  # fields of our own exports that are kept as what they are


@dataclass(frozen=True)
class Imported:
    """What an import did: proposals added, changed and removed, gestures that people had spoken of, spans trimmed."""

    gestures: int
    added: int
    changed: int
    removed: int
    known: int
    trimmed: int


def import_file(*, path: Path, video: Video, user: User | None) -> Imported:
    """Bring a gestures file in. Raises FormatError (the file) and Refused (it does not fit the video)."""
    data = path.read_bytes()
    found = parse(data)
    seconds = frame_seconds(video)
    sha256 = hashlib.sha256(data).hexdigest()
    with transaction.atomic(), pghistory.context(user=user.pk if user else None, why=EDIT):
        locked = Video.objects.select_for_update(no_key=True).get(id=video.id)
        people = people_of(locked)
        exact = found.extra.get("media_sha256") == locked.blob_id and locked.blob_id is not None
        rows = [
            machine_row(record, f"gestures[{at}]", locked, people, seconds, exact, found, sha256)
            for at, record in enumerate(found.gestures)
        ]
        rows.sort(key=lambda row: (row["start"], row["end"], row["type"], row["roles"]))
        wanted = witnesses.settled(rows, derivation.known_events(locked, SOURCE), SOURCE)
        changes = derivation.write(locked, wanted)
        if changes:
            ledger.record(video=locked, user=user, id=uuid.uuid4(), kind=EDIT, changes=changes)
    counts = {name: len(items) for name, items in wanted.items()}
    return Imported(
        gestures=len(rows),
        added=counts["added"],
        changed=counts["changed"],
        removed=counts["removed"],
        known=len(rows) - len(waiting(video)),
        trimmed=sum("file_span" in row["details"] for row in rows),
    )


def waiting(video: Video) -> list[str]:
    """Ids of the proposals of files that wait for a word."""
    found = Event.objects.filter(video=video, set__kind="proposal", machine__detector=SOURCE)
    return [str(id) for id in found.values_list("id", flat=True)]


def people_of(video: Video) -> dict[int, str]:
    """Number -> person id; the number of somebody merged stands for the person they are now."""
    roots = roots_of(video)
    return {person.number: roots[str(person.id)] for person in Person.objects.filter(video=video)}


def machine_row(
    record: GestureRecord,
    place: str,
    video: Video,
    people: dict[int, str],
    seconds: NDArray[np.float64],
    exact: bool,
    file: GesturesFile,
    sha256: str,
) -> Row:
    """The proposal of one gesture. Raises Refused naming its place in the file."""
    for number in record.persons:
        if number not in people:
            raise Refused(f"{place}: there is no Person {number} in {video.name!r}.", "file")
    who = [people[number] for number in record.persons]
    if len(set(who)) < len(who):
        raise Refused(
            f"{place}: Person {record.persons[0]} and Person {record.persons[1]} were merged into one.", "file"
        )
    span = span_of(record, place, seconds, exact)
    start, end = within_shot(span, video.shots, video.frames)
    details: dict[str, Any] = {
        "target_kind": record.target_type,
        "target_description": record.target_description,
        **{key: record.extra[key] for key in KNOWN if key in record.extra},
    }
    if (start, end) != span:
        details["file_span"] = list(span)
    return {
        "type": record.gesture_type,
        "start": start,
        "end": end,
        "confidence": round(record.confidence, 6),
        "roles": sorted([person, role] for person, role in zip(who, ("initiator", "target"), strict=False)),
        "details": details,
        "preset": f"file {sha256[:12]} {file.classifier_version}".strip(),
        "detector": SOURCE,
        "origin": "imported",
        "run": str(video.run_id or ""),
    }


def span_of(record: GestureRecord, place: str, seconds: NDArray[np.float64], exact: bool) -> tuple[int, int]:
    """Frames [start, end) of a gesture, at least one. Raises Refused for one that lies outside the video."""
    frames = len(seconds) - 1
    if exact and record.start_frame is not None and record.end_frame is not None:
        start, end = record.start_frame, max(record.end_frame, record.start_frame + 1)
    else:
        zeroed = seconds - seconds[0]
        start = int(np.searchsorted(zeroed, record.start_time + CLOSE_S, side="right")) - 1
        end = max(start + 1, int(np.searchsorted(zeroed, record.end_time - CLOSE_S)))
    if start >= frames:
        lasts = float(seconds[-1] - seconds[0])
        raise Refused(f"{place} starts at {record.start_time:g} s, but the video lasts {lasts:g} s.", "file")
    return start, min(end, frames)


def within_shot(span: tuple[int, int], shots: list[int], frames: int) -> tuple[int, int]:
    """The part of a span in the shot that holds most of it; of equals the first."""
    cuts = sorted({0, *shots, frames})
    first, last = bisect_right(cuts, span[0]) - 1, bisect_right(cuts, span[1] - 1)
    parts = [
        (max(span[0], low), min(span[1], high)) for low, high in zip(cuts[first:last], cuts[first + 1 :], strict=False)
    ]
    return max(parts, key=lambda part: (part[1] - part[0], -part[0]))
