"""Each kind of gesture on figures whose moves have known times: found once, by whom, to what, and within 0.2 s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml.perception.gestures import rules
from ml.perception.gestures.protocol import Gesture
from tests.ml.perception.gestures.figures import FPS, LAP, REST, Figure, Path, Thing, window

EXACT_S = 0.2  # of onset and offset, at ten looks a second
END = 6 * FPS

LOOKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "noise": {"noise": 0.008},
    "irregular": {"jitter": 0.6, "noise": 0.006},
    "missing": {"missing": 0.1, "noise": 0.006},
    "small": {"scale": 90.0, "noise": 0.008},
    "large": {"scale": 600.0},
    "twenty a second": {"every": 0.05, "noise": 0.006},
}
look = pytest.mark.parametrize("seen", LOOKS.values(), ids=LOOKS)


def within(found: Gesture, start_s: float, end_s: float) -> bool:
    return abs(found.start / FPS - start_s) <= EXACT_S and abs(found.end / FPS - end_s) <= EXACT_S


def one(found: list[Gesture], type: str) -> Gesture:
    assert [g.type for g in found] == [type], found
    return found[0]


# ---------------------------------------------------------------------------------------------------------------------
# Pointing


def pointer(
    to: Any = (0.54, -0.04, 0.0), *, yaw: float = 0, side: int = 0, move_s: float = 0.5, hold_s: float = 1.2,
    shape: str = "pointing", first: Any = REST, at: tuple[float, float] = (2.0, 1.0),
) -> Figure:  # fmt: skip
    """Points from second 1 on; the hand begins to go back at 1 + move_s + hold_s."""
    back = 1 + move_s + hold_s
    figure = Figure(yaw=yaw, at=at)
    figure.hands[side] = Path(first).go(1, 1 + move_s, to).go(back, back + move_s, first)
    out = "none" if shape == "none" else "open"
    figure.shapes[side] = lambda t: shape if 1 + 0.6 * move_s < t < back + 0.1 else out
    return figure


@look
@pytest.mark.parametrize("shape", ["pointing", "none"])
def test_pointing_at_somebody(seen: dict[str, Any], shape: str) -> None:
    figures = [pointer(shape=shape), Figure(at=(4.0, 1.0))]
    found = one(rules.find(window(figures, **seen), end=END), "pointing")
    assert within(found, 1.0, 2.7)
    assert (found.initiator, found.target_kind, found.target_person) == (1, "person", 2)
    assert found.details["hand"] == "left"
    assert found.confidence > (0.75 if shape == "pointing" else 0.5)
    assert found.confidence <= 0.6 or shape == "pointing"


@pytest.mark.parametrize("move_s", [0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("hold_s", [0.3, 0.6, 2.5])
def test_fast_and_slow_short_and_long_pointing(move_s: float, hold_s: float) -> None:
    figures = [pointer(move_s=move_s, hold_s=hold_s), Figure(at=(4.0, 1.0))]
    found = one(rules.find(window(figures, noise=0.005), end=END), "pointing")
    assert within(found, 1.0, 1 + move_s + hold_s)


@pytest.mark.parametrize("yaw", [-60, -30, 0, 30, 60])
@pytest.mark.parametrize("first", [REST, LAP], ids=["standing", "sitting"])
def test_pointing_from_every_side(yaw: float, first: Any) -> None:
    found = one(rules.find(window([pointer(yaw=yaw, first=first)], noise=0.005), end=END), "pointing")
    assert within(found, 1.0, 2.7) and found.target_kind == "location"
    assert found.target_description.startswith("a place")


def test_pointing_at_the_camera_is_seen_by_the_finger_alone() -> None:
    """The arm is foreshortened to nothing: only the hand tells."""
    to = (0.10, -0.12, -0.50)
    assert one(rules.find(window([pointer(to, yaw=10)]), end=END), "pointing").confidence > 0.4
    assert rules.find(window([pointer(to, yaw=10, shape="fist")]), end=END) == []


def test_the_other_hand_points_the_other_way() -> None:
    figures = [Figure(at=(0.6, 1.0)), pointer((-0.54, -0.04, 0.0), side=1, at=(2.6, 1.0)), Figure(at=(4.6, 1.0))]
    found = one(rules.find(window(figures, noise=0.005), end=END), "pointing")
    assert (found.initiator, found.target_person, found.details["hand"]) == (2, 1, "right")


def test_pointing_at_an_object_names_it() -> None:
    cup = Thing("wine_glass", path=Path((3.3, 0.95, 0)))
    figures = [pointer((0.558, -0.04, 0.0)), Figure(at=(4.6, 1.0))]
    found = one(rules.find(window(figures, things=[cup]), end=END), "pointing")
    assert (found.target_kind, found.target_description, found.target_person) == ("object", "a wine glass", None)


def test_pointing_at_two_people_in_turn_is_two_gestures() -> None:
    up, down = (0.50, -0.20, 0.0), (0.50, 0.28, 0.0)
    figure = Figure(at=(1.5, 1.0))
    figure.hands[0] = Path(REST).go(1, 1.5, up).go(2.5, 3.0, down).go(4.0, 4.5, REST)
    figure.shapes[0] = lambda t: "pointing" if 1.3 < t < 4.1 else "open"
    others = [Figure(at=(3.6, 0.35)), Figure(at=(3.6, 2.4))]
    found = rules.find(window([figure, *others], noise=0.004), end=END)
    assert [g.target_person for g in found] == [2, 3]
    assert within(found[0], 1.0, 2.5) and within(found[1], 2.5, 4.0)


def test_a_pan_of_the_camera_moves_nothing() -> None:
    """The whole picture moves at 0.6 m/s; the arm's moves are those of the arm."""
    figures = [pointer(), Figure(at=(4.0, 1.0))]
    for figure in figures:
        figure.walk = np.array([0.6, 0.1, 0])
    found = one(rules.find(window(figures, noise=0.005), end=END), "pointing")
    assert within(found, 1.0, 2.7)


