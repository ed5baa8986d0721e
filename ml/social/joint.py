"""Strict joint attention: groups in which every two members look at one place, person or object.

1. Per pair, the samples on which both look at the same thing become runs (lost samples bridged, split where both moved
   on together).
2. A group is a set of persons whose pairs all hold. Candidates are the largest groups of every moment and what they
   have in common; each candidate's runs are events.
3. A part of a group is reported by itself only where it lasts clearly longer than the group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.social import runs
from ml.social.cliques import bits, close_under_intersection, maximal_cliques
from ml.social.event import JOINT, SocialEvent, members
from ml.social.features import length, rows, window_move
from ml.social.looks import Looks, closeness
from ml.social.runs import Ragged
from ml.social.scene import Bools, Floats, Ints

# Bits of a machine word that a mask may use; larger crowds are masks of Python's own whole numbers.
_WORD = 63


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
    """A candidate group: its members as a bit mask and as columns, its pairs (places in the list of all pairs), and
    the first and last sample of each run."""

    mask: int
    columns: list[int]
    pairs: list[int]
    first: Ints
    last: Ints


def joint_attention(looks: Looks) -> list[SocialEvent]:
    """All joint attention events."""
    pairs = find_pairs(looks)
    if not pairs:
        return []
    groups = _groups(looks, pairs)
    found = [(group, *run) for group in groups for run in _own_runs(looks, group, groups)]
    return _events(looks, pairs, found) if found else []


def find_pairs(looks: Looks) -> list[Pair]:
    """The pairs that look at the same thing at least once for long enough."""
    count = len(looks.scene.persons)
    moves = _window_moves(looks)
    objects = rows(looks.scene.objects)
    found = []
    for one in range(count):
        for other in range(one + 1, count):
            distance = length(looks.x[one] - looks.x[other], looks.y[one] - looks.y[other])
            held = same_focus(looks, one, other, distance, objects)
            if not held.any():
                continue
            label = _pair_runs(looks, one, other, held, (moves[one] + moves[other]) / 2)
            if label.any():
                found.append(Pair(one, other, held, distance, label))
    return found


def same_focus(looks: Looks, one: int, other: int, distance: Floats, objects: NDArray[np.int32]) -> Bools:
    """bool[T]: both look at one person, at one object, or at points near each other, and neither at the other."""
    preset = looks.preset
    a, b = looks.target[one], looks.target[other]
    near = distance <= preset.joint_distance
    if objects.max(initial=-1) >= 0:
        thing = (objects[one] >= 0) & (objects[one] == objects[other])
        near |= thing & (distance <= preset.joint_object_distance)
    same = np.where((a >= 0) & (b >= 0), a == b, near)
    return same & looks.usable[one] & looks.usable[other] & (a != other) & (b != one)


def _window_moves(looks: Looks) -> Floats:
    """How each gaze point moved over the last half second in the picture, float64[P, 2, T] (NaN unknown)."""
    scene = looks.scene
    result = np.full((len(scene.persons), 2, len(scene.frames)), np.nan)
    for person, (x, y) in enumerate(zip(looks.x, looks.y, strict=True)):
        at = np.flatnonzero(np.isfinite(x))
        points = np.stack([x[at], y[at]], axis=1)
        result[person][:, at] = window_move(scene.times[at], scene.shots[at], points, looks.preset).T
    return result


def _pair_runs(looks: Looks, one: int, other: int, held: Bools, move: Floats) -> NDArray[np.int32]:
    preset = looks.preset
    positive = np.flatnonzero(held)
    found = looks.runs(positive, preset.bridge_s, _moved_on(looks, one, other, positive, move))
    long = found.seconds >= preset.joint_shortest_s - preset.time_slack_s
    return runs.label(len(held), found.first[long], found.last[long])


def _moved_on(looks: Looks, one: int, other: int, positive: Ints, move: Floats) -> Bools:
    """bool[K - 1]: between neighbours of `positive` the pair turned to another person, or its focus jumped.

    `move` float64[2, T] is how the middle of the two points moved; a jump begins where it becomes long.
    """
    far = length(move[0], move[1]) > looks.preset.joint_focus_jump
    jumps = np.cumsum(far & ~np.concatenate(([False], far[:-1])))[positive]
    common = np.where(looks.target[one] == looks.target[other], looks.target[one], -1)[positive]
    named = (common[1:] >= 0) & (common[:-1] >= 0)
    return np.where(named, common[1:] != common[:-1], jumps[1:] != jumps[:-1])


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
        begin, end = runs.split(cut, len(positive))
        first, last = starts[positive[begin]], stops[positive[end]]
        seconds = looks.scene.end_times[last] - looks.scene.times[first]
        long = seconds >= looks.preset.joint_shortest_s - looks.preset.time_slack_s
        result.append(Group(mask, columns, rows, first[long], last[long]))
    return result


def _candidates(looks: Looks, pairs: list[Pair], held: Bools) -> set[int]:
    """Masks of the largest groups at any moment, and of what they share. `held` bool[pairs, moments]."""
    persons = len(looks.scene.persons)
    ties = np.zeros((held.shape[1], persons), dtype=np.int64 if persons < _WORD else object)
    for pair, moments in zip(pairs, held, strict=True):
        ties[moments, pair.one] |= 1 << pair.other
        ties[moments, pair.other] |= 1 << pair.one
    whole, loose = _whole_groups(ties)
    largest = set(ties[whole].tolist())
    for neighbours in {tuple(row) for row in np.where(loose, ties, 0).tolist()}:
        largest.update(maximal_cliques(neighbours))
    return close_under_intersection(largest)


def _whole_groups(ties: NDArray[Any]) -> tuple[Bools, Bools]:
    """Mostly everybody who is tied is tied to all: then a person and their ties are a largest group. Turns `ties`
    [moments, persons] into those masks and says for which persons that holds and for which it does not."""
    tied = ties != 0
    neighbours = ties.copy()
    for person in range(ties.shape[1]):
        ties[:, person] |= 1 << person
    uneven = np.zeros(ties.shape, dtype=bool)
    for person in range(ties.shape[1]):
        linked = (neighbours >> person & 1).astype(bool)
        uneven |= linked & (ties != ties[:, person, None])
    whole = tied & ~uneven
    ties[:] = np.where(whole, ties, neighbours)
    return whole, tied & uneven


def _own_runs(looks: Looks, group: Group, groups: Iterable[Group]) -> Iterable[tuple[int, int]]:
    """The group's runs that no larger group explains: it would have to begin or end clearly later or earlier."""
    larger = [other for other in groups if other.mask != group.mask and other.mask & group.mask == group.mask]
    first, last = group.first, group.last
    if len(first) == 0 or not larger:
        return zip(first.tolist(), last.tolist(), strict=True)
    times, end_times, slack = looks.scene.times, looks.scene.end_times, looks.preset.joint_slack_s
    other_first = np.concatenate([other.first for other in larger])
    other_last = np.concatenate([other.last for other in larger])
    holder = np.maximum(np.searchsorted(first, other_first, side="right") - 1, 0)
    held = (first[holder] <= other_first) & (other_last <= last[holder])
    explained = held & (times[other_first] - times[first[holder]] <= slack)
    explained &= end_times[last[holder]] - end_times[other_last] <= slack
    own = np.ones(len(first), dtype=bool)
    own[holder[explained]] = False
    return zip(first[own].tolist(), last[own].tolist(), strict=True)


