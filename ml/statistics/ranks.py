"""Spearman's rank correlation with ties, and its interval by drawing clusters.

rho is Pearson's correlation of mid-ranks (Spearman 1904, Am. J. Psychol. 15); a cluster that is drawn k times counts k
times, which for mid-ranks is the same as to repeat its pairs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ml.statistics.bootstrap import LEVEL, Interval, counts, numbered, percentiles

LEAST = 3  # pairs
REPLICATES = 1000


def midranks(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean rank, from 1, of each value when value k is there `weights[k]` times; equal values share theirs."""
    _, at = np.unique(values, return_inverse=True)
    held = np.bincount(at, weights)
    before = np.cumsum(held) - held
    return np.asarray((before + (held + 1) / 2)[at], np.float64)


def correlation(a: NDArray[np.float64], b: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Weighted Pearson correlation; NaN where one does not vary."""
    total = weights.sum()
    if total <= 0:
        return float("nan")
    x, y = a - weights @ a / total, b - weights @ b / total
    scale = np.sqrt((weights @ x**2) * (weights @ y**2))
    return float((weights * x) @ y / scale) if scale > 1e-12 * total else float("nan")


def rho(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Spearman's rho of pairs; None with fewer than LEAST, or where one side is always the same."""
    one, other = np.asarray(a, float), np.asarray(b, float)
    if len(one) < LEAST:
        return None
    even = np.ones(len(one))
    found = correlation(midranks(one, even), midranks(other, even), even)
    return found if np.isfinite(found) else None


def spearman(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """rho with its interval by drawing clusters (videos) of pairs."""
    value = rho(a, b)
    if value is None:
        return Interval(None)
    one, other = np.asarray(a, float), np.asarray(b, float)
    at, names = numbered(clusters)
    drawn = np.full(replicates, np.nan)
    for k, often in enumerate(counts(len(names), replicates, seed)):
        weights = often[at].astype(float)
        there = weights > 0
        x, y, w = one[there], other[there], weights[there]
        drawn[k] = correlation(midranks(x, w), midranks(y, w), w)
    return Interval(value, *percentiles(drawn, len(names), level))
