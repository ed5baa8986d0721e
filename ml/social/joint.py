"""Strict joint attention: groups in which every two members look at one place, person or object.

1. Per pair, the samples on which both look at the same thing become runs (lost samples bridged, split where both moved
   on together).
2. Runs that share a person and overlap make an episode. A group is a set of persons whose pairs all hold; candidates
   are the largest groups of every moment of an episode and what they have in common. A candidate's runs are events.
3. A part of a group is reported by itself only where it lasts clearly longer than the group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ml.social import runs
from ml.social.cliques import bits, close_under_intersection, maximal_cliques
from ml.social.cliques import pairs as pairs_of
from ml.social.event import JOINT, SocialEvent, members
from ml.social.features import known_moves, length, rows
from ml.social.looks import Looks, closeness
from ml.social.scene import Bools, Floats, Ints


@dataclass
class Pair:
    """Two columns, the samples on which they look at the same thing, and their runs."""

    one: int
    other: int
    held: Bools
    first: Ints
    last: Ints


@dataclass
class Episode:
    """Runs of pairs that hang together, cut into moments between which nothing changes.

    `pairs` maps two members (bit mask of columns) to the place of their pair in the list of all pairs. Sets of moments
    are bit masks too: `held` says per pair when it holds, `begun` when one of its runs begins. `turns` are the pairs
    whose runs begin or end with each moment; `first`, `last` the samples of the moments, `start_s`, `end_s` their
    seconds.
    """

    pairs: dict[int, int]
    held: dict[int, int]
    begun: dict[int, int]
    turns: list[list[int]]
    first: list[int]
    last: list[int]
    start_s: list[float]
    end_s: list[float]


@dataclass
class Group:
    """Members (bit mask of columns), all their pairs (likewise), and their runs as (first moment, last moment)."""

    mask: int
    ties: tuple[int, ...]
    runs: list[tuple[int, int]]


# A run of a group: its members' columns, the places of its pairs, first and last sample.
Run = tuple[tuple[int, ...], list[int], int, int]


def joint_attention(looks: Looks) -> list[SocialEvent]:
    """All joint attention events."""
    pairs = find_pairs(looks)
    if not pairs:
        return []
    found: list[Run] = []
    for episode in _episodes(looks, pairs):
        groups: list[Group] = []
        for mask in _candidates(episode):
            group = _group(looks, episode, mask)
            if group.runs:
                found += _own_runs(looks, episode, group, groups)
                groups.append(group)
    return _events(looks, pairs, found) if found else []


def find_pairs(looks: Looks) -> list[Pair]:
    """The pairs that look at the same thing at least once for long enough."""
    count = len(looks.scene.persons)
    half_moves = known_moves(looks.scene, looks.x, looks.y, looks.preset) / 2
    objects = rows(looks.scene.objects)
    found = []
    for one in range(count):
        for other in range(one + 1, count):
            held = same_focus(looks, one, other, objects)
            if not held.any():
                continue
            first, last = _pair_runs(looks, one, other, held, half_moves)
            if len(first):
                found.append(Pair(one, other, held, first, last))
    return found


def same_focus(looks: Looks, one: int, other: int, objects: NDArray[np.int32]) -> Bools:
    """bool[T]: both look at one person, at one object, or at points near each other, and neither at the other."""
    preset = looks.preset
    a, b = looks.target[one], looks.target[other]
    distance = length(looks.x[one] - looks.x[other], looks.y[one] - looks.y[other])
    near = distance <= preset.joint_distance
    if objects.max(initial=-1) >= 0:
        thing = (objects[one] >= 0) & (objects[one] == objects[other])
        near |= thing & (distance <= preset.joint_object_distance)
    same = np.where((a >= 0) & (b >= 0), a == b, near)
    return same & looks.usable[one] & looks.usable[other] & (a != other) & (b != one)


def _pair_runs(looks: Looks, one: int, other: int, held: Bools, half_moves: Floats) -> tuple[Ints, Ints]:
    preset = looks.preset
    positive = np.flatnonzero(held)
    found = looks.runs(positive, preset.bridge_s, _moved_on(looks, one, other, positive, half_moves))
    long = found.seconds >= preset.joint_shortest_s - preset.time_slack_s
    return found.first[long], found.last[long]


def _moved_on(looks: Looks, one: int, other: int, positive: Ints, half_moves: Floats) -> Bools:
    """bool[K - 1]: between neighbours of `positive` the pair turned to another person, or its focus jumped.

    `half_moves` float64[P, 2, T] is half of what each gaze point moved over the last half second: for a pair the halves
    add up to how the middle of its points moved. A jump begins where that becomes long.
    """
    far = length(*(half_moves[one] + half_moves[other])) > looks.preset.joint_focus_jump
    begins = far.copy()
    begins[1:] &= ~far[:-1]
    jumps = np.cumsum(begins)[positive]
    a, b = looks.target[one, positive], looks.target[other, positive]
    common = np.where(a == b, a, -1)
    named = (common[1:] >= 0) & (common[:-1] >= 0)
    return np.where(named, common[1:] != common[:-1], jumps[1:] != jumps[:-1])


def _episodes(looks: Looks, pairs: list[Pair]) -> Iterator[Episode]:
    """The runs of all pairs by what hangs together: runs that overlap in time and share a person."""
    pair = np.repeat(np.arange(len(pairs)), [len(each.first) for each in pairs])
    first, last = np.concatenate([each.first for each in pairs]), np.concatenate([each.last for each in pairs])
    one, other = (np.array([getattr(each, name) for each in pairs])[pair] for name in ("one", "other"))
    persons = np.union1d(one, other)
    edges = [_overlapping(np.flatnonzero((one == each) | (other == each)), first, last) for each in persons]
    ties = [1 << each.one | 1 << each.other for each in pairs]
    for runs_of in runs.components(len(pair), np.concatenate(edges)):
        own = [(ties[at], at) for at in pair[runs_of].tolist()]
        yield _episode(looks, own, first[runs_of].tolist(), last[runs_of].tolist())


def _overlapping(own: Ints, first: Ints, last: Ints) -> Ints:
    """Neighbours int64[E, 2] among the runs `own` (of one person): each run and one before it that it overlaps."""
    order = own[np.argsort(first[own], kind="stable")]
    reach = np.maximum.accumulate(last[order])
    linked = np.flatnonzero(first[order[1:]] <= reach[:-1])
    return np.stack([order[linked], order[linked + 1]], axis=1)


def _episode(looks: Looks, own: list[tuple[int, int]], first: list[int], last: list[int]) -> Episode:
    """The episode of runs given as (tie, place of the pair), first and last sample."""
    edges = sorted({*first, *(sample + 1 for sample in last)})
    moment = {sample: at for at, sample in enumerate(edges)}
    held: dict[int, int] = {}
    begun: dict[int, int] = {}
    turns: list[list[int]] = [[] for _ in edges]
    for (tie, _), start, end in zip(own, first, last, strict=True):
        begins, ends = moment[start], moment[end + 1]
        held[tie] = held.get(tie, 0) | (1 << ends) - (1 << begins)
        begun[tie] = begun.get(tie, 0) | 1 << begins
        turns[begins].append(tie)
        turns[ends].append(tie)
    return Episode(
        pairs=dict(own),
        held=held,
        begun=begun,
        turns=turns[:-1],
        first=edges[:-1],
        last=[edge - 1 for edge in edges[1:]],
        start_s=looks.scene.times[edges[:-1]].tolist(),
        end_s=looks.scene.end_times[[edge - 1 for edge in edges[1:]]].tolist(),
    )


def _candidates(episode: Episode) -> list[int]:
    """Masks of the largest groups at any moment, and of what they share, larger ones first."""
    if len(episode.held) == 1:
        return list(episode.held)
    neighbours = [0] * max(episode.held).bit_length()
    seen: set[tuple[int, ...]] = set()
    for turning in episode.turns:
        for tie in turning:
            one, other = bits(tie)
            neighbours[one] ^= 1 << other
            neighbours[other] ^= 1 << one
        seen.add(tuple(neighbours))
    largest = {clique for each in seen for clique in maximal_cliques(each)}
    return sorted(close_under_intersection(largest), key=lambda mask: (-mask.bit_count(), mask))


def _group(looks: Looks, episode: Episode, mask: int) -> Group:
    """A group with its runs of sufficient length: all its pairs hold, and none begins anew."""
    least = looks.preset.joint_shortest_s - looks.preset.time_slack_s
    ties = pairs_of(mask)
    held, begun = -1, 0
    for tie in ties:
        held &= episode.held[tie]
        begun |= episode.begun[tie]
    starts = held & (~(held << 1) | begun)
    found = []
    for start in bits(starts):
        # The run ends where the next moment does not hold, or begins another run.
        beyond = (~held | starts) >> start + 1
        last = start + (beyond & -beyond).bit_length() - 1
        if episode.end_s[last] - episode.start_s[start] >= least:
            found.append((start, last))
    return Group(mask, ties, found)


def _own_runs(looks: Looks, episode: Episode, group: Group, before: list[Group]) -> Iterator[Run]:
    """The group's runs that no larger group explains: it would have to begin or end clearly later or earlier."""
    slack = looks.preset.joint_slack_s
    larger = [run for other in before if other.mask & group.mask == group.mask for run in other.runs]
    start_s, end_s = episode.start_s, episode.end_s
    for first, last in group.runs:
        from_s, until_s = start_s[first] + slack, end_s[last] - slack
        for a, b in larger:
            if first <= a and b <= last and start_s[a] <= from_s and end_s[b] >= until_s:
                break
        else:
            pairs = [episode.pairs[tie] for tie in group.ties]
            yield bits(group.mask), pairs, episode.first[first], episode.last[last]