def test_an_arm_around_a_shoulder_is_no_pointing() -> None:
    figures = [pointer((0.50, 0.05, 0.0), shape="open"), Figure(at=(2.65, 1.0))]
    assert rules.find(window(figures), end=END) == []


# ---------------------------------------------------------------------------------------------------------------------
# Showing


def shower(place: Any, *, yaw: float = 0, move_s: float = 0.5, hold_s: float = 1.5) -> Figure:
    """Has something in the left hand before the belly, brings it up at second 1 and down after the hold."""
    low, back = np.array([0.0, 0.45, -0.2]), 1 + move_s + hold_s
    figure = Figure(yaw=yaw)
    figure.hands[0] = Path(low).go(1, 1 + move_s, place).go(back, back + move_s, low)
    figure.shapes[0] = lambda t: "fist"
    return figure


def held(name: str = "cup", **more: Any) -> Thing:
    return Thing(name, holders=[(0, (0, 0))], **more)


@look
@pytest.mark.parametrize(
    "place", [(0.0, 0.1, -0.35), (0.25, -0.1, -0.2), (0.45, 0.0, -0.1)], ids=["front", "up", "out"]
)
def test_showing_something_to_the_viewer(seen: dict[str, Any], place: Any) -> None:
    found = one(rules.find(window([shower(place)], things=[held()], **seen), end=END), "showing")
    assert within(found, 1.5, 3.0)
    assert (found.target_kind, found.target_description) == ("location", "shows a cup towards the viewer")


@pytest.mark.parametrize("yaw", [-45, -20, 20, 45])
@pytest.mark.parametrize("move_s", [0.4, 1.0])
def test_showing_from_the_side(yaw: float, move_s: float) -> None:
    figures = [shower((0.05, 0.05, -0.35), yaw=yaw, move_s=move_s)]
    found = one(rules.find(window(figures, things=[held("book")], noise=0.005), end=END), "showing")
    assert within(found, 1 + move_s, 2.5 + move_s)


