"""Whom or what a ray in the picture meets: persons and objects by their boxes, else a place. Geometry without depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ml.perception.gestures.window import Array, Window

CONE_DEG = 15.0  # between the ray and the nearest edge of a box that may be meant
FURNITURE = ("chair", "couch", "bed", "dining_table", "bench")  # large things a ray crosses on its way
LARGE_PENALTY_DEG = 6.0
HIT_DEG = 5.0  # a ray this near to a box may meet it: of several such boxes the nearest is meant
AHEAD_M = 0.05  # a target lies at least this far ahead


@dataclass(frozen=True)
class Aim:
    """What is meant: a person or object by position in the window, or neither; and the angle by which it is missed."""

    kind: str  # person | object | location
    index: int | None = None
    angle: float | None = None  # degrees, 0 when the ray meets the box
    distance: float | None = None  # metres


def pick(window: Window, look: int, origin: Array, direction: Array, own: int, scale: float) -> Aim:
    """What a ray from `origin` (pixels) along `direction` (unit length) means on one look, among everybody but `own`.

    The smallest angle to a box wins; of boxes that it may meet (HIT_DEG) the nearest, a large piece of furniture last.
    """
    people = head_and_trunk(window.body[look], window.face[look])
    boxes = np.concatenate([people, window.thing[look]])
    count = len(people)
    angles, distances = angles_to(boxes, origin, direction)
    angles[own] = np.nan
    large = np.array([name in FURNITURE for name in window.names], bool)
    cost = np.maximum(angles - HIT_DEG, 0) + 0.01 * distances / scale
    cost[count:] += LARGE_PENALTY_DEG * large
    cost[~(angles <= CONE_DEG) | ~(distances / scale >= AHEAD_M)] = np.inf
    if not len(cost) or not np.isfinite(cost).any():
        return Aim("location")
    best = int(cost.argmin())
    kind, index = ("person", best) if best < count else ("object", best - count)
    return Aim(kind, index, float(angles[best]), float(distances[best] / scale))


def head_and_trunk(body: Array, face: Array) -> Array:
    """P x 4: the part of a person somebody points at: the body box down to three face heights below the face.

    A box that reaches to the floor would catch every ray that passes at somebody's feet.
    """
    cut = face[:, 3] + 3 * (face[:, 3] - face[:, 1])
    trunk = body.copy()
    trunk[:, 3] = np.where(np.isfinite(cut), np.fmin(body[:, 3], cut), body[:, 3])
    return trunk


def angles_to(boxes: Array, origin: Array, direction: Array) -> tuple[Array, Array]:
    """Angle in degrees between a ray and each box (0 where it meets it) and pixels from the origin to the box's middle.

    A box behind the origin has the angle to its nearest corner, 180 at most. NaN for boxes that are not there.
    """
    corners = boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]] - origin  # N x 4 x 2
    along = corners @ direction
    across = corners[..., 0] * direction[1] - corners[..., 1] * direction[0]
    turn = np.degrees(np.arctan2(across, along))
    known = np.isfinite(turn).all(1)
    meets = known & (turn.min(1) < 0) & (turn.max(1) > 0) & (np.ptp(turn, axis=1) < 180)
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2 - origin
    return np.where(meets, 0.0, np.abs(turn).min(1)), np.linalg.norm(middle, axis=1)


def place(direction: Array) -> str:
    """A direction in the picture in words."""
    angle = float(np.degrees(np.arctan2(direction[1], direction[0])))
    names = ("right", "lower right", "down", "lower left", "left", "upper left", "up", "upper right")
    name = names[round(angle / 45) % 8]
    return f"a place {name if name in ('up', 'down') else 'to the ' + name} in the picture"
