"""The pieces under the rules: filling and smoothing, phases, hand shapes, rays, followed objects, candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.perception.gestures import candidates, things
from ml.perception.gestures.aim import angles_to, pick, place
from ml.perception.gestures.arms import arm_of, phases, runs
from ml.perception.gestures.candidates import Stretch, interesting, merged, shorter
from ml.perception.gestures.protocol import Gesture, People
from ml.perception.gestures.shapes import is_fist, is_pointing
from ml.perception.gestures.window import box_distance, fill, scales, smooth
from ml.perception.protocols import Detection
from tests.ml.perception.gestures.figures import REST, Figure, Path, Thing, hand_points, window

NAN = np.nan

# ---------------------------------------------------------------------------------------------------------------------
# Time


def test_a_short_gap_is_filled_by_a_line_in_time_and_a_long_one_is_not() -> None:
    t = np.array([0.0, 0.1, 0.3, 0.4, 1.0, 1.1])
    got = fill(np.array([0.0, NAN, 6.0, 8.0, NAN, NAN])[:, None], t)[:, 0]
    assert got[:4].tolist() == [0, 2, 6, 8]  # 0.1 of 0.3 s: a third of the way
    assert np.isnan(got[4:]).all()  # nothing after it
    assert np.isnan(fill(np.array([0.0, NAN, 6.0])[:, None], np.array([0, 0.4, 0.8]))[1, 0])


def test_smoothing_keeps_lines_and_gaps_and_averages_noise() -> None:
    t = np.arange(0, 3, 0.1)
    line = np.c_[2 * t, 5 - t]
    assert np.allclose(smooth(line, t)[1:-1], line[1:-1])
    holed = line.copy()
    holed[10] = NAN
    assert np.isnan(smooth(holed, t)[10]).all() and np.isfinite(smooth(holed, t)[[9, 11]]).all()
    noise = np.random.default_rng(0).normal(0, 1, (300, 1))
    # neighbours at 0.1 s weigh a third: variance (1 + 2/9) / (5/3)^2 = 0.44
    assert smooth(noise, np.arange(300) * 0.1).var() == pytest.approx(0.44, abs=0.08)


@given(st.lists(st.booleans(), max_size=40))
def test_runs_are_the_true_values(flags: list[bool]) -> None:
    array = np.array(flags, bool)
    again = np.zeros(len(flags), bool)
    for start, end in runs(array):
        assert array[start:end].all() and start < end
        again[start:end] = True
    assert (again == array).all()


def test_a_metre_is_a_metre_from_every_side() -> None:
    for yaw in (0, 30, 60, 90):
        assert scales(window([Figure(yaw=yaw)], scale=200).prepared())[0] == pytest.approx(200, rel=0.02)


def test_an_arms_path_falls_into_moves_and_holds() -> None:
    figure = Figure(hands=[Path(REST).go(1, 1.5, (0.5, 0, 0)).go(2.5, 3, REST), Path(REST)])
    seen = window([figure]).prepared()
    found = phases(arm_of(seen, 0, 0, 220.0), seen.seconds)
    assert [p.kind for p in found] == ["hold", "move", "hold", "move", "hold"]
    starts = [seen.seconds[p.start] for p in found]
    assert starts == pytest.approx([0, 1.0, 1.5, 2.5, 3.0], abs=0.15)
    still = arm_of(seen, 0, 1, 220.0)
    assert [p.kind for p in phases(still, seen.seconds)] == ["hold"]


def test_nothing_spans_a_gap_in_which_the_arm_is_not_seen() -> None:
    seen = window([Figure()])
    seen.pose[20:30, 0] = NAN
    ready = seen.prepared()
    assert [(p.start, p.end) for p in phases(arm_of(ready, 0, 0, 220.0), ready.seconds)] == [(0, 20), (30, 60)]


# ---------------------------------------------------------------------------------------------------------------------
# Hands and rays


@pytest.mark.parametrize("turn", range(0, 360, 45))
def test_hand_shapes_in_every_direction(turn: int) -> None:
    a = np.radians(turn)
    along, across = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
    shapes = {name: hand_points(np.zeros(3), along, across, name)[:, :2] for name in ("open", "pointing", "fist")}
    assert [bool(is_pointing(shapes[n])) for n in ("open", "pointing", "fist")] == [False, True, False]
    assert [is_fist(shapes[n][None]) for n in ("open", "fist")] == [False, True]
    assert not is_pointing(np.full((21, 2), NAN)) and not is_fist(np.full((1, 21, 2), NAN))


def test_a_ray_meets_misses_and_looks_away() -> None:
    boxes = np.array([[10.0, -1, 12, 1], [10, 5, 12, 7], [-12, -1, -10, 1], [NAN] * 4])
    angles, distances = angles_to(boxes, np.zeros(2), np.array([1.0, 0]))
    assert angles[0] == 0 and distances[0] == 11
    assert angles[1] == pytest.approx(np.degrees(np.arctan2(5, 12)))  # its nearest corner
    assert angles[2] > 170 and np.isnan(angles[3])


def test_the_nearest_of_what_a_ray_meets_is_meant_furniture_last() -> None:
    things_ = [Thing("cup", path=Path((3.5, 1.0, 0))), Thing("couch", path=Path((3.2, 1.0, 0)), side=0.9)]
    seen = window([Figure(), Figure(at=(5.0, 1.0))], things=things_, scale=100)
    ray, at = np.array([1.0, 0]), np.array([250.0, 100.0])
    assert (pick(seen, 0, at, ray, 0, 100.0).kind, pick(seen, 0, at, ray, 0, 100.0).index) == ("object", 0)
    assert pick(seen, 0, at, -ray, 0, 100.0).kind == "location"  # nobody but the pointer is there
    assert pick(seen, 0, at, -ray, 1, 100.0).index == 0


@pytest.mark.parametrize(
    ("direction", "words"),
    [((1, 0), "to the right"), ((0, -1), "up"), ((-1, 1), "to the lower left"), ((-1, 0.1), "to the left")],
)
def test_a_direction_in_words(direction: Any, words: str) -> None:
    assert place(np.array(direction)) == f"a place {words} in the picture"


@given(st.tuples(*[st.floats(-50, 50)] * 2))
def test_the_distance_to_a_box_is_that_to_its_nearest_point(point: tuple[float, float]) -> None:
    box = np.array([-10.0, -5, 10, 5])
    grid = np.stack(np.meshgrid(np.linspace(-10, 10, 201), np.linspace(-5, 5, 101)), -1).reshape(-1, 2)
    nearest = np.linalg.norm(grid - point, axis=1).min()
    assert box_distance(np.array(point), box) == pytest.approx(nearest, abs=0.08)


# ---------------------------------------------------------------------------------------------------------------------
# Objects


def seen_at(name: str, x: float, score: float = 0.8) -> Detection:
    return Detection(name, score, np.array([x, 0.0, x + 20, 20]))


def test_objects_are_followed_by_name_and_place() -> None:
    t = np.arange(5) * 0.2
    looks: list[list[Detection] | None] = [
        [seen_at("cup", 0), seen_at("book", 5)], None, [seen_at("book", 8), seen_at("cup", 10)],
        [seen_at("cup", 22)], [seen_at("cup", 300)],
    ]  # fmt: skip
    boxes, names, scores = things.follow(t, looks)
    assert names == ["cup", "book"]
    assert boxes[:, 0, 0].tolist()[:1] + boxes[2:4, 0, 0].tolist() == [0, 10, 22]
    assert np.isnan(boxes[1]).all() and np.isnan(boxes[4, 0]).all()  # too far to be the same; seen once, so no other
    assert scores.tolist() == pytest.approx([0.8, 0.8])


def test_what_is_seen_once_or_never_surely_is_no_object() -> None:
    once: list[list[Detection] | None] = [[seen_at("cup", 0)], [], []]
    weak: list[list[Detection] | None] = [[seen_at("cup", 0, 0.45)], [seen_at("cup", 1, 0.45)], []]
    for looks in (once, weak):
        assert things.follow(np.arange(3) * 0.2, looks)[0].shape == (3, 0, 4)


# ---------------------------------------------------------------------------------------------------------------------
# Candidates


def test_an_arm_that_comes_out_is_of_interest_before_and_after() -> None:
    t = np.arange(0, 10, 0.5)
    out = np.where((t >= 3) & (t < 5), 0.3, 0.0)
    place_ = np.c_[out, np.full(len(t), 0.5)]
    assert t[interesting(t, place_, out)].tolist() == [2.5, 3.0, 3.5, 4.0, 4.5, 5.0]


def test_an_arm_that_stays_out_is_of_interest_for_a_while_only() -> None:
    t = np.arange(0, 30, 0.5)
    out = np.where(t >= 5, 0.3, 0.0)
    marked = t[interesting(t, np.c_[out, out], out)]
    assert (marked[0], marked[-1]) == (4.5, 13.0)  # LATELY_S after it came out
    still = np.full(len(t), 0.4)
    assert not interesting(t, np.c_[still, still], still).any()


def test_looks_near_each_other_make_one_stretch_inside_the_shot() -> None:
    found = merged([0.5, 4.0, 4.5, 9.8], [1, 2, 1, 1], 0.0, 10.0)
    assert found == [Stretch(0.0, 1.5, (1,)), Stretch(3.0, 5.5, (1, 2)), Stretch(8.8, 10.0, (1,))]


@given(st.floats(1, 1000))
def test_long_stretches_are_cut_with_an_overlap(length: float) -> None:
    parts = shorter(Stretch(5.0, 5.0 + length, (1,)))
    assert parts[0].start == 5.0 and parts[-1].end == pytest.approx(5.0 + length)
    assert all(p.end - p.start <= candidates.LONGEST_S + 1e-6 for p in parts)
    for a, b in zip(parts, parts[1:], strict=False):
        assert a.end - b.start == pytest.approx(candidates.OVERLAP_S)


def test_the_coarse_pass_keeps_arms_of_those_who_are_seen(tmp_path: Any) -> None:
    seen = window([Figure(), Figure(at=(4.0, 1.0))], every=0.5, noise=0.003)
    seen.pose[:, 1] = NAN
    seen.face[:, 1] = NAN
    kept = candidates.arms_in(seen)
    assert set(kept.person.tolist()) == {1} and len(kept.frame) == 2 * len(seen.frame)
    kept.save(tmp_path / "a.npz")
    again = candidates.Arms.load([tmp_path / "a.npz", tmp_path / "a.npz"])
    assert len(again.out) == 2 * len(kept.out) and again.side.dtype == np.int8
    assert len(candidates.arms_in(window([], every=0.5)).frame) == 0


# ---------------------------------------------------------------------------------------------------------------------
# Protocol


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "waving"}, "no type of gesture"),
        ({"end": 5}, "empty or inverted"),
        ({"target_kind": "person"}, "cannot be"),
        ({"target_person": 1, "target_kind": "person"}, "own gesture"),
        ({"confidence": 1.2}, "between 0 and 1"),
    ],
)
def test_a_gesture_that_cannot_be_is_refused(change: dict[str, Any], words: str) -> None:
    fine: dict[str, Any] = {"type": "pointing", "start": 5, "end": 9, "initiator": 1, "target_kind": "location"}
    Gesture(**fine)
    with pytest.raises(ValueError, match=words):
        Gesture(**{**fine, **change})


def test_people_are_between_their_samples() -> None:
    body = np.array([[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]], np.float32)
    face = np.array([[0, 0, 0.5, 0.5], [NAN] * 4, [1, 1, 1.5, 1.5]], np.float32)
    people = People(np.array([0, 10, 10]), np.array([7, 7, 9]), body, face)
    at = people.at(5, 12)
    assert at[7][0].tolist() == [1, 1, 2, 2] and at[9][0].tolist() == [4, 4, 5, 5]
    assert at[7][1].tolist() == [0, 0, 0.5, 0.5]  # the side that has a face
    assert sorted(people.at(5, 4)) == [] and people.persons == [7, 9]
    assert len(people.during(1, 11).frame) == 2
