"""What is true on every frame of a simulated scene, as dense arrays, and the list of events that follows from them.

Axes: F frames, P persons. A *target code* says at what somebody looks or to what a hand goes: -1 nothing in particular,
0 .. P - 1 the person in that column, P + k place k. Every event is a maximal run of frames on which its state holds:

- mutual_gaze of a pair: each looks at the other;
- joint_attention: one set of at least two persons looks at one target, be it a person or a place;
- gaze_following: `follow` names the leader, from the leader's arrival to the follower's;
- attention_capture: persons with one number in `capture`, who turn to one place at once;
- sudden_gaze_shift: `shift`;
- a gesture: `hand` names the type, `reach` the target.

The arrays are the truth and the list is only read off them, so an oracle can work from the arrays alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ml.social import event as types

HANDS = types.GESTURES
Bools = NDArray[np.bool_]
Codes = NDArray[np.int16]


class Place(NamedTuple):
    """Something in the scene that is no person; `kind` is object or location."""

    kind: str
    description: str


class Happening(NamedTuple):
    """One event of the truth. `roles` pairs a column with its role; `reach` is a target code (gestures only)."""

    modality: str
    type: str
    start: int
    end: int
    roles: tuple[tuple[int, str], ...]
    reach: int = -1

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(column for column, _ in self.roles)


@dataclass
class Truth:
    """Every frame of one scene.

    `seconds` float64[F + 1]: time of each frame and the end of the last. `ids` and `numbers`: what the persons in the
    columns are called. `look`, `follow`, `capture`, `reach` int16[F, P], `hand` int8[F, P] (index into `HANDS`, -1
    none), `shift` and `visible` bool[F, P]. `places`: what codes from P on stand for. `cuts`: first frames of shots.
    """

    seconds: NDArray[np.float64]
    ids: tuple[str, ...]
    numbers: tuple[int, ...]
    places: tuple[Place, ...]
    look: Codes
    follow: Codes
    capture: Codes
    shift: Bools
    hand: NDArray[np.int8]
    reach: Codes
    visible: Bools
    cuts: tuple[int, ...] = (0,)

    @property
    def frames(self) -> int:
        return len(self.seconds) - 1

    @property
    def persons(self) -> int:
        return len(self.ids)

    def place(self, code: int) -> Place | None:
        return self.places[code - self.persons] if code >= self.persons else None


def happenings(truth: Truth) -> list[Happening]:
    """All events of the truth by start."""
    found = [*_mutual(truth), *_joint(truth), *_following(truth), *_captures(truth), *_shifts(truth), *_gestures(truth)]
    return sorted(found, key=lambda each: (each.start, each.end, each.type, each.roles))


def runs(state: Bools, cuts: tuple[int, ...] = (0,)) -> list[tuple[int, int]]:
    """[start, end) of the maximal runs of True in bool[F]; a cut ends a run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], state, [False]]).astype(np.int8)))
    found = []
    for start, end in edges.reshape(-1, 2).tolist():
        inner = [start, *(cut for cut in cuts if start < cut < end), end]
        found += list(zip(inner[:-1], inner[1:], strict=True))
    return found


def _members(columns: Iterator[int] | list[int]) -> tuple[tuple[int, str], ...]:
    return tuple((column, "member") for column in sorted(columns))


def _mutual(truth: Truth) -> Iterator[Happening]:
    for a in range(truth.persons):
        for b in range(a + 1, truth.persons):
            both = (truth.look[:, a] == b) & (truth.look[:, b] == a)
            for start, end in runs(both, truth.cuts):
                yield Happening("gaze", types.MUTUAL, start, end, _members([a, b]))


def _joint(truth: Truth) -> Iterator[Happening]:
    weights = 1 << np.arange(truth.persons)
    for code in range(truth.persons + len(truth.places)):
        together = (truth.look == code) @ weights  # the set of lookers as one number
        for group in np.unique(together).tolist():
            columns = [column for column in range(truth.persons) if group >> column & 1]
            if len(columns) >= 2:
                for start, end in runs(together == group, truth.cuts):
                    yield Happening("gaze", types.JOINT, start, end, _members(columns))


def _following(truth: Truth) -> Iterator[Happening]:
    for follower in range(truth.persons):
        for leader in np.unique(truth.follow[:, follower]).tolist():
            if leader >= 0:
                for start, end in runs(truth.follow[:, follower] == leader, truth.cuts):
                    yield Happening("gaze", types.FOLLOWING, start, end, ((leader, "leader"), (follower, "follower")))


def _captures(truth: Truth) -> Iterator[Happening]:
    for number in np.unique(truth.capture).tolist():
        if number >= 0:
            taken = truth.capture == number
            columns = np.flatnonzero(taken.any(axis=0)).tolist()
            for start, end in runs(taken.any(axis=1), truth.cuts):
                yield Happening("gaze", types.CAPTURE, start, end, _members(columns))


def _shifts(truth: Truth) -> Iterator[Happening]:
    for column in range(truth.persons):
        for start, end in runs(truth.shift[:, column], truth.cuts):
            yield Happening("gaze", types.SHIFT, start, end, _members([column]))


def _gestures(truth: Truth) -> Iterator[Happening]:
    for column in range(truth.persons):
        both = truth.hand[:, column].astype(np.int64) * 10_000 + truth.reach[:, column]
        for code in np.unique(both[truth.hand[:, column] >= 0]).tolist():
            for start, end in runs(both == code, truth.cuts):
                reach = int(truth.reach[start, column])
                roles = ((column, "initiator"), *(((reach, "target"),) if 0 <= reach < truth.persons else ()))
                yield Happening("gesture", HANDS[truth.hand[start, column]], start, end, roles, reach)
