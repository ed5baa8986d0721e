"""The mask of a thing in its box: GrabCut from the box, with people as background; or the box itself, and says which.

Approximate. A box is what remains when the thing is small (NARROWEST), lies mostly on somebody (a tie, a phone in the
hand), or when GrabCut finds next to nothing or nearly all of the box.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ml.media import masks as packed
from ml.perception.protocols import Array, Image

ROUNDS = 3
AROUND = 0.5  # of the box's size on every side
LONGEST = 256  # pixels of the longer side of what GrabCut works on; it takes seconds on more
NARROWEST = 12  # pixels of the shorter side of a box
ON_SOMEBODY = 0.6  # share of the box
LEAST, MOST = 0.08, 0.95  # share of the box that a mask fills


def cut(bgr: Image, box: Array, people: NDArray[np.bool_]) -> tuple[bytes, str]:
    """Run lengths in the picture's size, and "mask" or "box". `box` in pixels; `people` bool[height, width]: everybody.

    The same input gives the same mask.
    """
    height, width = bgr.shape[:2]
    plain = packed.of_box((box / [width, height, width, height]).tolist(), (height, width)), "box"
    w, h = box[2] - box[0], box[3] - box[1]
    left, top = np.floor(np.maximum(box[:2] - AROUND * np.array([w, h]), 0)).astype(int)
    right, bottom = np.ceil(np.minimum(box[2:] + AROUND * np.array([w, h]), [width, height])).astype(int)
    inner = np.round(box).astype(int)
    if min(w, h) < NARROWEST or people[inner[1] : inner[3], inner[0] : inner[2]].mean() > ON_SOMEBODY:
        return plain
    part, others = bgr[top:bottom, left:right], people[top:bottom, left:right]
    scale = min(1.0, LONGEST / max(part.shape[:2]))
    if scale < 1:
        size = (max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale)))
        part = cv2.resize(part, size, interpolation=cv2.INTER_AREA)
        others = cv2.resize(others.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST).astype(bool)
    within = (np.r_[box[:2] - [left, top], box[2:] - [left, top]] * scale).round().astype(int)
    found = _grabbed(part, within, others)
    share = found.sum() / max(1, (within[2] - within[0]) * (within[3] - within[1]))
    if not LEAST <= share <= MOST:
        return plain
    mask = np.zeros((height, width), bool)
    size = (int(right - left), int(bottom - top))
    mask[top:bottom, left:right] = cv2.resize(found.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
    return packed.encode(mask), "mask"


def _grabbed(part: Image, within: NDArray[np.int64], others: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What GrabCut takes for the thing in a part of a picture; nothing where it cannot begin."""
    marks: NDArray[Any] = np.full(part.shape[:2], cv2.GC_BGD, np.uint8)
    x1, y1, x2, y2 = within
    marks[y1:y2, x1:x2] = cv2.GC_PR_FGD
    marks[others] = cv2.GC_BGD
    if not (marks == cv2.GC_PR_FGD).any() or not (marks == cv2.GC_BGD).any():
        return np.zeros(part.shape[:2], bool)
    cv2.setRNGSeed(0)  # its clusters start at random
    back, front = np.zeros((1, 65)), np.zeros((1, 65))
    whole = (0, 0, part.shape[1], part.shape[0])  # not looked at: the marks say what is what
    cv2.grabCut(np.ascontiguousarray(part), marks, whole, back, front, ROUNDS, cv2.GC_INIT_WITH_MASK)
    return (marks == cv2.GC_FGD) | (marks == cv2.GC_PR_FGD)
