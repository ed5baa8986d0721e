"""Faces to persons, and which boxes are no persons."""

from __future__ import annotations

import numpy as np
import pytest

from ml.perception import matching


def boxes(*rows: tuple[float, float, float, float]) -> np.ndarray:
    return np.array(rows, float).reshape(-1, 4)


def test_cost_of_a_face_worked_out_by_hand() -> None:
    # half of the face inside; top 20 of 200 below the person's; centre 50 of 100 beside it
    cost = matching.face_costs(boxes((80, 20, 120, 60)), boxes((0, 0, 100, 200)))
    assert cost[0, 0] == pytest.approx(0.5 + 0.3 * 0.1 + 0.3 * 0.5)


def test_each_face_goes_to_its_person() -> None:
    persons = boxes((0, 0, 100, 300), (90, 0, 190, 300), (400, 0, 500, 300))
    faces = boxes((120, 10, 160, 60), (30, 10, 70, 60))
    assert matching.assign_faces(faces, persons).tolist() == [1, 0, -1]


def test_a_face_far_from_everybody_has_no_person() -> None:
    assert matching.assign_faces(boxes((700, 0, 740, 50)), boxes((0, 0, 100, 300))).tolist() == [-1]
    assert matching.assign_faces(boxes(), boxes((0, 0, 100, 300))).tolist() == [-1]
    assert matching.assign_faces(boxes((0, 0, 9, 9)), boxes()).tolist() == []


def test_a_box_around_two_neighbours_is_a_union() -> None:
    persons = boxes((0, 0, 100, 300), (100, 0, 200, 300), (5, 0, 195, 300))
    faces = boxes((30, 20, 70, 70), (130, 20, 170, 70))
    owner = matching.assign_faces(faces, persons)
    assert owner.tolist() == [0, 1, -1]
    assert matching.unions(persons, faces, owner).tolist() == [False, False, True]


def test_somebody_seen_from_behind_between_two_others_stays() -> None:
    """A back in front of two faces: it holds them both, but most of it covers neither of the two."""
    persons = boxes((0, 100, 130, 300), (270, 100, 400, 300), (60, 60, 340, 720))
    faces = boxes((70, 110, 110, 160), (290, 110, 330, 160))
    owner = np.array([0, 1, -1])
    assert matching.unions(persons, faces, owner).tolist() == [False, False, False]


def test_a_faceless_person_with_one_neighbour_stays() -> None:
    persons = boxes((0, 0, 100, 300), (10, 0, 110, 300))
    faces = boxes((30, 20, 70, 70))
    assert matching.unions(persons, faces, np.array([0, -1])).tolist() == [False, False]


def test_covered_share_counts_the_union_once() -> None:
    half, same = (0, 0, 50, 100), (0, 0, 50, 100)
    assert matching.covered_share(np.array([0, 0, 100, 100.0]), boxes(half, same)) == 0.5


def test_derived_box_stays_in_the_picture() -> None:
    assert matching.derived_box(np.array([100, 100, 140, 160.0]), 1280, 720).tolist() == [60, 70, 180, 340]
    assert matching.derived_box(np.array([0, 0, 40, 60.0]), 60, 100).tolist() == [0, 0, 60, 100]
