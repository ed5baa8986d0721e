"""Matching of events between two derivations."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ml.social.matching import match_events


@dataclass(frozen=True)
class Span:
    type: str
    start: int
    end: int
    roles: tuple[tuple[int, str], ...] = ((1, "member"), (2, "member"))


def gaze(start: int, end: int, *, kind: str = "mutual_gaze", roles: tuple[tuple[int, str], ...] | None = None) -> Span:
    return Span(kind, start, end) if roles is None else Span(kind, start, end, roles)


def tiou(a: Span, b: Span) -> float:
    """By counting frames."""
    one, other = set(range(a.start, a.end)), set(range(b.start, b.end))
    return len(one & other) / len(one | other)


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


@pytest.mark.parametrize("seed", range(10))
def test_matching_agrees_with_one_big_assignment(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def some(count: int) -> list[Span]:
        starts = rng.integers(0, 60, count)
        return [gaze(int(start), int(start + rng.integers(1, 30))) for start in starts]

    new, old = some(12), some(9)
    gain = np.array([[tiou(a, b) if tiou(a, b) >= 0.5 else 0.0 for b in old] for a in new])
    total = gain[linear_sum_assignment(gain, maximize=True)].sum()
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
    same = match_events(new, new)  # some of the made-up events are equal to others
    assert [a for a, _, _ in same] == sorted(b for _, b, _ in same) == list(range(5000))
    assert all(share == 1.0 and new[a] == new[b] for a, b, share in same)
    assert time.process_time() - started < 6
