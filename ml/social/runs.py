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


def components(count: int, edges: Ints) -> list[Ints]:
    """Connected nodes of a graph: the nodes 0 .. count - 1 by component, for `edges` int64[E, 2]."""
    root = list(range(count))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for one, other in edges.tolist():
        a, b = find(one), find(other)
        root[max(a, b)] = min(a, b)
    roots = np.array([find(node) for node in range(count)], dtype=np.int64)
    order = np.argsort(roots, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(roots[order])) + 1) if count else []


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

    def at(self, run: Ints, sample: Ints) -> Gathered:
        """The table entries of each (run, sample)'s rows."""
        item, place = spread(self.starts[run], self.starts[run] + self.sizes[run])
        return Gathered(self.flat[place], sample[item], np.cumsum(self.sizes[run]) - self.sizes[run])


@dataclass
class Gathered:
    """Entries (`row`, `sample`) of tables [rows, samples], in groups that begin at `starts`."""

    row: Ints
    sample: Ints
    starts: Ints

    def gather(self, table: NDArray[Any]) -> NDArray[Any]:
        """The entries of a table."""
        return table[self.row, self.sample]

    def reduce(self, combine: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """What `combine` makes of the gathered entries of each group."""
        return combine.reduceat(values, self.starts) if len(self.starts) else values
