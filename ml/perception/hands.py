"""Hands: a palm detector on two square tiles of the picture, crops at the wrists of poses, and 21 landmarks in each.

Palm detector: input 1x256x256x3, RGB -1..1; 2944x19 (score logit, box, 7 points: 0 wrist, 2 middle knuckle). Landmarks:
input 1x224x224x3, RGB 0..1; `Identity` 21x3, `Identity_1` flag, `Identity_2` handedness.

Whose hand it is, is a separate question (`owner`), whose answer may be "unsure": in one of our photos the pointing hand
of one man lies on the body of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ml.perception.anchors import anchors, decode
from ml.perception.geometry import crop, transform
from ml.perception.pose import upright
from ml.perception.protocols import Array, Hand, Image, Pose, Roi
from ml.perception.session import Session

PALM_PIXELS, PIXELS = 256, 224
PALM_SCORE, FLAG, SECOND_PASS_FLAG = 0.4, 0.5, 0.1
PALM_POINTS = [0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18]  # of the hand, between the wrist and the middle joints
WRISTS = ((15, 19, 17), (16, 20, 18))  # left and right of a pose: wrist, index, little finger
ELBOWS = (13, 14)
SEEN = 0.3  # visibility from which a wrist of a pose is looked at
REACH = 3.0  # hand sizes between a hand's wrist and its owner's
BOX_COST = 2.5  # of somebody without a pose in whose box the wrist lies, in hand sizes
TURN_COST = 0.5  # of a hand that points straight back along its forearm, in hand sizes
UNSURE = 0.35  # hand sizes between the best and the second person below which nobody can tell


def hand_size(hand: Hand) -> float:
    """Longer side of the hand's bounding box, pixels."""
    return float(np.ptp(hand.points, axis=0).max())


def roi_of_points(points: Array) -> Roi:
    """The crop for a further pass: twice the turned box of the palm points, a tenth further towards the fingers."""
    angle = upright(points[[5, 9, 13]].mean(0) - points[0])
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s], [s, c]])  # rows times this: picture -> crop axes
    inside = points[PALM_POINTS] @ turn
    low, high = inside.min(0), inside.max(0)
    centre = (low + high) / 2 - np.array([0, 0.1 * (high - low)[1]])
    return turn @ centre, float(max(high - low) * 2), angle


def roi_of_palm(box: Array, wrist: Array, knuckle: Array) -> Roi:
    """Crop around a detected palm: half its width further along wrist -> middle knuckle, 2.6 widths in size."""
    along = knuckle - wrist
    width = float(max(box[2:] - box[:2]))
    return (box[:2] + box[2:]) / 2 + along / np.linalg.norm(along) * width / 2, width * 2.6, upright(along)


def roi_of_wrist(pose: Pose, side: int) -> Roi | None:
    """Crop around a pose's hand: at its knuckles, 5.4 times their distance from the wrist; None when they coincide."""
    wrist, index, little = pose.points[list(WRISTS[side]), :2]
    knuckles = (2 * index + little) / 3
    length = float(np.linalg.norm(knuckles - wrist))
    return (knuckles, 5.4 * length, upright(knuckles - wrist)) if length >= 1 else None


def tiles(height: int, width: int) -> list[Roi]:
    """One square around a nearly square picture, else two at the ends of the longer side."""
    short, long = sorted((height, width))
    if long < 1.2 * short:
        return [(np.array([width / 2, height / 2]), float(long), 0.0)]
    ends = (short / 2, long - short / 2)
    centres = [(end, short / 2) if width > height else (short / 2, end) for end in ends]
    return [(np.array(centre), float(short), 0.0) for centre in centres]


def distinct(hands: Sequence[Hand]) -> list[Hand]:
    """The sure ones, without those whose centre is nearer than 0.4 hand sizes to a surer one's."""
    kept: list[Hand] = []
    for hand in sorted((h for h in hands if h.flag >= FLAG), key=lambda h: -h.flag):
        centre = hand.points.mean(0)
        if all(
            np.linalg.norm(centre - other.points.mean(0)) > 0.4 * max(hand_size(hand), hand_size(other))
            for other in kept
        ):
            kept.append(hand)
    return kept


def wrist_seen(pose: Pose, side: int, height: int, width: int) -> bool:
    """Whether a pose's wrist is worth a look: visible, and inside the picture."""
    x, y, visible = pose.points[WRISTS[side][0], :3]
    return bool(visible >= SEEN and 0 <= x < width and 0 <= y < height)


def has_hand(hands: Sequence[Hand], wrist: Array) -> bool:
    """Whether one of the hands begins within 0.8 hand sizes of a wrist."""
    return any(h.flag >= FLAG and np.linalg.norm(h.points[0] - wrist) < 0.8 * hand_size(h) for h in hands)


# ---------------------------------------------------------------------------------------------------------------------
# Whose hand


@dataclass(frozen=True)
class Owner:
    """Whose hand it is: number of the person (None: nobody near) and side (0 left, 1 right, None: not known).

    `unsure`: a second person is as likely; `person` is then the first and `other` the second.
    """

    person: int | None
    side: int | None = None
    unsure: bool = False
    other: int | None = None


