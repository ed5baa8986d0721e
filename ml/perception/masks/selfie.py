"""A mask for somebody without a pose of their own: the selfie model on the person's crop.

Input 1x256x256x3, RGB 0..1, of a square crop of 1.1 times the person box, its border replicated; output 256x256, 0..1.
On the whole picture it loses people. The crop may show others, too: `labels` settles whose a pixel is, and for that the
person gets a rough skeleton under the face.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np

from ml.perception.geometry import crop, middle, size
from ml.perception.protocols import Array, Image, Patch
from ml.perception.session import Session

PIXELS, ROOM = 256, 1.1


class Selfie:
    name: ClassVar[str] = "selfie"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("selfie",)

    def __init__(self, folder: Path | None = None) -> None:
        self._session = Session(self.weights[0], folder)

    def outline(self, bgr: Image, box: Array) -> Patch:
        """The mask in the crop around a person box (pixels)."""
        patch, matrix = crop(bgr, (middle(box), float(max(size(box)) * ROOM), 0.0), PIXELS, cv2.BORDER_REPLICATE)
        share = next(iter(self._session(patch[None, :, :, ::-1].astype(np.float32) / 255).values()))
        return Patch(share.reshape(PIXELS, PIXELS), matrix)


def rough_skeleton(box: Array, face: Array | None) -> Array:
    """33x2 points (as a pose has them) of somebody upright with this box and face box; pixels."""
    x1, y1, x2, y2 = box
    if face is not None:
        (x, y), (w, h) = middle(face), size(face)
    else:
        x, y, w = (x1 + x2) / 2, y1 + 0.15 * (y2 - y1), 0.35 * (x2 - x1)
        h = w * 1.3
    shoulder, hip = min(y + 1.1 * h, y2), min(y + 3.2 * h, y2)
    points = np.zeros((33, 2))
    points[:11] = x, y
    for side, arm, leg in ((1, (11, 13, 15), (23, 25, 27)), (-1, (12, 14, 16), (24, 26, 28))):
        points[list(arm)] = x + side * 0.8 * w, shoulder
        points[list(leg)] = x + side * 0.5 * w, hip
    return points
