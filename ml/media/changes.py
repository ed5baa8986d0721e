"""How much each picture differs from the one before, which cuts are found by.

The mean absolute difference of hue (0..179), saturation and value (0..255) of two pictures of at most LONGEST pixels,
over pixels and channels: PySceneDetect's content value.
"""

from __future__ import annotations

from array import array
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

LONGEST = 256  # pixels of the longer side that are looked at


class Changes:
    """Takes pictures (BGR) in order."""

    def __init__(self) -> None:
        self._before: Any = None
        self._values = array("f")

    def push(self, bgr: NDArray[np.uint8]) -> None:
        hsv = cv2.cvtColor(bgr, cv2.COLOR_BGR2HSV)
        self._values.append(0.0 if self._before is None else cv2.norm(hsv, self._before, cv2.NORM_L1) / hsv.size)
        self._before = hsv

    @property
    def values(self) -> NDArray[np.float32]:
        """float32[N], one value per picture; that of the first is 0."""
        return np.array(self._values, np.float32)
