"""Anchors and boxes of the two detectors of one family: palms (256 px, 2944 anchors) and bodies (224 px, 2254)."""

from __future__ import annotations

import cv2
import numpy as np

from ml.perception.protocols import Array

STRIDES = (8, 16, 32, 32, 32)
MAX_IOU = 0.3


def anchors(side: int, strides: tuple[int, ...] = STRIDES) -> Array:
    """N x 2 anchor centres (x, y) in 0..1: two per cell and layer; layers of equal stride share one grid."""
    centres = []
    for stride in dict.fromkeys(strides):
        cells = -(-side // stride)
        y, x = np.divmod(np.arange(cells * cells), cells)
        grid = np.stack([(x + 0.5) / cells, (y + 0.5) / cells], axis=1)
        centres.append(np.repeat(grid, 2 * strides.count(stride), axis=0))
    return np.concatenate(centres)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(x, -60, 60)))


def decode(output: Array, centres: Array, side: int, threshold: float) -> tuple[Array, Array, Array]:
    """Boxes (N x 4), scores and points (N x K x 2) in input pixels above `threshold` after suppression, best first.

    `output`: A x (1 + 4 + 2K) of score logit, box centre and size, points, the offsets in input pixels from the anchor.
    """
    scores = sigmoid(output[:, 0])
    i = np.flatnonzero(scores > threshold)
    values = output[i, 1:].reshape(len(i), output.shape[1] // 2, 2).astype(np.float64)
    points = np.delete(values, 1, axis=1) + centres[i][:, None] * side  # all but the size is relative to the anchor
    corners = points[:, 0] - values[:, 1] / 2
    if not len(i):
        return np.zeros((0, 4)), scores[i], points[:, 1:]
    boxes = np.c_[corners, values[:, 1]]
    keep = np.array(cv2.dnn.NMSBoxes(boxes.tolist(), scores[i].tolist(), threshold, MAX_IOU)).ravel().astype(int)
    return np.c_[corners, corners + values[:, 1]][keep], scores[i][keep], points[keep, 1:]
