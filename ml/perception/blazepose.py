"""Body points: BlazePose full, 256 px crop. Here it gives the head direction of faces the mesh cannot read.

Input 1x256x256x3, RGB 0..1. Outputs: `Identity_2` 39 x (x, y, z, visibility logit, presence logit), `Identity_3` flag.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from ml.perception.geometry import crop, eye_angle, middle, size, transform
from ml.perception.protocols import Array, Face, Image, Pose, PoseEstimator, Roi
from ml.perception.session import Session, sigmoid

PIXELS = 256
MIN_FLAG = 0.5
CLOSE_UP = 6.0  # face heights; second try, for faces that fill the picture
NOSE = 0


def face_roi(face: Face, person: Array, heights: float | None = None) -> Roi:
    """Crop around the body below a face: `heights` face heights (by default from the person's box), tilted <= 20 deg.

    A small crop validates more often but cuts off outstretched arms, so the large one is tried first.
    """
    w, h = size(face.box)
    angle = float(np.clip(eye_angle(face.points, w), -0.35, 0.35))
    k = heights or float(np.clip(1.15 * max(size(person)) / h, 8, 10))
    down = np.array([-np.sin(angle), np.cos(angle)])
    return middle(face.box) + down * h * k * 0.35, float(h * k), angle


def is_own(face: Face, pose: Pose) -> bool:
    """Whether a pose belongs to a face: its nose lies near the face's. Keeps two people from sharing a skeleton."""
    w, h = size(face.box)
    away = np.linalg.norm(pose.points[NOSE, :2] - face.points[2])
    return bool(pose.flag >= MIN_FLAG and away < 0.6 * max(w, h * 0.7))


def own_pose(model: PoseEstimator, bgr: Image, face: Face, person: Array) -> Pose | None:
    """The pose of the person with this face, or None rather than somebody else's."""
    for heights in (None, CLOSE_UP):
        pose = model.pose(bgr, face_roi(face, person, heights))
        if is_own(face, pose):
            return pose
    return None


class BlazePose:
    name: ClassVar[str] = "blazepose"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("blazepose-full",)

    def __init__(self, folder: Path | None = None) -> None:
        self._session = Session("blazepose-full", folder)

    def pose(self, bgr: Image, roi: Roi) -> Pose:
        """The body points of the person the crop is centred on, in picture pixels."""
        patch, matrix = crop(bgr, roi, PIXELS)
        outputs = self._session(patch[None, :, :, ::-1].astype(np.float32) / 255)
        marks = outputs["Identity_2"].reshape(39, 5)[:33]
        points = np.c_[transform(matrix, marks[:, :2]), sigmoid(marks[:, 3]), marks[:, 2] * roi[1] / PIXELS]
        return Pose(points, float(outputs["Identity_3"].ravel()[0]))
