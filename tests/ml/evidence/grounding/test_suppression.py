from __future__ import annotations

import numpy as np

from ml.evidence.grounding.suppression import best_of_overlapping, cleaned, ious


def box(x1: int, y1: int, x2: int, y2: int, side: int = 20) -> np.ndarray:
    mask = np.zeros((side, side), bool)
    mask[y1:y2, x1:x2] = True
    return mask


def test_overlaps_are_those_of_the_pixels() -> None:
    masks = np.array([box(0, 0, 10, 10), box(5, 0, 15, 10), box(0, 0, 0, 0)])
    found = ious(masks)
    assert np.allclose(found, np.array([1, 1 / 3, 0, 1 / 3, 1, 0, 0, 0, 0]).reshape(3, 3))


def test_the_best_of_overlapping_ones_stays() -> None:
    masks = np.array([box(0, 0, 10, 10), box(1, 0, 11, 10), box(12, 12, 20, 20), box(0, 0, 0, 0), box(9, 9, 20, 20)])
    score = np.array([0.8, 0.9, 0.5, 1.0, 0.4])
    assert best_of_overlapping(masks, score).tolist() == [False, True, True, False, False]
    assert best_of_overlapping(masks, score, most_iou=1.0).tolist() == [True, True, True, False, True]
    assert best_of_overlapping(np.zeros((0, 4, 4), bool), np.zeros(0)).tolist() == []


def test_of_equal_scores_the_earlier_one_stays() -> None:
    masks = np.array([box(0, 0, 10, 10), box(0, 0, 10, 10)])
    assert best_of_overlapping(masks, np.array([0.7, 0.7])).tolist() == [True, False]


def test_specks_go_and_holes_are_filled() -> None:
    mask = box(2, 2, 12, 12)
    mask[5, 5] = False  # a hole
    mask[18, 18] = True  # a speck
    assert (cleaned(mask, 4 / 400) == box(2, 2, 12, 12)).all()
    assert (cleaned(mask, 0.5 / 400) == mask).all()  # less than a pixel


def test_a_small_thing_is_no_speck_of_itself() -> None:
    tiny = box(3, 3, 5, 5)
    assert (cleaned(tiny, 16 / 400) == tiny).all()
    two = box(3, 3, 6, 5) | box(15, 15, 16, 16)
    assert (cleaned(two, 16 / 400) == box(3, 3, 6, 5)).all()  # the part of one pixel is less than half
    assert not cleaned(box(0, 0, 0, 0)).any()
