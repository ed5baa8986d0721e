"""Velocity, windowed displacement, convergence, and whom a point is on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ml.social.cliques import close_under_intersection, maximal_cliques
from ml.social.features import convergence, look_targets, raw_velocity, window_displacement
from ml.social.gaps import fill_strict
from ml.social.presets import GraspCompat, Strict
from tests.ml.social.scenes import rows_scene


def moved(times: list[float], xs: list[float], shots: list[int] | None = None) -> list[float]:
    points = np.array([[x, 0.5] for x in xs])
    numbers = np.array(shots or [0] * len(xs), dtype=np.int32)
    return window_displacement(np.array(times), numbers, points, Strict()).tolist()


def test_displacement_looks_half_a_second_back() -> None:
    assert moved([0, 0.5, 1.0], [0.1, 0.3, 0.6]) == pytest.approx([math.nan, 0.2, 0.3], nan_ok=True)
    tenths = [at / 10 for at in range(8)]
    assert moved(tenths, tenths)[5:] == pytest.approx([0.5] * 3)  # 1 per second
    assert all(math.isnan(value) for value in moved(tenths, tenths)[:5])


def test_displacement_interpolates_between_samples() -> None:
    # At 1.0 s, 0.5 s lies half-way between 0.4 (0.2) and 0.6 (0.4): from 0.3 to 0.9.
    assert moved([0, 0.2, 0.4, 0.6, 0.8, 1.0], [0, 0, 0.2, 0.4, 0.5, 0.9])[-1] == pytest.approx(0.6)


def test_displacement_forgives_a_frames_rounding() -> None:
    # 14 frames of 29.97 per second are 0.467 s: the first sample stands for half a second ago.
    assert moved([0, 0.467], [0.1, 0.4])[1] == pytest.approx(0.3)
    assert math.isnan(moved([0, 0.44], [0.1, 0.4])[1])


def test_displacement_is_unknown_over_a_pause_or_a_cut() -> None:
    # 1.5 - 0.5 = 1.0 lies between 0.5 and 1.5, which are 1 s apart, more than the 0.75 s allowed.
    assert math.isnan(moved([0, 0.5, 1.5], [0, 0, 0.9])[2])
    assert math.isnan(moved([0, 0.5, 1.0], [0, 0, 0.9], [0, 0, 1])[2])


def test_raw_velocity_is_per_second() -> None:
    gaze = np.array([[[0.1, 0.5]], [[0.4, 0.9]], [[np.nan, np.nan]]])
    scene = rows_scene(gaze, np.zeros((3, 1, 4)), np.array([0, 0.5, 1.0]))
    # 0.5 in half a second.
    assert raw_velocity(scene, gaze, True)[:, 0] == pytest.approx([math.nan, 1.0, math.nan], nan_ok=True)


def test_raw_velocity_by_history_slips_for_who_enters_late() -> None:
    gaze = np.array([[[0.0, 0.5]], [[0.0, 0.5]], [[0.1, 0.5]], [[0.4, 0.5]]])
    scene = rows_scene(gaze, np.zeros((4, 1, 4)), np.arange(4.0))
    scene.present[0] = False
    assert raw_velocity(scene, gaze, True)[:, 0] == pytest.approx([math.nan, 0.1, 0.3, math.nan], nan_ok=True)
    assert raw_velocity(scene, gaze, False)[:, 0] == pytest.approx([math.nan, math.nan, 0.1, 0.3], nan_ok=True)


def test_convergence_weights_by_confidence() -> None:
    gaze = np.array([[[0.2, 0.5], [0.5, 0.5], [0.9, 0.5]]])
    confidence = np.array([[1.0, 0.5, 0.2]])
    score, centre, part = convergence(gaze, confidence, GraspCompat())
    # The third is below 0.3. Centre (0.2 + 0.25) / 1.5 = 0.3; distances 0.1 and 0.2: median 0.15; mean confidence 0.75.
    assert part.tolist() == [[True, True, False]] and centre[0] == pytest.approx([0.3, 0.5])
    assert score[0] == pytest.approx(math.exp(-0.45) * 0.75)


def test_convergence_of_one_is_unknown() -> None:
    score, _, _ = convergence(np.array([[[0.2, 0.5], [np.nan, np.nan]]]), np.ones((1, 2)), GraspCompat())
    assert math.isnan(score[0])


def test_nobody_looks_at_themselves() -> None:
    face = np.array([[[0.4, 0.4, 0.6, 0.6], [0.7, 0.4, 0.9, 0.6]]])
    scene = rows_scene(np.array([[[0.5, 0.5], [0.5, 0.5]]]), face, np.zeros(1))
    filled = fill_strict(scene, Strict())
    assert look_targets(scene, filled, Strict()).tolist() == [[-1], [0]]


@pytest.mark.parametrize("seed", range(20))
def test_maximal_cliques_are_those_of_a_plain_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    tied = np.triu(rng.random((size, size)) < rng.choice([0.3, 0.6, 0.9]), 1)
    tied |= tied.T
    neighbours = [sum(1 << int(other) for other in np.flatnonzero(row)) for row in tied]

    def whole(mask: int) -> bool:
        nodes = [node for node in range(size) if mask >> node & 1]
        return all(tied[a, b] for a in nodes for b in nodes if a < b)

    cliques = [mask for mask in range(1 << size) if mask.bit_count() >= 2 and whole(mask)]
    largest = [mask for mask in cliques if not any(mask != other and mask & other == mask for other in cliques)]
    assert sorted(maximal_cliques(tuple(neighbours))) == sorted(largest)


def test_intersections_keep_two_members() -> None:
    # {0,1,2}, {1,2,3}, {2,3,4}: {1,2} and {2,3} are shared; {2} is alone.
    assert close_under_intersection({0b00111, 0b01110, 0b11100}) == {0b00111, 0b01110, 0b11100, 0b00110, 0b01100}
