"""Who is who: faceres, 1024 numbers per face, on the face aligned by its five points.

Input 1x224x224x3, BGR minus the means. Its age and gender outputs are not used.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np

from ml.perception.protocols import Array, Face, Image
from ml.perception.session import Session

PIXELS = 224
MEAN = np.array([103.939, 116.779, 123.68], np.float32)
# the usual places of the five points in a 112 px face, in the order of Face.points
TEMPLATE = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)


def alignment(points: Array) -> Array:
    """2x3 similarity from picture pixels to the 224 px template that fits five points best (least squares).

    Umeyama, "Least-squares estimation of transformation parameters between two point patterns", 1991.
    """
    target = TEMPLATE * (PIXELS / 112)
    a, b = points - points.mean(0), target - target.mean(0)
    # as complex numbers a similarity is one multiplication, and its least squares solution one quotient
    p, q = a[:, 0] + 1j * a[:, 1], b[:, 0] + 1j * b[:, 1]
    turn = np.vdot(p, q) / max(np.vdot(p, p).real, 1e-9)
    linear = np.array([[turn.real, -turn.imag], [turn.imag, turn.real]])
    return np.c_[linear, target.mean(0) - linear @ points.mean(0)]


class FaceRes:
    name: ClassVar[str] = "faceres"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("faceres",)

    def __init__(self, folder: Path | None = None) -> None:
        self._session = Session("faceres", folder)

    def embed(self, bgr: Image, face: Face) -> Array:
        """A vector of unit length; the dot product of two is their similarity."""
        patch = cv2.warpAffine(bgr, alignment(face.points), (PIXELS, PIXELS), flags=cv2.INTER_LINEAR)
        v = self._session(patch[None].astype(np.float32) - MEAN)["global_pooling/Mean"].ravel()
        return v / np.linalg.norm(v)