def owner(hand: Hand, poses: Sequence[Pose | None], boxes: Array) -> Owner:
    """Whose hand it is, among persons given by their poses (None: without one) and boxes (P x 4).

    Cost, in hand sizes: distance from the hand's wrist to the person's nearest wrist, plus TURN_COST x (1 - cosine of
    the angle between elbow -> wrist and the hand) / 2; without a pose BOX_COST where the box holds the wrist. Somebody
    further than REACH is none. Unsure when the second person costs less than UNSURE more.
    """
    costs = sorted(
        (cost, person, side)
        for person, (pose, box) in enumerate(zip(poses, boxes, strict=True))
        for cost, side in _costs(hand, pose, box)
    )
    if not costs:
        return Owner(None)
    cost, person, side = costs[0]
    rival = next(((c, p) for c, p, _ in costs if p != person), None)
    unsure = rival is not None and rival[0] - cost < UNSURE
    return Owner(person, None if side < 0 else side, unsure, rival[1] if rival is not None and unsure else None)


def _costs(hand: Hand, pose: Pose | None, box: Array) -> list[tuple[float, int]]:
    """Cost and side (-1: not known) of the ways in which the hand can be this person's."""
    wrist = hand.points[0]
    if pose is None:
        inside = box[0] < wrist[0] < box[2] and box[1] < wrist[1] < box[3]
        return [(BOX_COST, -1)] if inside else []
    found = []
    for side in (0, 1):
        at = pose.points[WRISTS[side][0], :2]
        away = float(np.linalg.norm(at - wrist)) / hand_size(hand)
        if away < REACH:
            turn = (1 - _cosine(at - pose.points[ELBOWS[side], :2], hand.points[9] - wrist)) / 2
            found.append((away + TURN_COST * turn, side))
    return found


def _cosine(a: Array, b: Array) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-9))


# ---------------------------------------------------------------------------------------------------------------------
# Models


class Hands:
    name: ClassVar[str] = "hands"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("handdetect", "handlandmark-full")

    def __init__(self, folder: Path | None = None) -> None:
        self._palm, self._session = (Session(name, folder) for name in self.weights)
        self._anchors = anchors(PALM_PIXELS)

    def palms(self, bgr: Image, around: Roi | None = None) -> list[Hand]:
        """The hands that the palm detector finds in one square, or on the tiles of the whole picture."""
        return list(self.each_palm(bgr, around))

    def each_palm(self, bgr: Image, around: Roi | None = None) -> Iterator[Hand]:
        """The same one by one, each looked at when it is asked for."""
        squares = tiles(*bgr.shape[:2]) if around is None else [around]
        return (self.landmarks(bgr, roi) for square in squares for roi in self._palms(bgr, square))

    def at_wrist(self, bgr: Image, pose: Pose, side: int) -> Hand | None:
        """The hand at the left (0) or right (1) wrist of a pose, in two passes; None where there is none to be seen."""
        roi = roi_of_wrist(pose, side) if wrist_seen(pose, side, *bgr.shape[:2]) else None
        hand = None if roi is None else self.landmarks(bgr, roi)
        if hand is None or hand.flag < SECOND_PASS_FLAG:
            return None
        hand = self.landmarks(bgr, roi_of_points(hand.points))
        return hand if hand.flag >= FLAG else None

    def find(self, bgr: Image, poses: Sequence[Pose | None]) -> list[Hand]:
        """All hands of a picture: palms first, then wrists of poses without a hand."""
        found = self.palms(bgr)
        for pose in poses:
            for side in (0, 1):
                if pose is not None and not has_hand(found, pose.points[WRISTS[side][0], :2]):
                    hand = self.at_wrist(bgr, pose, side)
                    found += [hand] if hand is not None else []
        return distinct(found)

    def landmarks(self, bgr: Image, roi: Roi) -> Hand:
        """The points in one crop, in picture pixels."""
        patch, matrix = crop(bgr, roi, PIXELS)
        outputs = self._session(patch[None, :, :, ::-1].astype(np.float32) / 255)
        points = transform(matrix, outputs["Identity"].reshape(21, 3)[:, :2].astype(np.float64))
        flag, right = (float(outputs[name].ravel()[0]) for name in ("Identity_1", "Identity_2"))
        return Hand(points, flag, right)

    def _palms(self, bgr: Image, tile: Roi) -> list[Roi]:
        """Landmark crops of the palms in one tile."""
        patch, matrix = crop(bgr, tile, PALM_PIXELS)
        x = patch[None, :, :, ::-1].astype(np.float32) / 127.5 - 1
        output = next(iter(self._palm(x).values()))[0]
        boxes, _, points = decode(output, self._anchors, PALM_PIXELS, PALM_SCORE)
        if not len(boxes):
            return []
        corners = transform(matrix, boxes.reshape(-1, 2)).reshape(-1, 4)
        marks = transform(matrix, points.reshape(-1, 2)).reshape(len(boxes), -1, 2)
        return [roi_of_palm(box, mark[0], mark[2]) for box, mark in zip(corners, marks, strict=True)]
