"""Features of gaze over time and between persons: velocity, displacement, convergence, targets, distances."""

from __future__ import annotations

from typing import Any

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
        velocity = length(step[:, 0], step[:, 1]) / np.diff(scene.times[listed])
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
    distance = np.sort(np.where(part, length(offset[..., 0], offset[..., 1]), np.inf), axis=1)
    row = np.arange(len(gaze))
    median = np.full(len(gaze), np.nan)
    lower = distance[row, np.maximum(count - 1, 0) // 2]
    upper = distance[row, np.minimum(count // 2, gaze.shape[1] - 1)]
    median[enough] = (lower[enough] + upper[enough]) / 2
    return np.exp(-preset.convergence_decay * median) * (total / np.maximum(count, 1)), centre, part


def window_start(times: Floats, preset: Strict) -> Ints:
    """Last of the samples at `times` float64[n] that is at least 0.5 s before each of them, -1 for none."""
    return np.searchsorted(times, times - preset.window_s + TINY_S, side="right") - 1


def window_move(
    times: Floats, shots: NDArray[np.int32], x: Floats, y: Floats, preset: Strict, start: Ints | None = None
) -> Floats:
    """How a point has moved over the last 0.5 s: a vector float64[2, n], in the units of `x`, `y` float64[n].

    Only samples where the point is known go in, in time order; `start` is their `window_start`, where that is at hand.
    Where the point was half a second ago is interpolated between two samples of the same shot at most `bracket_s`
    apart; NaN where there are none. `time_slack_s` lets a sample that a frame's rounding put just beside the window's
    edge stand for it.
    """
    count = len(times)
    if count < 2:
        return np.full((2, count), np.nan)
    own = np.arange(count)
    then = times - preset.window_s
    low = window_start(times, preset) if start is None else start
    high = np.minimum(low + 1, own)
    low = np.maximum(low, 0)
    low_s, high_s = times[low], times[high]
    same_low, same_high = shots[low] == shots, shots[high] == shots
    between = same_low & (low_s <= then + TINY_S) & (high_s - low_s <= preset.bracket_s + TINY_S)
    at_low = same_low & (np.abs(then - low_s) <= preset.time_slack_s)
    at_high = same_high & (np.abs(high_s - then) <= preset.time_slack_s) & (high < own)
    share = (then - low_s) / np.maximum(high_s - low_s, TINY_S)
    share = np.where(between, np.clip(share, 0.0, 1.0), np.where(at_low, 0.0, 1.0))
    share[~(between | at_low | at_high) | (low == own)] = np.nan
    moved = np.empty((2, count))
    for axis, values in enumerate((x, y)):
        before = values[low]
        moved[axis] = values - (before + (values[high] - before) * share)
    return moved


def window_displacement(times: Floats, shots: NDArray[np.int32], points: Floats, preset: Strict) -> Floats:
    """Length float64[n] of `window_move` for `points` float64[n, 2]."""
    x, y = rows(points)
    move = window_move(times, shots, x, y, preset)
    return length(move[0], move[1])


def known_moves(scene: Scene, x: Floats, y: Floats, preset: Strict) -> Floats:
    """`window_move` of every person over the samples where `x`, `y` float64[P, T] are known, float64[P, 2, T]."""
    start = window_start(scene.times, preset)
    moves = np.full((len(x), 2, len(scene.times)), np.nan)
    for person, known in enumerate(np.isfinite(x)):
        at = np.flatnonzero(known)
        before = np.concatenate(([0], np.cumsum(known)))  # known samples before each
        own_start = before[start[at] + 1] - 1
        moves[person][:, at] = window_move(
            scene.times[at], scene.shots[at], x[person, at], y[person, at], preset, own_start
        )
    return moves


def displacement(scene: Scene, filled: Filled, preset: Strict) -> Floats:
    """Displacement of the measured gaze over 0.5 s relative to the face, float64[P, T], longer sides (NaN unknown)."""
    x, y = np.where(rows(filled.measured), rows((filled.gaze - scene.face_centre) * scene.scale), np.nan)
    moves = known_moves(scene, x, y, preset)
    return length(moves[:, 0], moves[:, 1])


def look_targets(scene: Scene, filled: Filled, preset: Strict) -> Ints:
    """Column of the person each person looks at, int64[P, T], -1 for nobody.

    A kind the perception or a human has stated is believed. Where none is stated, the target is the person in whose
    face box (with a margin) the gaze point lies; of several, the one whose centre is nearest for the size of the box.
    """
    target = scene.column_of(filled.target).T.copy()
    pointed = np.isfinite(filled.gaze[..., 0])
    target[~(pointed | filled.measured).T] = -1
    margin = preset.face_margin / scene.scale
    low, high = scene.face[..., :2] - margin, scene.face[..., 2:] + margin
    x, y = rows(filled.gaze)
    middle_x, middle_y = rows((low + high) / 2)
    per_half_x, per_half_y = rows(2 / (high - low))
    for person, open_question in enumerate(rows(pointed & (scene.kind == NONE) & (filled.target < 0))):
        if not open_question.any():
            continue
        nearest = np.full(len(open_question), np.nextafter(1.0, 2.0))  # in half boxes: the edge is inside
        found = np.full(len(open_question), -1)
        for other in range(len(scene.persons)):
            if other == person:
                continue
            across = np.abs(x[person] - middle_x[other]) * per_half_x[other]
            inside = np.flatnonzero(across < nearest)
            down = np.abs(y[person, inside] - middle_y[other, inside]) * per_half_y[other, inside]
            reach = np.maximum(across[inside], down)
            closer = reach < nearest[inside]
            nearest[inside[closer]] = reach[closer]
            found[inside[closer]] = other
        np.copyto(target[person], found, where=open_question)
    return target


def rows(values: NDArray[Any]) -> NDArray[Any]:
    """Samples last and contiguous: [T, P] becomes [P, T], [T, P, 2] becomes [2, P, T]."""
    return np.ascontiguousarray(values.T)


def length(x: Floats, y: Floats) -> Floats:
    """Euclidean length; several times faster than `hypot`, whose care for huge values is not needed here."""
    return np.sqrt(x * x + y * y)
