"""Faces: CenterFace (any multiple of 32, here a long side of 512 px).

Input Bx3xHxW, RGB 0..255. Outputs at stride 4: `537` heat, `538` log size (height, width), `539` offset (y, x), `540`
five points (channel 2j is y, 2j + 1 is x of point j), in units of the box from its top left corner.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np

from ml.perception.protocols import Array, Face, Image
from ml.perception.session import Session

SIDE, STRIDE, MULTIPLE = 512, 4, 32
THRESHOLD, MAX_IOU = 0.4, 0.3


def input_size(height: int, width: int) -> tuple[int, int]:
    """Height and width of the network's input: never enlarged, rounded up to a multiple of 32."""
    scale = min(1.0, SIDE / max(height, width))
    rows, columns = (int(np.ceil(v * scale / MULTIPLE) * MULTIPLE) for v in (height, width))
    return rows, columns


def decode(heat: Array, log_size: Array, offset: Array, marks: Array, threshold: float) -> tuple[Array, Array, Array]:
    """Boxes (N x 4), scores and points (N x 5 x 2) in input pixels of the cells above `threshold`.

    Shapes: heat h x w, log_size and offset 2 x h x w, marks 10 x h x w.
    """
    y, x = np.nonzero(heat > threshold)
    extent = np.exp(log_size[::-1, y, x].T.astype(np.float64)) * STRIDE  # width, height
    centre = (np.stack([x, y], 1) + offset[::-1, y, x].T + 0.5) * STRIDE
    corner = np.maximum(centre - extent / 2, 0)
    points = marks[:, y, x].T.reshape(-1, 5, 2)[:, :, ::-1] * extent[:, None] + corner[:, None]
    return np.concatenate([corner, corner + extent], 1), heat[y, x].astype(np.float64), points


class CenterFace:
    name: ClassVar[str] = "centerface"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("centerface",)

    def __init__(self, folder: Path | None = None) -> None:
        self._session = Session("centerface", folder)

    def detect(self, bgr: Image) -> list[Face]:
        """The faces of a picture, best first; boxes are tight (no forehead)."""
        h, w = bgr.shape[:2]
        rows, columns = input_size(h, w)
        o = self._session(cv2.dnn.blobFromImage(bgr, 1.0, (columns, rows), swapRB=True))
        boxes, scores, points = decode(o["537"][0, 0], o["538"][0], o["539"][0], o["540"][0], THRESHOLD)
        if not len(boxes):
            return []
        ratio = np.array([w / columns, h / rows])
        boxes, points = boxes * np.r_[ratio, ratio], points * ratio
        corners = np.c_[boxes[:, :2], boxes[:, 2:] - boxes[:, :2]].tolist()
        keep = np.array(cv2.dnn.NMSBoxes(corners, scores.tolist(), THRESHOLD, MAX_IOU)).ravel().astype(int)
        return [Face(boxes[k], float(scores[k]), points[k]) for k in keep]
