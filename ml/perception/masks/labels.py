"""Whose pixel is it: from what is claimed for each person to one label per pixel. Pure functions.

    1. each person's claim is cut to the person box and 6 % around it, and the head (face box, 0.3 w at the sides, 0.6 h
       above); inside other people's face boxes it is multiplied by 0.2, unless the two faces overlap
    2. the highest claim above 0.5 wins; where several people claim more than 0.5, the nearest skeleton wins: distance
       to the drawn bones in shoulder widths

All this at a third of the picture's size (less of large ones), then grown back. Approximate: people who overlap
strongly trade patches of limbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ml.perception.geometry import ious, size
from ml.perception.protocols import Array, Patch

BACKGROUND = 0.5
STEP, LONGEST = 3, 640  # the picture is reduced by STEP, and more where its longer side would still exceed LONGEST
AROUND, BESIDE_FACE, ABOVE_FACE = 0.06, 0.3, 0.6
OTHERS_FACE, SAME_FACE = 0.2, 0.1
SMALLEST_SHOULDERS = 7.0  # reduced pixels
NOSE, SHOULDERS, HIPS = 0, (11, 12), (23, 24)
BONES = ((11, 13), (13, 15), (12, 14), (14, 16), (11, 12), (11, 23), (12, 24), (23, 24), (23, 25), (24, 26), (25, 27),
         (26, 28), (7, 8))  # fmt: skip


@dataclass(frozen=True, eq=False)
class Outline:
    """What is known of one person: box, face box (None for none) and 33x2 skeleton in pixels, and the mask's patch."""

    box: Array
    face: Array | None
    skeleton: Array
    patch: Patch


def labels(people: Sequence[Outline], height: int, width: int) -> tuple[NDArray[np.uint8], list[float]]:
    """Labels uint8[height, width]: 0 background, k + 1 for people[k] (at most 255); and by person the mean claim of
    their own pixels, 0 for who has none."""
    if len(people) > 255:
        raise ValueError(f"{len(people)} persons on one picture are more than labels can tell apart (255).")
    step = max(STEP, -(-max(height, width) // LONGEST))
    h, w = max(1, height // step), max(1, width // step)
    scale = np.array([w / width, h / height])
    claims = np.full((len(people) + 1, h, w), BACKGROUND, np.float32)
    faces = np.array([np.full(4, np.nan) if p.face is None else p.face * np.tile(scale, 2) for p in people])
    for k, person in enumerate(people):
        claims[k + 1] = own_part(reduced(person.patch, scale, h, w), k, person.box * np.tile(scale, 2), faces)
    small = claims.argmax(0)
    settle(small, claims, [p.skeleton * scale for p in people])
    sure = [float(claims[k + 1][small == k + 1].mean()) if (small == k + 1).any() else 0.0 for k in range(len(people))]
    return grown(small, len(people), height, width), sure


def reduced(patch: Patch, scale: Array, height: int, width: int) -> Array:
    """The claim of a patch on the reduced picture."""
    matrix = patch.matrix * scale[:, None]
    return cv2.warpAffine(patch.share.astype(np.float32), matrix, (width, height), flags=cv2.INTER_LINEAR)


def own_part(claim: Array, k: int, box: Array, faces: Array) -> Array:
    """Person k's claim cut to their box and head, with other people's faces damped. `faces`: P x 4, NaN for none."""
    height, width = claim.shape
    own = faces[k]
    w, h = size(box)
    low, high = box[:2] - AROUND * np.array([w, h]), box[2:] + AROUND * np.array([w, h])
    if np.isfinite(own).all():
        fw, fh = size(own)
        low = np.minimum(low, own[:2] - [BESIDE_FACE * fw, ABOVE_FACE * fh])
        high = np.maximum(high, own[2:] + [BESIDE_FACE * fw, 0])
    left, top = np.maximum(low, 0).astype(int)
    right, bottom = np.clip(high, 0, [width, height]).astype(int)
    part = np.zeros_like(claim)
    part[top:bottom, left:right] = claim[top:bottom, left:right]
    for j in np.flatnonzero(np.isfinite(faces).all(1)):
        if j != k and not (np.isfinite(own).all() and ious(own[None], faces[j][None])[0, 0] >= SAME_FACE):
            x1, y1, x2, y2 = np.maximum(faces[j], 0).astype(int)
            part[y1:y2, x1:x2] *= OTHERS_FACE
    return part


def settle(small: NDArray[np.int64], claims: Array, skeletons: Sequence[Array]) -> None:
    """Give the pixels that several people claim to the nearest skeleton. In place."""
    y, x = np.nonzero((claims[1:] > BACKGROUND).sum(0) > 1)
    if not len(y):
        return
    distance = np.full((len(skeletons), len(y)), np.inf, np.float32)
    for k, points in enumerate(skeletons):
        mine = claims[k + 1, y, x] > BACKGROUND
        if mine.any():
            distance[k, mine] = skeleton_distance(points, *claims.shape[1:])[y[mine], x[mine]]
    small[y, x] = distance.argmin(0) + 1


def skeleton_distance(points: Array, height: int, width: int) -> Array:
    """height x width distances to the drawn skeleton, in shoulder widths."""
    neck, hips = points[list(SHOULDERS)].mean(0), points[list(HIPS)].mean(0)
    lines = [(points[a], points[b]) for a, b in BONES] + [(neck, hips), (points[NOSE], neck)]
    canvas = np.full((height, width), 255, np.uint8)
    for a, b in lines:
        start, end = (tuple(np.clip(p, -30000, 30000).astype(int).tolist()) for p in (a, b))
        cv2.line(canvas, start, end, 0, 1)
    shoulders = float(np.linalg.norm(points[SHOULDERS[0]] - points[SHOULDERS[1]]))
    return cv2.distanceTransform(canvas, cv2.DIST_L2, 3) / max(SMALLEST_SHOULDERS, shoulders)


def grown(small: NDArray[np.int64], people: int, height: int, width: int) -> NDArray[np.uint8]:
    """The labels in the picture's size: a pixel belongs to whoever has more than half of its surroundings."""
    out = np.zeros((height, width), np.uint8)
    for k in range(people):
        own = (small == k + 1).astype(np.float32)
        if own.any():
            out[cv2.resize(own, (width, height), interpolation=cv2.INTER_LINEAR) > 0.5] = k + 1
    return out