def test_showing_it_to_somebody_beside() -> None:
    figures = [shower((0.45, -0.05, -0.1)), Figure(at=(4.0, 1.0))]
    found = one(rules.find(window(figures, things=[held()], noise=0.005), end=END), "showing")
    assert (found.target_kind, found.target_person, found.target_description) == ("person", 2, "shows a cup")


# ---------------------------------------------------------------------------------------------------------------------
# Giving


def hand_over(*, yaw: float = 0, gap: float = 1.1, move_s: float = 0.6, wait_s: float = 0.5) -> tuple[Any, list[Thing]]:
    """From second 1 the left hand of 1 takes a book to 2, who has it a moment before both hands go back."""
    back = 1 + move_s + wait_s
    giver, taker = Figure(yaw=yaw, at=(1.5, 1)), Figure(at=(1.5 + gap, 1))
    giver.hands[0] = Path((0, 0.40, -0.15)).go(1, 1 + move_s, (0.45, 0.15, -0.1)).go(back, back + 0.5, REST)
    giver.shapes[0] = lambda t: "fist"
    taker.hands[1] = Path(REST).go(1.2, 1.2 + move_s, (-0.25, 0.2, -0.1)).go(back, back + 0.5, (0, 0.35, -0.2))
    book = Thing("book", holders=[(0, (0, 0)), (back - 0.05, (1, 1))], side=0.2)
    return [giver, taker], [book]


@look
def test_giving(seen: dict[str, Any]) -> None:
    figures, things = hand_over()
    found = one(rules.find(window(figures, things=things, **seen), end=END), "giving")
    assert within(found, 1.0, 2.1)
    assert (found.initiator, found.target_person, found.target_description) == (1, 2, "gives a book")


@pytest.mark.parametrize("move_s", [0.4, 0.8, 1.0])
@pytest.mark.parametrize("yaw", [-30, 20])
def test_giving_at_other_speeds_and_angles(move_s: float, yaw: float) -> None:
    figures, things = hand_over(move_s=move_s, yaw=yaw)
    found = one(rules.find(window(figures, things=things, noise=0.005), end=END), "giving")
    assert within(found, 1.0, 1.5 + move_s)


def test_an_offer_that_nobody_takes_is_giving_until_the_hand_goes_back() -> None:
    (giver, _), things = hand_over(gap=1.0, wait_s=1.0)
    things[0].holders = [(0, (0, 0))]
    found = one(rules.find(window([giver, Figure(at=(2.5, 1))], things=things, noise=0.004), end=END), "giving")
    assert within(found, 1.0, 2.6) and found.confidence < 0.7


def test_who_takes_is_not_who_gives() -> None:
    """The other way round: 2 fetches a book out of the resting hand of 1, who does not move."""
    keeper, fetcher = Figure(at=(1.5, 1)), Figure(at=(2.4, 1))
    keeper.hands[0], keeper.shapes[0] = Path((0.1, 0.35, -0.2)), lambda t: "fist"
    fetcher.hands[1] = Path(REST).go(1, 1.6, (-0.45, 0.3, -0.1)).go(2.2, 2.8, REST)
    book = Thing("book", holders=[(0, (0, 0)), (2.1, (1, 1))], side=0.2)
    found = rules.find(window([keeper, fetcher], things=[book], noise=0.004), end=END)
    assert [g for g in found if g.type == "giving"] == []


# ---------------------------------------------------------------------------------------------------------------------
# Reaching


