"""Gap filling: what a person's gaze was on the samples where it was not measured, and how far to trust that.

The released table fills by sample counts (`fill_compat`); `fill_strict` repeats it in seconds, never across a cut and
never over samples that are known to be something else (camera, off the picture, unusable). In both, a person without a
face box has no gaze.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ml.social.presets import GraspCompat, Strict
from ml.social.runs import last_true, next_true
from ml.social.scene import CAMERA, OFF, PERSON, TINY_S, UNUSABLE, Bools, Floats, Ints, Scene

METHODS = (
    "measured",
    "linear_interpolation",
    "carry_forward",
    "carry_backward",
    "null_scene_cut",
    "null_gap_too_long",
    "null_no_valid",
    "no_face",
    "missing",
    "null_not_in_scene",  # ours: camera, off and unusable gaze is known, so it is not a gap
    "human",  # ours: a human's correction
)
(MEASURED, LINEAR, FORWARD, BACKWARD, CUT, TOO_LONG, NO_VALID, NO_FACE, MISSING, NOT_IN_SCENE, HUMAN) = range(11)


@dataclass
class Filled:
    """Gaze after filling: `gaze` float64[T, P, 2] (NaN none), `confidence` float64[T, P] (0 none), `method`
    uint8[T, P] (index into `METHODS`), `target` int64[T, P] (person id or -1), `measured` bool[T, P]."""

    gaze: Floats
    confidence: Floats
    method: NDArray[np.uint8]
    target: Ints
    measured: Bools


def not_in_scene(scene: Scene) -> Bools:
    """bool[T, P]: looks at the camera, off the picture, or cannot be judged."""
    return (scene.kind == CAMERA) | (scene.kind == OFF) | (scene.kind == UNUSABLE)


def fill_compat(scene: Scene, preset: GraspCompat) -> Filled:
    """The released filling: a measured gaze (in frame, with a face box) has confidence 1, gaps count samples."""
    pointed = np.isfinite(scene.gaze).all(-1) & (scene.inframe >= preset.min_inframe)
    measured = pointed & ~not_in_scene(scene) & (scene.human | np.isfinite(scene.face[..., 0]))
    jumps = _face_jumps(scene, np.ones(2), preset.cut_jump)
    filled = _start(scene, measured, np.ones(measured.shape))
    for person in range(len(scene.persons)):
        _fill_person_compat(scene, preset, filled, person, jumps[:, person])
    _no_gaze_without_face(scene, filled)
    return filled


def _fill_person_compat(scene: Scene, preset: GraspCompat, filled: Filled, person: int, jumps: Ints) -> None:
    listed = np.flatnonzero(scene.present[:, person])
    valid = np.flatnonzero(filled.measured[:, person])
    if len(listed) == 0:
        return
    span = np.arange(listed[0], listed[-1] + 1)
    gaps = span[~filled.measured[span, person]]
    method, gaze, confidence = filled.method[:, person], filled.gaze[:, person], filled.confidence[:, person]
    if len(valid) == 0:
        method[gaps] = NO_VALID
        return
    before, after = last_true(filled.measured[:, person])[gaps], next_true(filled.measured[:, person])[gaps]
    head, tail = before < 0, after >= len(scene.frames)
    left, right = np.where(head, after, before), np.where(tail, before, after)
    size = np.where(head, after - span[0], np.where(tail, span[-1] - before, after - before - 1))
    seconds = np.where(head | tail, 0.0, scene.times[right] - scene.times[left])
    cut = (jumps[left] != jumps[gaps]) | (jumps[right] != jumps[left])
    long = (size > preset.hold_samples) | (seconds > preset.longest_gap_s + TINY_S)
    linear = ~cut & ~long & ~head & ~tail & (size <= preset.linear_samples)
    held = ~cut & ~long & ~linear
    method[gaps] = np.select([cut, long, linear, head], [CUT, TOO_LONG, LINEAR, BACKWARD], FORWARD)
    _interpolate(scene.times, gaze, gaps[linear], left[linear], right[linear])
    confidence[gaps[linear]] = 1.0 - preset.linear_loss * size[linear]
    gaze[gaps[held]] = gaze[left[held]]
    distance = np.abs(gaps[held] - left[held])
    confidence[gaps[held]] = preset.hold_confidence * np.exp(-preset.hold_decay * distance)


def fill_strict(scene: Scene, preset: Strict) -> Filled:
    """Our filling: in seconds, confidence decays from that of the measured ends, the target is kept when both agree."""
    known = not_in_scene(scene)
    trusted = (scene.confidence >= preset.min_gaze_confidence) & np.isfinite(scene.face[..., 0])
    # A target person is enough to know where somebody looks, even where that person's face (so the point) is not known.
    stated = (scene.kind == PERSON) & (scene.target >= 0)
    pointed = np.isfinite(scene.gaze).all(-1) & (scene.inframe >= preset.min_inframe)
    measured = (pointed | (stated & scene.human)) & ~known & (scene.human | trusted)
    jumps = _face_jumps(scene, scene.scale, preset.cut_jump)
    filled = _start(scene, measured, scene.confidence)
    for person in range(len(scene.persons)):
        _fill_person_strict(scene, preset, filled, person, jumps[:, person], known[:, person])
    _no_gaze_without_face(scene, filled)
    filled.method[known & scene.present & ~scene.human] = NOT_IN_SCENE
    return filled


def _fill_person_strict(scene: Scene, preset: Strict, filled: Filled, person: int, jumps: Ints, known: Bools) -> None:
    listed = np.flatnonzero(scene.present[:, person])
    valid = filled.measured[:, person]
    method, gaze, confidence = filled.method[:, person], filled.gaze[:, person], filled.confidence[:, person]
    if len(listed) == 0:
        return
    span = np.arange(listed[0], listed[-1] + 1)
    gaps = span[~valid[span] & ~known[span]]
    if not valid.any():
        method[gaps] = NO_VALID
        return
    before, after = last_true(valid)[gaps], next_true(valid)[gaps]
    head, tail = before < 0, after >= len(scene.frames)
    left, right = np.where(head, after, before), np.where(tail, before, after)
    # A gap is as long as the samples that are lost speak for: from the end of the last valid one to the next valid one.
    seconds = np.where(
        head,
        scene.times[right] - scene.times[span[0]],
        np.where(tail, scene.end_times[span[-1]], scene.times[right]) - scene.end_times[left],
    )
    cut = (jumps[left] != jumps[gaps]) | (jumps[right] != jumps[left])
    blocks = np.cumsum(known)
    blocked = (blocks[np.minimum(left, gaps)] != blocks[np.maximum(right, gaps)]) & ~cut
    slack = preset.time_slack_s
    linear = ~cut & ~blocked & ~head & ~tail & (seconds <= preset.linear_s + slack)
    held = ~cut & ~blocked & ~linear & (seconds <= preset.hold_s + slack)
    reasons = [cut, blocked, linear, held & head, held]
    method[gaps] = np.select(reasons, [CUT, NOT_IN_SCENE, LINEAR, BACKWARD, FORWARD], TOO_LONG)
    _interpolate(scene.times, gaze, gaps[linear], left[linear], right[linear])
    ends = np.minimum(confidence[left[linear]], confidence[right[linear]])
    confidence[gaps[linear]] = ends * (1.0 - preset.linear_loss_per_s * seconds[linear])
    same = filled.target[left, person] == filled.target[right, person]
    keep = linear & same
    filled.target[gaps[keep], person] = filled.target[left[keep], person]
    gaze[gaps[held]] = gaze[left[held]]
    distance = np.abs(scene.times[gaps[held]] - scene.times[left[held]])
    confidence[gaps[held]] = (
        confidence[left[held]] * preset.hold_confidence * np.exp(-preset.hold_decay_per_s * distance)
    )


def _start(scene: Scene, measured: Bools, confidence: Floats) -> Filled:
    method = np.full(measured.shape, MISSING, dtype=np.uint8)
    method[measured] = np.where(scene.human[measured], HUMAN, MEASURED)
    return Filled(
        gaze=np.where(measured[..., None], scene.gaze, np.nan),
        confidence=np.where(measured, confidence, 0.0),
        method=method,
        target=np.where(measured, scene.target, -1),
        measured=measured,
    )


def _face_jumps(scene: Scene, scale: Floats, limit: float) -> Ints:
    """Number int64[T, P] of cuts up to each sample: shots, and jumps of the face centre since it was last seen."""
    shots = np.cumsum(np.diff(scene.shots, prepend=scene.shots[:1]) != 0)
    count = np.repeat(shots[:, None], len(scene.persons), axis=1)
    centre = scene.face_centre * scale
    for person in range(len(scene.persons)):
        seen = np.flatnonzero(np.isfinite(centre[:, person, 0]))
        step = np.diff(centre[seen, person], axis=0)
        far = seen[1:][np.hypot(step[:, 0], step[:, 1]) > limit]
        jumped = np.zeros(len(scene.frames), dtype=np.int64)
        jumped[far] = 1
        count[:, person] += np.cumsum(jumped)
    return count


def _interpolate(times: Floats, gaze: Floats, at: Ints, left: Ints, right: Ints) -> None:
    share = ((times[at] - times[left]) / (times[right] - times[left]))[:, None]
    gaze[at] = gaze[left] * (1 - share) + gaze[right] * share


def _no_gaze_without_face(scene: Scene, filled: Filled) -> None:
    faceless = ~np.isfinite(scene.face[..., 0]) & ~scene.human
    filled.gaze[faceless] = np.nan
    filled.confidence[faceless] = 0.0
    filled.target[faceless] = -1
    filled.method[faceless] = np.where(scene.present[faceless], NO_FACE, MISSING)
