"""What perception backends find, and the small protocol each kind of backend fulfils.

Conventions: pictures are uint8 h x w x 3, BGR, upright; coordinates are pixels of that picture, x right, y down; boxes
are x1, y1, x2, y2; angles inside are radians. A square crop (`Roi`) is centre, size in pixels, and angle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ml.media.index import FrameIndex

if TYPE_CHECKING:
    from ml.evidence.grounding.protocol import Masks
    from ml.perception.placed import Placed

Array = NDArray[Any]  # floating point
Image = NDArray[Any]  # uint8, h x w x 3, BGR
Roi = tuple[Array, float, float]  # centre, size in pixels, angle in radians


@dataclass(frozen=True)
class Detection:
    """One object: its COCO name, score 0..1, box in pixels."""

    name: str
    score: float
    box: Array


@dataclass(frozen=True)
class Face:
    """One face: box in pixels, score 0..1, and five points (5x2): eyes (picture left, right), nose, mouth corners."""

    box: Array
    score: float
    points: Array


@dataclass(frozen=True)
class Mesh:
    """478 face points (468 of the mesh, then 5 per iris): x, y and depth in pixels, smaller is nearer; irises have no
    depth (NaN). And the flag: how surely this is a whole face."""

    points: Array
    flag: float


@dataclass(frozen=True)
class Pose:
    """33 body points (BlazePose's): x and y in pixels, visibility 0..1, depth in pixels, smaller is nearer; and the
    flag: how surely somebody is in the crop."""

    points: Array
    flag: float


@dataclass(frozen=True, eq=False)
class Patch:
    """A mask in a square crop: how surely each pixel is the person's, 0..1, and the 2x3 matrix from the crop's pixels
    to the picture's."""

    share: Array
    matrix: Array


@dataclass(frozen=True)
class Hand:
    """21 hand points (wrist, then four each of thumb, index, middle, ring, little finger): x and y in pixels; the flag:
    how surely this is a hand; `right`: probability of a right hand, as the model says of the unmirrored picture."""

    points: Array
    flag: float
    right: float


class Backend(Protocol):
    """Every backend: its name in the registry, its version, the names of its weights in the manifest."""

    name: ClassVar[str]
    version: ClassVar[str]
    weights: ClassVar[tuple[str, ...]]


class ObjectDetector(Backend, Protocol):
    def detect(self, bgr: Image, threshold: float) -> list[Detection]:
        """Persons and objects with a score above `threshold`."""


class PersonTracker(Backend, Protocol):
    length: int  # frames of a chunk
    overlap: int  # frames that neighbouring chunks share

    def describe(self) -> dict[str, Any]:
        """Name, version, sha256 by weights file, settings; without loading the model."""

    def follow(
        self,
        video: Path,
        index: FrameIndex,
        size: tuple[int, int],
        frames: NDArray[np.int64],
        report: Callable[[int], None],
    ) -> tuple[Masks, list[str]]:
        """The people on the frames of one chunk, numbered within it, and notes; `size`: width and height."""


class FaceDetector(Backend, Protocol):
    def detect(self, bgr: Image) -> list[Face]:
        """The faces of a picture."""


class FaceMesher(Backend, Protocol):
    def mesh(self, bgr: Image, face: Face) -> Mesh:
        """The face's points; a flag below 0.5 means a profile or a hidden face, whose points are not to be used."""


class FaceEmbedder(Backend, Protocol):
    def embed(self, bgr: Image, face: Face) -> Array:
        """A vector of unit length; the dot product of two is their similarity."""


class PoseEstimator(Backend, Protocol):
    def pose(self, bgr: Image, box: Array, face: Face | None) -> Pose | None:
        """The pose of the person with this box and face; None rather than somebody else's."""

    def placed(self, bgr: Image, box: Array, face: Face | None) -> Placed | None:
        """The same as the model says it, in its crop."""


class HandFinder(Backend, Protocol):
    def palms(self, bgr: Image, around: Roi | None = None) -> list[Hand]:
        """The hands in one square, or of the whole picture."""

    def each_palm(self, bgr: Image, around: Roi | None = None) -> Iterator[Hand]:
        """The same one by one, each looked at when it is asked for."""

    def at_wrist(self, bgr: Image, pose: Pose, side: int) -> Hand | None:
        """The hand at the left (0) or right (1) wrist of a pose; None where there is none to be seen."""
