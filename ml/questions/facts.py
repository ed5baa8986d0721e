"""What questions are asked of and proofs are checked against: the confirmed events of one video, and where everything
was marked.

Frames are numbers of the source video, spans half-open [start, end). Persons go by id (any string that names one person
of the video for ever); `number` is what pages and questions print. Only what a human confirmed is a fact. The absence
of an event is one only inside coverage, and not where a proposal of it still waits for a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in the video; `visible` lists the spans in which a tracklet shows them, sorted and disjoint."""

    id: str
    number: int
    visible: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """A confirmed event. `roles` pairs a person id with member, leader, follower, initiator or target.

    `target` is a gesture's target kind (person, object, location; empty for gaze), `description` its target in words:
    context only, never an answer. `onset_after` and `offset_before` are the frames of the nearest looks on which the
    event was not seen, where known: the true start lies in (onset_after, start].
    """

    id: str
    modality: str  # gaze or gesture
    type: str
    start: int
    end: int
    roles: tuple[tuple[str, str], ...]
    confidence: float = 1.0
    target: str = ""
    description: str = ""
    onset_after: int | None = None
    offset_before: int | None = None

    def who(self, role: str | None = None) -> frozenset[str]:
        """The persons in that role, or all of them."""
        return frozenset(person for person, its in self.roles if role is None or its == role)


@dataclass(frozen=True, slots=True)
class Covered:
    """A human says: every event of `modality` among `persons` (None: everybody) is marked over [start, end)."""

    modality: str
    start: int
    end: int
    persons: frozenset[str] | None = None


@dataclass(frozen=True)
class Facts:
    """One annotation set of one video at one revision. `undecided`: proposals nobody confirmed or rejected yet; each
    may be an event or none, inside coverage too.

    `seconds` float64[N + 1]: media seconds of every frame and the end of the last. `step`: frames between two looks of
    the run the events come from, the unit by which a boundary may be off. `cuts`: first frame of each shot, from 0.
    """

    seconds: NDArray[np.float64]
    step: int
    persons: Sequence[Person]
    events: Sequence[Event]
    coverage: Sequence[Covered] = ()
    cuts: Sequence[int] = (0,)
    set: str = ""
    revision: int = 0
    undecided: Sequence[Event] = ()
    by_id: dict[str, Event] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {event.id: event for event in self.events})

    @property
    def frames(self) -> int:
        return len(self.seconds) - 1
