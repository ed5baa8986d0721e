"""Pointing: a move brings the arm out, and it is held. Begins with the move, ends with the hold (the hand goes back).

In the hold the index finger is out, away from the own face; or, where the hand is not to be seen or is open, the arm is
stretched, raised, and touches nobody. Confidence: `WEIGHTS`, and at most `ARM_ONLY` unless the finger was seen out.

form: share of the hold's looks with a pointing finger (0.5 where the hand was never seen); straight: ramp of the arm's
mean straightness from 0.7 to 0.95; aim: 1 - angle / CONE_DEG (0.4 for a place); still: ramp of the hold, 0 to 0.6 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ml.perception.gestures.aim import CONE_DEG, Aim, pick, place
from ml.perception.gestures.arms import Arm, Phase
from ml.perception.gestures.scene import (
    LONGEST_HOLD_S,
    STRETCH_M,
    Candidate,
    Scene,
    beats,
    brought,
    candidate,
    mean,
    ramp,
    restless,
    spoken,
    unit,
)
from ml.perception.gestures.shapes import is_fist
from ml.perception.gestures.window import Array, box_distance

WEIGHTS = {"form": 0.30, "straight": 0.25, "aim": 0.25, "still": 0.20}
ARM_ONLY = 0.6
LEAST_HOLD_S = 0.15
RAISED_M = 0.12  # out of the resting region, or above the elbow
STRETCHED, STRETCH_DEG = 0.85, 40.0  # a stretched and raised arm
MOST = 0.6  # share of the hold's looks
BY_FINGER = 0.5  # share of the looks at the hand with a pointing finger, from which it is the finger that points
RAY_M = 0.5  # drawn length of a ray that meets nothing


def pointing(scene: Scene, number: int) -> Iterator[Candidate]:
    """The pointings of one arm."""
    arm = scene.arms[number]
    for k, hold in enumerate(scene.phases[number]):
        if hold.kind != "hold" or not LEAST_HOLD_S <= scene.span_s(hold) <= LONGEST_HOLD_S:
            continue
        if not brought(scene, number, k) or beats(scene, number, k):
            continue
        here = slice(hold.start, hold.end)
        form = finger_share(arm, here)
        if (form is None or form < BY_FINGER) and restless(scene, number, k):
            continue
        if not is_out(scene, number, here, form):
            continue
        by_finger = form is not None and form >= BY_FINGER
        aim, origin, direction = aimed(scene, arm, hold, by_finger)
        terms = {
            "form": 0.5 if form is None else form,
            "straight": ramp(mean(arm.straight[here]), 0.7, 0.95),
            "aim": 0.4 if aim.angle is None else 1 - aim.angle / CONE_DEG,
            "still": ramp(scene.span_s(hold), 0, 0.6),
        }
        move = scene.before(number, k)
        span = (hold.start if move is None else move.start, hold.end)
        far = (RAY_M if aim.distance is None else aim.distance) * arm.scale
        found = candidate(
            scene, "pointing", number, span, aim, described(scene, aim, direction), terms, WEIGHTS,
            facts={"finger_seen": None if form is None else round(form, 3)}, to=origin + far * direction,
        )  # fmt: skip
        yield found if by_finger else replace(found, confidence=min(found.confidence, ARM_ONLY))


def finger_share(arm: Arm, here: slice) -> float | None:
    """Share of the looks at the hand on which the index finger points; None when the hand was never seen."""
    looks = arm.hand[here].sum()
    return float(arm.pointing[here].sum() / looks) if looks else None


def is_out(scene: Scene, number: int, here: slice, form: float | None) -> bool:
    """By finger or by arm, on most looks; nothing in the hand, unless the finger is out."""
    arm = scene.arms[number]
    finger = arm.pointing[here] & (arm.out[here] >= RAISED_M)
    by_arm = (arm.straight[here] >= STRETCHED) & (arm.reach[here] >= STRETCH_M) & (arm.elevation[here] >= STRETCH_DEG)
    by_arm = by_arm & ~touches_others(scene, arm, here)
    if form is not None and form < BY_FINGER and is_fist(scene.window.hand[here, arm.person, arm.side]):
        by_arm[:] = False
    if (finger | by_arm).mean() < MOST:
        return False
    holds = scene.things[number].held(here.start, here.stop) is not None
    return not holds or (form is not None and form >= MOST)


def touches_others(scene: Scene, arm: Arm, here: slice) -> Array:
    """Looks on which the wrist is in front of somebody else's body, as an arm around a shoulder is."""
    away = box_distance(arm.wrist[here, None], scene.window.body[here])
    away[:, arm.person] = np.inf
    return np.asarray((away == 0).any(1))


def aimed(scene: Scene, arm: Arm, hold: Phase, by_finger: bool) -> tuple[Aim, Array, Array]:
    """What the arm points at in a hold: the target that most looks agree on; and the mean ray, origin and direction.

    The ray starts at the fingertip; its direction is the finger's (knuckle to tip) mixed with the forearm's, or the
    forearm's alone where no finger was seen: the forearm is longer, so its direction shakes less.
    """
    votes: dict[tuple[str, int | None], list[Aim]] = {}
    rays, tips = [], []
    for look in range(hold.start, hold.end):
        forearm = unit(arm.wrist[look] - arm.elbow[look])
        finger = unit(arm.tip[look] - arm.knuckle[look])
        ray = unit(forearm + finger) if by_finger and arm.pointing[look] else forearm
        if not np.isfinite(ray).all() or not np.isfinite(arm.tip[look]).all():
            continue
        rays.append(ray)
        tips.append(arm.tip[look])
        aim = pick(scene.window, look, arm.tip[look], ray, arm.person, arm.scale)
        votes.setdefault((aim.kind, aim.index), []).append(aim)
    if not votes:
        return Aim("location"), arm.wrist[hold.start], np.array([1.0, 0.0])
    origin, direction = np.mean(tips, axis=0), unit(np.mean(rays, axis=0))
    most = max(votes.values(), key=len)
    if most[0].angle is None:
        return most[0], origin, direction
    angle, distance = (mean([getattr(a, name) for a in most]) for name in ("angle", "distance"))
    return replace(most[0], angle=angle, distance=distance), origin, direction


def described(scene: Scene, aim: Aim, direction: Array) -> str:
    """The target in words; nothing for a person, who is named by the role."""
    if aim.kind == "object":
        assert aim.index is not None
        return spoken(scene.window.names[aim.index])
    return "" if aim.kind == "person" else place(direction)