def _events(looks: Looks, pairs: list[Pair], found: list[tuple[Group, int, int]]) -> list[SocialEvent]:
    """The events of runs (group, first sample, last sample), with what was measured where all pairs of a run held."""
    preset = looks.preset
    measured = _measure(looks, pairs, found)
    events = []
    for (group, first, last), (count, mean, widest, sure, x, y, shared) in zip(found, measured, strict=True):
        if not count:
            continue
        details: dict[str, Any] = {
            "mean_distance": mean,
            "max_distance": widest,
            "threshold": preset.joint_distance,
            "shortest_s": preset.joint_shortest_s,
            "attention_center": [x, y] if math.isfinite(x) else None,
            "target_person": looks.person(shared) if shared >= 0 else None,
            "num_persons": len(group.columns),
            "num_samples": count,
        }
        roles = members([looks.person(column) for column in group.columns])
        confidence = sure * closeness(mean, preset.joint_distance)
        events.append(looks.event(JOINT, first, last, confidence, roles, details))
    return events


def _measure(looks: Looks, pairs: list[Pair], found: list[tuple[Group, int, int]]) -> Iterable[tuple[Any, ...]]:
    """Per run: samples on which all pairs held, then over these the mean and the largest distance of a pair, the mean
    of the least sure member's confidence, the centre x, y, and the column of the person looked at by all on most of
    them (-1 none)."""
    groups, first, last = zip(*found, strict=True)
    run, sample = runs.spread(np.array(first), np.array(last) + 1)
    runs_pairs = Ragged.of([group.pairs for group in groups])
    held, distance = np.stack([pair.held for pair in pairs]), np.stack([pair.distance for pair in pairs])
    all_held = runs_pairs.reduce(np.logical_and, held, run, sample)
    run, sample = run[all_held], sample[all_held]
    known = np.nan_to_num(distance)
    count = np.bincount(run, minlength=len(found))
    share = 1.0 / np.maximum(count, 1)
    mean = np.bincount(run, runs_pairs.reduce(np.add, known, run, sample), len(found)) * share / runs_pairs.sizes
    widest = np.zeros(len(found))
    np.maximum.at(widest, run, runs_pairs.reduce(np.maximum, known, run, sample))
    runs_members = Ragged.of([group.columns for group in groups])
    sure = np.bincount(run, runs_members.reduce(np.minimum, looks.confidence, run, sample), len(found)) * share
    pointed = np.bincount(run, runs_members.reduce(np.add, np.isfinite(looks.x).astype(float), run, sample), len(found))
    per_point = 1.0 / np.where(pointed > 0, pointed, np.nan)
    totals = [runs_members.reduce(np.add, np.nan_to_num(each), run, sample) for each in (looks.x, looks.y)]
    x, y = (np.bincount(run, total, len(found)) * per_point for total in totals)
    scale = looks.scene.scale
    shared = _shared_target(looks, runs_members, run, sample, count)
    columns = count, mean, widest, sure, x / scale[0], y / scale[1], shared
    return zip(*(column.tolist() for column in columns), strict=True)


def _shared_target(looks: Looks, members_of: Ragged, run: Ints, sample: Ints, count: Ints) -> Ints:
    least = members_of.reduce(np.minimum, looks.target, run, sample)
    agreed = (least >= 0) & (least == members_of.reduce(np.maximum, looks.target, run, sample))
    persons = len(looks.scene.persons)
    votes = np.bincount(run[agreed] * persons + least[agreed], minlength=len(count) * persons).reshape(-1, persons)
    best = votes.argmax(axis=1)
    return np.where(2 * votes[np.arange(len(count)), best] > count, best, -1)
