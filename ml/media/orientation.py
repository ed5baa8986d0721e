"""How the pictures of a file must be turned to stand upright (the display matrix of phone footage)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Orientation:
    """One of the eight ways to lay a rectangle: first transpose, then exchange left and right, then top and bottom."""

    transpose: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @property
    def rotation(self) -> int:
        """Degrees clockwise by which the stored picture is turned: 0, 90, 180 or 270; left and right may be exchanged
        after that."""
        if self.transpose:
            return 270 if self.flip_y else 90
        return 180 if self.flip_y else 0

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Width and height after turning a picture of this size."""
        return (height, width) if self.transpose else (width, height)

    def apply(self, picture: NDArray[Any]) -> NDArray[Any]:
        """Turn a picture or plane, h x w [x channels]; the result may be a view."""
        if self.transpose:
            picture = np.swapaxes(picture, 0, 1)
        return picture[:: -1 if self.flip_y else 1, :: -1 if self.flip_x else 1]


def of_frame(frame: Any) -> Orientation:
    """Orientation of a decoded frame, from its display matrix (turned to the nearest quarter)."""
    data = frame.side_data.get("DISPLAYMATRIX")
    return Orientation() if data is None else from_matrix(bytes(data))


def from_matrix(data: bytes) -> Orientation:
    """Read a display matrix: nine 32-bit integers a b u, c d v, x y w.

    A stored point (p, q) is shown at (a p + c q + x, b p + d q + y) (ISO/IEC 14496-12, track header box), so b and c
    dominate when the picture is transposed, and the signs tell which axes run backwards.
    """
    a, b, _, c, d, *_ = struct.unpack("=9i", data[:36])
    if abs(a) + abs(d) >= abs(b) + abs(c):
        return Orientation(False, a < 0, d < 0)
    return Orientation(True, c < 0, b < 0)
