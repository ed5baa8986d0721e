"""Untouched gesture proposals go with the tracklets they were seen on, in the edit that moves these.

A merge needs nothing, since roles are read through the alias, but a gesture between two people who are one now is none.
A proposal that a human spoke about stays as it is. Undo restores what the edit changed, these with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from webapp.events import rows
from webapp.events.models import Event
from webapp.events.rows import Row
from webapp.library.models import Video
from webapp.tracks.models import Tracklet
from webapp.tracks.queries import roots_of

Change = tuple[str, str, Row | None, Row | None]
Piece = tuple[int, int, int, str]  # track, start, end, person (the root of a merge)


def follow_tracks(video: Video, changes: list[Change]) -> list[Change]:
    """What an edit of identity does to untouched gesture proposals; the changes of the edit itself are written."""
    moved = [change for change in changes if change[0] == "tracklet"]
    merged = any(kind == "person" and after and after["merged_into"] for kind, _, _, after in changes)
    if not moved and not merged:
        return []
    run = Video.objects.values_list("run_id", flat=True).get(id=video.id)
    roots = roots_of(video)
    waiting = Event.objects.filter(video=video, set__kind="proposal", modality="gesture").select_related("set")
    owners = Owners.of(run, roots, moved) if moved else None
    found: list[Change] = []
    for event in waiting.prefetch_related("participations").order_by("start", "id"):
        before = rows.event_row(event)
        seen = owners is not None and (event.machine or {}).get("run") == str(run)
        now = {
            (person, role): owners.now(roots[person], event.start, event.end) if seen and owners else None
            for person, role in before["participants"]
        }
        people = {pair: (new if new and new != roots[pair[0]] else pair[0]) for pair, new in now.items()}
        if len({roots[person] for person in people.values()}) < len({person for person, _ in people}):
            event.delete()
            found.append(("event", before["id"], before, None))
        elif any(person != pair[0] for pair, person in people.items()):
            found.append(_renamed(event, before, {pair[0]: person for pair, person in people.items()}))
    return found


def _renamed(event: Event, before: Row, names: Mapping[str, str]) -> Change:
    """Give the event's roles to others, in what its sources said of it, too."""
    event.machine = _machine(event.machine, names)
    event.version += 1
    event.save(update_fields=["machine", "version", "changed"])
    people = sorted([names[person], role] for person, role in before["participants"])
    rows.write_participants(event, people)
    return ("event", before["id"], before, rows.event_row(event, people))


def _machine(machine: Row | None, names: Mapping[str, str]) -> Row | None:
    if machine is None:
        return None
    told: Row = machine | {"roles": sorted([names.get(person, person), role] for person, role in machine["roles"])}
    if "witnesses" in machine:
        told["witnesses"] = {source: _machine(row, names) for source, row in machine["witnesses"].items()}
    return told


class Owners:
    """Whose a person's tracks of a run are now: before an edit somebody had them, after it perhaps somebody else."""

    def __init__(self, before: Iterable[Piece], after: Iterable[Piece]) -> None:
        self._then: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self._now: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
        for track, start, end, person in before:
            self._then[person].append((start, end, track))
        for track, start, end, person in after:
            self._now[track].append((start, end, person))

    @classmethod
    def of(cls, run: Any, roots: Mapping[str, str], moved: Iterable[Change]) -> Owners:
        """`moved`: the tracklets an edit changed, which is written already."""
        now: dict[str, Row] = {str(t.id): rows.tracklet_row(t) for t in Tracklet.objects.filter(run=run)}
        then = dict(now)
        for _, id, before, _ in moved:
            then.pop(id, None)
            if before is not None:
                then[id] = before

        def pieces(tracklets: Mapping[str, Row]) -> list[Piece]:
            each = tracklets.values()
            return [(t["track"], t["start"], t["end"], roots[t["person"]]) for t in each if t["run"] == str(run)]

        return cls(pieces(then), pieces(now))

    def now(self, person: str, start: int, end: int) -> str | None:
        """Who has most of what was the person's track over [start, end) before; None where that was nothing."""
        shares: Counter[str] = Counter()
        for low, high, track in self._then[person]:
            for first, last, owner in self._now[track]:
                shared = min(high, last, end) - max(low, first, start)
                if shared > 0:
                    shares[owner] += shared
        return min(shares, key=lambda one: (-shares[one], one != person, one)) if shares else None
