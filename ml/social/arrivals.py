"""Strict gaze following and attention capture: both are patterns of arrivals.

An arrival is a sample from which on a person's gaze settles: it stays within `settle_radius` (or on the same person)
for `settle_s`, and during most of the second before it was somewhere else. Its place is the mean gaze over the time it
settles. Following is an arrival where somebody else has arrived a little earlier; capture is several arrivals at one
place at one time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ml.social import runs
from ml.social.cliques import bits, maximal_cliques
from ml.social.event import CAPTURE, FOLLOWING, Roles, SocialEvent, members
from ml.social.features import length
from ml.social.looks import Looks, closeness
from ml.social.scene import Bools, Floats, Ints


@dataclass
class Arrivals:
    """Arrivals in time order: `sample` and `column` int64[N], `place` float64[N, 2] (longer sides; NaN when only the
    person looked at is known), `target` int64[N] (column of the person looked at, -1 nobody), `moved` float64[N] (the
    furthest the gaze was in the second before, relative to the face, longer sides)."""

    sample: Ints
    column: Ints
    place: Floats
    target: Ints
    moved: Floats


@dataclass
class Spots:
    """Where looks go, any number of them: `x`, `y` (longer sides, NaN unknown) and `target` (column or -1)."""

    x: Floats
    y: Floats
    target: Ints

    def same(self, other: Spots, radius: float) -> Bools:
        """Whether two looks go to one person, or to points within `radius`."""
        dx, dy = self.x - other.x, self.y - other.y
        near = dx * dx + dy * dy <= radius * radius
        return np.where((self.target >= 0) & (other.target >= 0), self.target == other.target, near)


def find_arrivals(looks: Looks) -> Arrivals:
    """All arrivals of all persons."""
    settled, x, y = _settled(looks)
    going_on = np.zeros_like(settled)
    going_on[:, 1:] = settled[:, :-1] & (looks.scene.shots[1:] == looks.scene.shots[:-1])
    column, sample = np.nonzero(settled & looks.sure & ~going_on)
    order = np.lexsort((column, sample))
    column, sample = column[order], sample[order]
    row, earlier = runs.spread(_lookback(looks, sample), sample)
    away, known = _away(looks, column[row], earlier, sample[row])
    away_count, known_count = np.bincount(row, away, len(sample)), np.bincount(row, known, len(sample))
    kept = (known_count > 0) & (2 * away_count >= known_count)
    moved = np.zeros(len(sample))
    np.fmax.at(moved, row, _relative_distance(looks, column[row], sample[row], earlier))
    return Arrivals(
        sample=sample[kept],
        column=column[kept],
        place=np.stack([x[column, sample][kept], y[column, sample][kept]], axis=1),
        target=looks.target[column, sample][kept],
        moved=moved[kept],
    )


def _settled(looks: Looks) -> tuple[Bools, Floats, Floats]:
    """Whether the gaze stays where it is for `settle_s`, bool[P, T], and its mean place x, y float64[P, T]."""
    scene, preset = looks.scene, looks.preset
    reach = preset.settle_s + preset.time_slack_s
    settled = looks.usable.copy()
    pointed = np.isfinite(looks.x)
    x, y = np.nan_to_num(looks.x), np.nan_to_num(looks.y)
    total_x, total_y, points = x.copy(), y.copy(), pointed.astype(np.int16)
    seen = np.zeros(settled.shape, dtype=np.int16)
    window = np.zeros(len(scene.frames), dtype=np.int16)
    for step in range(1, len(scene.frames)):
        ahead = scene.times[step:] - scene.times[:-step]
        if ahead.min() > reach:
            break
        near = (ahead <= reach) & (scene.shots[step:] == scene.shots[:-step])
        now, then = np.s_[:, :-step], np.s_[:, step:]
        stays = Spots(looks.x[now], looks.y[now], looks.target[now]).same(
            Spots(looks.x[then], looks.y[then], looks.target[then]), preset.settle_radius
        )
        known = looks.usable[then] & near
        settled[now] &= ~((known & ~stays) | (looks.elsewhere[then] & near))
        seen[now] += known
        window[:-step] += near
        counted = pointed[then] & near
        points[now] += counted
        total_x[now] += x[then] * counted
        total_y[now] += y[then] * counted
    settled &= (window > 0) & (2 * seen >= window)
    count = np.where(points > 0, points, np.nan)
    return settled, total_x / count, total_y / count


def _away(looks: Looks, column: Ints, earlier: Ints, sample: Ints) -> tuple[Bools, Bools]:
    """Whether the gaze was somewhere else at an earlier sample, and whether it is known at all where it was."""
    known = looks.usable[column, earlier] | looks.elsewhere[column, earlier]
    same = _spots(looks, column, earlier).same(_spots(looks, column, sample), looks.preset.settle_radius)
    return known & ~(same & looks.usable[column, earlier]), known


def _spots(looks: Looks, column: Ints, sample: Ints) -> Spots:
    return Spots(looks.x[column, sample], looks.y[column, sample], looks.target[column, sample])


def _lookback(looks: Looks, sample: Ints) -> Ints:
    """First sample of the look-back of each sample, in the same shot."""
    scene, preset = looks.scene, looks.preset
    earliest = scene.times[sample] - preset.arrival_lookback_s - preset.time_slack_s
    shot_start = runs.last_true(np.diff(scene.shots, prepend=scene.shots[0] - 1) != 0)
    return np.maximum(np.searchsorted(scene.times, earliest), shot_start[sample])


def _relative_distance(looks: Looks, column: Ints, one: Ints, other: Ints) -> Floats:
    """How far a gaze moved between two samples relative to the face (in the picture where a face is not known)."""
    centre = looks.scene.face_centre * looks.scene.scale
    carried = np.nan_to_num(centre[one, column] - centre[other, column])
    moved_x = looks.x[column, one] - looks.x[column, other] - carried[:, 0]
    moved_y = looks.y[column, one] - looks.y[column, other] - carried[:, 1]
    return length(moved_x, moved_y)


def followings(looks: Looks, arrivals: Arrivals) -> list[SocialEvent]:
    """One person arrives where another has arrived 0.75-2.25 s before, and was elsewhere in the meantime."""
    leader, follower = _candidates(looks, arrivals)
    distance = _landing_distance(arrivals, leader, follower)
    near = distance <= looks.preset.following_distance
    leader, follower, distance = leader[near], follower[near], distance[near]
    gated = _was_elsewhere(looks, arrivals, leader, follower)
    leader, follower, distance = leader[gated], follower[gated], distance[gated]
    # Of several arrivals of one leader the latest led to this one.
    newest = np.lexsort((-leader, arrivals.column[leader], follower))
    keys = np.stack([follower[newest], arrivals.column[leader[newest]]])
    kept = newest[(np.diff(keys, axis=1, prepend=-1) != 0).any(axis=0)]
    return _following_events(looks, arrivals, leader[kept], follower[kept], distance[kept])


def _candidates(looks: Looks, arrivals: Arrivals) -> tuple[Ints, Ints]:
    """Pairs (leader, follower) of arrivals of two persons in one shot with an allowed lag."""
    preset, scene = looks.preset, looks.scene
    times = scene.times[arrivals.sample]
    low = np.searchsorted(times, times - preset.following_longest_lag_s)
    high = np.searchsorted(times, times - preset.following_shortest_lag_s, side="right")
    follower, leader = runs.spread(low, high)
    fits = arrivals.column[leader] != arrivals.column[follower]
    fits &= scene.shots[arrivals.sample[leader]] == scene.shots[arrivals.sample[follower]]
    return leader[fits], follower[fits]


def _landing_distance(arrivals: Arrivals, one: Ints, other: Ints) -> Floats:
    """Distance of two landing places: 0 on one person, infinite on two, or where one looks at the other's owner."""
    a, b = arrivals.target[one], arrivals.target[other]
    offset = arrivals.place[one] - arrivals.place[other]
    distance = np.where(np.isfinite(offset[:, 0]), length(offset[:, 0], offset[:, 1]), np.inf)
    named = (a >= 0) & (b >= 0)
    distance = np.where(named, np.where(a == b, 0.0, np.inf), distance)
    at_each_other = (a == arrivals.column[other]) | (b == arrivals.column[one])
    return np.where(at_each_other, np.inf, distance)


