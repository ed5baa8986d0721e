"""Means with intervals where numbers come in clusters (questions of one video), by drawing whole clusters.

Cluster bootstrap, percentile method (Efron and Tibshirani 1993, chapters 8 and 13); all groups and columns at once:
with D[r, c] how often draw r has cluster c, the mean of group g in draw r is (D @ sums)[r, g] / (D @ counts)[r, g]. A
draw without any number of a group is left out of that group's interval. By seed always the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REPLICATES = 2000
LEVEL = 0.95
CHUNK = 4_000_000  # numbers of the draws that are held at once

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Interval:
    """A value and its interval; the interval is None where fewer than two clusters hold a number."""

    value: float | None
    low: float | None = None
    high: float | None = None


def numbered(labels: Sequence[Hashable]) -> tuple[Ints, list[Hashable]]:
    """Labels as positions in the list of those there are, by first appearance."""
    place: dict[Hashable, int] = {}
    at = np.array([place.setdefault(label, len(place)) for label in labels], np.int64)
    return at, list(place)


@dataclass(frozen=True, eq=False)
class Draws:
    """Drawn means. `mean` float64[replicates, groups, columns], NaN where a draw holds no number of the group;
    `whole` float64[groups, columns]; `n`, `clusters` int64[groups]."""

    mean: Floats
    whole: Floats
    n: Ints
    clusters: Ints

    def interval(self, group: int, column: int = 0, level: float = LEVEL) -> Interval:
        whole = self.whole[group, column]
        value = float(whole) if np.isfinite(whole) else None
        return Interval(value, *percentiles(self.mean[:, group, column], self.clusters[group], level))

    def macro(self, groups: Sequence[int], column: int = 0, level: float = LEVEL) -> Interval:
        """Of the mean of the groups' means, each counting the same; in a draw, of those that hold a number."""
        if not len(groups) or not np.isfinite(self.whole[groups, column]).any():
            return Interval(None)
        with np.errstate(invalid="ignore"):
            picked = self.mean[:, groups, column]
            there = np.isfinite(picked)
            drawn = np.where(there, picked, 0).sum(axis=1) / there.sum(axis=1)
        value = float(np.nanmean(self.whole[groups, column]))
        return Interval(value, *percentiles(drawn, int(self.clusters[groups].max()), level))


def percentiles(drawn: Floats, clusters: int, level: float = LEVEL) -> tuple[float | None, float | None]:
    """The interval of drawn values (NaN left out), None and None with fewer than two clusters."""
    known = drawn[np.isfinite(drawn)]
    if clusters < 2 or not len(known):
        return None, None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def counts(clusters: int, replicates: int = REPLICATES, seed: int = 0) -> Ints:
    """int64[replicates, clusters]: how often each cluster is drawn."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), replicates)


def grouped(
    values: Floats, groups: Ints, clusters: Ints, *, number: int, replicates: int = REPLICATES, seed: int = 0
) -> Draws:
    """Means by group. `values` float64[n, columns]; `groups` int64[n] in [0, number), -1 for none; `clusters` int64[n].

    Every call with the same clusters and seed draws the same clusters, so that values of two calls belong together.
    """
    kept = groups >= 0
    size = int(clusters.max()) + 1 if len(clusters) else 0
    columns = values.shape[1]
    cell = clusters[kept] * number + groups[kept]
    held = np.bincount(cell, minlength=size * number).reshape(size, number).astype(float)
    sums = np.stack(
        [np.bincount(cell, values[kept, k], minlength=size * number).reshape(size, number) for k in range(columns)],
        axis=2,
    )
    total = held.sum(axis=0)
    mean = np.full((replicates, number, columns), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = sums.sum(axis=0) / total[:, None]
        if size:
            drawn = counts(size, replicates, seed)
            step = max(1, CHUNK // max(size, number * columns))
            for low in range(0, replicates, step):
                part = drawn[low : low + step].astype(float)
                top = (part @ sums.reshape(size, -1)).reshape(len(part), number, columns)
                mean[low : low + step] = top / (part @ held)[:, :, None]
    return Draws(mean, whole, total.astype(np.int64), (held > 0).sum(axis=0))
