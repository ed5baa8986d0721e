"""A prepared window with its arms, what the four rules share, and what they give.

The confidences are heuristics, not probabilities: `seen` times a weighted sum of terms in [0, 1], each stated with its
rule and kept in the gesture's details. `seen` is the mean visibility of wrist and elbow over the gesture; an arm whose
hand may be somebody else's counts `UNSURE` of it. `ramp(x, a, b)` rises from 0 at a to 1 at b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ml.perception.gestures.aim import Aim
from ml.perception.gestures.arms import Arm, Phase, arm_of, phases
from ml.perception.gestures.grasp import NEAR_M, Things, things_of
from ml.perception.gestures.window import Array, Window, scales

UNSURE = 0.7  # factor for a hand that may be somebody else's
BROUGHT_M = 0.12  # a move that brings a hand somewhere is at least this long
RISE_M = 0.05  # and takes it this much further from rest
LONGEST_HOLD_S = 8.0  # longer it is a posture
BEAT_HOLD_S, BEAT_MOVES, BEAT_AROUND_S = 0.4, 4, 1.0  # short holds among so many moves are beats
RESTLESS_MOVES, RESTLESS_AROUND_S = 5, 1.5  # an arm that moves so much accompanies speech
STRETCH_M = 0.38  # from shoulder to wrist of an arm held out


@dataclass(frozen=True)
class Candidate:
    """A gesture over looks [start, end) of a window. `terms`: of its confidence, by name; `facts`: other numbers behind
    it; `to`: a point in pixels that it is about."""

    type: str
    arm: Arm
    start: int
    end: int
    aim: Aim
    description: str
    confidence: float
    terms: dict[str, float]
    weights: Mapping[str, float]
    facts: dict[str, Any] = field(default_factory=dict)
    to: Array | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """A prepared window; by arm: its phases, and all objects against it."""

    window: Window
    arms: list[Arm]
    phases: list[list[Phase]]
    things: list[Things]

    def span_s(self, phase: Phase) -> float:
        """Seconds from a phase's first look to the first one after it."""
        seconds = self.window.seconds
        return float(seconds[min(phase.end, len(seconds) - 1)] - seconds[phase.start])

    def before(self, arm: int, k: int) -> Phase | None:
        """The phase that ends where phase k of an arm begins."""
        found = self.phases[arm][k - 1] if k else None
        return found if found is not None and found.end == self.phases[arm][k].start else None

    def after(self, arm: int, k: int) -> Phase:
        """The phase that begins where phase k of an arm ends; itself where there is none."""
        own = self.phases[arm]
        return own[k + 1] if k + 1 < len(own) and own[k + 1].start == own[k].end else own[k]


def scene_of(window: Window) -> Scene:
    """Everything the rules ask about a window as it was seen."""
    prepared = window.prepared()
    each = scales(prepared)
    arms = [
        arm_of(prepared, person, side, float(each[person]))
        for person in range(len(window.persons))
        for side in (0, 1)
        if np.isfinite(each[person])
    ]
    return Scene(
        prepared, arms, [phases(arm, window.seconds) for arm in arms], [things_of(prepared, arm) for arm in arms]
    )


# ---------------------------------------------------------------------------------------------------------------------
# Moves and holds


def brought(scene: Scene, number: int, k: int, thing: int | None = None) -> bool:
    """The phase before hold k is a move that took the hand there, further from rest than it was before; with an object,
    the object came along."""
    arm, move, hold = scene.arms[number], scene.before(number, k), scene.phases[number][k]
    if move is None or move.kind != "move" or moved_m(scene, number, k) < BROUGHT_M:
        return False
    earlier = [phase for phase in scene.phases[number][:k] if phase.kind == "hold"]
    since = earlier[0].start if earlier else max(0, move.start - 1)
    lowest = float(np.nanmin(arm.out[since : move.end]))
    if lowest > mean(arm.out[hold.start : hold.end]) - RISE_M:
        return False
    return thing is None or travelled_m(scene, number, thing, move) >= BROUGHT_M / 2