def _was_elsewhere(looks: Looks, arrivals: Arrivals, leader: Ints, follower: Ints) -> Bools:
    """The onset gate: when the leader arrived the follower was elsewhere, and for most of the time until their own
    arrival."""
    row, sample = runs.spread(arrivals.sample[leader], arrivals.sample[follower])
    arrival = follower[row]
    column = arrivals.column[arrival]
    place = Spots(arrivals.place[arrival, 0], arrivals.place[arrival, 1], arrivals.target[arrival])
    known = looks.usable[column, sample] | looks.elsewhere[column, sample]
    inside = looks.usable[column, sample] & _spots(looks, column, sample).same(place, looks.preset.settle_radius)
    known_count = np.bincount(row, known, len(leader))
    inside_count = np.bincount(row, inside, len(leader))
    first_known = np.full(len(leader), len(looks.scene.frames))
    np.minimum.at(first_known, row[known], sample[known])
    first_inside = np.full(len(leader), len(looks.scene.frames))
    np.minimum.at(first_inside, row[inside], sample[inside])
    return (known_count > 0) & (first_inside > first_known) & (2 * inside_count <= known_count)


def _following_events(
    looks: Looks, arrivals: Arrivals, leader: Ints, follower: Ints, distance: Floats
) -> list[SocialEvent]:
    preset, scene = looks.preset, looks.scene
    first, last = arrivals.sample[leader], arrivals.sample[follower]
    leads, follows = arrivals.column[leader], arrivals.column[follower]
    ones, others = scene.persons[leads].tolist(), scene.persons[follows].tolist()
    place, target = arrivals.place[follower] / scene.scale, arrivals.target[follower]
    lag, before = scene.times[last] - scene.times[first], looks.before[last]
    details = (
        {
            "leader_id": one,
            "follower_id": other,
            "lag_seconds": seconds,
            "shortest_lag_s": preset.following_shortest_lag_s,
            "longest_lag_s": preset.following_longest_lag_s,
            "gaze_distance": apart,
            "threshold": preset.following_distance,
            "gaze_target": point if math.isfinite(point[0]) else None,
            "target_person": looks.person(aim) if aim >= 0 else None,
            "follower_onset_after": onset_after,
        }
        for one, other, seconds, apart, point, aim, onset_after in zip(
            ones, others, *(each.tolist() for each in (lag, distance, place, target, before)), strict=True
        )
    )
    roles: Iterator[Roles] = (((one, "leader"), (other, "follower")) for one, other in zip(ones, others, strict=True))
    sure = np.minimum(looks.confidence[leads, first], looks.confidence[follows, last])
    confidence = sure * closeness(distance, preset.following_distance)
    # The event ends with the follower's arrival: that frame is its last, however long the sample speaks for.
    end, end_s = scene.frames[last] + 1, scene.times[last]
    return looks.spanning(FOLLOWING, first, end, end_s, before, confidence, roles, details)


