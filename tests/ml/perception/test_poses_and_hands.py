"""Anchors, crops, the question whose it is, on numbers made by hand; and the models on photos."""

from __future__ import annotations

import numpy as np
import pytest

from ml.perception import anchors, hands, pose
from ml.perception.geometry import crop, transform
from ml.perception.hands import Owner
from ml.perception.protocols import Array, Face, Hand, Pose
from ml.perception.session import Session
from ml.weights import fetch


def test_anchors_by_number_and_place() -> None:
    palms, bodies = anchors.anchors(256), anchors.anchors(224)
    assert (len(palms), len(bodies)) == (2944, 2254)
    assert palms[0].tolist() == palms[1].tolist() == [0.5 / 32, 0.5 / 32]
    assert palms[-1].tolist() == [7.5 / 8, 7.5 / 8] and bodies[-1].tolist() == [6.5 / 7, 6.5 / 7]
    assert palms[2048:2050].tolist() == [[0.5 / 16] * 2] * 2  # the stride of 16 begins after 2 x 32 x 32


def test_one_anchor_above_threshold_gives_the_box_worked_out_by_hand() -> None:
    centres = anchors.anchors(256)
    output = np.full((2944, 19), 0.0, np.float32)
    output[:, 0] = -20
    output[2048, :5] = (3, 2, -4, 40, 20)  # logit, centre off the anchor, size
    output[2048, 5:7] = (1, 1)  # the first point off the anchor
    boxes, scores, points = anchors.decode(output, centres, 256, 0.4)
    # the anchor is at (8, 8): centre (10, 4), size 40 x 20
    assert boxes.tolist() == [[-10, -6, 30, 14]]
    assert scores[0] == pytest.approx(1 / (1 + np.exp(-3)))
    assert points.shape == (1, 7, 2) and points[0, 0].tolist() == [9, 9] and points[0, 1].tolist() == [8, 8]
    empty = anchors.decode(np.full((2944, 19), -20, np.float32), centres, 256, 0.4)
    assert [len(part) for part in empty] == [0, 0, 0]


FACE = Face(np.array([90.0, 80, 110, 104]), 0.9, np.array([[95.0, 88], [105, 88], [100, 94], [96, 99], [104, 99]]))
BOX = np.array([60.0, 70, 140, 300])


def posed(nose: tuple[float, float], flag: float = 0.9) -> Pose:
    points = np.zeros((33, 4))
    points[:, :2] = nose
    return Pose(points, flag)


def test_a_crop_hangs_below_the_face() -> None:
    centre, side, angle = pose.roi_from_face(FACE, BOX)
    assert side == pytest.approx(10 * 24) and angle == 0  # 1.15 x 230 / 24 = 11.02 face heights, at most 10
    assert centre.tolist() == pytest.approx([100, 92 + 0.35 * 240])
    assert pose.roi_from_face(FACE, BOX, 6)[1] == 144


@pytest.mark.parametrize("tilt", [-15.0, 10.0, 40.0])
def test_a_crop_leans_with_the_head_up_to_20_degrees(tilt: float) -> None:
    a = np.radians(tilt)
    turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    leaning = Face(FACE.box, 0.9, (FACE.points - [100, 92]) @ turn.T + [100, 92])
    assert np.degrees(pose.roi_from_face(leaning, BOX)[2]) == pytest.approx(np.clip(tilt, -20.05, 20.05), abs=0.01)


def test_a_pose_is_mine_when_its_nose_is_at_my_nose() -> None:
    assert pose.is_own(posed((104, 94)), BOX, FACE)
    assert not pose.is_own(posed((104, 94), flag=0.4), BOX, FACE)
    assert not pose.is_own(posed((113, 94)), BOX, FACE)  # 13 px; the limit is 0.6 x 20
    assert pose.is_own(posed((135, 200)), BOX, None)  # no face: the shoulders lie in the box
    assert not pose.is_own(posed((150, 200)), BOX, None)


def test_a_ring_turned_upright() -> None:
    centre, side, angle = pose.roi_from_ring(np.array([50.0, 80]), np.array([50.0, 40]))
    assert (centre.tolist(), side, angle) == ([50, 80], 100, pytest.approx(0))
    assert pose.roi_from_ring(np.zeros(2), np.array([10.0, 0]))[2] == pytest.approx(np.pi / 2)


# ---------------------------------------------------------------------------------------------------------------------
# Hands


def hand_at(x: float, y: float, towards: tuple[float, float] = (0, -1), size: float = 40, flag: float = 0.9) -> Hand:
    points = np.tile(np.array([x, y], float), (21, 1))
    points += np.linspace(0, size, 21)[:, None] * np.array(towards, float)
    return Hand(points, flag, 0.5)


