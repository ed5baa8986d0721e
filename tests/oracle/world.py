"""What happens in a scene, read off its frame-level arrays: things with a start and an end, people and roles.

A thing's boundaries can be moved, all of them at once, without touching what the thing is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

TINY = 1e-6  # seconds; sums of printed times are not exact
GESTURES = ("pointing", "showing", "giving", "reaching")


class Arrays(Protocol):
    """The arrays of one scene, F frames and P persons; see `ml.synthetic.truth` for the codes."""

    @property
    def seconds(self) -> Any: ...
    @property
    def numbers(self) -> Sequence[int]: ...
    @property
    def look(self) -> Any: ...
    @property
    def follow(self) -> Any: ...
    @property
    def capture(self) -> Any: ...
    @property
    def shift(self) -> Any: ...
    @property
    def hand(self) -> Any: ...
    @property
    def reach(self) -> Any: ...
    @property
    def visible(self) -> Any: ...
    @property
    def cuts(self) -> Sequence[int]: ...


@dataclass(frozen=True)
class Thing:
    """Something that happens over [start, end); `first` and `second` name people where a role matters.

    `people`: everybody in it. Following: first the leader, second the follower. Gesture: first who makes it, second the
    person it is for, None where it is for an object or a place.
    """

    kind: str  # gaze or gesture
    type: str
    start: int
    end: int
    people: frozenset[int]
    first: int | None = None
    second: int | None = None


@dataclass(frozen=True)
class World:
    """All things of a scene; people go by printed numbers. `zero`: second of the scene at which the clip starts."""

    seconds: Any
    things: tuple[Thing, ...]
    visible: dict[int, Any]
    cuts: tuple[int, ...] = (0,)
    zero: float = 0.0
    slack: float = 0.06  # seconds by which a printed time may differ from the true one
    wrong: float = 0.0  # seconds by which moved boundaries may make a thing longer or shorter

    def frame(self, printed: float) -> int:
        """The frame shown at a printed second of the clip."""
        at = int(np.searchsorted(self.seconds, printed + self.zero + 1e-9, side="right")) - 1
        return min(max(at, 0), len(self.seconds) - 1)

    def during(self, start: float, end: float) -> Iterator[int]:
        """Things that happen, at least in part, between two printed seconds."""
        a, b = start + self.zero, end + self.zero
        for index, thing in enumerate(self.things):
            if self.seconds[thing.start] < b - TINY and a < self.seconds[thing.end] - TINY:
                yield index

    def overlapping(self, other: int) -> Iterator[int]:
        its = self.things[other]
        for index, thing in enumerate(self.things):
            if index != other and thing.start < its.end and its.start < thing.end:
                yield index

    def after(self, other: int, within: float) -> Iterator[int]:
        """Things that start when or after that one ends, no more than `within` seconds later."""
        its = self.things[other]
        for index, thing in enumerate(self.things):
            if thing.start >= its.end and self.seconds[thing.start] - self.seconds[its.end] <= within + 1e-9:
                yield index

    def length(self, index: int) -> tuple[float, float]:
        """Seconds, and by how much they may be wrong where boundaries were moved."""
        thing = self.things[index]
        return float(self.seconds[thing.end] - self.seconds[thing.start]), self.wrong

    def in_sight(self, start: float, end: float) -> set[int]:
        """People who are in the picture at some time between two printed seconds."""
        a, b = self.frame(start), max(self.frame(end), self.frame(start) + 1)
        return {number for number, seen in self.visible.items() if seen[a:b].any()}

    def with_more(self, things: Sequence[Thing]) -> World:
        """Other things happen as well; the ones that are there keep their places."""
        return replace(self, things=(*self.things, *things))

    def moved(self, starts: Any, ends: Any) -> World:
        """Boundaries moved by so many frames each; no thing leaves its shot or loses its last frame."""
        last = len(self.seconds) - 1
        bounds = np.array([*self.cuts, last])
        old = np.array([(thing.start, thing.end) for thing in self.things]).reshape(-1, 2)
        shot = np.searchsorted(bounds, old[:, 0], side="right")
        start = np.minimum(np.maximum(old[:, 0] + starts, bounds[shot - 1]), old[:, 1] - 1)
        end = np.maximum(np.minimum(old[:, 1] + ends, bounds[shot]), start + 1)
        things = [
            thing if (a, b) == (thing.start, thing.end)
            else Thing(thing.kind, thing.type, a, b, thing.people, thing.first, thing.second)
            for thing, a, b in zip(self.things, start.tolist(), end.tolist(), strict=True)
        ]  # fmt: skip
        usual = float(self.seconds[-1] - self.seconds[0]) / last
        wrong = usual * float(np.abs(starts).max(initial=0) + np.abs(ends).max(initial=0))
        return replace(self, things=tuple(things), wrong=wrong)


def world_of(arrays: Arrays, zero: float = 0.0, slack: float = 0.06) -> World:
    """The world of a scene, seen in a clip that starts at second `zero`."""
    numbers = [int(number) for number in arrays.numbers]
    found = sorted(_things(arrays, numbers), key=lambda thing: (thing.start, thing.end, thing.type))
    visible = {number: np.asarray(arrays.visible)[:, column] for column, number in enumerate(numbers)}
    return World(np.asarray(arrays.seconds), tuple(found), visible, tuple(arrays.cuts), zero, slack)


def _things(arrays: Arrays, numbers: list[int]) -> Iterator[Thing]:
    """Go through the frames; a thing lasts as long as the same key is there, and no longer than its shot."""
    open_: dict[Any, int] = {}
    count = len(arrays.seconds) - 1
    for frame in range(count + 1):
        now = set(_keys(arrays, frame, numbers)) if frame < count else set()
        over = set(open_) if frame in arrays.cuts else set(open_) - now
        for key in over:
            yield _thing(key, open_.pop(key), frame)
        for key in now - set(open_):
            open_[key] = frame


def _keys(arrays: Arrays, frame: int, numbers: list[int]) -> Iterator[tuple[Any, ...]]:
    """What holds on one frame."""
    look = arrays.look[frame].tolist()
    people = range(len(numbers))
    for a in people:
        for b in people:
            if a < b and look[a] == b and look[b] == a:
                yield "gaze", "mutual", frozenset((numbers[a], numbers[b])), None, None
    for target in set(look):
        group = frozenset(numbers[a] for a in people if look[a] == target)
        if target >= 0 and len(group) > 1:
            yield "gaze", "joint", group, None, None, target
    for a in people:
        if arrays.follow[frame, a] >= 0:
            leader, follower = numbers[int(arrays.follow[frame, a])], numbers[a]
            yield "gaze", "following", frozenset((leader, follower)), leader, follower
        if arrays.shift[frame, a]:
            yield "gaze", "shift", frozenset((numbers[a],)), None, None
        if arrays.hand[frame, a] >= 0:
            target = int(arrays.reach[frame, a])
            person = numbers[target] if 0 <= target < len(numbers) else None
            who = frozenset((numbers[a],)) | ({person} if person is not None else set())
            yield "gesture", GESTURES[arrays.hand[frame, a]], who, numbers[a], person, target
    for label in set(arrays.capture[frame].tolist()):
        if label >= 0:
            group = frozenset(numbers[a] for a in people if arrays.capture[frame, a] == label)
            yield "gaze", "capture", group, None, None, label


def _thing(key: tuple[Any, ...], start: int, end: int) -> Thing:
    kind, type_, people, first, second = key[:5]
    return Thing(kind, type_, start, end, people, first, second)
