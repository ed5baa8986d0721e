"""The tracker on made-up boxes: crossing, leaving, fast people, weak detections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml.perception.tracker import Settings, Tracker, calm, grown_ious, look

STEP_S = 0.25


def colour(number: int) -> np.ndarray:
    """The look of somebody all in one colour: different numbers have nothing in common."""
    return np.eye(128)[number]


def follow(paths: dict[int, Any], steps: int, tracker: Tracker | None = None) -> list[list[int]]:
    """Track ids per step of people given as {colour: left side of the box at a step, or None when not seen}."""
    tracker = tracker or Tracker(0, Settings())
    found = []
    for k in range(steps):
        seen = [(c, path(k)) for c, path in paths.items() if path(k) is not None]
        boxes = np.array([[x, 100, x + 100, 400] for _, x in seen], float).reshape(-1, 4)
        looks = np.array([colour(c) for c, _ in seen]).reshape(-1, 128)
        found.append(tracker.step(k * STEP_S, boxes, np.full(len(seen), 0.8), looks).tolist())
    return found


def test_people_who_stand_keep_their_ids() -> None:
    assert follow({0: lambda k: 100, 1: lambda k: 300}, 5) == [[0, 1]] * 5


@pytest.mark.parametrize("widths_per_second", [1, 2.5, 4])
def test_people_who_cross_keep_their_ids(widths_per_second: float) -> None:
    move = widths_per_second * 100 * STEP_S
    assert follow({0: lambda k: 100 + move * k, 1: lambda k: 900 - move * k}, 12) == [[0, 1]] * 12


def test_somebody_hidden_for_a_while_keeps_the_id() -> None:
    found = follow({0: lambda k: None if 3 <= k < 9 else 100}, 12)
    assert [ids[0] for ids in found if ids] == [0] * 6


def test_somebody_gone_for_too_long_is_new() -> None:
    gone = int(Settings().lost_after_s / STEP_S) + 2
    found = follow({0: lambda k: None if 1 <= k <= gone else 100}, gone + 2)
    assert found[0] == [0]
    assert found[-1] == [1]


def test_another_look_in_the_same_place_is_another_person() -> None:
    tracker = Tracker(0, Settings())
    box, score = np.array([[100, 100, 200, 400.0]]), np.array([0.9])
    assert tracker.step(0.0, box, score, colour(0)[None]).tolist() == [0]
    assert tracker.step(0.25, box, score, colour(1)[None]).tolist() == [1]


def test_a_weak_box_continues_but_does_not_start() -> None:
    tracker = Tracker(0, Settings())
    box, looks = np.array([[100, 100, 200, 400.0]]), colour(0)[None]
    assert tracker.step(0.0, box, np.array([0.35]), looks).tolist() == [-1]
    assert tracker.step(0.25, box, np.array([0.5]), looks).tolist() == [0]
    assert tracker.step(0.5, box, np.array([0.35]), looks).tolist() == [0]


def test_ids_go_on_from_the_first_one() -> None:
    tracker = Tracker(7, Settings())
    assert follow({0: lambda k: 100, 1: lambda k: 500}, 1, tracker) == [[7, 8]]
    assert tracker.next_id == 9


def test_no_boxes_is_no_trouble() -> None:
    assert follow({0: lambda k: 100 if k in (0, 3) else None}, 4) == [[0], [], [], [0]]


def test_grown_ious_by_hand() -> None:
    a, b = np.array([[0, 0, 10, 10.0]]), np.array([[20, 0, 30, 10.0], [0, 0, 10, 10.0]])
    assert grown_ious(a, b, np.array([0.0])).tolist() == [[0, 1]]
    # grown by 10 at the sides and 2.5 above and below: 30 x 15 each, sharing 10 x 15
    assert grown_ious(a, b, np.array([10.0]))[0] == pytest.approx([150 / 750, 1])


def test_calm_is_the_same_people_in_the_same_places() -> None:
    people, sure = np.array([[0, 0, 100, 300], [400, 0, 500, 300.0]]), np.array([True, True])
    assert calm(people, sure, people[::-1] + 10, sure)
    assert not calm(people, sure, people + [40, 0, 40, 0], sure)  # IoU 60 / 140
    assert not calm(people, sure, people[:1], sure[:1])
    assert not calm(people[:1], sure[:1], people, sure)
    assert calm(people[:0], sure[:0], people[:0], sure[:0])


def test_weak_boxes_that_come_and_go_do_not_disturb_the_calm() -> None:
    people = np.array([[0, 0, 100, 300], [400, 0, 500, 300.0]])
    first, both = np.array([True, False]), np.array([True, True])
    assert calm(people, first, people[:1], both[:1])
    assert calm(people, first, people, both)
    assert not calm(people[:1], both[:1], people, both)


def test_look_tells_colours_apart() -> None:
    hsv = np.zeros((100, 200, 3), np.uint8)
    hsv[:, :100] = (10, 200, 200)
    hsv[:, 100:] = (100, 200, 200)
    left, right, both = (
        look(hsv, np.array(b, float)) for b in ([0, 0, 100, 100], [100, 0, 200, 100], [0, 0, 200, 100])
    )
    assert left @ left == pytest.approx(1)
    assert left @ right == 0
    assert left @ both == pytest.approx(np.sqrt(0.5))
    assert look(hsv, np.array([199.5, 99.5, 200, 100])).sum() > 0  # a box of no size at the border