def body(left: Array | None = None, right: Array | None = None, elbow_off: tuple[float, float] = (0, 60)) -> Pose:
    points = np.zeros((33, 4))
    points[:, 2] = 1
    for side, wrist in ((0, left), (1, right)):
        at = np.array([1e4, 1e4]) if wrist is None else np.asarray(wrist, float)
        points[15 + side, :2] = points[17 + side, :2] = points[19 + side, :2] = at
        points[13 + side, :2] = at + elbow_off
    return Pose(points, 0.9)


WIDE = np.array([0.0, 0, 400, 400])


def test_a_hand_belongs_to_the_nearest_wrist() -> None:
    poses = [body(left=np.array([100.0, 100])), body(right=np.array([200.0, 100]))]
    assert hands.owner(hand_at(110, 100), poses, np.stack([WIDE, WIDE])) == Owner(0, 0)
    assert hands.owner(hand_at(190, 100), poses, np.stack([WIDE, WIDE])) == Owner(1, 1)


def test_further_than_three_hand_sizes_it_is_nobodys() -> None:
    poses = [body(left=np.array([100.0, 100]))]
    assert hands.owner(hand_at(100 + 3.1 * 40, 100), poses, WIDE[None]) == Owner(None)


def test_between_two_wrists_it_is_unsure() -> None:
    poses = [body(left=np.array([100.0, 100])), body(right=np.array([130.0, 100]))]
    found = hands.owner(hand_at(113, 100), poses, np.stack([WIDE, WIDE]))
    assert found.unsure and {found.person, found.other} == {0, 1}


def test_where_arms_cross_the_forearm_decides() -> None:
    """Both wrists are as near; one forearm comes from below, as the hand goes on, the other from above."""
    mine = body(left=np.array([100.0, 100]), elbow_off=(0, 60))
    other = body(right=np.array([100.0, 100]), elbow_off=(0, -60))
    found = hands.owner(hand_at(100, 100, (0, -1)), [other, mine], np.stack([WIDE, WIDE]))
    assert (found.person, found.side, found.unsure) == (1, 0, False)


def test_without_a_pose_the_box_that_holds_it() -> None:
    boxes = np.array([[0.0, 0, 50, 400], [80, 0, 200, 400]])
    assert hands.owner(hand_at(100, 200), [None, None], boxes) == Owner(1, None)
    assert hands.owner(hand_at(60, 200), [None, None], boxes) == Owner(None)


def test_of_two_finds_of_one_hand_the_surer_stays() -> None:
    found = hands.distinct([hand_at(100, 100, flag=0.6), hand_at(104, 100, flag=0.9), hand_at(100, 100, flag=0.4)])
    assert [h.flag for h in found] == [0.9]
    assert len(hands.distinct([hand_at(100, 100), hand_at(200, 100)])) == 2


@pytest.mark.parametrize(("height", "width", "count"), [(720, 1280, 2), (1280, 720, 2), (600, 700, 1)])
def test_tiles_cover_the_picture(height: int, width: int, count: int) -> None:
    found = hands.tiles(height, width)
    assert len(found) == count
    covered = np.zeros((height, width), bool)
    for (x, y), side, _ in found:
        low, left = max(0, round(y - side / 2)), max(0, round(x - side / 2))
        covered[low : round(y + side / 2), left : round(x + side / 2)] = True
    assert covered.mean() > (0.99 if count == 1 or max(height, width) <= 2 * min(height, width) else 0)


def test_the_second_crop_holds_the_palm_upright() -> None:
    """Landmarks of a hand that points to the right: in the crop it points up, and nothing is lost."""
    points = hand_at(100, 100, (1, 0)).points + np.random.default_rng(0).normal(0, 2, (21, 2))
    roi = hands.roi_of_points(points)
    _, matrix = crop(np.zeros((300, 300, 3), np.uint8), roi, 224)
    back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2]
    inside = transform(back, points)
    assert (inside > 0).all() and (inside < 224).all()
    assert inside[12, 1] < inside[0, 1] - 30 and abs(inside[12, 0] - inside[0, 0]) < 30


# ---------------------------------------------------------------------------------------------------------------------
# Cuts of the pose model


def test_a_cut_of_the_pose_model_says_the_same_and_leaves_the_mask_out() -> None:
    fetch.ensure()
    picture = np.random.default_rng(0).random((1, 256, 256, 3), np.float32)
    whole, cut = Session("blazepose-full")(picture), Session("blazepose-full", outputs=pose.MARKS)(picture)
    assert tuple(cut) == pose.MARKS and pose.MASK in whole
    assert all((cut[name] == whole[name]).all() for name in pose.MARKS)


def test_a_pose_in_its_crop_is_turned_and_scaled_onto_the_picture() -> None:
    marks = np.zeros((33, 4), np.float32)
    marks[0, :3] = 128, 64, 10  # half a crop of 512 picture pixels above its middle: 128 px
    placed = pose.Placed(marks, 0.9, (np.array([300.0, 400]), 512.0, np.pi / 2))  # up is to the right
    assert placed.pose.points[0].tolist() == pytest.approx([428, 400, 0.5, 20])
    assert placed.pose.flag == 0.9
