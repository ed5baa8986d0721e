"""What a hand holds and comes near to: followed objects against one arm, look by look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ml.perception.gestures.arms import Arm
from ml.perception.gestures.window import Array, Window, box_distance

NEAR_M = 0.10  # from the palm to the object's box: in the hand
ALONG_M = 0.12  # a held object moves with the palm up to this
LARGEST_M = 0.70  # longer side of what a hand can hold up
FIXED = ("chair", "couch", "bed", "dining_table", "bench", "toilet", "tv", "microwave", "oven", "sink", "refrigerator",
         "car", "bus", "train", "truck", "boat", "airplane", "motorcycle", "bicycle", "traffic_light", "fire_hydrant",
         "stop_sign", "parking_meter", "horse", "cow", "elephant", "bear", "zebra", "giraffe", "potted_plant", "tie",
         "surfboard")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Things:
    """Objects against one arm. `distance`: T x O metres from the palm to the box; `tip`: from the fingertip; `shift`:
    T x O x 2 metres of the object's middle from the palm's; `movable`: O, what a hand can hold."""

    distance: Array
    tip: Array
    shift: Array
    middle: Array  # T x O x 2, pixels
    movable: Array

    def held(self, start: int, end: int) -> int | None:
        """The object that lies in the hand over most of the looks [start, end) and moves with it, or None."""
        if start >= end or not self.distance.shape[1]:
            return None
        here = slice(start, end)
        share = (self.distance[here] <= NEAR_M).mean(0)
        drift = np.array([drifts(self.shift[here, k]) for k in range(share.size)])
        good = self.movable & (share >= 0.6) & (drift <= ALONG_M)
        return int(np.where(good, share, -1).argmax()) if good.any() else None


def things_of(window: Window, arm: Arm) -> Things:
    """All objects of a prepared window against one of its arms."""
    boxes = window.thing
    middle = (boxes[..., :2] + boxes[..., 2:]) / 2
    side = np.array([median_side(boxes[:, k]) for k in range(boxes.shape[1])]) / arm.scale
    fixed = np.array([name in FIXED for name in window.names], bool)
    return Things(
        distance=box_distance(arm.palm[:, None], boxes) / arm.scale,
        tip=np.fmin(box_distance(arm.tip[:, None], boxes), box_distance(arm.palm[:, None], boxes)) / arm.scale,
        shift=(middle - arm.palm[:, None]) / arm.scale,
        middle=middle,
        movable=~fixed & (side <= LARGEST_M) if len(side) else np.zeros(0, bool),
    )


def median_side(boxes: Array) -> float:
    """Median of a box's longer side over the looks on which it is there (T x 4)."""
    side = (boxes[:, 2:] - boxes[:, :2]).max(1)
    return float(np.median(side[np.isfinite(side)])) if np.isfinite(side).any() else np.inf


def drifts(shift: Array) -> float:
    """Largest distance of a path (T x 2) from its median; infinite where it is never known."""
    known = np.isfinite(shift).all(1)
    if not known.any():
        return np.inf
    path = shift[known]
    return float(np.percentile(np.linalg.norm(path - np.median(path, axis=0), axis=1), 80))
