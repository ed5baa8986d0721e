"""Runs of samples: from the samples where something holds to the stretches it lasts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.social.scene import Bools, Floats, Ints


def split(cut: Bools) -> tuple[Ints, Ints]:
    """First and last position int64[R] of each run of K >= 1 neighbours; `cut` bool[K - 1] parts them."""
    at = np.flatnonzero(cut)
    return np.concatenate(([0], at + 1)), np.concatenate((at, [len(cut)]))


def groups(positive: Ints, cut: Bools) -> list[Ints]:
    """The runs of `positive` int64[K] (in order), each as an array; `cut` bool[K - 1] parts neighbours."""
    if len(positive) == 0:
        return []
    first, last = split(cut)
    return [positive[begin : stop + 1] for begin, stop in zip(first.tolist(), last.tolist(), strict=True)]


def pauses(positive: Ints, times: Floats, end_times: Floats) -> Floats:
    """Seconds float64[K - 1] from the end of what one positive sample speaks for to the next positive sample."""
    return times[positive[1:]] - end_times[positive[:-1]]


def label(count: int, first: Ints, last: Ints) -> NDArray[np.int32]:
    """int32[count]: the number (from 1) of the run that covers each sample, 0 outside all runs (runs are disjoint)."""
    change = np.zeros(count + 1, dtype=np.int32)
    number = np.arange(1, len(first) + 1, dtype=np.int32)
    np.add.at(change, first, number)
    np.add.at(change, last + 1, -number)
    return np.cumsum(change[:-1], dtype=np.int32)


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


def mean_over(total: NDArray[Any], first: Ints, last: Ints, counts: Ints) -> Floats:
    """Means of runs from an inclusive prefix sum `total` and the number of samples that took part."""
    before = np.where(first > 0, total[np.maximum(first - 1, 0)], 0.0)
    return (total[last] - before) / np.maximum(counts, 1)
