"""Who is where between looks, and where tags are put."""

from __future__ import annotations

import numpy as np
import pytest

from ml.media.blur import BLOCKS, blur_box, face_area
from ml.media.tags import COLUMNS, Pen, Seen, Tracks, colour_of

SECONDS = np.arange(101) / 10


def one(frames: list[int], *, cuts: tuple[int, ...] = (0,), reach_s: float = 1.0, faces: bool = True) -> Tracks:
    """Somebody whose box moves right by 0.01 a frame."""
    at = np.array(frames)
    body = np.stack([0.01 * at, 0 * at + 0.2, 0.01 * at + 0.1, 0 * at + 0.8], axis=1)
    face = np.where(faces, body * [1, 1, 1, 0.5], np.nan)
    return Tracks(["a"], at, np.zeros(len(at), np.int64), body, face, SECONDS, cuts, reach_s)


def test_between_two_looks_they_are_on_the_way() -> None:
    (seen,) = one([10, 20]).at(13)
    np.testing.assert_allclose(seen.body, [0.13, 0.2, 0.23, 0.8])
    assert len(seen.faces) == 2
    (at_a_look,) = one([10, 20]).at(20)
    np.testing.assert_allclose(at_a_look.body, [0.2, 0.2, 0.3, 0.8])


@pytest.mark.parametrize(("frame", "there"), [(4, False), (5, True), (10, True), (20, True), (25, True), (26, False)])
def test_a_look_tells_about_frames_near_it(frame: int, there: bool) -> None:
    """Looks on frames 10 and 20 at 10 frames per second, reaching 0.5 s."""
    found = one([10, 20], reach_s=0.5).at(frame)
    assert bool(found) is there
    if found and frame != 15:
        assert found[0].body[0] == pytest.approx(0.1 if frame < 15 else 0.2)


def test_a_look_tells_nothing_about_another_shot() -> None:
    tracks = one([10, 20], cuts=(0, 15))
    assert tracks.at(14)[0].body[0] == pytest.approx(0.1) and tracks.at(15)[0].body[0] == pytest.approx(0.2)


def test_faces_are_those_of_the_looks_that_had_one() -> None:
    """Bodies on frames 10, 12, 14 and 20, faces on 10 and 20 only: on frame 13 the face of either side counts."""
    tracks = one([10, 12, 14, 20])
    tracks.face[1:3] = np.nan
    (seen,) = tracks.at(13)
    np.testing.assert_allclose([face[0] for face in seen.faces], [0.1, 0.2])
    np.testing.assert_allclose(seen.body[0], 0.13)
    (alone,) = one([10, 12]).at(15)
    assert alone.held and not seen.held


def test_it_reads_the_samples_of_a_run() -> None:
    """Track 5 is "a" until frame 10 and "b" from there; track 6 is nobody."""
    columns = {name: np.zeros(4, np.float32) for name in COLUMNS}
    columns |= {"frame": np.array([0, 5, 10, 10]), "track": np.array([5, 5, 5, 6]), "body_x2": np.full(4, 0.5)}
    tracks = Tracks.from_samples(columns, [(5, 0, 10, "b"), (5, 10, 20, "a")], seconds=SECONDS, cuts=[0], reach_s=0.1)
    assert [seen.person for seen in tracks.at(0)] == ["b"] and [seen.person for seen in tracks.at(10)] == ["a"]


def test_tags_do_not_cover_each_other_or_the_stamp() -> None:
    pen, picture = Pen(640, 360), np.zeros((360, 640, 3), np.uint8)
    box = np.array([0.0, 0.05, 0.2, 0.9])
    crowd = [Seen(name, box + 0.01 * k, ()) for k, name in enumerate("abc")]
    stamp = pen.stamp_place("frame 100  50.00 s")
    pen.tags(picture, crowd, {"a": "P0", "b": "P1", "c": "P2"}, [stamp])
    assert len(pen.taken) == 4
    for k, first in enumerate(pen.taken):
        for second in pen.taken[k + 1 :]:
            assert first[0] >= second[2] or second[0] >= first[2] or first[1] >= second[3] or second[1] >= first[3]


@pytest.mark.parametrize("box", [(-0.5, -0.5, 0.1, 0.1), (0.9, 0.9, 1.5, 1.5), (0.0, 0.0, 1.0, 1.0), (2, 2, 3, 3)])
def test_boxes_at_the_edge_are_drawn_within_the_picture(box: tuple[float, ...]) -> None:
    pen, picture = Pen(64, 36), np.zeros((36, 64, 3), np.uint8)
    pen.tags(picture, [Seen("a", np.array(box), ())], {"a": "Person 12"})
    assert all(x1 >= 0 and y1 >= 0 for x1, y1, _, _ in pen.taken)
    blur_box(picture, np.array(box))


def test_a_person_keeps_the_colour() -> None:
    assert colour_of("P3") == colour_of("Person 3") != colour_of("P4")


def test_the_blurred_area_holds_the_faces_of_both_looks_with_a_margin() -> None:
    """Faces 0.1 wide and 0.2 high at x = 0.2 and 0.4: from 0.2 to 0.5, and 35 % of that on each side."""
    faces = (np.array([0.2, 0.3, 0.3, 0.5]), np.array([0.4, 0.3, 0.5, 0.5]))
    area = face_area(Seen("a", np.array([0, 0, 1, 1.0]), faces))
    np.testing.assert_allclose(area, [0.2 - 0.105, 0.3 - 0.07, 0.5 + 0.105, 0.5 + 0.07])


def test_without_a_face_it_is_the_upper_third_of_the_body() -> None:
    area = face_area(Seen("a", np.array([0.2, 0.3, 0.4, 0.9]), ()))
    np.testing.assert_allclose(area, [0.2 - 0.07, 0.3 - 0.07, 0.4 + 0.07, 0.5 + 0.07])


def test_what_is_blurred_cannot_be_told_apart() -> None:
    """Two pictures that differ within blocks only are the same afterwards: the difference is gone, not hidden."""
    size = BLOCKS * 8
    first = np.zeros((size, size, 3), np.uint8)
    first[::2] = 200
    second = np.zeros_like(first)
    second[1::2] = 200
    for picture in (first, second):
        blur_box(picture, np.array([0, 0, 1, 1]))
    np.testing.assert_array_equal(first, second)
    assert first.std() < 1
