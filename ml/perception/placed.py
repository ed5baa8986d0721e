"""A pose as the model says it, in its crop: from it the pose in the picture follows without the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ml.perception.anchors import sigmoid
from ml.perception.geometry import patch_matrix, transform
from ml.perception.protocols import Array, Pose, Roi

PIXELS, POINTS = 256, 33  # side of the crop; points of a body


@dataclass(frozen=True, eq=False)
class Placed:
    """`marks` float32[33, 4] (x, y, z, visibility logit; crop pixels), the model's flag, and the crop."""

    marks: NDArray[np.float32]
    flag: float
    roi: Roi

    @property
    def matrix(self) -> Array:
        """2x3, from the crop's pixels to the picture's."""
        return patch_matrix(self.roi, PIXELS)

    @property
    def pose(self) -> Pose:
        """In picture pixels."""
        marks = self.marks.astype(np.float64)
        depth = marks[:, 2] * self.roi[1] / PIXELS
        return Pose(np.c_[transform(self.matrix, marks[:, :2]), sigmoid(marks[:, 3]), depth], self.flag)
