"""Boxes and square crops: pure functions that all backends share. Boxes are x1, y1, x2, y2."""

from __future__ import annotations

import cv2
import numpy as np

from ml.perception.protocols import Array, Image, Roi


def middle(box: Array) -> Array:
    """Centre of a box; of each box of an N x 4 array."""
    return (box[..., :2] + box[..., 2:]) / 2


def size(box: Array) -> Array:
    """Width and height of a box; of each box of an N x 4 array."""
    return box[..., 2:] - box[..., :2]


def area(box: Array) -> Array:
    """Area of a box; of each box of an N x 4 array."""
    return np.prod(np.maximum(size(box), 0), axis=-1)


def intersections(a: Array, b: Array) -> Array:
    """N x M areas that the N boxes of `a` share with the M boxes of `b`."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    return np.prod(np.maximum(high - low, 0), axis=-1)


def ious(a: Array, b: Array) -> Array:
    """N x M intersection over union."""
    common = intersections(a, b)
    return common / (area(a)[:, None] + area(b)[None] - common + 1e-9)


def patch_matrix(roi: Roi, pixels: int) -> Array:
    """2x3 matrix from the pixels of a square crop of pixels x pixels to those of the picture."""
    (cx, cy), side, angle = roi
    step = side / pixels
    c, s = np.cos(angle) * step, np.sin(angle) * step
    return np.array([[c, -s, cx - (c - s) * pixels / 2], [s, c, cy - (s + c) * pixels / 2]])


def crop(image: Image, roi: Roi, pixels: int, border: int = cv2.BORDER_CONSTANT) -> tuple[Image, Array]:
    """Square rotated crop of pixels x pixels, sampled bilinearly, and the 2x3 matrix from patch to picture pixels."""
    matrix, step = patch_matrix(roi, pixels), roi[1] / pixels
    source, sampling = image, matrix
    if step > 2:  # average first, else strong reduction aliases
        source, sampling = reduced(image, roi, matrix, 1.5 / step)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(source, sampling, (pixels, pixels), flags=flags, borderMode=border), matrix


def reduced(image: Image, roi: Roi, matrix: Array, shrink: float) -> tuple[Image, Array]:
    """The part of the picture a crop needs, area-averaged by `shrink`, and the crop's matrix into that part."""
    (cx, cy), side, _ = roi
    reach, (height, width) = side * 0.75, image.shape[:2]  # half the diagonal is 0.71 sides
    left, top = (int(np.clip(v - reach, 0, limit - 1)) for v, limit in ((cx, width), (cy, height)))
    right, bottom = (
        int(np.clip(v + reach + 1, low + 1, limit)) for v, low, limit in ((cx, left, width), (cy, top, height))
    )
    part = cv2.resize(image[top:bottom, left:right], None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    scale = np.array(
        [part.shape[1] / (right - left), part.shape[0] / (bottom - top)]
    )  # whole pixels: not quite `shrink`
    inside = matrix - np.array([[0, 0, left], [0, 0, top]])
    return part, inside * scale[:, None]


def transform(matrix: Array, points: Array) -> Array:
    """Apply a 2x3 matrix to N x 2 points."""
    return points @ matrix[:, :2].T + matrix[:, 2]


def letterbox(bgr: Image, side: int) -> tuple[Image, float]:
    """The picture scaled into the top left corner of a black square of `side` pixels, and the scale."""
    h, w = bgr.shape[:2]
    scale = side / max(h, w)
    nh, nw = max(1, int(h * scale)), max(1, int(w * scale))
    canvas = np.zeros((side, side, 3), np.uint8)
    canvas[:nh, :nw] = cv2.resize(bgr, (nw, nh), interpolation=cv2.INTER_AREA)
    return canvas, scale


def eye_angle(points: Array, width: float) -> float:
    """Angle of the line through the eyes of a face of this width; 0 when they are too near each other to tell."""
    eyes = points[1] - points[0]
    if np.linalg.norm(eyes) < 0.2 * width:
        return 0.0
    return float(np.arctan2(eyes[1], eyes[0]))
