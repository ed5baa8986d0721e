"""Features of gaze over time and between persons: velocity, displacement, convergence, targets, distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ml.social.gaps import Filled
from ml.social.presets import GraspCompat, Strict
from ml.social.scene import NONE, TINY_S, Bools, Floats, Ints, Scene


def raw_velocity(scene: Scene, gaze: Floats, by_history: bool) -> Floats:
    """Released velocity float64[T, P], frame units per second: |g_t - g_(t-1)| / dt on filled gaze (NaN unknown).

    A person's history is the samples that list them. With `by_history` entry t of the result is entry t of that history
    (the released misalignment); otherwise it is the velocity at sample t.
    """
    result = np.full(gaze.shape[:2], np.nan)
    for person in range(gaze.shape[1]):
        listed = np.flatnonzero(scene.present[:, person])
        step = np.diff(gaze[listed, person], axis=0)
        velocity = np.hypot(step[:, 0], step[:, 1]) / np.diff(scene.times[listed])
        velocity[np.diff(scene.shots[listed]) != 0] = np.nan
        at = np.arange(len(listed)) if by_history else listed
        result[at[1:], person] = velocity
    return result


def convergence(gaze: Floats, confidence: Floats, preset: GraspCompat) -> tuple[Floats, Floats, Bools]:
    """Released convergence: score float64[T], centre float64[T, 2], who takes part bool[T, P].

    Centre c = confidence-weighted mean of the gaze points; score = exp(-3 x median |g - c|) x mean confidence; NaN with
    fewer than two persons.
    """
    part = np.isfinite(gaze[..., 0]) & (confidence >= preset.convergence_confidence)
    weight = np.where(part, confidence, 0.0)
    count = part.sum(axis=1)
    enough = count >= preset.joint_persons
    total = np.where(enough, weight.sum(axis=1), np.nan)
    centre = (np.where(part[..., None], gaze, 0.0) * weight[..., None]).sum(axis=1) / total[:, None]
    offset = gaze - centre[:, None]
    distance = np.sort(np.where(part, np.hypot(offset[..., 0], offset[..., 1]), np.inf), axis=1)
    row = np.arange(len(gaze))
    median = np.full(len(gaze), np.nan)
    lower, upper = distance[row, np.maximum(count - 1, 0) // 2], distance[row, np.minimum(count // 2, gaze.shape[1] - 1)]
    median[enough] = (lower[enough] + upper[enough]) / 2
    return np.exp(-preset.convergence_decay * median) * (total / np.maximum(count, 1)), centre, part


def window_displacement(times: Floats, shots: NDArray[np.int32], points: Floats, preset: Strict) -> Floats:
    """How far a point has moved over the last 0.5 s: float64[n], in the units of `points` float64[n, 2].

    Only samples where the point is known go in, in time order. Where the point was half a second ago is interpolated
    between two samples of the same shot at most `bracket_s` apart; NaN where there are none. `time_slack_s` lets a
    sample that a frame's rounding put just inside the window stand for its edge.
    """
    count = len(times)
    if count < 2:
        return np.full(count, np.nan)
    own = np.arange(count)
    then = times - preset.window_s
    low = np.searchsorted(times, then + TINY_S, side="right") - 1
    high = np.minimum(low + 1, own)
    low = np.maximum(low, 0)
    width = times[high] - times[low]
    same_shot = shots[low] == shots
    between = same_shot & (times[low] <= then + TINY_S) & (width <= preset.bracket_s + TINY_S)
    at_low = same_shot & (np.abs(then - times[low]) <= preset.time_slack_s)
    at_high = (np.abs(times[high] - then) <= preset.time_slack_s) & (high < own) & (shots[high] == shots)
    share = np.clip((then - times[low]) / np.maximum(width, TINY_S), 0.0, 1.0)
    share = np.select([between, at_low], [share, 0.0], 1.0)[:, None]
    moved = points - (points[low] * (1 - share) + points[high] * share)
    good = between | at_low | at_high
    return np.where(good & (low < own), np.hypot(moved[:, 0], moved[:, 1]), np.nan)


def displacement(scene: Scene, filled: Filled, preset: Strict) -> Floats:
    """Displacement of the measured gaze over 0.5 s relative to the face, float64[T, P], longer sides (NaN unknown)."""
    relative = (filled.gaze - scene.face_centre) * scene.scale
    known = filled.measured & np.isfinite(relative[..., 0])
    result = np.full(known.shape, np.nan)
    for person in range(known.shape[1]):
        at = np.flatnonzero(known[:, person])
        result[at, person] = window_displacement(scene.times[at], scene.shots[at], relative[at, person], preset)
    return result


def look_targets(scene: Scene, filled: Filled, preset: Strict) -> Ints:
    """Column of the person each person looks at, int64[T, P], -1 for nobody.

    A kind the perception or a human has stated is believed. Where none is stated, the target is the person in whose
    face box (with a margin) the gaze point lies; of several, the one whose centre is nearest for the size of the box.
    """
    target = np.where(np.isfinite(filled.gaze[..., 0]) | filled.measured, scene.column_of(filled.target), -1)
    open_question = np.isfinite(filled.gaze[..., 0]) & (scene.kind == NONE) & (filled.target < 0)
    sample, person = np.nonzero(open_question)
    if len(sample) == 0:
        return target
    point = filled.gaze[sample, person]
    margin = preset.face_margin / scene.scale
    nearest = np.full(len(sample), np.inf)
    found = np.full(len(sample), -1, dtype=np.int64)
    for other in range(len(scene.persons)):
        box = scene.face[sample, other]
        half = (box[:, 2:] - box[:, :2]) / 2 + margin
        off = np.abs(point - (box[:, :2] + box[:, 2:]) / 2) / half
        reach = np.maximum(off[:, 0], off[:, 1])
        closer = (reach <= 1.0) & (reach < nearest) & (person != other)
        nearest[closer] = reach[closer]
        found[closer] = other
    target[sample, person] = found
    return target


def pair_distances(points: Floats, first: int, second: int) -> Floats:
    """Distance float64[T] between the gaze points of two columns of `points` float64[T, P, 2] (NaN unknown)."""
    offset = points[:, first] - points[:, second]
    return np.hypot(offset[:, 0], offset[:, 1])