def moved_m(scene: Scene, number: int, k: int) -> float:
    """Metres between where the move before hold k began and the hold."""
    arm, hold, move = scene.arms[number], scene.phases[number][k], scene.before(number, k)
    if move is None:
        return 0.0
    path = (arm.wrist - arm.shoulder) / arm.scale
    return float(np.linalg.norm(np.nanmedian(path[hold.start : hold.end], axis=0) - path[move.start]))


def travelled_m(scene: Scene, number: int, thing: int, move: Phase) -> float:
    """Metres between an object's first and last place in a move; infinite where it was not seen twice."""
    path = scene.things[number].middle[move.start : move.end, thing] / scene.arms[number].scale
    known = path[np.isfinite(path).all(1)]
    return float(np.linalg.norm(known[-1] - known[0])) if len(known) > 1 else np.inf


def in_hand_of_others(scene: Scene, person: int, thing: int, here: slice) -> Array:
    """Looks on which somebody else's hand has the object."""
    near = np.zeros(here.stop - here.start, bool)
    for arm, things in zip(scene.arms, scene.things, strict=True):
        if arm.person != person and things.movable[thing]:
            near |= np.nan_to_num(things.distance[here, thing], nan=np.inf) <= NEAR_M
    return near


def beats(scene: Scene, number: int, k: int) -> bool:
    """Hold k is a short one in a rhythm of moves."""
    hold = scene.phases[number][k]
    return scene.span_s(hold) < BEAT_HOLD_S and moves_around(scene, number, k, BEAT_AROUND_S) >= BEAT_MOVES


def restless(scene: Scene, number: int, k: int) -> bool:
    """Phase k lies among many moves, as those of somebody who talks with the hands (and with what is in them)."""
    return moves_around(scene, number, k, RESTLESS_AROUND_S) >= RESTLESS_MOVES


def moves_around(scene: Scene, number: int, k: int, around_s: float) -> int:
    """How many moves of an arm, its own phase included, reach into `around_s` before and after phase k."""
    phase, seconds = scene.phases[number][k], scene.window.seconds
    low, high = seconds[phase.start] - around_s, seconds[phase.end - 1] + around_s
    near = [p for p in scene.phases[number] if seconds[p.end - 1] >= low and seconds[p.start] <= high]
    return sum(p.kind == "move" for p in near)


# ---------------------------------------------------------------------------------------------------------------------
# Confidence


def candidate(
    scene: Scene, type: str, number: int, span: tuple[int, int], aim: Aim, description: str,
    terms: Mapping[str, float], weights: Mapping[str, float], **more: Any,
) -> Candidate:  # fmt: skip
    """A gesture of an arm with its confidence by the formula of the module."""
    arm = scene.arms[number]
    confidence = seen(arm, *span) * sum(weights[name] * value for name, value in terms.items())
    rounded = {name: round(float(value), 3) for name, value in terms.items()}
    return Candidate(type, arm, *span, aim, description, confidence, rounded, weights, **more)


def formula(weights: Mapping[str, float]) -> str:
    """The confidence in words."""
    return f"seen x ({' + '.join(f'{weight:.2f} {name}' for name, weight in weights.items())})"


def seen(arm: Arm, start: int, end: int) -> float:
    """How well the arm is seen over looks [start, end): mean visibility of wrist and elbow; less when unsure."""
    return mean(arm.seen[start:end]) * (UNSURE if is_unsure(arm, start, end) else 1)


def is_unsure(arm: Arm, start: int, end: int) -> bool:
    """The hand may be somebody else's on most looks on which it is seen."""
    hands = arm.hand[start:end].sum()
    return bool(hands and arm.unsure[start:end].sum() > 0.5 * hands)


def ramp(value: float, low: float, high: float) -> float:
    return float(np.clip((value - low) / (high - low), 0, 1))


def mean(values: Any) -> float:
    """Mean of what is known; 0 of nothing."""
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    return float(known.mean()) if known.size else 0.0


def unit(vector: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(vector / np.linalg.norm(vector))


def angle_between(a: Array, b: Array) -> float:
    """Degrees, 0 to 180."""
    return float(np.degrees(np.arccos(np.clip(unit(a) @ unit(b), -1, 1))))


def spoken(name: str) -> str:
    """An object's name in words."""
    words = name.replace("_", " ")
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
