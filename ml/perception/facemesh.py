"""Face mesh with irises: attention mesh, 192 px crop around the face.

Input 1x192x192x3, RGB 0..1. Outputs: `Identity` flag, `Identity_4` 468 points, and the refined parts that overwrite
points of the mesh: `_1` and `_5` eyes, `_3` lips, `_2` and `_6` irises. Larger crops than 1.35 face boxes make the gaze
clearly worse, and a second pass costs double and helps nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np

from ml.perception.geometry import crop, middle, size, transform
from ml.perception.protocols import Array, Face, Image, Mesh, Roi
from ml.perception.session import Session

PIXELS, SCALE = 192, 1.35
# mesh points that the eye and lip outputs refine, in the order of those outputs
LEFT_EYE = [33, 7, 163, 144, 145, 153, 154, 155, 133, 246, 161, 160, 159, 158, 157, 173]
RIGHT_EYE = [263, 249, 390, 373, 374, 380, 381, 382, 362, 466, 388, 387, 386, 385, 384, 398]
LIPS = [61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291]


def face_roi(face: Face) -> Roi:
    """Crop turned upright by the eye line; a face that seems upside down is left as it is."""
    eyes = face.points[1] - face.points[0]
    angle = float(np.arctan2(eyes[1], eyes[0]))
    if abs(angle) > np.pi / 2 * 0.9:
        angle = 0.0
    return middle(face.box), float(max(size(face.box)) * SCALE), angle


def assemble(outputs: dict[str, Array]) -> Array:
    """478 x 3 points in crop pixels: the mesh with its refined parts, then the irises (468.. at 33-133, 473..).

    The refined x and y keep the mesh's depth; the irises have none (NaN).
    """
    mesh = outputs["Identity_4"].reshape(468, 3).copy()
    mesh[LEFT_EYE, :2] = outputs["Identity_1"].reshape(71, 2)[: len(LEFT_EYE)]
    mesh[RIGHT_EYE, :2] = outputs["Identity_5"].reshape(71, 2)[: len(RIGHT_EYE)]
    mesh[LIPS, :2] = outputs["Identity_3"].reshape(80, 2)[: len(LIPS)]
    irises = np.concatenate([outputs[name].reshape(5, 2) for name in ("Identity_2", "Identity_6")])
    return np.concatenate([mesh, np.c_[irises, np.full(len(irises), np.nan)]])


class FaceMesh:
    name: ClassVar[str] = "facemesh"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("facemesh-attention",)

    def __init__(self, folder: Path | None = None) -> None:
        self._session = Session("facemesh-attention", folder)

    def mesh(self, bgr: Image, face: Face) -> Mesh:
        """The face's points in picture pixels; below a flag of 0.5 it is a profile or hidden, and they mean nothing."""
        roi = face_roi(face)
        patch, matrix = crop(bgr, roi, PIXELS, cv2.BORDER_REPLICATE)
        outputs = self._session(patch[None, :, :, ::-1].astype(np.float32) / 255)
        points = assemble(outputs)
        points = np.c_[transform(matrix, points[:, :2]), points[:, 2] * (roi[1] / PIXELS)]
        return Mesh(points, float(outputs["Identity"].ravel()[0]))
