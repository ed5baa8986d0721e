"""Shares of counts with their intervals, two shares against each other, and when there are too few to say anything.

Thin over statsmodels and SciPy, which are imported when something is computed. Sources: Wilson 1927 (J. Am. Stat.
Assoc. 22) for one share, Newcombe 1998 (Stat. Med. 17, method 10) for the difference of two, Fisher 1935 for the exact
test.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ml.statistics.bootstrap import grouped, numbered

LEVEL = 0.95
LEAST = 10  # below, a share is no more than its counts
REPLICATES = 2000


@dataclass(frozen=True)
class Share:
    """`k` of `n`. `value`, `low`, `high` are None where `n` is below LEAST: too few to say."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None

    @property
    def enough(self) -> bool:
        return self.value is not None


@dataclass(frozen=True)
class Mean:
    """Mean of `n` numbers from `clusters` videos; None where there are fewer than LEAST numbers. The interval comes
    from drawing whole videos with replacement, and needs two."""

    n: int
    clusters: int
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Difference:
    """Share of a minus share of b, with its interval, and Fisher's exact p (two-sided); None where one has too few."""

    a: Share
    b: Share
    value: float | None
    low: float | None
    high: float | None
    p: float | None


def wilson(k: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of k of n, n above 0."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(k, n, alpha=1 - level, method="wilson")
    return float(max(0.0, low)), float(min(1.0, high))


def share(k: int, n: int, *, least: int = LEAST) -> Share:
    """k of n, 0 <= k <= n."""
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share.")
    if n < max(least, 1):
        return Share(k, n, None, None, None)
    return Share(k, n, k / n, *wilson(k, n))


def fisher(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Two-sided p of two rows of (k, rest)."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([list(a), list(b)])[1])


def difference(a: Share, b: Share) -> Difference:
    """Of two independent shares."""
    if not (a.enough and b.enough):
        return Difference(a, b, None, None, None, None)
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(a.k, a.n, b.k, b.n, compare="diff", method="newcomb", alpha=1 - LEVEL)
    assert a.value is not None and b.value is not None
    p = fisher((a.k, a.n - a.k), (b.k, b.n - b.k))
    return Difference(a, b, a.value - b.value, float(low), float(high), p)


def mean(values: Sequence[float], clusters: Sequence[Hashable], *, least: int = LEAST, seed: int = 0) -> Mean:
    """Mean of numbers, each of one cluster (video); by seed always the same interval."""
    at, names = numbered(clusters)
    if len(values) < max(least, 1):
        return Mean(len(values), len(names), None)
    given = np.asarray(values, float)[:, None]
    draws = grouped(given, np.zeros(len(values), np.int64), at, number=1, replicates=REPLICATES, seed=seed)
    found = draws.interval(0)
    return Mean(len(values), len(names), found.value, found.low, found.high)


# ---------------------------------------------------------------------------------------------------------------------
# In words


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def said(one: Share) -> str:
    """ "82 % (33 of 40; 95 %: 68 to 91 %)", or the counts alone with why they say no more."""
    if not one.n:
        return "none"
    if one.value is None:
        return f"{one.k} of {one.n}: too few to say"
    assert one.low is not None and one.high is not None
    return f"{percent(one.value)} ({one.k} of {one.n}; 95 %: {100 * one.low:.0f} to {percent(one.high)})"


def said_mean(one: Mean, show: Callable[[float], str] = "{:.2f}".format) -> str:
    """ "0.41 (n = 30; 95 %: 0.30 to 0.52)"."""
    if not one.n:
        return "none"
    if one.value is None:
        return f"{one.n} only: too few to say"
    if one.low is None or one.high is None:
        return f"{show(one.value)} (n = {one.n}, all of one video: no interval)"
    return f"{show(one.value)} (n = {one.n}; 95 %: {show(one.low)} to {show(one.high)})"


def said_p(p: float) -> str:
    """ "p = 0.03", "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
