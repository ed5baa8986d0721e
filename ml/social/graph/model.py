"""What a social graph is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GraphEvent:
    """One event node. Times are media seconds, [start_s, end_s); `start`, `end` the source frames where known.

    `roles` pairs a person id with member, leader, follower, initiator or target. `attributes` are carried along:
    plain values only.
    """

    id: str
    source: str  # gaze or gesture
    type: str
    start_s: float
    end_s: float
    roles: tuple[tuple[str, str], ...]
    confidence: float = 1.0
    description: str = ""
    start: int | None = None
    end: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def persons(self) -> frozenset[str]:
        return frozenset(person for person, _ in self.roles)

    def who(self, role: str) -> list[str]:
        """The persons in a role, in the order of the roles."""
        return [person for person, its in self.roles if its == role]


@dataclass(frozen=True)
class Links:
    """K links, sorted by gaze event, then gesture. `gaze`, `gesture` int64[K]: positions in the list of events.

    `overlap` bool[K]; `seconds` float64[K]: how long both go on at once, or the gap between them. `shared` bool[K]:
    somebody takes part in both.
    """

    gaze: Ints
    gesture: Ints
    overlap: NDArray[np.bool_]
    seconds: Floats
    shared: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.gaze)

    def where(self, keep: NDArray[np.bool_]) -> Links:
        """Those links only."""
        return Links(
            self.gaze[keep], self.gesture[keep], self.overlap[keep], self.seconds[keep], self.shared[keep]
        )  # one by one: a column is an array of its own type


@dataclass(frozen=True)
class SocialGraph:
    """The events of one video in time order and their edges. `before` int64[B, 2]: positions, earlier first.

    `num_raw`: how many events there were before any were left out.
    """

    events: list[GraphEvent]
    links: Links
    before: Ints
    num_raw: int
    preset: str

    @property
    def persons(self) -> list[str]:
        """Everybody who takes part in an event; numbers in the order of numbers."""
        return in_order({person for event in self.events for person in event.persons})


def in_order(persons: set[str]) -> list[str]:
    return sorted(persons, key=lambda p: (not p.isdecimal(), int(p) if p.isdecimal() else 0, p))


def spans(events: Sequence[GraphEvent]) -> tuple[Floats, Floats]:
    """Start and end seconds, float64[N] each."""
    both = np.array([(event.start_s, event.end_s) for event in events], dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def lasting(start: Floats, end: Floats) -> Floats:
    """The ends, where an event without length lasts for the shortest time there is: it happens at its start."""
    return np.where(end > start, end, np.nextafter(start, np.inf))
