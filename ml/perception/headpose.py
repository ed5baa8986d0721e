"""Where a face looks: a direction in camera coordinates from the face mesh, or from the body points of a profile.

Yaw is positive to the picture's right, pitch positive up, both in degrees, not clamped and with the mesh's own pitch
bias (`gaze` corrects both). Pixels are of the picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from ml.perception.protocols import Array, Pose

# nose tip, chin, outer eye corners, mouth corners: millimetres, x right, y down, z into the head
HEAD_INDEX = [1, 152, 33, 263, 61, 291]
HEAD_MODEL = np.array(
    [[0, 0, 0], [0, 63.6, 12.5], [-43.3, -32.7, 26], [43.3, -32.7, 26], [-28.9, 28.9, 24.1], [28.9, 28.9, 24.1]]
)
FOCAL = 1.2  # focal length in longer picture sides, principal point in the middle
EYES = ((468, 33, 133), (473, 362, 263))  # iris centre, corners
EYE_GAIN, EYE_LIFT = 2.2, 0.02  # iris offset in eye widths to direction; the iris sits a little above the corner line
NOSE, EARS = 0, [7, 8]
MIN_VISIBILITY = 0.5


@dataclass(frozen=True)
class Ray:
    """A look: yaw and pitch in degrees, the same for the head alone, and the start in picture pixels."""

    yaw: float
    pitch: float
    head_yaw: float
    head_pitch: float
    eye: Array


def angles(v: Array) -> tuple[float, float]:
    """Yaw and pitch in degrees of a unit vector (x right, y down, z away from the camera).

    Pitch by asin: atan2(-y, -z) turns over when the yaw passes 90.
    """
    return float(np.degrees(np.arctan2(v[0], -v[2]))), float(np.degrees(np.arcsin(np.clip(-v[1], -1, 1))))


def head_rotation(points: Array, height: int, width: int) -> Array:
    """3x3 rotation of the head from six mesh points (SQPnP against HEAD_MODEL)."""
    focal = FOCAL * max(height, width)
    camera = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])
    found = points[HEAD_INDEX].astype(np.float64)
    _, rotation, _ = cv2.solvePnP(HEAD_MODEL, found, camera, None, flags=cv2.SOLVEPNP_SQPNP)
    return cv2.Rodrigues(rotation)[0]


def iris_offset(points: Array) -> Array:
    """Mean offset (along, across) of both irises from the middle of their eye's corners, in eye widths."""
    offsets = []
    for iris, start, end in EYES:
        along = points[end] - points[start]
        width = np.linalg.norm(along)
        along = along / width
        down = np.array([-along[1], along[0]])
        shift = points[iris] - (points[start] + points[end]) / 2
        offsets.append([shift @ along / width, shift @ down / width])
    return np.mean(offsets, axis=0)


def from_mesh(points: Array, height: int, width: int) -> Ray:
    """Head pose turned by the irises, from 478 mesh points; the ray starts between the irises."""
    rotation = head_rotation(points, height, width)
    dx, dy = iris_offset(points)
    g = rotation @ np.array([dx * EYE_GAIN, (dy + EYE_LIFT) * EYE_GAIN, -1])
    head = rotation @ np.array([0, 0, -1.0])
    return Ray(*angles(g / np.linalg.norm(g)), *angles(head), (points[468] + points[473]) / 2)


def from_profile(pose: Pose) -> Ray | None:
    """Head direction of a profile: from the middle of the ears to the nose, the ray starts at the nose.

    None when the nose or the nearer ear is not visible.
    """
    p = pose.points
    if p[NOSE, 2] < MIN_VISIBILITY or p[EARS, 2].max() < MIN_VISIBILITY:
        return None
    x, y, _, z = p[NOSE] - p[EARS].mean(0)
    length = float(np.linalg.norm([x, y, z]))
    if length < 1:
        return None
    yaw, pitch = angles(np.array([x, y, z]) / length)
    return Ray(yaw, pitch, yaw, pitch, p[NOSE, :2].copy())
