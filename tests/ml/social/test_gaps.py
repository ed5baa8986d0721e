"""Gap filling, released and strict, sample by sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from ml.social.gaps import METHODS, Filled, fill_compat, fill_strict
from ml.social.presets import GraspCompat, Strict
from ml.social.scene import CAMERA, PERSON, Scene
from tests.ml.social.scenes import rows_scene

FACE = (0.4, 0.4, 0.6, 0.6)


def one(pattern: str, step: float = 0.5) -> Scene:
    """One person with a face all along; x marks a measured sample, gaze moving right by 0.01 a sample; . a lost one."""
    count = len(pattern)
    gaze = np.stack([0.1 + 0.01 * np.arange(count), np.full(count, 0.5)], axis=1)[:, None]
    gaze[[mark == "." for mark in pattern]] = np.nan
    face = np.tile(np.array(FACE), (count, 1, 1))
    return rows_scene(gaze, face, np.arange(float(count)) * step)


def compat(scene: Scene) -> Filled:
    return fill_compat(scene, GraspCompat())


def strict(scene: Scene) -> Filled:
    return fill_strict(scene, Strict())


def methods(filled: Filled) -> list[str]:
    return [METHODS[code] for code in filled.method[:, 0]]


def confidences(filled: Filled) -> NDArray[np.float64]:
    return filled.confidence[:, 0]


def test_three_samples_are_interpolated() -> None:
    filled = compat(one("x...x"))
    assert methods(filled) == ["measured", *["linear_interpolation"] * 3, "measured"]
    assert confidences(filled) == pytest.approx([1, 0.7, 0.7, 0.7, 1])  # 1 - 0.1 x 3
    assert filled.gaze[:, 0, 0] == pytest.approx([0.10, 0.11, 0.12, 0.13, 0.14])
    assert compat(one("x.x")).confidence[1, 0] == pytest.approx(0.9)


def test_four_and_more_hold_the_value_before() -> None:
    filled = compat(one("x....x"))
    assert methods(filled) == ["measured", *["carry_forward"] * 4, "measured"]
    assert confidences(filled) == pytest.approx([1, *(0.5 * math.exp(-0.2 * at) for at in (1, 2, 3, 4)), 1])
    assert filled.gaze[1:5, 0, 0] == pytest.approx([0.1] * 4)


def test_more_than_three_seconds_between_the_ends_is_not_filled() -> None:
    # At 2 Hz 5 lost samples lie between ends 3.0 s apart, 6 between ends 3.5 s apart; at 5 Hz ten are 2.2 s apart.
    assert methods(compat(one("x.....x")))[1] == "carry_forward"
    assert methods(compat(one("x......x")))[1] == "null_gap_too_long"
    assert methods(compat(one("x" + "." * 10 + "x", 0.2)))[1] == "carry_forward"
    assert methods(compat(one("x" + "." * 11 + "x", 0.2)))[1] == "null_gap_too_long"
    # Uneven times: two samples only, but 4 s between the ends.
    scene = one("x..x")
    scene.times[:] = [0, 1, 3, 4]
    assert methods(compat(scene))[1] == "null_gap_too_long"


def test_heads_and_tails_hold_the_nearest() -> None:
    filled = compat(one("..x..."))
    assert methods(filled) == [*["carry_backward"] * 2, "measured", *["carry_forward"] * 3]
    expected = [0.5 * math.exp(-0.2 * at) for at in (2, 1)] + [1] + [0.5 * math.exp(-0.2 * at) for at in (1, 2, 3)]
    assert confidences(filled) == pytest.approx(expected)
    assert filled.gaze[:, 0, 0] == pytest.approx([0.12] * 6)
    assert methods(compat(one("." * 11 + "x")))[0] == "null_gap_too_long"
    assert methods(compat(one("." * 10 + "x")))[0] == "carry_backward"


def test_a_jump_of_the_face_is_a_cut() -> None:
    scene = one("x..x")
    scene.face[2:] += [0.31, 0, 0.31, 0]
    assert methods(compat(scene)) == ["measured", "null_scene_cut", "null_scene_cut", "measured"]
    scene.face[2:] -= [0.02, 0, 0.02, 0]
    assert methods(compat(scene))[1] == "linear_interpolation"


def test_without_a_face_there_is_no_gaze() -> None:
    scene = one("x..x")
    scene.face[1] = np.nan
    scene.face[3] = np.nan
    scene.present[1] = False
    filled = compat(scene)
    assert methods(filled) == ["measured", "missing", "carry_forward", "no_face"]
    assert np.isnan(filled.gaze[1, 0, 0]) and confidences(filled)[3] == 0


def test_nobody_measured_is_nothing_to_fill_from() -> None:
    assert methods(compat(one("..."))) == methods(strict(one("..."))) == ["null_no_valid"] * 3


@pytest.mark.parametrize("step", [0.5, 0.2, 0.1])
def test_strict_counts_seconds(step: float) -> None:
    def first_lost(seconds: float) -> str:
        return methods(strict(one("x" + "." * round(seconds / step) + "x", step)))[1]

    assert first_lost(1.0) == "linear_interpolation"
    assert first_lost(2.0) == "carry_forward"
    assert first_lost(3.0) == "null_gap_too_long"


def test_strict_confidence_decays_from_that_of_the_ends() -> None:
    scene = one("x..x")
    scene.confidence[:] = np.array([0.8, 0, 0, 0.6])[:, None]
    # Two samples of 0.5 s are lost: 1 s, so 0.6 x (1 - 0.2 x 1).
    assert confidences(strict(scene)) == pytest.approx([0.8, 0.48, 0.48, 0.6])
    scene = one("x....x")  # 2 s: held from a confidence of 1
    assert confidences(strict(scene))[1:5] == pytest.approx([0.5 * math.exp(-0.4 * at / 2) for at in (1, 2, 3, 4)])
    assert methods(strict(one("..x"))) == ["carry_backward", "carry_backward", "measured"]


def test_strict_never_fills_across_a_cut() -> None:
    scene = one("xx..xx")
    scene.shots[3:] = 1
    assert methods(strict(scene)) == [
        "measured",
        "measured",
        "null_scene_cut",
        "null_scene_cut",
        "measured",
        "measured",
    ]


def test_strict_does_not_fill_over_what_is_known() -> None:
    scene = one("x...x")
    scene.kind[2] = CAMERA
    assert methods(strict(scene)) == ["measured", *["null_not_in_scene"] * 3, "measured"]
    assert confidences(strict(scene)).tolist() == [1, 0, 0, 0, 1]
    # The released filling has no such kinds: a gap is a gap.
    assert methods(compat(scene))[2] == "linear_interpolation"


def test_strict_keeps_the_target_that_both_ends_have() -> None:
    scene = one("x.x.x")
    scene.kind[[0, 2, 4]] = PERSON
    scene.target[[0, 2]] = 7
    scene.target[4] = 8
    assert strict(scene).target[:, 0].tolist() == [7, 7, 7, -1, 8]


def test_strict_takes_low_confidence_as_lost() -> None:
    scene = one("xxx")
    scene.confidence[1] = 0.1
    assert methods(strict(scene)) == ["measured", "linear_interpolation", "measured"]
    scene.human[1] = True
    assert methods(strict(scene)) == ["measured", "human", "measured"]
