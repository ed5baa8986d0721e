"""Whose face is it: faces to person boxes, and which person boxes are not persons. Pure functions, boxes in pixels."""

from __future__ import annotations

import numpy as np

from ml.assignment import least_cost_pairs
from ml.perception.geometry import area, intersections, middle, size
from ml.perception.protocols import Array

GATE = 0.9  # largest cost at which a face belongs to a person
HELD_FACE = 0.7  # share of a face's area inside a box that counts as "the box holds this face"
COVERED = 0.8  # share of a box that two other persons cover, from which it is their union rather than somebody


def face_costs(faces: Array, persons: Array) -> Array:
    """F x P: how badly a face box fits a person box.

    1 - (share of the face inside the person) + 0.3 |top offset| / height + 0.3 |centre x offset| / width of the person.
    """
    outside = 1 - intersections(faces, persons) / area(faces)[:, None]
    w, h = size(persons).T
    top = np.abs(faces[:, None, 1] - persons[None, :, 1]) / h
    across = np.abs(middle(faces)[:, None, 0] - middle(persons)[None, :, 0]) / w
    return outside + 0.3 * top + 0.3 * across


def assign_faces(faces: Array, persons: Array) -> Array:
    """For each of P persons the number of its face, -1 for none: Hungarian on `face_costs`, gated."""
    owner = np.full(len(persons), -1)
    if len(faces) and len(persons):
        cost = face_costs(faces, persons)
        rows, columns = least_cost_pairs(cost)
        good = cost[rows, columns] < GATE
        owner[columns[good]] = rows[good]
    return owner


def unions(persons: Array, faces: Array, owner: Array) -> Array:
    """P booleans: faceless boxes that a detector drew around two neighbours.

    Such a box holds the faces of two other persons and is covered by those persons' boxes. Somebody seen from behind,
    in front of two others, covers them instead: much of that box lies outside of theirs.
    """
    result = np.zeros(len(persons), bool)
    with_face = np.flatnonzero(owner >= 0)
    if len(with_face) < 2:
        return result
    held = intersections(persons, faces[owner[with_face]]) / area(faces[owner[with_face]]) > HELD_FACE
    for i in np.flatnonzero((owner < 0) & (held.sum(1) >= 2)):
        result[i] = covered_share(persons[i], persons[with_face[held[i]]]) > COVERED
    return result


def covered_share(box: Array, others: Array) -> float:
    """Share of a box's area that the union of other boxes covers, on a 32 x 32 grid."""
    x = box[0] + (np.arange(32) + 0.5) / 32 * (box[2] - box[0])
    y = box[1] + (np.arange(32) + 0.5) / 32 * (box[3] - box[1])
    in_x = (x[None] > others[:, :1]) & (x[None] < others[:, 2:3])
    in_y = (y[None] > others[:, 1:2]) & (y[None] < others[:, 3:])
    return float((in_y[:, :, None] & in_x[:, None, :]).any(0).mean())


def derived_box(face: Array, width: int, height: int) -> Array:
    """Person box for a face nobody claims: 1 face width to each side, 0.5 heights above, 3 below, in the picture."""
    (x1, y1, x2, y2), (w, h) = face, size(face)
    return np.array([max(0, x1 - w), max(0, y1 - 0.5 * h), min(width, x2 + w), min(height, y2 + 3 * h)])
