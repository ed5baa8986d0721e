"""Body pose: BlazePose full, on a square crop that the person's own face places; then the question "is it mine?".

Landmarks: input 1x256x256x3, RGB 0..1; `Identity_2` 39x5 (x, y, z, visibility logit, presence logit), of which the
first 33 are body points, `Identity_3` flag, `Identity_1` mask of the crop, 256x256, 0..1. Fallback detector: input
1x224x224x3, RGB -1..1; 2254x13 (score logit, box, 4 points: mid hip, its ring, mid shoulder, its ring).

A crop from the own face comes first, a large one before a small one: the small one validates more often but cuts off
outstretched arms. Where both are refused, or there is no face, the detector looks on the person's box. Whatever is
found must have its nose at the own face's nose (without a face: its shoulders in the box), else two people would share
one skeleton. (MoveNet as a further fallback found 3 more of 85 poses for 26 ms on most frames: left out.)
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import ClassVar

import numpy as np

from ml.perception.anchors import anchors, decode
from ml.perception.geometry import crop, eye_angle, middle, size, transform
from ml.perception.placed import PIXELS, POINTS, Placed
from ml.perception.protocols import Array, Face, Image, Patch, Pose, Roi
from ml.perception.session import Session
from ml.weights import cache

DETECTOR_PIXELS = 224
MARKS, MASK = ("Identity_2", "Identity_3"), "Identity_1"  # outputs: points and flag; mask
FLAG, DETECTOR_SCORE = 0.5, 0.3
FACE_HEIGHTS = (8.0, 10.0)  # size of a crop in face heights, at least and at most
CLOSE_UP = 6.0  # the second try
NOSE, SHOULDERS = 0, [11, 12]


def roi_from_face(face: Face, box: Array, heights: float | None = None) -> Roi:
    """Crop centred 0.35 of its size below the face along the face's own down axis; size in face heights."""
    width, height = size(face.box)
    angle = float(np.clip(eye_angle(face.points, width), -0.35, 0.35))
    k = heights or float(np.clip(1.15 * max(size(box)) / height, *FACE_HEIGHTS))
    down = np.array([-np.sin(angle), np.cos(angle)])
    return middle(face.box) + down * height * k * 0.35, float(height * k), angle


def upright(direction: Array) -> float:
    """Rotation of a crop in which `direction` points up."""
    return float(np.arctan2(direction[1], direction[0]) + np.pi / 2)


def roi_from_ring(hip: Array, ring: Array) -> Roi:
    """As the detector means it: mid hip, and a point on the circle around the whole body."""
    return hip, float(2.5 * np.linalg.norm(ring - hip)), upright(ring - hip)


def is_own(pose: Pose, box: Array, face: Face | None) -> bool:
    """Whether a pose is that of the person with this box and face."""
    if pose.flag < FLAG:
        return False
    if face is not None:
        width, height = size(face.box)
        return bool(np.linalg.norm(pose.points[NOSE, :2] - face.points[2]) < 0.6 * max(width, 0.7 * height))
    x, y = pose.points[SHOULDERS, :2].mean(0)
    width, height = size(box)
    return bool(box[0] - 0.1 * width < x < box[2] + 0.1 * width and box[1] - 0.1 * height < y < box[3])


class BlazePose:
    """Two cuts of one model: without the mask it takes less than half the time. Each is loaded when it is needed. Safe
    to use from several threads."""

    name: ClassVar[str] = "blazepose"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("blazepose-full", "blazepose-detector")

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        cache.find(self.weights[0], folder)
        self._detector = Session(self.weights[1], folder)
        self._sessions: dict[tuple[str, ...], Session] = {}
        self._lock = Lock()
        self._anchors = anchors(DETECTOR_PIXELS)

    def pose(self, bgr: Image, box: Array, face: Face | None) -> Pose | None:
        """The pose of the person with this box and face; None rather than somebody else's."""
        found = self.placed(bgr, box, face)
        return None if found is None else found.pose

    def placed(self, bgr: Image, box: Array, face: Face | None) -> Placed | None:
        """The pose as `pose` has it, in its crop."""
        found = self._find(bgr, box, face, MARKS)
        return None if found is None else found[0]

    def outlined(self, bgr: Image, box: Array, face: Face | None) -> tuple[Placed, Patch] | None:
        """The pose as `pose` has it, in its crop, and the mask that came with it."""
        found = self._find(bgr, box, face, (*MARKS, MASK))
        return None if found is None else (found[0], _patch(*found))

    def outline(self, bgr: Image, placed: Placed) -> Patch:
        """The mask that comes with a pose found earlier."""
        return _patch(*self._look(bgr, placed.roi, (*MARKS, MASK)))

    def _find(
        self, bgr: Image, box: Array, face: Face | None, outputs: tuple[str, ...]
    ) -> tuple[Placed, dict[str, Array]] | None:
        """The first crop with the person's own pose in it, with the model's outputs for it."""
        if face is not None:
            for heights in (None, CLOSE_UP):
                found = self._look(bgr, roi_from_face(face, box, heights), outputs)
                if is_own(found[0].pose, box, face):
                    return found
        roi = self.look_for(bgr, box, face)
        if roi is None:
            return None
        found = self._look(bgr, roi, outputs)
        return found if is_own(found[0].pose, box, face) else None

    def _look(self, bgr: Image, roi: Roi, outputs: tuple[str, ...]) -> tuple[Placed, dict[str, Array]]:
        """What is in one crop."""
        patch, _ = crop(bgr, roi, PIXELS)
        found = self._session(outputs)(patch[None, :, :, ::-1].astype(np.float32) / 255)
        marks, flag = (found[name] for name in MARKS)
        return Placed(marks.reshape(-1, 5)[:POINTS, :4].astype(np.float32), float(flag.ravel()[0]), roi), found

    def _session(self, outputs: tuple[str, ...]) -> Session:
        with self._lock:
            if outputs not in self._sessions:
                self._sessions[outputs] = Session(self.weights[0], self._folder, outputs)
            return self._sessions[outputs]

    def look_for(self, bgr: Image, box: Array, face: Face | None) -> Roi | None:
        """The crop of the body in the 1.25 x person box whose face is nearest to the own one; None without any."""
        around = middle(box), float(max(size(box)) * 1.25), 0.0
        patch, matrix = crop(bgr, around, DETECTOR_PIXELS)
        x = patch[None, :, :, ::-1].astype(np.float32) / 127.5 - 1
        output = next(iter(self._detector(x).values()))[0]
        boxes, _, points = decode(output, self._anchors, DETECTOR_PIXELS, DETECTOR_SCORE)
        if not len(boxes):
            return None
        heads, bodies = transform(matrix, middle(boxes)), transform(matrix, points.reshape(-1, 2)).reshape(-1, 4, 2)
        if face is not None:
            away = np.linalg.norm(heads - middle(face.box), axis=1) / size(face.box)[0]
        else:
            away = np.abs(bodies[:, 2, 0] - middle(box)[0]) / size(box)[0]
        nearest = int(away.argmin())
        return roi_from_ring(*bodies[nearest, :2]) if away[nearest] < 0.9 else None


def _patch(placed: Placed, outputs: dict[str, Array]) -> Patch:
    return Patch(outputs[MASK].reshape(PIXELS, PIXELS), placed.matrix)
