"""What SAM 3 leaves to an optional package that fetches code from a model hub, done here instead: of detections that
overlap only the best stays, and masks lose specks and holes. The numbers are the model's own.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_IOU = 0.1  # of two detections of one phrase on one frame
SPECK = 16 / 288**2  # share of the picture up to which a part or hole is one: 16 pixels of the model's own masks

Flags = NDArray[np.bool_]


def ious(masks: Flags) -> NDArray[np.float32]:
    """n x n intersections over unions of bool[n, height, width]; 0 where both are empty."""
    flat = masks.reshape(len(masks), masks[0].size if len(masks) else 0).astype(np.float32)
    common = flat @ flat.T
    areas = flat.sum(1)
    return common / np.maximum(areas[:, None] + areas[None] - common, 1)


def best_of_overlapping(masks: Flags, score: NDArray[Any], most_iou: float = MOST_IOU) -> Flags:
    """Which of bool[n, height, width] stay, bool[n]: from the highest score down (the earlier of equal ones first)
    each one that overlaps none of those already kept by more than `most_iou`. Empty masks never stay."""
    overlap = ious(masks)
    kept = np.zeros(len(masks), bool)
    for k in np.argsort(-np.asarray(score, np.float64), kind="stable").tolist():
        kept[k] = overlap[k, k] > 0 and not (overlap[k, kept] > most_iou).any()
    return kept


def cleaned(mask: Flags, speck: float = SPECK) -> Flags:
    """bool[height, width] with small holes filled, then without small parts. A part that is half of the mask or more is
    the thing itself, however small."""
    limit = int(speck * mask.size)
    if limit < 1 or not mask.any():
        return mask
    filled = mask | small_parts(~mask, limit)
    return filled & ~small_parts(filled, min(limit, int(filled.sum()) // 2))


def small_parts(mask: Flags, limit: int) -> Flags:
    """The pixels of the connected parts (by sides and corners) of at most `limit` pixels."""
    _, label, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    small = stats[:, cv2.CC_STAT_AREA] <= limit
    small[0] = False  # what lies outside of the mask
    return small[label]
