"""Runs of samples: from the samples where something holds to the stretches it lasts."""

from __future__ import annotations

import numpy as np

from ml.social.scene import Bools, Ints


def split(cut: Bools, count: int) -> tuple[Ints, Ints]:
    """First and last position int64[R] of each run among `count` neighbours; `cut` bool[count - 1] parts them."""
    if count == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    at = np.flatnonzero(cut)
    return np.concatenate(([0], at + 1)), np.concatenate((at, [count - 1]))


def groups(positive: Ints, cut: Bools) -> list[Ints]:
    """The runs of `positive` int64[K] (in order), each as an array; `cut` bool[K - 1] parts neighbours."""
    first, last = split(cut, len(positive))
    return [positive[begin : stop + 1] for begin, stop in zip(first.tolist(), last.tolist(), strict=True)]


def components(count: int, edges: Ints) -> list[Ints]:
    """Connected nodes of a graph: the nodes 0 .. count - 1 by component, for `edges` int64[E, 2].

    Every node knows a lower one of its component (at first itself). Round after round the higher end of each edge hangs
    itself below the lower one, until both ends of every edge know the same node.
    """
    lowest = np.arange(count)
    while True:
        one, other = lowest[edges[:, 0]], lowest[edges[:, 1]]
        if (one == other).all():
            break
        np.minimum.at(lowest, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(beyond := lowest[lowest], lowest):
            lowest = beyond
    order = np.argsort(lowest, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(lowest[order])) + 1) if count else []


def spread(start: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """All pairs (row, position) with start[row] <= position < stop[row], as two int64 arrays, rows in order."""
    length = np.maximum(stop - start, 0)
    row = np.repeat(np.arange(len(start)), length)
    before = np.cumsum(length) - length
    return row, np.arange(len(row)) - before[row] + start[row]


def last_true(mask: Bools) -> Ints:
    """Index int64[T] of the nearest True at or before each sample, -1 for none."""
    return np.maximum.accumulate(np.where(mask, np.arange(len(mask)), -1))


def next_true(mask: Bools) -> Ints:
    """Index int64[T] of the nearest True at or after each sample, T for none."""
    count = len(mask)
    return np.minimum.accumulate(np.where(mask, np.arange(count), count)[::-1])[::-1]
