"""Strict joint attention: groups in which every two members look at one place, person or object.

1. Per pair, the samples on which both look at the same thing become runs (lost samples bridged, split where both moved
   on together).
2. A group is a set of persons whose pairs all hold. Candidates are the largest groups of every moment and what they
   have in common; each candidate's runs are events.
3. A part of a group is reported by itself only where it lasts clearly longer than the group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.social import runs
from ml.social.cliques import bits, close_under_intersection, maximal_cliques
from ml.social.event import JOINT, SocialEvent, members
from ml.social.features import pair_distances, window_displacement
from ml.social.looks import Looks, closeness
from ml.social.scene import Bools, Floats, Ints


@dataclass
class Pair:
    """Two columns, the samples on which they look at the same thing, their distance, and their runs as labels."""

    one: int
    other: int
    held: Bools
    distance: Floats
    label: NDArray[np.int32]


@dataclass
class Group:
    """A candidate group (bit mask of columns), its pairs, and the first and last sample of each run."""

    mask: int
    pairs: list[Pair]
    first: Ints
    last: Ints


def joint_attention(looks: Looks) -> list[SocialEvent]:
    """All joint attention events."""
    pairs = find_pairs(looks)
    if not pairs:
        return []
    groups = _groups(looks, pairs)
    events = []
    for group in groups:
        for first, last in _own_runs(looks, group, groups):
            events.append(_event(looks, group, first, last))
    return events


def find_pairs(looks: Looks) -> list[Pair]:
    """The pairs that look at the same thing at least once for long enough."""
    count = len(looks.scene.persons)
    found = []
    for one in range(count):
        for other in range(one + 1, count):
            distance = pair_distances(looks.points, one, other)
            held = same_focus(looks, one, other, distance)
            if not held.any():
                continue
            label = _pair_runs(looks, one, other, held)
            if label.any():
                found.append(Pair(one, other, held, distance, label))
    return found


def same_focus(looks: Looks, one: int, other: int, distance: Floats) -> Bools:
    """bool[T]: both look at one person, at one object, or at points near each other, and neither at the other."""
    preset, scene = looks.preset, looks.scene
    a, b = looks.target[:, one], looks.target[:, other]
    thing = (scene.objects[:, one] >= 0) & (scene.objects[:, one] == scene.objects[:, other])
    near = (distance <= preset.joint_distance) | (thing & (distance <= preset.joint_object_distance))
    same = np.where((a >= 0) & (b >= 0), a == b, near)
    return same & looks.usable[:, one] & looks.usable[:, other] & (a != other) & (b != one)


def _pair_runs(looks: Looks, one: int, other: int, held: Bools) -> NDArray[np.int32]:
    preset = looks.preset
    positive = np.flatnonzero(held)
    cut = _moved_on(looks, one, other, positive)
    kept = [
        (run[0], run[-1])
        for run in looks.runs(positive, preset.bridge_s, cut)
        if looks.duration(run[0], run[-1]) >= preset.joint_shortest_s - preset.time_slack_s
    ]
    first, last = np.array(kept, dtype=np.int64).reshape(-1, 2).T
    return runs.label(len(held), first, last)


def _moved_on(looks: Looks, one: int, other: int, positive: Ints) -> Bools:
    """bool[K - 1]: between neighbours of `positive` the pair turned to another person, or its focus jumped."""
    common = np.where(looks.target[:, one] == looks.target[:, other], looks.target[:, one], -1)[positive]
    jumps = np.cumsum(_focus_jumps(looks, one, other))[positive]
    named = (common[1:] >= 0) & (common[:-1] >= 0)
    return np.where(named, common[1:] != common[:-1], jumps[1:] != jumps[:-1])


def _focus_jumps(looks: Looks, one: int, other: int) -> Bools:
    """bool[T]: the middle of the two points begins to be far from where it was half a second before."""
    middle = (looks.points[:, one] + looks.points[:, other]) / 2
    at = np.flatnonzero(np.isfinite(middle[:, 0]))
    moved = window_displacement(looks.scene.times[at], looks.scene.shots[at], middle[at], looks.preset)
    far = moved > looks.preset.joint_focus_jump
    result = np.zeros(len(middle), dtype=bool)
    result[at] = far & ~np.concatenate(([False], far[:-1]))
    return result


def _groups(looks: Looks, pairs: list[Pair]) -> list[Group]:
    """Every candidate group with its runs of sufficient length."""
    labels = np.stack([pair.label for pair in pairs])
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(labels, axis=1) != 0).any(axis=0))))
    stops = np.append(starts[1:], labels.shape[1]) - 1
    parts = labels[:, starts]
    ties = {(1 << pair.one) | (1 << pair.other): row for row, pair in enumerate(pairs)}
    result = []
    for mask in sorted(_candidates(looks, pairs, parts > 0), key=int.bit_count, reverse=True):
        columns = list(bits(mask))
        rows = [ties[1 << a | 1 << b] for at, a in enumerate(columns) for b in columns[at + 1 :]]
        own = parts[rows]
        positive = np.flatnonzero((own > 0).all(axis=0))
        part = own[:, positive]
        cut = (np.diff(positive) > 1) | (part[:, 1:] != part[:, :-1]).any(axis=0)
        begin, end = runs.split(cut)
        first, last = starts[positive[begin]], stops[positive[end]]
        seconds = looks.scene.end_times[last] - looks.scene.times[first]
        long = seconds >= looks.preset.joint_shortest_s - looks.preset.time_slack_s
        result.append(Group(mask, [pairs[row] for row in rows], first[long], last[long]))
    return result


def _candidates(looks: Looks, pairs: list[Pair], held: Bools) -> set[int]:
    """Masks of the largest groups at any moment, and of what they share. `held` bool[pairs, moments]."""
    largest: set[int] = set()
    for pattern in np.unique(np.packbits(held, axis=0), axis=1).T:
        neighbours = [0] * len(looks.scene.persons)
        for row in np.flatnonzero(np.unpackbits(pattern, count=len(pairs))):
            pair = pairs[row]
            neighbours[pair.one] |= 1 << pair.other
            neighbours[pair.other] |= 1 << pair.one
        largest.update(maximal_cliques(neighbours))
    return close_under_intersection(largest)


def _own_runs(looks: Looks, group: Group, groups: Iterable[Group]) -> list[tuple[int, int]]:
    """The group's runs that no larger group explains: it would have to begin or end clearly later or earlier."""
    larger = [other for other in groups if other.mask != group.mask and other.mask & group.mask == group.mask]
    first, last = group.first, group.last
    if len(first) == 0 or not larger:
        return list(zip(first.tolist(), last.tolist(), strict=True))
    times, end_times, slack = looks.scene.times, looks.scene.end_times, looks.preset.joint_slack_s
    other_first = np.concatenate([other.first for other in larger])
    other_last = np.concatenate([other.last for other in larger])
    holder = np.maximum(np.searchsorted(first, other_first, side="right") - 1, 0)
    held = (first[holder] <= other_first) & (other_last <= last[holder])
    explained = held & (times[other_first] - times[first[holder]] <= slack)
    explained &= end_times[last[holder]] - end_times[other_last] <= slack
    own = np.ones(len(first), dtype=bool)
    own[holder[explained]] = False
    return list(zip(first[own].tolist(), last[own].tolist(), strict=True))


