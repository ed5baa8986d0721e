"""What is no gesture: resting arms, beats, holding, handling, and hands that use what they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml.perception.gestures import rules
from tests.ml.perception.gestures.figures import LAP, REST, Figure, Path, Thing, window

SEEDS = range(4)


def found(figures: list[Figure], things: list[Thing] | None = None, seed: int = 0, **more: Any) -> list[str]:
    looks = {"noise": 0.008, "seed": seed} | more
    return [f"{g.type} {g.confidence}" for g in rules.find(window(figures, things=things, **looks), end=180)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "place",
    [REST, LAP, (0.5, 0.0, 0.0), (0.35, 0.25, -0.1), (-0.3, 0.28, -0.2), (0.25, 0.35, 0.0), (-0.15, -0.1, -0.15)],
    ids=["hanging", "lap", "on a chair's back", "on a table", "folded", "on the hip", "chin"],
)
def test_arms_that_rest(place: Any, seed: int) -> None:
    figure = Figure(hands=[Path(place), Path(np.array(place) * (-1, 1, 1))])
    assert found([figure, Figure(at=(4.0, 1.0))], seed=seed) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sway", [0.03, 0.06])
def test_arms_that_sway_a_little(sway: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path, t = Path(REST), 0.3
    while t < 5:
        path.go(t, t + 0.6, REST + rng.normal(0, sway, 3))
        t += 0.7
    assert found([Figure(hands=[path, Path(REST)])], seed=seed) == []


@pytest.mark.parametrize("shape", ["open", "fist", "pointing"])
@pytest.mark.parametrize("period_s", [0.25, 0.4, 0.6])
@pytest.mark.parametrize("yaw", [0, 40])
def test_beats(shape: str, period_s: float, yaw: float) -> None:
    """The hand goes up and down with the speech; also with the finger out, and with short rests at the turns."""
    path, t = Path((0.0, 0.35, -0.2)), 1.0
    while t < 4.5:
        path.go(t, t + 0.8 * period_s, (0.15, 0.1, -0.3)).go(t + period_s, t + 1.8 * period_s, (0.05, 0.32, -0.2))
        t += 2 * period_s
    figure = Figure(yaw=yaw, hands=[path, Path(REST)])
    figure.shapes[0] = lambda t: shape
    assert found([figure]) == []


def test_walking() -> None:
    """Arms swing 0.25 m to and fro, half a second each way."""
    for side in (0, 1):
        path, t = Path(REST), 0.2
        while t < 5.5:
            path.go(t, t + 0.5, (0.0, 0.5, -0.25)).go(t + 0.5, t + 1.0, (0.0, 0.5, 0.25))
            t += 1.0
        figure = Figure(yaw=70, walk=np.array([0.8, 0, 0]))
        figure.hands[side] = path
        assert found([figure]) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("walk", [0.0, 0.8])
def test_merely_holding(walk: float, seed: int) -> None:
    figure = Figure(hands=[Path((0.0, 0.35, -0.25)), Path(REST)], walk=np.array([walk, 0, 0]))
    figure.shapes[0] = lambda t: "fist"
    assert found([figure], [Thing("cup", holders=[(0, (0, 0))])], seed=seed) == []


def test_carrying_something_low_from_side_to_side() -> None:
    figure = Figure(
        hands=[Path((0.0, 0.45, -0.2)).go(1, 1.6, (-0.2, 0.42, -0.25)).go(3, 3.6, (0.0, 0.45, -0.2)), Path(REST)]
    )
    figure.shapes[0] = lambda t: "fist"
    assert found([figure], [Thing("book", holders=[(0, (0, 0))])]) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_handling_something(seed: int) -> None:
    """Both hands work at a telephone on the table with small moves."""
    rng = np.random.default_rng(seed)
    figure = Figure()
    for side, x in ((0, -0.1), (1, 0.1)):
        path, t = Path((x, 0.35, -0.3)), 0.5
        while t < 5:
            path.go(t, t + 0.25, np.array([x, 0.35, -0.3]) + rng.normal(0, 0.04, 3))
            t += 0.3
        figure.hands[side] = path
        figure.shapes[side] = lambda t: "fist"
    phone = Thing("cell_phone", path=Path((2.0, 1.33, 0)), side=0.14)
    assert found([figure], [phone], seed=seed) == []


@pytest.mark.parametrize("shape", ["pointing", "fist", "open"])
def test_a_finger_at_the_own_mouth(shape: str) -> None:
    figure = Figure(hands=[Path(REST).go(1, 1.5, (-0.15, -0.1, -0.15)).go(3, 3.5, REST), Path(REST)])
    figure.shapes[0] = lambda t: shape
    assert found([figure], noise=0.005) == []


def test_drinking() -> None:
    low = (0.0, 0.40, -0.2)
    figure = Figure(hands=[Path(low).go(1, 1.5, (-0.14, -0.12, -0.12)).go(2.5, 3, low), Path(REST)])
    figure.shapes[0] = lambda t: "fist"
    assert found([figure], [Thing("cup", holders=[(0, (0, 0))], side=0.1)], noise=0.005) == []


def test_a_hand_that_passes_by_something_does_not_reach_for_it() -> None:
    figure = Figure(hands=[Path(REST).go(1, 1.4, (0.45, 0.2, -0.1)).go(1.4, 1.8, REST), Path(REST)])
    far = Thing("cup", path=Path((3.4, 1.0, 0)), side=0.1)
    assert found([figure], [far], noise=0.005) == []


def test_two_who_stand_close_and_talk_with_hands_down() -> None:
    assert found([Figure(at=(2.0, 1.0)), Figure(at=(2.5, 1.0)), Figure(at=(3.0, 1.0))]) == []
