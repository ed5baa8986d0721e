"""Cluster bootstrap and rank correlation, against drawing by hand, closed forms and SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import spearmanr

from ml.statistics import bootstrap, ranks

RNG = np.random.default_rng(5)
CLUSTERS = RNG.integers(0, 12, 200)
GROUPS = RNG.integers(-1, 3, 200)
VALUES = RNG.random((200, 2))


def test_means_are_those_of_repeating_the_drawn_clusters() -> None:
    """The slow way: for every draw, pick the rows of each drawn cluster as often as it was drawn."""
    found = bootstrap.grouped(VALUES, GROUPS, CLUSTERS, number=3, replicates=50, seed=3)
    for k, often in enumerate(bootstrap.counts(12, 50, 3)):
        rows = np.repeat(np.arange(200), often[CLUSTERS])
        for group in range(3):
            inside = rows[GROUPS[rows] == group]
            assert found.mean[k, group] == pytest.approx(VALUES[inside].mean(axis=0))
    for group in range(3):
        inside = np.equal(GROUPS, group)
        assert found.whole[group] == pytest.approx(VALUES[inside].mean(axis=0))
        assert (found.n[group], found.clusters[group]) == (inside.sum(), len(set(CLUSTERS[inside])))


def test_two_clusters_have_the_interval_of_their_means() -> None:
    """Of clusters with means 0 and 1 and equal size, a draw has mean 0, 1/2, 1 with 1/4, 1/2, 1/4."""
    values, clusters = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    found = bootstrap.grouped(values, np.zeros(4, int), clusters, number=1, replicates=4000)
    shares = [float((found.mean[:, 0, 0] == mean).mean()) for mean in (0, 0.5, 1)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.03)
    assert found.interval(0) == bootstrap.Interval(0.5, 0.0, 1.0)


def test_one_cluster_has_no_interval_and_nothing_has_no_value() -> None:
    found = bootstrap.grouped(np.ones((3, 1)), np.array([0, 0, 0]), np.zeros(3, int), number=2, replicates=10)
    assert found.interval(0) == bootstrap.Interval(1.0) and found.interval(1) == bootstrap.Interval(None)
    empty = bootstrap.grouped(np.zeros((0, 1)), np.zeros(0, int), np.zeros(0, int), number=1, replicates=10)
    assert empty.interval(0) == bootstrap.Interval(None) and empty.macro([0]) == bootstrap.Interval(None)


def test_the_interval_of_many_clusters_is_the_normal_one() -> None:
    values = RNG.normal(size=(400, 1))
    found = bootstrap.grouped(values, np.zeros(400, int), np.arange(400), number=1, replicates=4000)
    told, error = found.interval(0), values.std() / 20
    assert told.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert told.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_the_mean_of_means_counts_groups_the_same() -> None:
    values, groups = np.array([[1.0], [1.0], [1.0], [0.0]]), np.array([0, 0, 0, 1])
    found = bootstrap.grouped(values, groups, np.arange(4), number=2, replicates=200)
    assert found.macro([0, 1]).value == 0.5 and found.macro([0]).value == 1.0
    rows = found.mean[:, :, 0]
    by_hand = [np.mean([v for v in row if not np.isnan(v)]) for row in rows]
    assert found.macro([0, 1]).low == pytest.approx(np.quantile(by_hand, 0.025))


def test_spearman_without_ties_is_the_closed_form() -> None:
    a, b = [1.0, 2, 3, 4, 5], [2.0, 1, 4, 3, 5]
    assert ranks.rho(a, b) == pytest.approx(1 - 6 * 4 / (5 * 24))  # 1 - 6 sum d^2 / (n (n^2 - 1)), d^2 = 1 1 1 1 0
    assert ranks.rho(a, a[::-1]) == pytest.approx(-1)


def test_spearman_with_ties_is_that_of_scipy() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b = rng.integers(0, 4, 30).astype(float), rng.integers(0, 2, 30).astype(float)
        assert ranks.rho(a.tolist(), b.tolist()) == pytest.approx(spearmanr(a, b)[0])


def test_a_cluster_drawn_twice_is_there_twice() -> None:
    a, b = RNG.integers(0, 5, 40).astype(float), RNG.integers(0, 5, 40).astype(float)
    often = RNG.integers(0, 3, 40)
    weights = often.astype(float)
    kept = often > 0
    x, y, w = a[kept], b[kept], weights[kept]
    found = ranks.correlation(ranks.midranks(x, w), ranks.midranks(y, w), w)
    assert found == pytest.approx(spearmanr(np.repeat(a, often), np.repeat(b, often))[0])


def test_rank_correlation_of_too_little_is_none() -> None:
    assert ranks.rho([1.0, 2.0], [1.0, 2.0]) is None and ranks.rho([1.0, 1, 1], [1.0, 2, 3]) is None
    told = ranks.spearman([1.0, 2, 3, 4], [1.0, 2, 3, 4], ["a"] * 4)
    assert told.value == pytest.approx(1) and told.low is None
    again = [ranks.spearman(range(9), list(itertools.accumulate(range(9))), range(9), replicates=50) for _ in range(2)]
    assert again[0] == again[1] and again[0].low == pytest.approx(1)
