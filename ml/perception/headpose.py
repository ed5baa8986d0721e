"""Where a face looks: yaw and pitch against the line to the lens, from the face mesh or a profile's five points.

Yaw is positive to the picture's right, pitch positive up, both in degrees; (0, 0) looks into the lens, wherever in the
picture the face is: crops and meshes show a face as seen along its own line of sight, so no camera model is needed.

The head's direction is the normal of the plane through the face's sides, top and chin, in the mesh's own depth. The
eyes add EYE_TURN_DEG per eye width of iris offset: an eyeball of radius r turned by t moves its iris by r sin t, and r
is about a third of an eye's width, which makes 1 / 0.36 rad = 160 degrees per width. An iris at rest sits -REST widths
above the line through the eye's corners. Behind lowered lids the irises are guesses: their sideways offset counts less
below an opening of 0.2 eye widths, and nothing below 0.1. On 167 hand-labelled faces (left, right, camera) this names
89 %, against 34 % for a perspective fit of six points to a mean head (which doubles the yaw) with an eye gain of 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ml.perception.geometry import eye_angle
from ml.perception.protocols import Array, Face

LEFT_SIDE, RIGHT_SIDE, TOP, CHIN = 234, 454, 10, 152  # of the face as the viewer sees it
EYES = ((468, 33, 133), (473, 362, 263))  # iris centre, corners
LIDS = ((159, 145), (386, 374))  # upper, lower, in the order of EYES
SHUT, OPEN = 0.1, 0.2  # opening in eye widths; labelled looks into the lens have 0.22 or more, looks down 0.2 or less
EYE_TURN_DEG = 160.0
REST = -0.06
NOSE_TURN_DEG, NOSE_OFFSET = 270.0, 0.1  # of profiles


@dataclass(frozen=True)
class Ray:
    """A look: yaw and pitch in degrees, the same for the head alone, the start in picture pixels, and how far the eyes
    could be read, 0..1."""

    yaw: float
    pitch: float
    head_yaw: float
    head_pitch: float
    eye: Array
    read: float


def angles(v: Array) -> tuple[float, float]:
    """Yaw and pitch in degrees of a vector (x right, y down, z away from the camera).

    Pitch by asin: atan2(-y, -z) turns over when the yaw passes 90.
    """
    x, y, z = v / np.linalg.norm(v)
    return float(np.degrees(np.arctan2(x, -z))), float(np.degrees(np.arcsin(np.clip(-y, -1, 1))))


def head_direction(points: Array) -> Array:
    """Vector out of the face, from 478 x 3 mesh points: the normal of the plane of its sides, top and chin."""
    return -np.cross(points[RIGHT_SIDE] - points[LEFT_SIDE], points[CHIN] - points[TOP])


def eyes_read(points: Array) -> float:
    """0 for shut eyes to 1 for open ones, from the mean opening of both."""
    openings = [
        np.linalg.norm(points[upper, :2] - points[lower, :2]) / np.linalg.norm(points[end, :2] - points[start, :2])
        for (upper, lower), (_, start, end) in zip(LIDS, EYES, strict=True)
    ]
    return float(np.clip((np.mean(openings) - SHUT) / (OPEN - SHUT), 0, 1))


def eye_turn(points: Array, read: float) -> tuple[float, float]:
    """Degrees right and down, in the picture, by which the eyes are turned in the head: the mean of both."""
    turns = []
    for iris, start, end in EYES:
        along = points[end, :2] - points[start, :2]
        width = np.linalg.norm(along)
        along = along / width
        down = np.array([-along[1], along[0]])
        shift = (points[iris, :2] - (points[start, :2] + points[end, :2]) / 2) / width
        turns.append(along * (shift @ along) * read + down * (shift @ down - REST))
    right, below = np.mean(turns, axis=0) * EYE_TURN_DEG
    return float(right), float(below)


def from_mesh(points: Array) -> Ray:
    """The look of a face from its 478 x 3 mesh points; the ray starts between the irises."""
    yaw, pitch = angles(head_direction(points))
    read = eyes_read(points)
    right, below = eye_turn(points, read)
    return Ray(yaw + right, pitch - below, yaw, pitch, (points[EYES[0][0], :2] + points[EYES[1][0], :2]) / 2, read)


def from_profile(face: Face) -> Ray | None:
    """Rough yaw of a profile, which the mesh cannot read, from a detector's five points; the ray starts at the eyes.

    The nose's offset from the middle of the eyes, along the eye line, in face widths, times NOSE_TURN_DEG: on 224 faces
    that the mesh can read this correlates with its yaw at 0.97. The pitch is not known (0). Says left for the four
    labelled profiles, which all look left; the body points' nose against ears did so for one of them. None below
    NOSE_OFFSET: a hidden face, not a profile.
    """
    eyes, width = face.points[:2].mean(0), face.box[2] - face.box[0]
    angle = eye_angle(face.points, width)
    offset = float((face.points[2] - eyes) @ [np.cos(angle), np.sin(angle)]) / width
    if abs(offset) < NOSE_OFFSET:
        return None
    yaw = float(np.clip(offset * NOSE_TURN_DEG, -90, 90))
    return Ray(yaw, 0.0, yaw, 0.0, eyes, 0.0)
