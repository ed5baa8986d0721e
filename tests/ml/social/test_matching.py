"""Matching of events between two derivations."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest

from ml.social.matching import assign, match_events, tiou


@dataclass(frozen=True)
class Span:
    type: str
    start: int
    end: int
    roles: tuple[tuple[int, str], ...] = ((1, "member"), (2, "member"))


def gaze(start: int, end: int, *, kind: str = "mutual_gaze", roles: tuple[tuple[int, str], ...] | None = None) -> Span:
    return Span(kind, start, end) if roles is None else Span(kind, start, end, roles)


def test_tiou_is_the_shared_part_of_the_union() -> None:
    # [0, 10) and [5, 15): 5 shared of 15.
    assert tiou(gaze(0, 10), gaze(5, 15)) == pytest.approx(5 / 15)
    assert tiou(gaze(0, 10), gaze(0, 10)) == 1
    assert tiou(gaze(0, 10), gaze(10, 20)) == 0


def test_it_matches_only_the_same_type_and_roles() -> None:
    leads = ((1, "leader"), (2, "follower"))
    follows = ((2, "leader"), (1, "follower"))
    new = [gaze(0, 10), gaze(0, 10, kind="gaze_following", roles=leads)]
    old = [
        gaze(0, 10, kind="joint_attention"),
        gaze(0, 10, kind="gaze_following", roles=follows),
        gaze(1, 10, roles=((2, "member"), (1, "member"))),
        gaze(0, 10, roles=((1, "member"), (3, "member"))),
    ]
    # The order in which equal roles are listed does not matter; who leads does. 9 of 10 frames are shared.
    assert match_events(new, old) == [(0, 2, 0.9)]


def test_it_refuses_pairs_below_the_least_overlap() -> None:
    # [0, 10) and [4, 14): 6 of 14 = 0.43; [0, 10) and [2, 12): 8 of 12 = 0.67.
    assert match_events([gaze(0, 10)], [gaze(4, 14)]) == []
    assert match_events([gaze(0, 10)], [gaze(2, 12)]) == [(0, 0, 8 / 12)]
    assert match_events([gaze(0, 10)], [gaze(4, 14)], 0.4) == [(0, 0, 6 / 14)]
    assert match_events([gaze(0, 10)], [gaze(0, 20)]) == [(0, 0, 0.5)]


def test_it_prefers_the_best_total_to_the_best_single_pair() -> None:
    new = [gaze(0, 10), gaze(0, 6)]
    old = [gaze(0, 9), gaze(0, 14)]
    # Greedy takes (0, 0) = 0.9 and leaves 6/14 < 0.5 for the other: total 0.9.
    # (0, 1) = 10/14 and (1, 0) = 6/9 give 1.38.
    assert match_events(new, old) == [(0, 1, 10 / 14), (1, 0, 6 / 9)]


def test_it_gives_each_event_one_partner() -> None:
    assert match_events([gaze(0, 10), gaze(0, 10)], [gaze(0, 10)]) in ([(0, 0, 1.0)], [(1, 0, 1.0)])


def test_it_takes_empty_lists_and_refuses_a_senseless_limit() -> None:
    assert match_events([], [gaze(0, 1)]) == []
    assert match_events([gaze(0, 1)], []) == []
    with pytest.raises(ValueError, match="min_tiou"):
        match_events([], [], 0)


@pytest.mark.parametrize("seed", range(30))
def test_assignment_is_as_good_as_the_best_of_all_permutations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 6, 2)
    gain = np.round(rng.random((rows, columns)) * rng.integers(0, 2, (rows, columns)), 2)
    wide = gain if rows <= columns else gain.T
    best = max(
        sum(wide[row, column] for row, column in enumerate(order))
        for order in permutations(range(wide.shape[1]), len(wide))
    )
    pairs = assign(gain)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == min(rows, columns)
    assert sum(gain[pair] for pair in pairs) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(10))
def test_matching_agrees_with_one_big_assignment(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def some(count: int) -> list[Span]:
        starts = rng.integers(0, 60, count)
        return [gaze(int(start), int(start + rng.integers(1, 30))) for start in starts]

    new, old = some(12), some(9)
    gain = np.array([[tiou(a, b) if tiou(a, b) >= 0.5 else 0.0 for b in old] for a in new])
    total = sum(gain[pair] for pair in assign(gain))
    matched = match_events(new, old)
    assert sum(share for _, _, share in matched) == pytest.approx(total)
    assert all(share == gain[a, b] >= 0.5 for a, b, share in matched)


def test_it_is_quick_for_five_thousand_events() -> None:
    rng = np.random.default_rng(1)

    def many() -> list[Span]:
        roles = [((int(a), "member"), (int(b), "member")) for a, b in rng.integers(0, 10, (5000, 2))]
        starts = rng.integers(0, 100_000, 5000)
        return [gaze(int(start), int(start) + 60, roles=who) for start, who in zip(starts, roles, strict=True)]

    new, old = many(), many()
    started = time.process_time()
    assert match_events(new, old)
    assert match_events(new, new) == [(at, at, 1.0) for at in range(5000)]
    assert time.process_time() - started < 6
