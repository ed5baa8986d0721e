"""What people look at, from directions and boxes: picture geometry without depth.

Yaw and pitch are against the line from the face to the lens. Steps, per shot and sampled frame: correct the pitch,
clamp both to +-90, then by the first rule that fires:

1. camera: the direction's angle to the line to the lens is below CAMERA_DEG.
2. person or object: the face, or object, whose centre lies within CONE_DEG of the ray in the picture and ahead of the
   eye; the smallest angle wins. Objects whose box holds the eye (a sofa, a bus) take no part.
3. scene: the point eye + SCENE_REACH x shorter side x the direction's part in the picture plane; outside the picture
   the kind is "off".

In-frame probability (no model gives it here): INFRAME_TARGET for a person or object, INFRAME_CAMERA for the camera, and
for a scene point a logistic function of its distance d inside the border (negative outside), in shorter sides:
0.1 + 0.8 / (1 + exp(-d / 0.05)).

Confidence = face term x target term.
Face term: face score x mesh flag x (0.5 + 0.5 x how far the eyes could be read, `headpose`); for a profile
PROFILE_TERM x face score.
Target term: person or object (1 - angle / (2 CONE_DEG)) x (0.5 + 0.5 min(1, (runner-up's angle - angle) / MARGIN_DEG)),
where a missing runner-up counts as one at CONE_DEG + MARGIN_DEG; camera 1 - angle / (2 CAMERA_DEG); scene and off
SCENE_TERM. So certain faces, small angles and lonely targets score high.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ml.perception.geometry import middle
from ml.perception.protocols import Array

KINDS = ("", "person", "object", "scene", "camera", "off", "unusable")
NONE, PERSON, OBJECT, SCENE, CAMERA, OFF, UNUSABLE = range(len(KINDS))

CAMERA_DEG = 15.0  # on labelled faces 12 finds fewer looks into the lens and no more of the others
CONE_DEG = 20.0
MARGIN_DEG = 10.0
SCENE_REACH = 0.25 / 0.3  # shorter sides per unit of the direction's part in the picture plane
INFRAME_TARGET, INFRAME_CAMERA = 0.95, 0.05
SCENE_TERM, PROFILE_TERM = 0.4, 0.4

BIAS_DEG = 0.0  # where a shot has few samples: the mean over labelled looks into the lens is 0.2, deviation 7
BIAS_RANGE_DEG = 4.0  # a median beyond is rather people who look down or up
BIAS_SAMPLES = 20


def pitch_bias(pitch: Array) -> float:
    """Degrees by which the face mesh reads a shot's pitch too high: the median, where BIAS_SAMPLES or more exist.

    Takes the middle look of a shot for level, which is why it is bounded. With fewer samples: BIAS_DEG.
    """
    known = pitch[np.isfinite(pitch)]
    return float(np.clip(np.median(known), -BIAS_RANGE_DEG, BIAS_RANGE_DEG)) if len(known) >= BIAS_SAMPLES else BIAS_DEG


def directions(yaw: Array, pitch: Array) -> Array:
    """N x 3 unit vectors (x right, y down, z away from the camera) from degrees."""
    a, b = np.radians(yaw), np.radians(pitch)
    return np.stack([np.cos(b) * np.sin(a), -np.sin(b), -np.cos(b) * np.cos(a)], axis=-1)


@dataclass
class Looks:
    """Per person of one frame: kind (index of KINDS), target's number among persons or objects (-1 none), point in
    pixels (NaN none), in-frame probability, target term of the confidence."""

    kind: Array
    target: Array
    point: Array
    inframe: Array
    term: Array


def look_targets(yaw: Array, pitch: Array, eye: Array, faces: Array, objects: Array, width: int, height: int) -> Looks:
    """Rules 1 to 3 for the P persons of one frame.

    yaw, pitch: degrees, corrected (NaN: no direction); eye: P x 2; faces: P x 4 (NaN: none); objects: O x 4; pixels.
    """
    count = len(yaw)
    looks = Looks(
        np.full(count, NONE), np.full(count, -1), np.full((count, 2), np.nan), np.full(count, np.nan), np.zeros(count)
    )
    targets = np.concatenate([middle(faces), middle(objects)])
    direction = directions(yaw, pitch)
    flat, off_lens = direction[:, :2], np.degrees(np.arccos(np.clip(-direction[:, 2], -1, 1)))
    for i in np.flatnonzero(np.isfinite(yaw)):
        if off_lens[i] < CAMERA_DEG:
            looks.kind[i], looks.inframe[i] = CAMERA, INFRAME_CAMERA
            looks.term[i] = 1 - off_lens[i] / (2 * CAMERA_DEG)
            continue
        angle = ray_angles(eye[i], flat[i] / np.linalg.norm(flat[i]), targets)
        angle[i] = np.inf
        angle[count:][holds(objects, eye[i])] = np.inf
        best, runner_up = two_smallest(angle)
        if angle[best] < CONE_DEG:
            looks.kind[i] = PERSON if best < count else OBJECT
            looks.target[i] = best if best < count else best - count
            looks.point[i], looks.inframe[i] = targets[best], INFRAME_TARGET
            looks.term[i] = target_term(float(angle[best]), runner_up)
        else:
            point = eye[i] + flat[i] * SCENE_REACH * min(width, height)
            looks.point[i] = point
            looks.inframe[i] = inframe_probability(point, width, height)
            looks.kind[i] = SCENE if ((point >= 0) & (point < [width, height])).all() else OFF
            looks.term[i] = SCENE_TERM
    return looks


def holds(boxes: Array, point: Array) -> Array:
    """Whether each of O x 4 boxes holds a point. What somebody sits in or wears is not what they look at."""
    return np.all((boxes[:, :2] <= point) & (point <= boxes[:, 2:]), axis=1)


def ray_angles(eye: Array, ray: Array, targets: Array) -> Array:
    """Degrees between a unit ray in the picture and the way from the eye to each of T x 2 points; inf for NaN."""
    way = targets - eye
    ahead, aside = way @ ray, np.abs(way[:, 0] * ray[1] - way[:, 1] * ray[0])
    angle = np.degrees(np.arctan2(aside, ahead))
    return np.where(np.isfinite(angle), angle, np.inf)


def two_smallest(angle: Array) -> tuple[int, float]:
    """Number of the smallest angle, and the second smallest value (inf when there is none)."""
    order = np.argsort(angle, kind="stable")
    return int(order[0]), float(angle[order[1]]) if len(angle) > 1 else np.inf


def target_term(angle: float, runner_up: float) -> float:
    """The target term of the confidence for a person or object, 0.25..1."""
    margin = min(1.0, (min(runner_up, CONE_DEG + MARGIN_DEG) - angle) / MARGIN_DEG)
    return (1 - angle / (2 * CONE_DEG)) * (0.5 + 0.5 * margin)


def inframe_probability(point: Array, width: int, height: int) -> float:
    """Probability that a scene point is looked at inside the picture, from its distance to the border."""
    inside = min(point[0], width - point[0], point[1], height - point[1]) / min(width, height)
    return float(0.1 + 0.8 / (1 + np.exp(-np.clip(inside / 0.05, -50, 50))))


def face_term(score: Array, flag: Array, read: Array, profile: Array) -> Array:
    """The face term of the confidence, 0..1."""
    return np.clip(score, 0, 1) * np.where(profile, PROFILE_TERM, np.clip(flag, 0, 1) * (0.5 + 0.5 * read))