def _events(looks: Looks, pairs: list[Pair], found: list[Run]) -> list[SocialEvent]:
    """The events of runs, with what was measured where all pairs of a run held."""
    held = np.stack([pair.held for pair in pairs])
    of_size: dict[int, list[Run]] = {}
    for run in found:
        of_size.setdefault(len(run[0]), []).append(run)
    events: list[SocialEvent] = []
    for alike in of_size.values():
        events += _events_of_size(looks, held, alike)
    return events


def _events_of_size(looks: Looks, held: Bools, found: list[Run]) -> list[SocialEvent]:
    """The events of runs of groups of one size; `held` bool[pairs, T] is that of every pair."""
    preset = looks.preset
    seen = _measure(looks, held, found)
    roles = {columns: members([looks.person(column) for column in columns]) for columns, *_ in found}
    rows_of = zip(
        seen.count.tolist(),
        seen.mean.tolist(),
        seen.widest.tolist(),
        seen.x.tolist(),
        seen.y.tolist(),
        seen.shared.tolist(),
        strict=True,
    )
    details = (
        {
            "mean_distance": mean,
            "max_distance": widest,
            "threshold": preset.joint_distance,
            "shortest_s": preset.joint_shortest_s,
            "attention_center": [x, y] if math.isfinite(x) else None,
            "target_person": looks.person(shared) if shared >= 0 else None,
            "num_persons": len(found[0][0]),
            "num_samples": count,
        }
        for count, mean, widest, x, y, shared in rows_of
    )
    first, last = np.array([run[2] for run in found]), np.array([run[3] for run in found])
    confidence = seen.sure * closeness(seen.mean, preset.joint_distance)
    events = looks.events(JOINT, first, last, confidence, (roles[columns] for columns, *_ in found), details)
    return [event for event, count in zip(events, seen.count.tolist(), strict=True) if count]


