"""Runs of samples: from the samples where something holds to the stretches it lasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


@dataclass
class Ragged:
    """A list of rows (of a table [rows, samples]) for each of R runs, stored flat: `flat` int64[sum], `sizes` int64[R]
    (each at least 1), `starts` int64[R]."""

    flat: Ints
    sizes: Ints
    starts: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> Ragged:
        sizes = np.array([len(each) for each in lists], dtype=np.int64)
        return cls(np.concatenate([np.array(each, dtype=np.int64) for each in lists]), sizes, np.cumsum(sizes) - sizes)

    def reduce(self, combine: np.ufunc, table: NDArray[Any], run: Ints, sample: Ints) -> NDArray[Any]:
        """For each (run, sample) what `combine` makes of the table's entries in that run's rows."""
        if len(run) == 0:
            return np.zeros(0, dtype=table.dtype)
        start = self.starts[run]
        item, place = spread(start, start + self.sizes[run])
        sizes = self.sizes[run]
        return combine.reduceat(table[self.flat[place], sample[item]], np.cumsum(sizes) - sizes)
