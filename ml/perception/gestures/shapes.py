"""What a hand's 21 points look like: wrist 0, then four each of thumb, index (5-8), middle, ring and little finger."""

from __future__ import annotations

import numpy as np

from ml.perception.gestures.window import Array

OUT, FOLDED, STRAIGHT, CLEARLY, CLOSED = 1.6, 1.35, 0.9, 0.25, 1.4


def ratios(hand: Array) -> Array:
    """... x 4: how far index, middle, ring and little fingertip are from the wrist, in the distance of the knuckle."""
    wrist = hand[..., :1, :]
    tips = np.linalg.norm(hand[..., [8, 12, 16, 20], :] - wrist, axis=-1)
    knuckles = np.linalg.norm(hand[..., [5, 9, 13, 17], :] - wrist, axis=-1)
    return tips / np.maximum(knuckles, 1e-6)


def is_pointing(hand: Array) -> Array:
    """Index finger out and straight, at least two of the others folded, and it reaches clearly further than each.

    `hand`: ... x 21 x 2. A rule for still pictures with false hits (a finger at the mouth); False for NaN.
    """
    index, *others = np.moveaxis(ratios(hand), -1, 0)
    rest = np.stack(others)
    joints = np.linalg.norm(np.diff(hand[..., 5:9, :], axis=-2), axis=-1).sum(-1)
    straight = np.linalg.norm(hand[..., 8, :] - hand[..., 5, :], axis=-1) / np.maximum(joints, 1e-6)
    with np.errstate(invalid="ignore"):
        folded = (rest < FOLDED).sum(0) >= 2
        return (index > OUT) & (straight > STRAIGHT) & folded & (index > rest.max(0) + CLEARLY)


def is_fist(hands: Array) -> bool:
    """Whether most of the hands that are known (N x 21 x 2) are closed: half of the fingertips are near the wrist."""
    known = hands[np.isfinite(hands).all(axis=(1, 2))]
    return bool((np.median(ratios(known), axis=-1) < CLOSED).mean() > 0.5) if len(known) else False
