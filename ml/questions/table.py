"""The facts of one video as a proof sees them: boundaries that may be off by some frames, and where something unmarked
may still hide.

With `slack` 0 every event is where it is marked. With slack k each boundary lies anywhere up to k frames to either
side, or as far as the looks it was found with leave it open, whichever is more; an event keeps at least one frame.
Unmarked events may lie anywhere outside coverage, and reach k frames into it. A proposal that waits for a word is an
event that may be there or not, wherever it lies.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import numpy as np

from ml.questions.facts import Covered, Event, Facts, Span
from ml.questions.grammar import MODALITIES, Events
from ml.social.event import FOLLOWING, GESTURES, MUTUAL, SHIFT

# Most persons an event of the type can have; types not listed have no limit (a leader may have many followers).
MOST_PERSONS = {SHIFT: 1, MUTUAL: 2, **dict.fromkeys(GESTURES, 2)}
assert FOLLOWING not in MOST_PERSONS

Everybody = frozenset[str] | None  # persons of an unmarked event; None: it may be anybody


@dataclass(slots=True, eq=False)
class Bounds:
    """An event with the first and last frame at which it may start (s0, s1) and end (e0, e1); `decided` unless it is a
    proposal that waits for a word.
    """

    event: Event
    s0: int
    s1: int
    e0: int
    e1: int
    decided: bool = True


class Lane:
    """Events in the order of their earliest start, found by the window they may share a frame with."""

    def __init__(self, listed: Iterable[Bounds]) -> None:
        self.listed = sorted(listed, key=lambda one: one.s0)
        self._starts = [one.s0 for one in self.listed]
        self._ends = list(accumulate((one.e1 for one in self.listed), max))  # the latest end so far

    def near(self, window: Span | None) -> list[Bounds]:
        """All that may share a frame with the window, and perhaps some more."""
        if window is None:
            return self.listed
        return self.listed[bisect_right(self._ends, window[0]) : bisect_left(self._starts, window[1])]


class Table:
    """The facts with one slack, indexed. `missing` collects the uncovered spans that left something open, `waiting` the
    ids of proposals that did.
    """

    def __init__(self, facts: Facts, slack: int = 0) -> None:
        self.facts, self.slack, self.frames = facts, slack, facts.frames
        self.everybody = frozenset(person.id for person in facts.persons)
        self.missing: set[tuple[str, Span]] = set()
        self.gone: set[str] = set()  # ids of events asked for that are not there
        self.waiting: set[str] = set()
        self.by_id = {event.id: self._bounds(event) for event in facts.events}
        self.undecided = {event.id: self._bounds(event, decided=False) for event in facts.undecided}
        lanes: dict[tuple[str, str], list[Bounds]] = defaultdict(list)
        for bounds in (*self.by_id.values(), *self.undecided.values()):
            for person in ("", *bounds.event.who()):
                lanes[bounds.event.modality, person].append(bounds)
        self._lanes = {key: Lane(listed) for key, listed in lanes.items()}  # by modality and person; "": everybody
        self.uncovered = cache(self._uncovered)
        self._seconds: list[float] = np.asarray(facts.seconds, float).tolist()  # plain floats index faster

    def _bounds(self, event: Event, *, decided: bool = True) -> Bounds:
        if not self.slack:
            return Bounds(event, event.start, event.start, event.end, event.end, decided)
        after = event.start if event.onset_after is None else event.onset_after + 1
        before = event.end if event.offset_before is None else event.offset_before
        s0, e1 = min(event.start - self.slack, after), max(event.end + self.slack, before)
        s1, e0 = event.start + self.slack, event.end - self.slack
        return Bounds(event, max(s0, 0), min(s1, self.frames - 1), max(e0, 1), min(e1, self.frames), decided)

    def candidates(self, node: Events, window: Span | None) -> list[Bounds]:
        """Events, marked and proposed, among which those of the node that may share a frame with the window are."""
        lane = self._lanes.get((node.modality, node.roles[0][1] if node.roles else ""))
        return lane.near(window) if lane else []

    def seconds(self, frame: int) -> float:
        return self._seconds[frame]

    def duration(self, bounds: Bounds) -> tuple[float, float]:
        """Least and most seconds the event may last."""
        least = self._seconds[bounds.e0] - self._seconds[bounds.s1] if bounds.e0 > bounds.s1 else 0.0
        return least, self._seconds[bounds.e1] - self._seconds[bounds.s0]

    def hides(self, node: Events, window: Span) -> bool:
        """Whether an unmarked event of the node may share a frame with the window."""
        a, b = window
        if a >= b:
            return False
        for persons in self._casts(node):
            for start, end in self.uncovered(node.modality, persons):
                if start >= b or end <= a:
                    continue
                if node.during and (start >= node.during[1] or end <= node.during[0]):
                    continue
                low, high = (a, b) if node.during is None else (max(a, node.during[0]), min(b, node.during[1]))
                self.missing.add((node.modality, (max(start, min(low, high)), min(end, max(low, high)))))
                return True
        return False

    def _casts(self, node: Events) -> list[Everybody]:
        """Sets of persons that coverage must speak of so that no unmarked event of the node can be."""
        named = frozenset(person for _, person in node.roles)
        types = node.types or MODALITIES[node.modality]
        most = max(MOST_PERSONS.get(type, 10**6) for type in types)
        if len(named) > most:
            return []  # no event of such a type has so many persons
        if len(named) == most:
            return [named]
        if len(named) == most - 1 and self.everybody - named:
            return [named | {other} for other in sorted(self.everybody - named)]
        return [None]

    def _uncovered(self, modality: str, persons: Everybody) -> list[Span]:
        """Spans in which an unmarked event among exactly these persons may lie, widened by the slack."""
        rows = sorted((row.start, row.end) for row in self.facts.coverage if self._speaks(row, modality, persons))
        gaps, at = [], 0
        for start, end in rows:
            if start > at:
                gaps.append((at, start))
            at = max(at, end)
        if at < self.frames:
            gaps.append((at, self.frames))
        return [(max(a - self.slack, 0), min(b + self.slack, self.frames)) for a, b in gaps]

    def _speaks(self, row: Covered, modality: str, persons: Everybody) -> bool:
        wanted = self.everybody if persons is None else persons
        return row.modality == modality and (row.persons is None or (bool(row.persons) and wanted <= row.persons))


def table_of(facts: Facts, slack: int) -> Table:
    """The table of these facts, made once: it is kept with them, since facts never change."""
    kept: dict[int, Table] = facts.__dict__.setdefault("_tables", {})
    if slack not in kept:
        kept[slack] = Table(facts, slack)
    return kept[slack]
