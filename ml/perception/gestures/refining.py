"""What is made of a model's words: gestures of the shot, or a reason why not; and the critic's word on them.

    screen   said gestures -> gestures with frames; unknown people, times outside and doubles are dropped with a reason
    settle   the list so far and the critic's list -> the next list: gestures only go or get narrower

Whatever the critic adds or widens is ignored and counted, so every list lies within the one before, and the loop ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.perception.gestures.prompts import Said
from ml.perception.gestures.protocol import Gesture

STABLE = 0.5  # temporal IoU from which a gesture counts as the same in two rounds
CLOSE_S = 0.6  # seconds a said time may lie off the nearest picture's
TAG = re.compile(r"\s*(?:P|Person\s+)?(\d{1,6})\s*", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Looks:
    """The pictures of one call. frame int64[n]; seconds float64[n], as their stamps say; end: the frame after what the
    last one stands for; visible: the people with a tag on each."""

    frame: NDArray[np.int64]
    seconds: NDArray[np.float64]
    end: int
    visible: Sequence[frozenset[int]]

    @property
    def persons(self) -> list[int]:
        return sorted(set().union(*self.visible))

    def nearest(self, seconds: float) -> int | None:
        """The picture whose stamp says about that; None when there is none."""
        k = int(np.argmin(np.abs(self.seconds - seconds)))
        return k if abs(self.seconds[k] - seconds) <= CLOSE_S else None

    def end_of(self, k: int) -> int:
        """The frame with which what picture k shows is over."""
        return int(self.frame[k + 1]) if k + 1 < len(self.frame) else self.end

    def position(self, frame: int) -> int:
        """The picture of a frame that begins or ends one."""
        return int(np.searchsorted(self.frame, frame))


@dataclass
class Screened:
    gestures: list[Gesture] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)  # {"said", "reason"}


def screen(said: Sequence[Said], looks: Looks) -> Screened:
    """Gestures in the order of their starts."""
    found = Screened()
    for one in said:
        gesture, reason = _gesture(one, looks)
        if gesture is not None and any(same(gesture, other) for other in found.gestures):
            gesture, reason = None, "it was said twice"
        if gesture is None:
            found.dropped.append({"said": one.model_dump(), "reason": reason})
        else:
            found.gestures.append(gesture)
    found.gestures.sort(key=lambda g: (g.start, g.end, g.initiator))
    return found


def _gesture(said: Said, looks: Looks) -> tuple[Gesture | None, str]:
    """The gesture, or why there is none."""
    first, last = looks.nearest(said.start_s), looks.nearest(said.end_s)
    if first is None or last is None:
        return None, "its times lie outside these pictures"
    if last < first:
        return None, "it ends before it starts"
    there = frozenset().union(*looks.visible[first : last + 1])
    initiator = tag(said.initiator)
    if initiator not in there:
        return None, f"nobody with the tag {said.initiator} is visible then"
    target = tag(said.target_person) if said.target_kind == "person" else None
    if said.target_kind == "person" and target not in there:
        return None, f"nobody with the tag {said.target_person} is visible then, whom it is said to be aimed at"
    if target == initiator:
        return None, "it is said to be aimed at its own initiator"
    return (
        Gesture(
            said.type,
            int(looks.frame[first]),
            looks.end_of(last),
            initiator,
            said.target_kind,
            target,
            " ".join(said.target_description.split())[:200],
            confidence=said.confidence,
        ),
        "",
    )


def tag(text: str | None) -> int | None:
    """The number of a printed tag as models copy it: P3, p3, Person 3, 3."""
    match = TAG.fullmatch(text or "")
    return int(match[1]) if match else None


# --- from one round to the next --------------------------------------------------------------------------------------


def key(gesture: Gesture) -> tuple[Any, ...]:
    """What must agree for two rounds to speak of one gesture."""
    return gesture.type, gesture.initiator, gesture.target_kind, gesture.target_person


def overlap(a: Gesture, b: Gesture) -> int:
    return max(0, min(a.end, b.end) - max(a.start, b.start))


def tiou(a: Gesture, b: Gesture) -> float:
    shared = overlap(a, b)
    return shared / (a.end - a.start + b.end - b.start - shared)


def same(a: Gesture, b: Gesture) -> bool:
    return key(a) == key(b) and tiou(a, b) >= STABLE


def stable(before: Sequence[Gesture], after: Sequence[Gesture]) -> bool:
    """Whether each gesture of either list is in the other. Lists of `settle`: each comes from one before."""
    return len(before) == len(after) and all(same(a, b) for a, b in zip(before, after, strict=True))


@dataclass
class Settled:
    """The list after a critic's word. Counts: gestures taken out, narrowed; words that were ignored."""

    gestures: list[Gesture]
    deleted: int = 0
    tightened: int = 0
    added: int = 0
    widened: int = 0


def settle(before: Sequence[Gesture], theirs: Sequence[Gesture]) -> Settled:
    """What stays of `before` by the critic's list; each of theirs speaks of at most one, that it overlaps most."""
    pairs = sorted(
        (-overlap(old, new), k, j)
        for k, old in enumerate(before)
        for j, new in enumerate(theirs)
        if key(old) == key(new) and overlap(old, new)
    )
    match: dict[int, int] = {}
    for _, k, j in pairs:
        if k not in match and j not in match.values():
            match[k] = j
    settled = Settled([], deleted=len(before) - len(match), added=len(theirs) - len(match))
    for k, old in enumerate(before):
        if k in match:
            new = theirs[match[k]]
            start, end = max(old.start, new.start), min(old.end, new.end)
            settled.widened += new.start < old.start or new.end > old.end
            settled.tightened += (start, end) != (old.start, old.end)
            settled.gestures.append(replace(old, start=start, end=end))
    return settled