def _event(looks: Looks, group: Group, first: int, last: int) -> SocialEvent:
    preset, columns = looks.preset, list(bits(group.mask))
    span = slice(first, last + 1)
    held = np.logical_and.reduce([pair.held[span] for pair in group.pairs])
    distances = np.stack([pair.distance[span][held] for pair in group.pairs])
    known = np.isfinite(distances)
    mean = float(distances[known].mean()) if known.any() else 0.0
    points = looks.filled.gaze[span][held][:, columns].reshape(-1, 2)
    targets = looks.target[span][held][:, columns]
    shared = targets[:, 0][(targets == targets[:, :1]).all(axis=1) & (targets[:, 0] >= 0)]
    details: dict[str, Any] = {
        "mean_distance": mean,
        "max_distance": float(distances[known].max()) if known.any() else 0.0,
        "threshold": preset.joint_distance,
        "shortest_s": preset.joint_shortest_s,
        "attention_center": np.nanmean(points, axis=0).tolist() if np.isfinite(points).any() else None,
        "target_person": looks.person(int(np.bincount(shared).argmax())) if 2 * len(shared) > held.sum() else None,
        "num_persons": len(columns),
        "num_samples": int(held.sum()),
    }
    confidence = looks.filled.confidence[span][held][:, columns].min(axis=1).mean() * closeness(mean, preset.joint_distance)
    roles = members([looks.person(column) for column in columns])
    return looks.event(JOINT, first, last, float(confidence), roles, details)