def captures(looks: Looks, arrivals: Arrivals) -> list[SocialEvent]:
    """At least three persons shift their gaze at once and arrive at one place."""
    preset = looks.preset
    shifted = np.flatnonzero(arrivals.moved >= preset.capture_displacement)
    neighbours = _together(looks, arrivals, shifted)
    used: set[int] = set()
    groups = []
    for start in sorted(neighbours):
        group = [] if start in used else _largest_group(arrivals, neighbours, start, used)
        if len(group) >= preset.capture_persons:
            used.update(group)
            groups.append(group)
    return _capture_events(looks, arrivals, groups)


def _together(looks: Looks, arrivals: Arrivals, shifted: Ints) -> dict[int, set[int]]:
    """For each arrival the later ones (of others, within the window, in its shot) that land at its place."""
    preset, scene = looks.preset, looks.scene
    times = scene.times[arrivals.sample[shifted]]
    position = np.arange(len(shifted))
    reach = np.searchsorted(times, times + preset.capture_window_s + preset.time_slack_s, side="right")
    row, other = runs.spread(position + 1, reach)
    one, other = shifted[row], shifted[other]
    fits = (arrivals.column[one] != arrivals.column[other]) & (
        scene.shots[arrivals.sample[one]] == scene.shots[arrivals.sample[other]]
    )
    fits &= _landing_distance(arrivals, one, other) <= preset.capture_distance
    result: dict[int, set[int]] = {}
    for a, b in zip(one[fits].tolist(), other[fits].tolist(), strict=True):
        result.setdefault(a, set()).add(b)
    return result


