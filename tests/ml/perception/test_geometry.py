"""Boxes and crops, against values worked out by hand and against the inverse way."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from ml.perception import geometry

SQUARES = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 30, 30]], float)


def test_intersections_and_ious_of_squares() -> None:
    assert geometry.intersections(SQUARES, SQUARES).tolist() == [[100, 50, 0], [50, 100, 0], [0, 0, 100]]
    assert geometry.ious(SQUARES[:1], SQUARES)[0] == pytest.approx([1, 50 / 150, 0])


def test_an_empty_box_overlaps_nothing() -> None:
    assert geometry.ious(np.array([[5, 5, 5, 5.0]]), SQUARES).sum() == 0


@pytest.mark.parametrize("angle", [0.0, 0.4, -1.2])
@pytest.mark.parametrize("side", [100.0, 256.0, 900.0])
def test_crop_round_trip(angle: float, side: float) -> None:
    picture = np.zeros((600, 800, 3), np.uint8)
    _, matrix = geometry.crop(picture, (np.array([410.5, 300.25]), side, angle), 256)
    points = np.array([[0, 0], [255, 10], [128, 128], [31.5, 200]])
    back = cv2.invertAffineTransform(matrix)
    assert geometry.transform(back, geometry.transform(matrix, points)) == pytest.approx(points, abs=0.01)
    assert geometry.transform(matrix, np.array([[128, 128]]))[0] == pytest.approx([410.5, 300.25])


@pytest.mark.parametrize("side", [90, 300, 700])
@pytest.mark.parametrize("angle", [0.0, 0.5])
def test_crop_shows_the_place_it_names(side: int, angle: float) -> None:
    """A blurred dot lands where the matrix says, also when the picture is averaged first."""
    picture = np.zeros((720, 1280, 3), np.uint8)
    cv2.circle(picture, (700, 330), side // 20, (255, 255, 255), -1)
    patch, matrix = geometry.crop(picture, (np.array([680.0, 350.0]), float(side), angle), 192)
    y, x = np.indices(patch.shape[:2])
    weight = patch[:, :, 0].astype(float)
    centre = np.array([[(x * weight).sum(), (y * weight).sum()]]) / weight.sum()
    assert geometry.transform(matrix, centre)[0] == pytest.approx([700, 330], abs=max(1.0, side / 192))


def test_crop_reaches_over_the_border() -> None:
    picture = np.full((100, 100, 3), 200, np.uint8)
    roi = (np.array([0.0, 0.0]), 1000.0, 0.0)
    black, _ = geometry.crop(picture, roi, 100)
    replicated, _ = geometry.crop(picture, roi, 100, cv2.BORDER_REPLICATE)
    assert black[10, 10].tolist() == [0, 0, 0]
    assert replicated[10, 10].tolist() == [200, 200, 200]


def test_letterbox_keeps_the_aspect() -> None:
    canvas, scale = geometry.letterbox(np.full((360, 640, 3), 9, np.uint8), 416)
    assert scale == 0.65
    assert (canvas[:234] == 9).all()
    assert (canvas[234:] == 0).all()


def test_eye_angle_is_zero_for_eyes_too_near_to_tell() -> None:
    points = np.array([[10, 10], [20, 20], [0, 0], [0, 0], [0, 0.0]])
    assert geometry.eye_angle(points, 40) == pytest.approx(np.pi / 4)
    assert geometry.eye_angle(points, 100) == 0.0
