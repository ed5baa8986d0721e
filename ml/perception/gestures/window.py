"""A stretch of one shot as arrays over time: what the rules look at.

T looks, P persons, O objects. Coordinates are pixels of the upright picture, y down, NaN where there is nothing. Looks
may lie at irregular times. Lengths that rules compare with a threshold are in metres of the person they are about:
pixels over `scales`, which assumes an average adult (a child's metre is shorter, and all thresholds shrink with it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SHOULDERS, ELBOWS, WRISTS, HIPS = (11, 12), (13, 14), (15, 16), (23, 24)  # left, right
KNUCKLES = ((17, 19), (18, 20))  # of the little finger and the index, as the pose has them
SEEN = 0.5  # visibility from which a point of a pose counts
FILL_S = 0.5  # a gap this long is filled by a straight line
KERNEL_S = 0.15  # half width of the triangle that smooths positions
SHOULDER_M, TORSO_M, FACE_M = 0.36, 0.50, 0.17  # between shoulder joints; shoulders to hips; brow to chin


@dataclass(frozen=True, eq=False)
class Window:
    """See the module. `hand`: 21 points of each person's left and right hand; `unsure`: it may be somebody else's.

    `thing`: boxes of followed objects, `names` and `scores` (mean of the detector's) of each.
    """

    frame: Array  # T
    seconds: Array  # T, rising
    persons: Array  # P
    pose: Array  # T x P x 33 x 3: x, y, visibility
    hand: Array  # T x P x 2 x 21 x 2
    unsure: Array  # T x P x 2, bool
    body: Array  # T x P x 4
    face: Array  # T x P x 4
    thing: Array  # T x O x 4
    names: list[str]
    scores: Array  # O
    width: int
    height: int

    def prepared(self) -> Window:
        """Points below `SEEN` taken out, short gaps filled, positions smoothed."""
        pose = self.pose.copy()
        pose[pose[..., 2] < SEEN, :2] = np.nan
        pose[..., :2] = smooth(fill(pose[..., :2], self.seconds), self.seconds)
        return replace(
            self,
            pose=pose,
            hand=fill(self.hand, self.seconds),
            body=fill(self.body, self.seconds),
            face=fill(self.face, self.seconds),
            thing=smooth(fill(self.thing, self.seconds), self.seconds),
        )


def fill(values: Array, seconds: Array, longest_s: float = FILL_S) -> Array:
    """`values` (T x ...) with gaps of NaN up to `longest_s` between two looks filled by straight lines in time."""
    flat = values.reshape(len(seconds), -1)
    known = np.isfinite(flat)
    if known.all() or len(seconds) < 3:
        return values
    at = np.arange(len(seconds))[:, None]
    before = np.maximum.accumulate(np.where(known, at, -1), axis=0)
    after = np.minimum.accumulate(np.where(known, at, len(seconds))[::-1], axis=0)[::-1]
    inside = ~known & (before >= 0) & (after < len(seconds))
    low, high = np.clip(before, 0, None), np.clip(after, None, len(seconds) - 1)
    gap = seconds[high] - seconds[low]
    inside &= gap <= longest_s + 1e-9
    share = np.divide(seconds[:, None] - seconds[low], gap, out=np.zeros_like(gap), where=gap > 0)
    columns = np.arange(flat.shape[1])[None]
    line = flat[low, columns] + share * (flat[high, columns] - flat[low, columns])
    return np.where(inside, line, flat).reshape(values.shape)


def smooth(values: Array, seconds: Array, half_width_s: float = KERNEL_S) -> Array:
    """Mean of `values` (T x ...) over time, weighted by a triangle; NaN stays NaN and weighs nothing."""
    reach = int(np.searchsorted(np.sort(np.diff(seconds)).cumsum(), half_width_s)) + 1 if len(seconds) > 1 else 0
    total, weight = np.zeros_like(values), np.zeros_like(values)
    for step in range(-reach, reach + 1):
        low, high = max(0, -step), len(seconds) - max(0, step)
        if low >= high:
            continue
        here, there = slice(low, high), slice(low + step, high + step)
        w = np.clip(1 - np.abs(seconds[there] - seconds[here]) / half_width_s, 0, None)
        w = w.reshape(-1, *[1] * (values.ndim - 1)) * np.isfinite(values[there])
        total[here] += w * np.nan_to_num(values[there])
        weight[here] += w
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.isfinite(values), total / weight, np.nan)


def scales(window: Window) -> Array:
    """P pixels per metre: the largest that shoulders, torso and face say, each by its median over time.

    Turning and leaning only shorten what is seen, so the largest is the least wrong. NaN for somebody never seen.
    """
    points = window.pose[..., :2]
    shoulder = np.linalg.norm(points[:, :, 11] - points[:, :, 12], axis=-1)
    torso = np.linalg.norm(points[:, :, list(SHOULDERS)].mean(2) - points[:, :, list(HIPS)].mean(2), axis=-1)
    face = window.face[..., 3] - window.face[..., 1]
    each = np.stack([median(shoulder) / SHOULDER_M, median(torso) / TORSO_M, median(face) / FACE_M])
    return np.where(np.isfinite(each).any(0), np.nanmax(np.where(np.isfinite(each), each, -np.inf), axis=0), np.nan)


def median(values: Array) -> Array:
    """Median over time (T x P), NaN where somebody has no value at all."""
    known = np.isfinite(values)
    result = np.full(values.shape[1], np.nan)
    for k in np.flatnonzero(known.any(0)):
        result[k] = np.median(values[known[:, k], k])
    return result


def box_distance(points: Array, boxes: Array) -> Array:
    """Distance from points (... x 2) to boxes (... x 4), 0 inside."""
    outside = np.maximum(np.maximum(boxes[..., :2] - points, points - boxes[..., 2:]), 0)
    return np.linalg.norm(outside, axis=-1)