def _largest_group(arrivals: Arrivals, neighbours: dict[int, set[int]], start: int, used: set[int]) -> list[int]:
    """The largest set of arrivals, all at one place, with `start` as its first."""
    others = sorted(neighbours[start] - used)
    number = {arrival: at for at, arrival in enumerate(others)}
    ties = [0] * len(others)
    for a in others:
        for b in neighbours.get(a, set()):
            if b in number:
                ties[number[a]] |= 1 << number[b]
                ties[number[b]] |= 1 << number[a]
    best = max(maximal_cliques(tuple(ties)), key=int.bit_count, default=0)
    return [start, *(others[at] for at in bits(best))]


def _capture_events(looks: Looks, arrivals: Arrivals, groups: list[list[int]]) -> list[SocialEvent]:
    scene, preset = looks.scene, looks.preset
    if not groups:
        return []
    seen = [_capture(looks, arrivals, group) for group in groups]
    firsts, lasts, confidence, roles, details = zip(*seen, strict=True)
    first, last = np.array(firsts), np.array(lasts)
    # The event lasts to the sample that still speaks for the padding after the last arrival, or the shot's last.
    padded_s = scene.times[last] + preset.capture_padding_s - preset.time_slack_s
    shot_last = runs.next_true(np.append(np.diff(scene.shots) != 0, True))
    until = np.minimum(np.searchsorted(scene.end_times, padded_s), shot_last[last])
    end, end_s = scene.ends[until], scene.end_times[until]
    last_sample = looks.before[last] + end - scene.frames[last]
    return looks.spanning(CAPTURE, first, end, end_s, last_sample, np.array(confidence), roles, details)


def _capture(looks: Looks, arrivals: Arrivals, group: list[int]) -> tuple[int, int, float, Roles, dict[str, Any]]:
    """First and last sample with an arrival of the group, its confidence, roles and details."""
    scene, preset = looks.scene, looks.preset
    samples, columns = arrivals.sample[group], arrivals.column[group]
    ids = [looks.person(column) for column in columns]
    one, other = np.array(list(combinations(group, 2))).T
    distance = float(_landing_distance(arrivals, one, other).mean())
    place = arrivals.place[group]
    known = place[np.isfinite(place[:, 0])]
    details = {
        "num_persons": len(group),
        "mean_distance": distance,
        "threshold": preset.capture_distance,
        "mean_displacement": float(arrivals.moved[group].mean()),
        "displacement_threshold": preset.capture_displacement,
        "person_displacements": _by_person(ids, arrivals.moved[group]),
        "person_arrivals_s": _by_person(ids, scene.times[samples]),
        "window_s": preset.capture_window_s,
        "padding_s": preset.capture_padding_s,
        "attention_center": (known.mean(axis=0) / scene.scale).tolist() if len(known) else None,
    }
    confidence = float(looks.confidence[columns, samples].mean() * closeness(distance, preset.capture_distance))
    return int(samples.min()), int(samples.max()), confidence, members(ids), details


def _by_person(ids: list[int], values: Floats) -> dict[str, float]:
    return {str(person): float(value) for person, value in sorted(zip(ids, values.tolist(), strict=True))}
