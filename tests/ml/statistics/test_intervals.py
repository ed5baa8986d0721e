"""Intervals and tests against published examples and independent computation."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pytest

from ml.statistics.intervals import difference, fisher, mean, said, said_mean, said_p, share, wilson
from ml.statistics.paired import mcnemar, paired
from ml.statistics.paired import said as said_pair


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_that_of_newcombes_table(k: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, Stat. Med. 17:857, table I, method 3."""
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (57, 113)])
def test_wilson_is_its_formula(k: int, n: int) -> None:
    z, p = 1.959963984540054, k / n
    middle, half = (p + z * z / (2 * n)), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    expected = [(middle + sign * half) / (1 + z * z / n) for sign in (-1, 1)]
    assert wilson(k, n) == pytest.approx([max(0, expected[0]), min(1, expected[1])], abs=1e-12)


def test_fisher_on_the_lady_tasting_tea() -> None:
    """Fisher 1935: 3 of 4 cups told right, p = 34 / 70 two-sided; 4 of 4, 2 / 70."""
    assert fisher((3, 1), (1, 3)) == pytest.approx(34 / 70)
    assert fisher((4, 0), (0, 4)) == pytest.approx(2 / 70)


@pytest.mark.parametrize("seed", range(10))
def test_fisher_adds_up_all_tables_that_are_no_likelier(seed: int) -> None:
    a, b, c, d = (int(n) for n in np.random.default_rng(seed).integers(0, 12, 4))
    row, column, total = a + b, a + c, a + b + c + d

    def likelihood(x: int) -> int:
        return comb(column, x) * comb(total - column, row - x)

    every = [likelihood(x) for x in range(max(0, row + column - total), min(row, column) + 1)]
    expected = sum(one for one in every if one <= likelihood(a)) / sum(every)
    assert fisher((a, b), (c, d)) == pytest.approx(expected)


def test_newcombes_example_of_a_difference() -> None:
    """Newcombe 1998, Stat. Med. 17:873, table II: 56/70 - 48/80, method 10: 0.0524 to 0.3339."""
    found = difference(share(56, 70), share(48, 80))
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_too_few_give_counts_and_no_share() -> None:
    few = share(9, 9)
    assert (few.value, few.low, said(few)) == (None, None, "9 of 9: too few to say")
    assert said(share(0, 0)) == "none"
    assert said(share(33, 40)) == "82 % (33 of 40; 95 %: 68 to 91 %)"
    assert difference(few, share(20, 40)).p is None
    with pytest.raises(ValueError, match="is no share"):
        share(3, 2)


def test_a_mean_is_drawn_by_videos() -> None:
    """All numbers of a video the same: the interval is that of two videos, however many numbers."""
    found = mean([0.0] * 50 + [1.0] * 50, ["a"] * 50 + ["b"] * 50)
    assert (found.value, found.low, found.high, found.clusters) == (0.5, 0.0, 1.0, 2)
    assert mean([0.0] * 50 + [1.0] * 50, ["a"] * 50 + ["b"] * 50) == found
    assert mean([1.0] * 9, ["a"] * 9).value is None
    assert said_mean(mean([1.0] * 12, ["a"] * 12)) == "1.00 (n = 12, all of one video: no interval)"


@pytest.mark.parametrize(("b", "c", "p"), [(1, 8, 20 / 512), (5, 5, 1.0), (0, 6, 2 / 64)])
def test_mcnemar_is_a_sign_test_on_the_pairs_that_differ(b: int, c: int, p: float) -> None:
    assert mcnemar(b, c) == pytest.approx(p)
    assert mcnemar(c, b) == pytest.approx(p)


def test_pairs_are_counted_and_said() -> None:
    found = paired([(True, True)] * 5 + [(True, False)] * 8 + [(False, True)] + [(False, False)] * 6)
    assert (found.both, found.only_a, found.only_b, found.neither, found.n) == (5, 8, 1, 6, 20)
    assert said_pair(found, "A", "B", "right") == (
        "On 20 questions, A alone is right on 8, B alone on 1 (McNemar, exact: p = 0.039)."
    )
    assert said_pair(paired([(True, False)] * 3), "A", "B", "right").endswith(": too few to say.")
    assert said_pair(paired([(True, True)] * 30), "A", "B", "right").endswith("no difference.")
    assert said_pair(paired([]), "A", "B", "right").startswith("No question was put to both A and B")
    assert said_p(0.0001) == "p < 0.001"