@dataclass
class Seen:
    """What was seen over the samples of each run on which all its pairs held, arrays [R].

    `count` of these samples, `mean` and `widest` distance of a pair (longer sides), `sure` mean confidence of the least
    sure member, centre `x`, `y` of the points (normalised, NaN unknown), `shared` column of the person whom all look at
    on most of them (-1 none).
    """

    count: Ints
    mean: Floats
    widest: Floats
    sure: Floats
    x: Floats
    y: Floats
    shared: Ints


def _measure(looks: Looks, held: Bools, found: list[Run]) -> Seen:
    """What was seen in runs of groups of one size.

    The samples of all runs lie side by side as `run`, `sample` int64[N]; of members there is a list of arrays [N].
    """
    columns, places, first, last = (np.array(each) for each in zip(*found, strict=True))
    size, length_of = len(found), held.shape[1]
    run, sample = runs.spread(first, last + 1)
    all_held = np.logical_and.reduce([held.take(place[run] * length_of + sample) for place in places.T])
    run, sample = run[all_held], sample[all_held]
    entries = [column[run] * length_of + sample for column in columns.T]
    x, y, sure, target = (
        [table.take(each) for each in entries] for table in (looks.x, looks.y, looks.confidence, looks.target)
    )
    count = np.bincount(run, minlength=size)
    per_sample = 1.0 / np.maximum(count, 1)
    apart = [np.fmax(length(x[i] - x[j], y[i] - y[j]), 0.0) for i, j in combinations(range(len(x)), 2)]
    mean = np.bincount(run, _total(apart), size) * per_sample / len(apart)
    widest = np.zeros(size)
    np.maximum.at(widest, run, np.maximum.reduce(apart))
    least_sure = np.bincount(run, np.minimum.reduce(sure), size) * per_sample
    pointed = [np.isfinite(each) for each in x]
    points = np.bincount(run, np.add.reduce(pointed, dtype=np.int64), size)
    per_point = 1.0 / np.where(points > 0, points, np.nan) / looks.scene.scale[:, None]
    centre_x, centre_y = (
        np.bincount(run, _total([np.where(k, p, 0.0) for k, p in zip(pointed, each, strict=True)]), size)
        for each in (x, y)
    )
    shared = _shared_target(target, run, count, len(looks.scene.persons))
    return Seen(count, mean, widest, least_sure, centre_x * per_point[0], centre_y * per_point[1], shared)


def _total(parts: list[Floats]) -> Floats:
    """The sum of arrays, in an order of addition that must not change: stored events are compared to the last bit."""
    table = np.stack(parts, axis=1)
    return np.add.reduceat(table.ravel(), np.arange(0, table.size, len(parts)))


def _shared_target(target: list[Ints], run: Ints, count: Ints, persons: int) -> Ints:
    """Per run the column that all members look at on more than half of its samples, -1 none."""
    least = np.minimum.reduce(target)
    agreed = (least >= 0) & (least == np.maximum.reduce(target))
    votes = np.bincount(run[agreed] * persons + least[agreed], minlength=len(count) * persons).reshape(-1, persons)
    best = votes.argmax(axis=1)
    return np.where(2 * votes[np.arange(len(count)), best] > count, best, -1)
