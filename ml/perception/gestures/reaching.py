"""Reaching: a move stretches the arm towards an object that the hand does not hold and nobody else has in hand. Begins
with the move, ends with the contact, or where there is none with the retraction.

Confidence: `WEIGHTS`. approach: share of the first distance that the hand covered; touch: 1 - ramp of the least
distance, TOUCH_M to FROM_M; straight: ramp of the arm's straightness at the nearest point from 0.6 to 0.9; score: the
detector's mean score of the object. Reaching for things without a box is missed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ml.perception.gestures.aim import Aim
from ml.perception.gestures.arms import Phase
from ml.perception.gestures.scene import (
    BROUGHT_M,
    Candidate,
    Scene,
    angle_between,
    candidate,
    in_hand_of_others,
    ramp,
    restless,
    spoken,
)
from ml.perception.gestures.window import Array

WEIGHTS = {"approach": 0.30, "touch": 0.30, "straight": 0.20, "score": 0.20}
FROM_M = 0.20  # a hand that begins nearer handles the object; one that comes no nearer does not reach for it
TOUCH_M, ARRIVED_M = 0.05, 0.017  # a contact; and how near to the least distance the hand has arrived
LEAST_SHARE, MOST_DEG = 0.5, 30.0  # of the way, and off the straight way
STILL_M = 0.08  # the object stays where it is


def reaching(scene: Scene, number: int) -> Iterator[Candidate]:
    """The reachings of one arm."""
    arm, things = scene.arms[number], scene.things[number]
    for k, move in enumerate(scene.phases[number]):
        if move.kind != "move" or things.held(max(0, move.start - 2), move.end) is not None:
            continue
        if restless(scene, number, k) or scene.after(number, k) is move:  # a hand that goes on passed by
            continue
        hold = scene.after(number, k)
        thing = reached(scene, number, move, hold)
        if thing is None:
            continue
        near = things.tip[move.start : hold.end, thing]
        least, first = float(near.min()), float(near[0])
        arrived = np.flatnonzero(near <= least + ARRIVED_M) if least <= TOUCH_M else np.zeros(0, int)
        end = max(move.start + 1, move.start + int(arrived[0]) if len(arrived) else hold.end)
        terms = {
            "approach": (first - least) / first,
            "touch": 1 - ramp(least, TOUCH_M, FROM_M),
            "straight": ramp(float(arm.straight[move.start + int(near.argmin())]), 0.6, 0.9),
            "score": float(scene.window.scores[thing]),
        }
        yield candidate(
            scene, "reaching", number, (move.start, end), Aim("object", thing, distance=least),
            spoken(scene.window.names[thing]), terms, WEIGHTS,
            facts={"object": scene.window.names[thing], "contact": bool(len(arrived))},
            to=things.middle[move.start, thing],
        )  # fmt: skip


def reached(scene: Scene, number: int, move: Phase, hold: Phase) -> int | None:
    """The object a move stretches the arm towards: one for hands, in nobody's, and approached from a distance."""
    arm, things = scene.arms[number], scene.things[number]
    here = slice(move.start, hold.end)
    stretch = max(float(np.nanmax(way[here]) - way[move.start]) for way in (arm.reach, arm.out))
    if not stretch >= BROUGHT_M:
        return None
    best: tuple[float, int] | None = None
    for thing in range(things.tip.shape[1]):
        near = things.tip[here, thing]
        if (
            things.movable[thing]
            and np.isfinite(near).all()
            and near[0] >= FROM_M
            and is_approached(scene, number, thing, move, near)
        ):
            best = min(best or (np.inf, -1), (float(near.min()), thing))
    return None if best is None else best[1]


def is_approached(scene: Scene, number: int, thing: int, move: Phase, near: Array) -> bool:
    """The hand goes most of the way straight to an object that stays where it is and is in no other hand."""
    arm, things = scene.arms[number], scene.things[number]
    if (near[0] - near.min()) / near[0] < LEAST_SHARE or near.min() >= FROM_M:
        return False
    way = arm.palm[move.end - 1] - arm.palm[move.start]
    if angle_between(way, things.middle[move.start, thing] - arm.palm[move.start]) > MOST_DEG:
        return False
    path = things.middle[move.start : move.start + int(near.argmin()) + 1, thing] / arm.scale
    still = np.linalg.norm(path - path[0], axis=1).max() <= STILL_M
    return bool(still and not in_hand_of_others(scene, arm.person, thing, slice(move.start, move.start + 1))[0])
