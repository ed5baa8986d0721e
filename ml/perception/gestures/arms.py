"""One person's arm over time: where the wrist is, how fast it moves, and the moves and holds its path falls into.

A gesture is a move that brings the hand somewhere, a hold (or what is done there), and a move that takes it back. All
lengths in metres (see `window`), positions from the own shoulder, x to the right of the picture, y down; so the speed
is that of the arm, whether the person walks or the camera pans.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ml.perception.gestures.shapes import is_pointing
from ml.perception.gestures.window import ELBOWS, KNUCKLES, SHOULDERS, WRISTS, Array, Window, box_distance

FAST, SLOW = 0.30, 0.10  # metres per second at which a move begins to be one, and at which it ends
SLOW_SHARE = 0.12  # of a move's fastest speed, where that is more than SLOW
NOISE_SHARE, MOST_NOISE = 2.0, 0.2  # times the speed of a calm arm, up to which it may count as noise
SHORTEST_HOLD_S = 0.15  # shorter ones belong to the moves around them
ROOM, TOP, BOTTOM = 0.15, 0.15, 0.80  # where resting hands are: beside the shoulders, and below their line


@dataclass(frozen=True, eq=False)
class Arm:
    """Arrays over the T looks of a window."""

    person: int  # position among the window's persons
    side: int  # 0 left, 1 right
    scale: float  # pixels per metre
    shoulder: Array  # T x 2, pixels
    elbow: Array
    wrist: Array
    palm: Array  # T x 2, pixels: middle of the hand
    tip: Array  # T x 2, pixels: of the index finger
    knuckle: Array  # T x 2, pixels: of the index finger
    out: Array  # T, metres: how far the hand is from where hands rest, or above its elbow
    reach: Array  # T, metres from shoulder to wrist
    straight: Array  # T, 0..1: share of the arm's length in the picture
    elevation: Array  # T, degrees between shoulder -> wrist and straight down
    speed: Array  # T, metres per second
    seen: Array  # T, visibility 0..1 of wrist and elbow
    hand: Array  # T, bool: the hand's own points are there
    unsure: Array  # T, bool: the hand may be somebody else's
    pointing: Array  # T, bool: index finger out, away from the own face


@dataclass(frozen=True)
class Phase:
    """Looks [start, end) of an arm: a move, or a hold between two."""

    kind: str  # move | hold
    start: int
    end: int


def arm_of(window: Window, person: int, side: int, scale: float) -> Arm:
    """One arm of a prepared window."""
    points = window.pose[:, person, :, :2]
    shoulder, elbow, wrist = points[:, SHOULDERS[side]], points[:, ELBOWS[side]], points[:, WRISTS[side]]
    hand = window.hand[:, person, side]
    seen = np.asarray(np.isfinite(hand).all(axis=(1, 2)))
    little, index = (points[:, k] for k in KNUCKLES[side])
    knuckle = np.where(seen[:, None], hand[:, 5], index)
    tip = np.where(seen[:, None], hand[:, 8], index)
    middle = np.where(np.isfinite(index + little), (wrist + index + little) / 3, wrist)
    palm = np.where(seen[:, None], hand[:, [0, 5, 9, 13, 17]].mean(1), middle)
    upper, lower, whole = (length(v) / scale for v in (elbow - shoulder, wrist - elbow, wrist - shoulder))
    free = box_distance(tip, window.face[:, person]) / scale > 0.08
    free |= ~np.isfinite(window.face[:, person, 0])
    return Arm(
        person, side, scale, shoulder, elbow, wrist, palm, tip, knuckle,
        out=outside(window, person, side, scale),
        reach=whole,
        straight=whole / np.maximum(upper + lower, 1e-6),
        elevation=np.degrees(np.arctan2(np.abs(wrist - shoulder)[:, 0], (wrist - shoulder)[:, 1])),
        speed=speed((wrist - shoulder) / scale, window.seconds),
        seen=np.minimum(window.pose[:, person, ELBOWS[side], 2], window.pose[:, person, WRISTS[side], 2]),
        hand=seen,
        unsure=window.unsure[:, person, side] & seen,
        pointing=seen & free & is_pointing(hand),
    )  # fmt: skip


def length(vectors: Array) -> Array:
    return np.linalg.norm(vectors, axis=-1)


def outside(window: Window, person: int, side: int, scale: float) -> Array:
    """Metres from the wrist to the region of resting hands (hanging, folded, in the lap), or by which it is above the
    elbow, whichever is more. With one shoulder out of sight, the region is around the other."""
    points = window.pose[:, person, :, :2]
    wrist, elbow = points[:, WRISTS[side]], points[:, ELBOWS[side]]
    low = np.fmin(points[:, 11], points[:, 12])
    high = np.fmax(points[:, 11], points[:, 12])
    region = np.stack(
        [
            low[:, 0] - ROOM * scale,
            (low[:, 1] + high[:, 1]) / 2 + TOP * scale,
            high[:, 0] + ROOM * scale,
            (low[:, 1] + high[:, 1]) / 2 + BOTTOM * scale,
        ],
        axis=1,
    )
    away = box_distance(wrist, region) / scale
    return np.fmax(away, np.maximum((elbow - wrist)[:, 1] / scale, 0))


def speed(positions: Array, seconds: Array) -> Array:
    """Length of the derivative of positions (T x 2) at irregular times, NaN where a neighbour is missing."""
    if len(seconds) < 2:
        return np.full(len(seconds), np.nan)
    v = length(np.gradient(positions, seconds, axis=0))
    one_sided = np.isnan(v) & np.isfinite(positions[:, 0])
    step = length(np.diff(positions, axis=0)) / np.diff(seconds)
    forward, backward = np.r_[step, np.nan], np.r_[np.nan, step]
    return np.where(one_sided, np.where(np.isfinite(forward), forward, backward), v)


def phases(arm: Arm, seconds: Array) -> list[Phase]:
    """The moves and holds of an arm in order, over the looks on which it is seen; nothing spans a gap.

    A move is where the speed exceeds FAST, grown to where it falls below SLOW, or a share of its own fastest speed, or
    the noise of this arm; the threshold at the two ends is the same, so neither onset nor offset leans to one side.
    """
    v = arm.speed
    known = np.isfinite(v)
    if not known.any():
        return []
    noise = min(NOISE_SHARE * float(np.percentile(v[known], 20)), MOST_NOISE)
    moving = np.zeros(len(v), bool)
    for start, end in runs(np.nan_to_num(v) > max(FAST, 1.5 * noise)):
        least = max(SLOW, noise, SLOW_SHARE * float(v[start:end].max()))
        while start > 0 and known[start - 1] and v[start - 1] > least:
            start -= 1
        while end < len(v) and known[end] and v[end] > least:
            end += 1
        moving[start:end] = True
    for start, end in runs(known & ~moving):  # a turn of the path is no hold
        inner = start > 0 and end < len(v) and known[start - 1] and known[end]
        if inner and seconds[end] - seconds[start] < SHORTEST_HOLD_S:
            moving[start:end] = True
    found = [Phase("move", *span) for span in runs(moving)] + [Phase("hold", *span) for span in runs(known & ~moving)]
    return sorted(found, key=lambda phase: phase.start)


def runs(flags: Array) -> list[tuple[int, int]]:
    """Half-open spans of true values."""
    ends = np.flatnonzero(np.diff(np.r_[False, flags, False]))
    return list(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True))