def reach(*, yaw: float = 0, move_s: float = 0.6, at: Any = (0.5, 0.25, -0.05), short: float = 0.0) -> Any:
    """From second 1 the left hand goes to a cup, and back 0.6 s after it came. `short`: metres that it stops off."""
    figure = Figure(yaw=yaw)
    back = 1.6 + move_s
    figure.hands[0] = Path(REST).go(1, 1 + move_s, at).go(back, back + move_s, REST)
    cup = figure.shoulders()[0] + np.array(at) + np.array([0.12 + short, 0.0, 0])
    spot = figure.seen_from(cup[None, None], np.zeros(1))[0, 0]
    return [figure], [Thing("cup", path=Path((*spot, 0)), side=0.1)]


@look
def test_reaching_for_something(seen: dict[str, Any]) -> None:
    figures, things = reach()
    found = one(rules.find(window(figures, things=things, **seen), end=END), "reaching")
    assert within(found, 1.0, 1.6)
    assert (found.target_kind, found.target_description) == ("object", "a cup")
    assert found.details["contact"]


@pytest.mark.parametrize("yaw", [-40, 40])
@pytest.mark.parametrize("move_s", [0.4, 1.0])
def test_reaching_at_other_speeds_and_angles(yaw: float, move_s: float) -> None:
    figures, things = reach(yaw=yaw, move_s=move_s)
    found = one(rules.find(window(figures, things=things, noise=0.005), end=END), "reaching")
    assert within(found, 1.0, 1 + move_s)


def test_a_reach_that_falls_short_ends_when_the_hand_goes_back() -> None:
    figures, things = reach(short=0.14)
    found = one(rules.find(window(figures, things=things), end=END), "reaching")
    assert within(found, 1.0, 2.2) and not found.details["contact"]


def test_an_object_in_somebody_elses_hand_is_not_reached_for() -> None:
    figures, things = reach()
    other = Figure(at=(2.95, 1.0))
    other.hands[1], other.shapes[1] = Path((0.02, 0.25, -0.1)), lambda t: "fist"
    things[0].path, things[0].holders = None, [(0, (1, 1))]
    found = rules.find(window([*figures, other], things=things), end=END)
    assert [g for g in found if g.type == "reaching"] == []


# ---------------------------------------------------------------------------------------------------------------------
# What is kept


def test_the_numbers_behind_it_are_plain_and_complete() -> None:
    figures, things = hand_over()
    found = one(rules.find(window(figures, things=things), end=END), "giving")
    d = found.details
    assert {"hand", "formula", "terms", "seen", "ray", "looks", "onset_after", "offset_before"} <= d.keys()
    assert d["onset_after"] < found.start and d["offset_before"] == found.end
    assert found.confidence == pytest.approx(
        d["seen"] * (0.3 * d["terms"]["held"] + 0.3 * d["terms"]["meet"] + 0.2 * d["terms"]["way"] + 0.2 * 0.8),
        abs=2e-3,
    )
    assert found.initiator_box is not None and all(0 <= v <= 1 for v in found.initiator_box)
    assert Gesture.of(found.row()) == found


def test_a_hand_that_may_be_anothers_is_unsure_and_counts_less() -> None:
    seen = window([pointer(), Figure(at=(4.0, 1.0))])
    sure = one(rules.find(seen, end=END), "pointing")
    seen.unsure[:, 0, 0] = True
    found = one(rules.find(seen, end=END), "pointing")
    assert found.details["hand"] == "unsure"
    assert found.confidence == pytest.approx(0.7 * sure.confidence, abs=1e-3)


def test_what_lasts_to_the_end_of_the_window_ends_there() -> None:
    figure = Figure()
    figure.hands[0] = Path(REST).go(4.0, 4.5, (0.54, -0.04, 0.0))
    figure.shapes[0] = lambda t: "pointing" if t > 4.3 else "open"
    found = one(rules.find(window([figure]), end=185), "pointing")
    assert found.end == 185 and found.details["offset_before"] is None


def test_an_empty_window_and_one_look_give_nothing() -> None:
    assert rules.find(window([], seconds=1.0), end=30) == []
    assert rules.find(window([pointer()], seconds=0.05), end=30) == []
