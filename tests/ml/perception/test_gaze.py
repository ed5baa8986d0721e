"""Targets, probabilities and confidence worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ml.perception import gaze

NAN = np.nan
WIDTH, HEIGHT = 1000, 500
NOBODY = np.zeros((0, 4))


def look(
    yaw: Sequence[float], pitch: Sequence[float], faces: list[list[float]], objects: list[list[float]] | None = None
) -> gaze.Looks:
    boxes = np.array(faces, float)
    eye = (boxes[:, :2] + boxes[:, 2:]) / 2
    things = np.array(objects, float) if objects else NOBODY
    return gaze.look_targets(np.array(yaw), np.array(pitch), eye, boxes, things, WIDTH, HEIGHT)


def at(x: float, y: float, half: float = 20) -> list[float]:
    return [x - half, y - half, x + half, y + half]


def kinds(looks: gaze.Looks) -> list[str]:
    return [gaze.KINDS[k] for k in looks.kind]


def test_two_people_who_face_each_other() -> None:
    looks = look([40, -40], [0, 0], [at(300, 200), at(700, 200)])
    assert kinds(looks) == ["person", "person"]
    assert looks.target.tolist() == [1, 0]
    assert looks.point.tolist() == [[700, 200], [300, 200]]
    assert looks.inframe.tolist() == [gaze.INFRAME_TARGET] * 2
    assert looks.term.tolist() == [1, 1]  # angle 0, nobody else near


@pytest.mark.parametrize(("yaw", "pitch"), [(0, 0), (14, 0), (0, -14), (10, 10)])
def test_within_15_degrees_of_the_lens_is_camera(yaw: float, pitch: float) -> None:
    looks = look([yaw, NAN], [pitch, NAN], [at(300, 200), at(700, 200)])
    assert kinds(looks) == ["camera", ""]
    assert np.isnan(looks.point[0]).all()
    off = np.degrees(np.arccos(np.cos(np.radians(yaw)) * np.cos(np.radians(pitch))))
    assert looks.term[0] == pytest.approx(1 - off / 30)
    assert looks.inframe[0] == gaze.INFRAME_CAMERA


def test_a_face_behind_the_eye_is_not_looked_at() -> None:
    assert kinds(look([-40, NAN], [0, NAN], [at(300, 200), at(700, 200)]))[0] in ("scene", "off")


def test_the_smallest_angle_wins_and_a_runner_up_costs_confidence() -> None:
    faces = [at(200, 200), at(800, 200), at(800, 260)]
    looks = look([40, NAN, NAN], [0, NAN, NAN], faces)
    assert looks.target[0] == 1
    runner_up = np.degrees(np.arctan2(60, 600))
    assert looks.term[0] == pytest.approx(0.5 + 0.5 * runner_up / 10)


def test_an_angle_costs_confidence() -> None:
    looks = look([40, NAN], [0, NAN], [at(200, 200), at(800, 260)])
    angle = np.degrees(np.arctan2(60, 600))
    assert looks.term[0] == pytest.approx(1 - angle / 40)


def test_objects_take_part() -> None:
    looks = look([40, NAN], [0, NAN], [at(200, 200), at(800, 260)], [at(700, 205)])
    assert kinds(looks)[0] == "object"
    assert looks.target[0] == 0
    assert looks.point[0].tolist() == [700, 205]


def test_an_object_that_holds_the_eye_is_no_target() -> None:
    looks = look([40], [0], [at(200, 200)], [[100, 100, 900, 300]])
    assert kinds(looks) == ["scene"]


def test_nothing_on_the_way_is_a_point_of_the_scene() -> None:
    looks = look([-30], [0], [at(500, 250)])
    assert kinds(looks) == ["scene"]
    assert looks.point[0] == pytest.approx([500 - 0.5 * gaze.SCENE_REACH * 500, 250])
    assert looks.term[0] == gaze.SCENE_TERM
    assert looks.inframe[0] > 0.85


def test_a_point_outside_the_picture_is_off() -> None:
    looks = look([-60], [0], [at(100, 250)])
    assert kinds(looks) == ["off"]
    assert looks.point[0, 0] < 0
    assert looks.inframe[0] < 0.15


def test_probability_at_the_border_is_even() -> None:
    assert gaze.inframe_probability(np.array([0.0, 250]), WIDTH, HEIGHT) == pytest.approx(0.5)
    assert gaze.inframe_probability(np.array([1000.0, 250]), WIDTH, HEIGHT) == pytest.approx(0.5)
    assert gaze.inframe_probability(np.array([25.0, 250]), WIDTH, HEIGHT) == pytest.approx(0.1 + 0.8 / (1 + np.exp(-1)))


def test_looking_away_from_the_camera_is_not_the_camera() -> None:
    """At a yaw of 90 the picture direction is longest; the rule must not fire for long directions."""
    assert kinds(look([90], [0], [at(500, 250)])) != ["camera"]


def test_mirrored_scenes_give_mirrored_targets() -> None:
    yaw, pitch, faces = [35, -20, 12], [4, -18, 30], [at(200, 180), at(500, 240), at(850, 300)]
    there = look(yaw, pitch, faces)
    back = look([-v for v in yaw], pitch, [[WIDTH - c, b, WIDTH - a, d] for a, b, c, d in faces])
    assert back.kind.tolist() == there.kind.tolist()
    assert back.target.tolist() == there.target.tolist()
    assert back.term == pytest.approx(there.term)
    assert WIDTH - back.point[:, 0] == pytest.approx(there.point[:, 0], nan_ok=True)


def test_bias_is_the_bounded_median_of_enough_samples() -> None:
    assert gaze.pitch_bias(np.full(19, -3.0)) == gaze.BIAS_DEG
    assert gaze.pitch_bias(np.r_[np.full(20, -3.0), np.nan]) == -3
    assert gaze.pitch_bias(np.full(20, -30.0)) == -gaze.BIAS_RANGE_DEG
    assert gaze.pitch_bias(np.zeros(0)) == gaze.BIAS_DEG


def test_face_term() -> None:
    score, flag, read = np.array([0.9, 0.9, 0.9]), np.array([1, 0.8, 0.1]), np.array([1, 0, 0.0])
    term = gaze.face_term(score, flag, read, np.array([False, False, True]))
    assert term == pytest.approx([0.9, 0.9 * 0.8 * 0.5, 0.9 * gaze.PROFILE_TERM])


def test_directions_are_unit_vectors() -> None:
    found = gaze.directions(np.array([0, 90, 0, 45]), np.array([0, 0, 90, 0]))
    half = np.sqrt(0.5)
    assert found == pytest.approx(np.array([[0, 0, -1], [1, 0, 0], [0, -1, 0], [half, 0, -half]]), abs=1e-9)
