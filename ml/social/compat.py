"""The five released detectors, with their numbers and their artefacts (preset `grasp-compat`).

Where the released rules are silent this module chooses as follows: of several lags the closest match counts, the
shortest of equal ones; a merged following event keeps its best hit; members of a merged capture are all who were fast
in it, its mean velocity is taken over everybody with a velocity on those samples; runs end at a cut where the scene
knows of one; times are compared with a tolerance of a microsecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.social import runs
from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, SHIFT, Roles, SocialEvent, members
from ml.social.features import convergence, length, raw_velocity, rows
from ml.social.gaps import Filled, fill_compat
from ml.social.presets import GraspCompat
from ml.social.scene import TINY_S, Bools, Floats, Ints, Scene

# Squared distances that differ by less are equal: gaze held or interpolated over a gap is the same up to rounding.
ROUNDING = 1e-12
# Samples looked at together where one pair is compared at many lags: few enough to stay in the processor's cache.
BLOCK = 6000


def detect(scene: Scene, preset: GraspCompat) -> list[SocialEvent]:
    """All events of the released rules, in no particular order."""
    if len(scene.frames) == 0 or len(scene.persons) == 0:
        return []
    filled = fill_compat(scene, preset)
    velocity = raw_velocity(scene, filled.gaze, preset.velocity_by_history)
    return [
        *_shifts(scene, velocity, preset),
        *_joint(scene, filled, preset),
        *_following(scene, filled, preset),
        *_captures(scene, velocity, preset),
        *_mutual(scene, filled, preset),
    ]


def _shifts(scene: Scene, velocity: Floats, preset: GraspCompat) -> list[SocialEvent]:
    events = []
    for column, person in enumerate(scene.persons):
        speed = velocity[:, column]
        fast = np.flatnonzero(speed > preset.shift_velocity)
        for inside in _runs(scene, fast, preset.shift_gap_s):
            first, last = inside[0], inside[-1]
            duration = scene.times[last] - scene.times[first]
            if not preset.shift_shortest_s - TINY_S <= duration <= preset.shift_longest_s + TINY_S:
                continue
            peak = float(speed[inside].max())
            details = {
                "max_velocity": peak,
                "duration": float(duration),
                "num_frames": len(inside),
                "threshold": preset.shift_velocity,
            }
            confidence = min(1.0, peak / preset.shift_full_velocity)
            events.append(_event(scene, SHIFT, first, last, confidence, members([int(person)]), details))
    return events


def _joint(scene: Scene, filled: Filled, preset: GraspCompat) -> list[SocialEvent]:
    score, centre, part = convergence(filled.gaze, filled.confidence, preset)
    high = np.flatnonzero(score >= preset.joint_convergence)
    events = []
    for inside in _runs(scene, high, preset.joint_gap_s):
        first, last = inside[0], inside[-1]
        duration = scene.times[last] - scene.times[first]
        if duration < preset.joint_shortest_s - TINY_S:
            continue
        peak = int(inside[np.argmax(score[inside])])
        offset = filled.gaze[peak] - centre[peak]
        near = part[peak] & (length(offset[:, 0], offset[:, 1]) <= preset.joint_radius)
        who = near if near.sum() >= preset.joint_persons else part[peak]
        mean = float(score[inside].mean())
        details = {
            "max_convergence": float(score[peak]),
            "mean_convergence": mean,
            "duration": float(duration),
            "attention_center": centre[peak].tolist(),
            "num_persons": int(who.sum()),
            "num_frames": len(inside),
            "threshold": preset.joint_convergence,
        }
        events.append(_event(scene, JOINT, first, last, mean, members(scene.persons[who].tolist()), details))
    return events


def _following(scene: Scene, filled: Filled, preset: GraspCompat) -> list[SocialEvent]:
    """One way per pair: the person with the lower number leads."""
    usable = filled.confidence >= preset.following_gaze_confidence
    order = np.argsort(scene.persons)
    x, y = rows(np.where(usable[..., None], filled.gaze, np.nan)[:, order])
    events = []
    for at, leader in enumerate(order[:-1]):
        squared, lag = _closest_lag(scene, (x[at], y[at]), (x[at + 1 :], y[at + 1 :]), preset)
        near = squared <= preset.following_distance**2
        for row, other in enumerate(order[at + 1 :]):
            hit = np.flatnonzero(near[row])
            ids = int(scene.persons[leader]), int(scene.persons[other])
            distance = np.sqrt(squared[row, hit])
            events += _follow_pair(scene, filled.gaze[:, other], hit, hit + lag[row, hit], distance, ids, preset)
    return events


def _closest_lag(
    scene: Scene, leader: tuple[Floats, Floats], others: tuple[Floats, Floats], preset: GraspCompat
) -> tuple[Floats, NDArray[np.int32]]:
    """Squared distance float64[N, T] of the leader to each of N others at the closest allowed lag, and that lag in
    samples. The coordinates are x, y of the leader [T] and of the others [N, T]. Distances beyond the limit are not
    told apart."""
    closest = np.full(others[0].shape, preset.following_distance**2 + 2 * ROUNDING)
    lag = np.zeros(closest.shape, dtype=np.int32)
    lags = list(_allowed_lags(scene, preset))
    for begin in range(0, len(scene.times), BLOCK):
        for row in range(len(closest)):
            for step, allowed in lags:
                now = slice(begin, min(begin + BLOCK, len(allowed)))
                then = slice(now.start + step, now.stop + step)
                squared = others[0][row, then] - leader[0][now]
                squared *= squared
                dy = others[1][row, then] - leader[1][now]
                dy *= dy
                squared += dy
                nearer = (squared + ROUNDING < closest[row, now]) & allowed[now]
                np.copyto(closest[row, now], squared, where=nearer)
                np.copyto(lag[row, now], step, where=nearer)
    return closest, lag


def _allowed_lags(scene: Scene, preset: GraspCompat) -> Iterator[tuple[int, Bools]]:
    """Steps, in samples, and for which samples bool[T - step] the one that many steps on has an allowed lag."""
    for step in range(1, len(scene.times)):
        seconds = scene.times[step:] - scene.times[:-step]
        if seconds.min() > preset.following_longest_lag_s + TINY_S:
            break
        allowed = (seconds >= preset.following_shortest_lag_s - TINY_S) & (
            seconds <= preset.following_longest_lag_s + TINY_S
        )
        allowed &= scene.shots[step:] == scene.shots[:-step]
        if allowed.any():
            yield step, allowed


def _follow_pair(
    scene: Scene,
    follower: Floats,
    hit: Ints,
    arrival: Ints,
    distance: Floats,
    ids: tuple[int, int],
    preset: GraspCompat,
) -> list[SocialEvent]:
    """Merge the hits of one pair; each event keeps its best hit."""
    if len(hit) == 0:
        return []
    reach = scene.times[np.maximum.accumulate(arrival)]
    apart = scene.times[hit[1:]] > reach[:-1] + preset.following_merge_s + TINY_S
    apart |= scene.shots[hit[1:]] != scene.shots[hit[:-1]]
    first, last = runs.split(apart, len(hit))
    events = []
    for begin, stop in zip(first.tolist(), last.tolist(), strict=True):
        best = begin + int(np.argmin(distance[begin : stop + 1]))
        confidence = 1.0 - float(distance[best]) / preset.following_distance
        if confidence < preset.following_confidence:
            continue
        details = {
            "leader_id": ids[0],
            "follower_id": ids[1],
            "lag_seconds": float(scene.times[arrival[best]] - scene.times[hit[best]]),
            "gaze_distance": float(distance[best]),
            "gaze_target": follower[arrival[best]].tolist(),
            "num_frames": int(stop - begin + 1),
            "threshold": preset.following_distance,
        }
        roles: Roles = ((ids[0], "leader"), (ids[1], "follower"))
        end = int(arrival[begin : stop + 1].max())
        events.append(_event(scene, FOLLOWING, int(hit[begin]), end, confidence, roles, details))
    return events


def _captures(scene: Scene, velocity: Floats, preset: GraspCompat) -> list[SocialEvent]:
    fast = velocity > preset.capture_velocity
    known = np.isfinite(velocity)
    positive = np.flatnonzero(fast.sum(axis=1) >= preset.capture_persons)
    mean = np.where(known, velocity, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    events = []
    for inside in _runs(scene, positive, preset.capture_gap_s):
        who = fast[inside].any(axis=0)
        speed = float(mean[inside].mean())
        peaks = np.where(fast[inside], velocity[inside], -np.inf).max(axis=0)
        details = {
            "num_persons": int(who.sum()),
            "mean_velocity": speed,
            "person_velocities": {str(scene.persons[column]): float(peaks[column]) for column in np.flatnonzero(who)},
            "num_frames": len(inside),
            "threshold": preset.capture_velocity,
        }
        confidence = min(1.0, speed / preset.capture_velocity)
        roles = members(scene.persons[who].tolist())
        events.append(_event(scene, CAPTURE, inside[0], inside[-1], confidence, roles, details))
    return events


def _mutual(scene: Scene, filled: Filled, preset: GraspCompat) -> list[SocialEvent]:
    sure = rows(filled.measured & (filled.confidence >= preset.mutual_gaze_confidence))
    gaze = rows(filled.gaze)
    low, high = rows(scene.face[..., :2] - preset.mutual_margin), rows(scene.face[..., 2:] + preset.mutual_margin)

    def looks_at(one: int, other: int) -> Bools:
        x, y = gaze[:, one]
        met = sure[one] & (x >= low[0, other]) & (x <= high[0, other])
        return met & (y >= low[1, other]) & (y <= high[1, other])

    events = []
    for one in range(len(scene.persons)):
        for other in range(one + 1, len(scene.persons)):
            met = np.flatnonzero(looks_at(one, other) & looks_at(other, one))
            events += _mutual_pair(scene, met, [int(scene.persons[one]), int(scene.persons[other])], preset)
    return events


def _mutual_pair(scene: Scene, met: Ints, ids: list[int], preset: GraspCompat) -> list[SocialEvent]:
    events = []
    for inside in _runs(scene, met, preset.mutual_gap_s):
        first, last = inside[0], inside[-1]
        duration = scene.times[last] - scene.times[first]
        if duration < preset.mutual_shortest_s - TINY_S:
            continue
        count = len(inside)
        details = {
            "duration": float(duration),
            "num_frames": count,
            "margin": preset.mutual_margin,
            "threshold": preset.mutual_shortest_s,
        }
        confidence = min(1.0, preset.mutual_base + preset.mutual_step * count)
        events.append(_event(scene, MUTUAL, first, last, confidence, members(ids), details))
    return events


def _runs(scene: Scene, positive: Ints, gap_s: float) -> list[Ints]:
    """The samples of each run: neighbours less than `gap_s` apart, in one shot."""
    apart = np.diff(scene.times[positive]) >= gap_s - TINY_S
    return runs.groups(positive, apart | (np.diff(scene.shots[positive]) != 0))


def _event(
    scene: Scene, kind: str, first: int, last: int, confidence: float, roles: Roles, details: dict[str, Any]
) -> SocialEvent:
    """An event from its first to its last sample; its span takes in the last sample's own frame."""
    start, end = int(scene.frames[first]), int(scene.frames[last]) + 1
    same_before = first > 0 and scene.shots[first - 1] == scene.shots[first]
    details["onset_after"] = int(scene.frames[first - 1]) if same_before else start - 1
    details["last_sample"] = int(scene.frames[last])
    details["offset_before"] = int(scene.ends[last])
    return SocialEvent(
        type=kind,
        start=start,
        end=end,
        start_s=float(scene.times[first]),
        end_s=float(scene.times[last]),
        confidence=float(confidence),
        roles=roles,
        details=details,
    )
