"""Directions from made-up meshes: a flat face turned by known angles, eyes turned in it, mirrored, shut."""

from __future__ import annotations

import numpy as np
import pytest

from ml.perception import headpose
from ml.perception.protocols import Face

# x right, y down, depth away from the camera; a face of 140 x 200 px, eyes 30 wide and 9 open, irises at rest
AT = {
    headpose.LEFT_SIDE: (-70, 0, 30), headpose.RIGHT_SIDE: (70, 0, 30), headpose.TOP: (0, -100, 30),
    headpose.CHIN: (0, 100, 30), 33: (-50, -20, 10), 133: (-20, -20, 10), 362: (20, -20, 10), 263: (50, -20, 10),
    159: (-35, -24.5, 10), 145: (-35, -15.5, 10), 386: (35, -24.5, 10), 374: (35, -15.5, 10),
    468: (-35, -21.8, 10), 473: (35, -21.8, 10),
}  # fmt: skip


def face(yaw: float = 0, pitch: float = 0, iris: tuple[float, float] = (0, 0), opening: float = 1) -> np.ndarray:
    """478 x 3 points of the face turned by degrees; irises moved by (right, down) pixels, lids closed to `opening`."""
    points = np.zeros((478, 3))
    for k, place in AT.items():
        points[k] = place
    points[[468, 473], :2] += iris
    points[[159, 145, 386, 374], 1] = -20 + (points[[159, 145, 386, 374], 1] + 20) * opening
    a, b = np.radians(yaw), np.radians(pitch)
    nod = np.array([[1, 0, 0], [0, np.cos(b), np.sin(b)], [0, -np.sin(b), np.cos(b)]])
    turn = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
    return points @ (turn @ nod).T + [640, 360, 0]


def mirrored(points: np.ndarray) -> np.ndarray:
    """As a mirror shows the face: x negated, left and right points exchanged."""
    result = points * [-1, 1, 1]
    for a, b in ((234, 454), (33, 263), (133, 362), (159, 386), (145, 374), (468, 473)):
        result[[a, b]] = result[[b, a]]
    return result


def test_a_frontal_face_at_rest_looks_into_the_lens() -> None:
    ray = headpose.from_mesh(face())
    assert (ray.yaw, ray.pitch, ray.head_yaw, ray.head_pitch) == pytest.approx((0, 0, 0, 0), abs=1e-6)
    assert ray.eye == pytest.approx([640, 360 - 21.8])
    assert ray.read == 1


@pytest.mark.parametrize(("yaw", "pitch"), [(20, 0), (-35, 0), (0, 15), (0, -25), (25, 10)])
def test_the_head_is_read_from_the_depth(yaw: float, pitch: float) -> None:
    ray = headpose.from_mesh(face(yaw, pitch))
    assert ray.head_yaw == pytest.approx(yaw)
    assert ray.head_pitch == pytest.approx(pitch)


@pytest.mark.parametrize(
    ("iris", "yaw", "pitch"), [((3, 0), 16, 0), ((-6, 0), -32, 0), ((0, 3), 0, -16), ((0, -3), 0, 16)]
)
def test_the_eyes_add_160_degrees_per_eye_width(iris: tuple[float, float], yaw: float, pitch: float) -> None:
    ray = headpose.from_mesh(face(iris=iris))
    assert (ray.yaw, ray.pitch) == pytest.approx((yaw, pitch), abs=1e-6)


def test_eyes_that_counter_the_head_look_into_the_lens() -> None:
    ray = headpose.from_mesh(face(yaw=24, iris=(-4.5 / np.cos(np.radians(24)), 0)))
    assert abs(ray.yaw) < 3


def test_shut_eyes_leave_the_yaw_to_the_head() -> None:
    ray = headpose.from_mesh(face(iris=(6, 0), opening=0.3))
    assert ray.read == 0
    assert ray.yaw == pytest.approx(0, abs=1e-6)
    half = headpose.from_mesh(face(iris=(6, 0), opening=0.5))
    assert half.read == pytest.approx(0.5)
    assert half.yaw == pytest.approx(16)


@pytest.mark.parametrize(("yaw", "pitch", "iris"), [(20, 5, (2, 1)), (-40, -10, (-3, 2)), (5, 20, (0, -2))])
def test_a_mirrored_face_looks_the_other_way(yaw: float, pitch: float, iris: tuple[float, float]) -> None:
    points = face(yaw, pitch, iris)
    ray, other = headpose.from_mesh(points), headpose.from_mesh(mirrored(points))
    assert (other.yaw, other.pitch) == pytest.approx((-ray.yaw, ray.pitch))


@pytest.mark.parametrize(("vector", "expected"), [((1, 0, -1), (45, 0)), ((0, -1, -1), (0, 45)), ((1, 0, 1), (135, 0))])
def test_angles(vector: tuple[float, float, float], expected: tuple[float, float]) -> None:
    assert headpose.angles(np.array(vector, float)) == pytest.approx(expected)


def five(nose: float, turn: float = 0.0) -> Face:
    """A face 80 wide whose nose lies `nose` pixels right of the middle of the eyes, turned in the picture."""
    points = np.array([[-20, 0], [20, 0], [nose, 25], [-15, 45], [15, 45.0]])
    c, s = np.cos(turn), np.sin(turn)
    return Face(np.array([100, 100, 180, 200.0]), 0.9, points @ np.array([[c, s], [-s, c]]) + [140, 140])


@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_a_profile_looks_where_its_nose_is(turn: float) -> None:
    ray = headpose.from_profile(five(-16, turn))
    assert ray is not None
    assert ray.yaw == pytest.approx(-0.2 * headpose.NOSE_TURN_DEG)
    assert (ray.pitch, ray.read) == (0, 0)
    assert ray.eye.tolist() == pytest.approx([140, 140])


def test_a_hidden_face_is_no_profile() -> None:
    assert headpose.from_profile(five(5)) is None
