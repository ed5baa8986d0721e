"""Tracks of a new run find the persons of the old one; expected owners follow from how the scenes are drawn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ml.social.relink import Boxes, Piece, assign, cut_pieces, follow_faces, iou, overlap


def boxes(*tracks: tuple[int, range, float, float]) -> Boxes:
    """(track, frames, x at frame 0, x speed per frame): boxes 0.1 wide and 0.5 high."""
    rows = sorted(
        (frame, track, x + speed * frame, 0.2, x + speed * frame + 0.1, 0.7)
        for track, frames, x, speed in tracks
        for frame in frames
    )
    table = np.array(rows)
    return Boxes(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2:])


def test_iou_by_hand() -> None:
    # 2x2 boxes shifted by 1: 2 common of 4 + 4 - 2 = 6
    a, b = np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 3, 2]])
    assert iou(a, b) == pytest.approx([2 / 6])
    assert iou(a, a + 5) == pytest.approx([0])


def test_overlap_interpolates_the_old_boxes_and_counts_common_frames_only() -> None:
    # Old: x is 0.1 at frame 0 and 0.2 at frame 10, so 0.12 at 2 and 0.15 at 5; it is not known after 10, nor piece 2.
    old = boxes((1, range(0, 11, 10), 0.1, 0.01), (2, range(20, 30, 5), 0.5, 0.0))
    # New: half a width beside it at 2 (IoU 1/2 of 3/2), on it at 5, alone at 12.
    new = Boxes(
        np.array([2, 5, 12]), np.array([7, 7, 7]), np.array([[x, 0.2, x + 0.1, 0.7] for x in (0.17, 0.15, 0.15)])
    )
    total, shared = overlap(new, old, np.array([[7, 0, 20]] * 3), np.array([[1, 0, 11], [2, 0, 30], [3, 0, 30]]))
    assert total == pytest.approx([4 / 3, 0, 0])
    assert shared.tolist() == [2, 0, 0]


def test_pieces_are_cut_inside_only() -> None:
    assert cut_pieces([Piece(1, 0, 10)], [0, 4, 10, 12]) == [Piece(1, 0, 4), Piece(1, 4, 10)]


def test_people_are_found_again_though_ids_and_frames_differ() -> None:
    old = boxes((1, range(0, 100, 10), 0.1, 0.002), (2, range(0, 100, 10), 0.7, -0.002))
    new = boxes((9, range(3, 90, 7), 0.1, 0.002), (8, range(3, 90, 7), 0.7, -0.002))
    left, right = Piece(9, 3, 90), Piece(8, 3, 90)
    known = {"ann": [Piece(1, 0, 100)], "ben": [Piece(2, 0, 100)]}
    assert assign(new, [right, left], old, known) == {left: "ann", right: "ben"}


def test_a_hand_made_split_is_found_again_in_one_unbroken_track() -> None:
    """Raw track 1 is ann up to frame 50 and ben after it; the new run has one track through both."""
    old = boxes((1, range(0, 100, 5), 0.4, 0.0))
    new = boxes((4, range(0, 100, 5), 0.4, 0.0))
    known = {"ann": [Piece(1, 0, 50)], "ben": [Piece(1, 50, 100)]}
    pieces = cut_pieces([Piece(4, 0, 100)], [50])
    assert assign(new, pieces, old, known) == {pieces[0]: "ann", pieces[1]: "ben"}


def test_a_broken_track_keeps_its_person_and_two_at_once_never_share_one() -> None:
    old = boxes((1, range(0, 100, 5), 0.4, 0.0))
    new = boxes((4, range(0, 50, 5), 0.4, 0.0), (5, range(50, 100, 5), 0.4, 0.0), (6, range(0, 100, 5), 0.42, 0.0))
    pieces = [Piece(4, 0, 50), Piece(5, 50, 100), Piece(6, 0, 100)]
    known = {"ann": [Piece(1, 0, 100)]}
    found = assign(new, pieces[:2], old, known)
    assert found == {pieces[0]: "ann", pieces[1]: "ann"}
    found = assign(new, pieces, old, known)
    owners = [p for p, person in found.items() if person == "ann"]
    assert owners in ([pieces[2]], [pieces[0], pieces[1]])  # either is consistent; both at once would not be


def test_nobody_is_claimed_from_far_away() -> None:
    old, new = boxes((1, range(0, 50, 5), 0.1, 0.0)), boxes((4, range(0, 50, 5), 0.6, 0.0))
    assert assign(new, [Piece(4, 0, 50)], old, {"ann": [Piece(1, 0, 50)]}) == {}


def test_faces_join_what_boxes_cannot_and_numbers_follow_the_order() -> None:
    a, b, c, d = Piece(1, 0, 50), Piece(2, 0, 50), Piece(3, 50, 90), Piece(4, 50, 90)
    owner = follow_faces([a, b, c, d], {}, [(1, 3, 0.8), (2, 4, 0.75), (1, 4, 0.71)])
    assert owner == {a: "new-0", b: "new-1", c: "new-0", d: "new-1"}


def test_a_face_gives_its_known_person_on_but_never_takes_two_known_ones_together() -> None:
    a, b, c = Piece(1, 0, 50), Piece(2, 60, 90), Piece(3, 100, 120)
    assert follow_faces([a, b], {a: "ann"}, [(1, 2, 0.9)]) == {a: "ann", b: "ann"}
    assert follow_faces([a, b], {a: "ann", b: "ben"}, [(1, 2, 0.9)]) == {a: "ann", b: "ben"}
    # a third track alike both, but seen together with neither: the stronger tie wins
    assert follow_faces([a, b, c], {a: "ann", b: "ben"}, [(1, 3, 0.8), (2, 3, 0.9)])[c] == "ben"


def test_faces_never_join_two_pieces_seen_at_once_even_through_a_third() -> None:
    a, b, c = Piece(1, 0, 50), Piece(2, 60, 90), Piece(3, 70, 95)
    owner = follow_faces([a, b, c], {}, [(1, 2, 0.9), (1, 3, 0.8)])
    assert owner[a] == owner[b] != owner[c]


def test_groups_of_many_pieces_keep_apart_what_was_seen_at_once() -> None:
    """Two long chains of faces, one beginning within the other's gaps: a tie between them holds only if none meet."""
    evens, odds = ([Piece(100 * k + at, 20 * at + 10 * k, 20 * at + 10 * k + 10) for at in range(20)] for k in (0, 1))
    chains = [(a.track, b.track, 0.9) for own in (evens, odds) for a, b in pairwise(own)]
    joined = follow_faces([*evens, *odds], {odds[3]: "ann"}, [*chains, (evens[5].track, odds[9].track, 0.8)])
    assert set(joined.values()) == {"ann"}
    intruder = Piece(500, 55, 56)  # seen within evens[2] = [40, 50)'s neighbour odds[2] = [50, 60)
    owner = follow_faces(
        [*evens, *odds, intruder], {}, [*chains, (evens[0].track, 500, 0.8), (odds[0].track, 500, 0.7)]
    )
    assert owner[intruder] == owner[evens[7]] == "new-0" and owner[odds[7]] == "new-1"
