"""The assignment problem against trying everything, and against scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ml.assignment import least_cost_pairs


def test_by_hand() -> None:
    """Row by row the cheapest first would cost 1 + 9; the best is 2 + 2."""
    rows, columns = least_cost_pairs(np.array([[1.0, 2], [2, 9]]))
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4), (4, 2), (5, 5)])
def test_nothing_is_cheaper(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        cost = random.integers(-5, 6, shape).astype(float)  # many ties
        rows, columns = least_cost_pairs(cost)
        assert len(set(rows.tolist())) == len(set(columns.tolist())) == min(shape)
        small = cost if shape[0] <= shape[1] else cost.T
        ways = itertools.permutations(range(small.shape[1]), small.shape[0])
        assert cost[rows, columns].sum() == min(small[range(len(way)), way].sum() for way in ways)


def test_where_one_answer_is_best_it_is_that_of_scipy() -> None:
    random = np.random.default_rng(2)
    for _ in range(100):
        cost = random.random(random.integers(1, 30, 2))
        cost[random.random(cost.shape) < 0.3] = 9.0  # impossible pairs, as the tracker has them
        ours, theirs = least_cost_pairs(cost), linear_sum_assignment(cost)
        assert cost[ours].sum() == pytest.approx(cost[theirs].sum())
        possible = [{(i, j) for i, j in zip(*pairs, strict=True) if cost[i, j] < 9} for pairs in (ours, theirs)]
        assert possible[0] == possible[1]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_to_assign(shape: tuple[int, int]) -> None:
    rows, columns = least_cost_pairs(np.zeros(shape))
    assert len(rows) == len(columns) == 0
