"""Are the keys spread evenly over letters and lengths?

Letters: chi-square against equal counts, or the exact multinomial test where fewer than 5 of each are expected.
Lengths: how often the keyed option is the longest one, against what blind choice among the options would give, by the
exact binomial test at the mean chance (two-sided; chances that differ between items make it a little too careful). Both
speak from p < 0.001 only, so that a fair set is all but never accused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ml.questions.lint.findings import Finding
from ml.questions.lint.one import LETTERS, One, World

LEVEL = 0.001
FEWEST = 12


def check(ones: Sequence[One], world: World) -> Iterator[Finding]:
    keyed = [one for one in ones if one.key is not None and len(one.item.options) == world.option_count]
    if len(keyed) < FEWEST:
        return
    yield from _letters(keyed, world.option_count)
    yield from _lengths(keyed)


def _letters(keyed: Sequence[One], options: int) -> Iterator[Finding]:
    counts = Counter(one.key for one in keyed)
    listed = [counts[at] for at in range(options)]
    name, statistic, p = uniform(listed)
    if p < LEVEL:
        shown = ", ".join(f"{LETTERS[at] if at < 4 else at} {count}" for at, count in enumerate(listed))
        yield Finding(
            "letter_bias",
            f"The keys are {shown} of {len(keyed)}; {name} {statistic:.1f}, p = {p:.2g} for even letters.",
        )


def uniform(counts: Sequence[int]) -> tuple[str, float, float]:
    """Test of equal shares: its name, Pearson's statistic, p."""
    total, cells = sum(counts), len(counts)
    expected = total / cells
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    if expected >= 5:
        from scipy.special import gammaincc  # not scipy.stats, which takes seconds to import

        return f"chi-square({cells - 1}) =", statistic, float(gammaincc((cells - 1) / 2, statistic / 2))
    return "exact test, chi-square =", statistic, _exact(statistic, total, cells)


def _exact(statistic: float, total: int, cells: int) -> float:
    """Probability of counts at least as uneven, over all ways to split `total` into `cells`."""
    from scipy.special import gammaln

    expected, result = total / cells, 0.0
    for bars in combinations(range(total + cells - 1), cells - 1):
        edges = (-1, *bars, total + cells - 1)
        split = [right - left - 1 for left, right in zip(edges, edges[1:], strict=False)]
        if sum((count - expected) ** 2 for count in split) / expected >= statistic - 1e-9:
            log = gammaln(total + 1) - sum(gammaln(count + 1) for count in split)
            result += float(2.718281828459045 ** (log)) / cells**total
    return min(result, 1.0)


def _lengths(keyed: Sequence[One]) -> Iterator[Finding]:
    for word, pick in (("longest", max), ("shortest", min)):
        told, hits, chance = 0, 0, 0.0
        for one in keyed:
            lengths = [len(text) for text in one.words]
            extreme = pick(lengths)
            if lengths.count(extreme) == len(lengths):
                continue  # all of one length: nothing to see
            told += 1
            hits += lengths[one.key or 0] == extreme
            chance += lengths.count(extreme) / len(lengths)
        if told >= FEWEST and (p := binomial(hits, told, chance / told)) < LEVEL and hits > chance:
            yield Finding(
                "longest_option_bias",
                f"The keyed option is (among) the {word} in {hits} of {told} items whose options differ in length; "
                f"blind choice gives {chance:.1f} (binomial p = {p:.2g}).",
            )


def binomial(hits: int, tries: int, share: float) -> float:
    """Exact two-sided p of `hits` in `tries` at that share: all outcomes that are no more probable."""
    chances = _binomial(tries, share)
    return float(min(1.0, chances[chances <= chances[hits] * (1 + 1e-7)].sum()))


def at_least(hits: int, tries: int, share: float) -> float:
    """Exact probability of that many hits or more."""
    return float(min(1.0, _binomial(tries, share)[max(hits, 0) :].sum()))


def _binomial(tries: int, share: float) -> NDArray[np.float64]:
    """Probability of 0 .. tries hits."""
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(tries + 1)
    ways = gammaln(tries + 1) - gammaln(k + 1) - gammaln(tries - k + 1)
    chances: NDArray[np.float64] = np.exp(ways + xlogy(k, share) + xlog1py(tries - k, -share))
    return chances
