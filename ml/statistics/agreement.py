"""How far raters agree: raw agreement, Cohen's and Fleiss' kappa, Krippendorff's alpha, with intervals.

Thin over statsmodels and krippendorff, which are imported when something is computed. All measures are nominal: two
answers agree or they do not. Units are answered by changing people, so:
- `raw` is the mean over units of the share of pairs of answers that agree;
- `cohen` is the mean of Cohen's kappa over pairs of people, weighted by the units both answered (two at least);
- `fleiss` takes units with the commonest number of answers only, since it is defined for one number;
- `alpha` takes every unit with two or more answers.
A measure is None where it is not defined, such as where everybody always said the same.

Units of one video are alike, so intervals come from drawing whole videos with replacement (cluster bootstrap, the
percentile method). Sources: Cohen 1960 (Educ. Psychol. Meas. 20), Fleiss 1971 (Psychol. Bull. 76), Krippendorff 2011
(Computing Krippendorff's Alpha-Reliability), Efron and Tibshirani 1993 (chapter 13) for the interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Measure = float | None
MEASURES = ("raw", "cohen", "fleiss", "alpha")
REPLICATES = 1000
LEVEL = 0.95
LEAST_SHARED = 2  # units that two people share before a kappa of the two says anything


@dataclass(frozen=True)
class Estimate:
    """A measure and its interval; None where not defined (an interval needs units of two videos at least)."""

    value: Measure
    low: Measure = None
    high: Measure = None


@dataclass(frozen=True)
class Unit:
    """One unit (an item in a round): which cluster (video) it belongs to, and who said what."""

    cluster: Hashable
    answers: tuple[tuple[Hashable, str], ...]  # (person, category said)


# ---------------------------------------------------------------------------------------------------------------------
# Measures of tables


def raw(table: Ints) -> Measure:
    """Mean share of agreeing pairs. `table` int[units, categories]: how many said each; two at least count."""
    totals = table.sum(axis=1)
    several = totals >= 2
    if not several.any():
        return None
    rows, n = table[several], totals[several]
    return float(((rows * (rows - 1)).sum(axis=1) / (n * (n - 1))).mean())


def cohen(table: NDArray[np.number]) -> Measure:
    """Cohen's kappa of one pair of people. `table` [categories, categories]: what one said against the other."""
    from statsmodels.stats.inter_rater import cohens_kappa

    if table.sum() <= 0:
        return None
    return _finite(lambda: cohens_kappa(np.asarray(table, float), return_results=False))


def fleiss(table: Ints) -> Measure:
    """Fleiss' kappa of the units that have the commonest number of answers (of equally common ones the larger)."""
    from statsmodels.stats.inter_rater import fleiss_kappa

    totals = table.sum(axis=1)
    known = totals[totals >= 2]
    if not len(known):
        return None
    numbers, often = np.unique(known, return_counts=True)
    n = numbers[len(often) - 1 - int(np.argmax(often[::-1]))]
    return _finite(lambda: fleiss_kappa(table[totals == n]))


def alpha(table: Ints) -> Measure:
    """Krippendorff's alpha, nominal."""
    import krippendorff

    pairable = table[table.sum(axis=1) >= 2]
    if (pairable.sum(axis=0) > 0).sum() < 2:
        return None
    return _finite(lambda: krippendorff.alpha(value_counts=pairable, level_of_measurement="nominal"))


def _finite(compute: Callable[[], float]) -> Measure:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # 0 / 0 where everybody always said the same: not defined, not a fault
        value = float(compute())
    return value if np.isfinite(value) else None


# ---------------------------------------------------------------------------------------------------------------------
# Units


class Answers:
    """Units as arrays: categories numbered, clusters numbered, pairs of people with what both said."""

    def __init__(self, units: Sequence[Unit]) -> None:
        words = sorted({said for unit in units for _, said in unit.answers})
        code = {word: n for n, word in enumerate(words)}
        self.categories = len(words)
        self.table: Ints = np.zeros((len(units), self.categories), np.int64)
        clusters: dict[Hashable, int] = {}
        pairs: dict[tuple[Hashable, Hashable], int] = {}
        records: list[tuple[int, int, int, int]] = []  # pair, cluster, what the one said, the other
        self.cluster: Ints = np.zeros(len(units), np.int64)
        for row, unit in enumerate(units):
            self.cluster[row] = clusters.setdefault(unit.cluster, len(clusters))
            for _, said in unit.answers:
                self.table[row, code[said]] += 1
            for (one, a), (other, b) in combinations(sorted(unit.answers, key=lambda answer: str(answer[0])), 2):
                pair = pairs.setdefault((one, other), len(pairs))
                records.append((pair, int(self.cluster[row]), code[a], code[b]))
        self.clusters, self.pairs = len(clusters), len(pairs)
        self.records: Ints = np.array(records, np.int64).reshape(-1, 4)

    def measures(self, drawn: Ints | None = None) -> dict[str, Measure]:
        """Every measure. `drawn` int[clusters]: how often each cluster counts; each once by default."""
        table = self.table if drawn is None else np.repeat(self.table, drawn[self.cluster], axis=0)
        return {"raw": raw(table), "cohen": self._cohen(drawn), "fleiss": fleiss(table), "alpha": alpha(table)}

    def _cohen(self, drawn: Ints | None) -> Measure:
        pair, cluster, one, other = self.records.T
        size = self.categories
        weights = None if drawn is None else drawn[cluster]
        flat = np.bincount((pair * size + one) * size + other, weights=weights, minlength=self.pairs * size * size)
        tables = flat.reshape(self.pairs, size, size)
        total = weight = 0.0
        for table, shared in zip(tables, tables.sum(axis=(1, 2)), strict=True):
            kappa = cohen(table) if shared >= LEAST_SHARED else None
            if kappa is not None:
                total, weight = total + shared * kappa, weight + shared
        return total / weight if weight else None


def estimate(
    units: Sequence[Unit], *, replicates: int = REPLICATES, level: float = LEVEL, seed: int = 0
) -> dict[str, Estimate]:
    """Every measure of `MEASURES` with its interval, by drawing clusters with replacement; by seed always the same.

    A replicate in which a measure is not defined is left out; with fewer than half of them there is no interval.
    """
    answers = Answers(units)
    whole = answers.measures()
    if answers.clusters < 2:
        return {name: Estimate(whole[name]) for name in MEASURES}
    rng = np.random.default_rng(seed)
    even = np.full(answers.clusters, 1 / answers.clusters)
    drawn = [answers.measures(rng.multinomial(answers.clusters, even)) for _ in range(replicates)]
    return {name: _interval(whole[name], [one[name] for one in drawn], level) for name in MEASURES}


def _interval(value: Measure, drawn: Sequence[Measure], level: float) -> Estimate:
    known = [one for one in drawn if one is not None]
    if value is None or len(known) < len(drawn) / 2 or not known:
        return Estimate(value)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high))
