"""Showing: the hold in which an object that came up with the hand is kept at the chest or above, or held out, away from
the own face. Begins when it is there, ends when it goes back.

Confidence: `WEIGHTS`. held: share of the hold's looks with the object in the hand; up: ramp of how far the move brought
it, 0.1 to 0.3 m; still: ramp of the hold from 0.3 to 1.0 s; score: the detector's mean score of the object.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ml.perception.gestures.aim import Aim, pick
from ml.perception.gestures.arms import Phase
from ml.perception.gestures.grasp import NEAR_M
from ml.perception.gestures.scene import (
    LONGEST_HOLD_S,
    STRETCH_M,
    Candidate,
    Scene,
    brought,
    candidate,
    in_hand_of_others,
    moved_m,
    ramp,
    restless,
    spoken,
    unit,
)

WEIGHTS = {"held": 0.30, "up": 0.30, "still": 0.20, "score": 0.20}
LEAST_HOLD_S = 0.55
CHEST_M, OUT_HEIGHT_M = 0.25, 0.15  # below the shoulder, at most: near the body, and held out
OUT_M = 0.05  # out of rest
FACE_M = 0.04  # an object nearer to the own face is used, not shown
MOST = 0.6  # share of the hold's looks
SHARED = 0.4  # share of the looks on which others have it in hand, too, above which it changes hands
ACROSS_M = 0.2  # an object less far to the side of the own shoulder is held towards the camera


def showing(scene: Scene, number: int) -> Iterator[Candidate]:
    """The showings of one arm."""
    things = scene.things[number]
    for k, hold in enumerate(scene.phases[number]):
        if hold.kind != "hold" or not LEAST_HOLD_S <= scene.span_s(hold) <= LONGEST_HOLD_S:
            continue
        thing = things.held(hold.start, hold.end)
        if thing is None or not is_held_up(scene, number, hold, thing) or not brought(scene, number, k, thing):
            continue
        if restless(scene, number, k):
            continue
        if in_hand_of_others(scene, scene.arms[number].person, thing, slice(hold.start, hold.end)).mean() > SHARED:
            continue
        terms = {
            "held": float((things.distance[hold.start : hold.end, thing] <= NEAR_M).mean()),
            "up": ramp(moved_m(scene, number, k), 0.1, 0.3),
            "still": ramp(scene.span_s(hold), 0.3, 1.0),
            "score": float(scene.window.scores[thing]),
        }
        aim, words = shown_to(scene, number, hold, thing)
        middle = np.nanmean(things.middle[hold.start : hold.end, thing], axis=0)
        yield candidate(
            scene, "showing", number, (hold.start, hold.end), aim, words, terms, WEIGHTS,
            facts={"object": scene.window.names[thing]}, to=middle,
        )  # fmt: skip


def is_held_up(scene: Scene, number: int, hold: Phase, thing: int) -> bool:
    """The object is at the chest or above, or held out, and not at the own face."""
    arm, here = scene.arms[number], slice(hold.start, hold.end)
    height = (arm.wrist[here, 1] - arm.shoulder[here, 1]) / arm.scale
    up = (height <= CHEST_M) & (arm.out[here] >= OUT_M) | (arm.reach[here] >= STRETCH_M) & (height <= OUT_HEIGHT_M)
    boxes, face = scene.window.thing[here, thing], scene.window.face[here, arm.person]
    gap = np.maximum(np.maximum(boxes[:, :2] - face[:, 2:], face[:, :2] - boxes[:, 2:]), 0)
    at_face = np.linalg.norm(gap, axis=1) / arm.scale < FACE_M
    return bool(np.mean(up) >= MOST and np.mean(at_face) < 1 - MOST)


def shown_to(scene: Scene, number: int, hold: Phase, thing: int) -> tuple[Aim, str]:
    """The person beyond the object as seen from the own shoulder; nobody there: the viewer."""
    arm, name = scene.arms[number], spoken(scene.window.names[thing])
    look = (hold.start + hold.end) // 2
    middle = scene.things[number].middle[look, thing]
    if abs(middle[0] - arm.shoulder[look, 0]) / arm.scale >= ACROSS_M:
        aim = pick(scene.window, look, middle, unit(middle - arm.shoulder[look]), arm.person, arm.scale)
        if aim.kind == "person":
            return aim, f"shows {name}"
    return Aim("location"), f"shows {name} towards the viewer"
