"""One label per pixel, on claims drawn by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml.perception.masks import labels as l
from ml.perception.masks.masker import own_faces, share_of
from ml.perception.masks.selfie import rough_skeleton
from ml.perception.protocols import Face, Patch

HEIGHT, WIDTH = 120, 180


def claimed(x1: int, x2: int, share: float, y1: int = 0, y2: int = HEIGHT) -> Patch:
    """A patch of the picture's size that claims some columns."""
    patch = np.zeros((HEIGHT, WIDTH), np.float32)
    patch[y1:y2, x1:x2] = share
    return Patch(patch, np.array([[1.0, 0, 0], [0, 1, 0]]))


def somebody(box: list[float], patch: Patch, face: list[float] | None = None) -> l.Outline:
    own = None if face is None else np.array(face, float)
    return l.Outline(np.array(box, float), own, rough_skeleton(np.array(box, float), own), patch)


def columns(picture: np.ndarray[Any, Any], label: int) -> tuple[int, int]:
    """First and last column of a label."""
    x = np.nonzero((picture == label).any(0))[0]
    return int(x[0]), int(x[-1])


def test_what_nobody_claims_above_one_half_is_background_and_the_box_cuts() -> None:
    """Claims 0.4 left of x = 60 and 0.9 from there; the box ends at 120, and 6 % of its 60 pixels is 3.6."""
    patch = claimed(60, 180, 0.9)
    patch.share[:, :60] = 0.4
    picture, sure = l.labels([somebody([60, 0, 120, 119], patch)], HEIGHT, WIDTH)
    assert columns(picture, 1) == pytest.approx((60, 123), abs=2)
    assert sure == [pytest.approx(0.9, abs=0.02)]


def test_pixels_that_two_people_claim_go_to_the_nearer_skeleton_whoever_claims_more() -> None:
    """Two people of equal shoulders at x = 45 and x = 135 who both claim all between: the border lies halfway."""
    left = somebody([0, 0, 90, 119], claimed(0, 180, 0.7))
    right = somebody([90, 0, 180, 119], claimed(0, 180, 0.99))
    wide = [l.Outline(np.array([0, 0, 180.0, 119]), None, p.skeleton, p.patch) for p in (left, right)]
    picture, _ = l.labels(wide, HEIGHT, WIDTH)
    row = picture[60]
    assert set(row.tolist()) == {1, 2}
    assert int((row == 1).sum()) == pytest.approx(90, abs=3)
    assert (row[:80] == 1).all() and (row[100:] == 2).all()


def test_a_face_is_its_owners() -> None:
    """Both claim the second one's face; the first one's claim is damped there to 0.19."""
    first = somebody([0, 0, 179, 119], claimed(0, 180, 0.95), [20, 10, 50, 50])
    second = somebody([100, 0, 179, 119], claimed(110, 150, 0.6, 10, 50), [110, 10, 150, 50])
    picture, _ = l.labels([first, second], HEIGHT, WIDTH)
    assert (picture[15:45, 115:145] == 2).all()
    assert (picture[10:50, 20:50] == 1).all()


def test_somebody_without_a_pixel_has_none_and_no_sureness() -> None:
    picture, sure = l.labels([somebody([0, 0, 50, 50], claimed(0, 180, 0.3))], HEIGHT, WIDTH)
    assert not picture.any() and sure == [0.0]
    assert l.labels([], 2, 2)[0].shape == (2, 2)


def test_a_mask_is_asked_whether_it_covers_the_middle_of_the_face() -> None:
    """The middle half of a face from x = 40 to 80 is 50 to 70; the mask begins at x = 60."""
    assert share_of(claimed(60, 180, 0.9), np.array([40, 20, 80, 60.0])) == pytest.approx(0.5, abs=0.05)
    assert share_of(claimed(90, 180, 0.9), np.array([40, 20, 80, 60.0])) == 0


def test_known_faces_are_found_again_and_others_only_where_they_fit() -> None:
    points = np.zeros((5, 2))
    faces = [Face(np.array(box, float), 0.9, points) for box in ([12, 10, 32, 30], [110, 10, 130, 30])]
    known = np.array([[np.nan] * 4, [10, 10, 30, 30], [60, 60, 70, 70]])
    body = np.array([[100, 5, 140, 100], [0, 0, 50, 100], [55, 55, 90, 100.0]])
    assert own_faces(faces, known, body) == [faces[1], faces[0], None]
