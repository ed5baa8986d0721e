"""Looks at frames of a shot with pose, hand, face and object models, and lays what it sees out as a `Window`.

Persons come from a perception run: their boxes on a frame are read off its samples. A frame is looked at for itself, so
several can be looked at at once and in any order with the same result.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ml.media.decode import read_frames
from ml.perception import registry
from ml.perception.geometry import size
from ml.perception.gestures.arms import ROOM, TOP
from ml.perception.gestures.protocol import Footage
from ml.perception.gestures.things import follow
from ml.perception.gestures.window import (
    ELBOWS,
    FACE_M,
    HIPS,
    SHOULDER_M,
    SHOULDERS,
    TORSO_M,
    WRISTS,
    Array,
    Window,
)
from ml.perception.hands import Owner, has_hand, owner
from ml.perception.matching import assign_faces
from ml.perception.protocols import Detection, Face, FaceDetector, Hand, Image, ObjectDetector, Pose, PoseEstimator
from ml.perception.sightings import Sightings

BACKENDS = ("blazepose", "hands", "centerface", "nanodet")
REACH_FRAMES_S = 0.75  # how far from a frame the samples of a person may lie
OBJECT_SCORE = 0.4
OUT_M = 0.08  # hands are looked at on arms that are this far out of rest
HAND_PX = 24.0  # a hand smaller than this is too small for the palm detector, and for its fingers to be told apart
HAND_M, AROUND_M = 0.18, 0.9  # length of a hand; side of the square in which it is looked for
NEIGHBOUR = 1.0  # somebody within this many body widths may be given something
MAX_THREADS = 2  # one video gets two cores


@dataclass(frozen=True)
class Wanted:
    """What to look for on a frame: poses of `persons` (None: everybody), hands of raised arms, objects."""

    persons: frozenset[int] | None = None
    hands: bool = False
    objects: bool = False


@dataclass
class Seen:
    """What one frame shows; pixels. Arrays and lists in the order of `persons`."""

    frame: int
    persons: list[int]
    body: Array
    face: Array
    poses: list[Pose | None]
    hands: dict[tuple[int, int], tuple[Hand, bool]] = field(default_factory=dict)  # (person, side) -> hand, unsure
    objects: list[Detection] | None = None
    seconds: dict[str, float] = field(default_factory=dict)


class Eyes:
    """The loaded backends. Safe to use from several threads."""

    def __init__(self, weights: Path | None) -> None:
        self._pose: PoseEstimator
        self._faces: FaceDetector
        self._objects: ObjectDetector
        self._pose, self._hands, self._faces, self._objects = (registry.load(name, weights) for name in BACKENDS)

    def look(self, bgr: Image, footage: Footage, frame: int, wanted: Wanted) -> Seen:
        """One frame."""
        boxes = boxes_at(footage, frame, bgr)
        persons = sorted(boxes)
        body = np.array([boxes[p] for p in persons]).reshape(-1, 4)
        spent: dict[str, float] = {}
        known = Sightings({}) if footage.known is None else footage.known
        with timed(spent, "faces"):
            faces = known.faces(bgr, frame, self._faces.detect) if persons else []
            mine = own_faces(faces, body)
        closer = near(persons, body, wanted.persons)
        with timed(spent, "poses"):
            poses = [
                self._pose_of(bgr, frame, box, face, known) if person in closer else None
                for person, box, face in zip(persons, body, mine, strict=True)
            ]
        shown = np.array([np.full(4, np.nan) if f is None else f.box for f in mine]).reshape(-1, 4)
        seen = Seen(frame, persons, body, shown, poses, seconds=spent)
        if wanted.hands:
            with timed(spent, "hands"):
                seen.hands = self._hands_of(bgr, seen, wanted)
        if wanted.objects:
            with timed(spent, "objects"):
                seen.objects = [d for d in self._objects.detect(bgr, OBJECT_SCORE) if d.name != "person"]
        return seen

    def recall(self, footage: Footage, frame: int, wanted: Wanted) -> Seen | None:
        """What `look` would say, from what is known alone; None where something of it is not."""
        size = None if footage.known is None else footage.known.size_of(frame)
        if size is None or wanted.hands or wanted.objects:
            return None
        blank = np.broadcast_to(np.uint8(0), (*size, 3))
        try:
            return Memory().look(blank, footage, frame, wanted)
        except Unknown:
            return None

    def _pose_of(self, bgr: Image, frame: int, box: Array, face: Face | None, known: Sightings) -> Pose | None:
        placed = known.pose(bgr, frame, box, face, lambda: self._pose.placed(bgr, box, face))
        return None if placed is None else placed.pose

    def _hands_of(self, bgr: Image, seen: Seen, wanted: Wanted) -> dict[tuple[int, int], tuple[Hand, bool]]:
        """Hands of raised arms: at the pose's wrist, else one that the palm detector finds around it."""
        arms = [
            (k, side, pose)
            for k, pose in enumerate(seen.poses)
            if pose is not None and (wanted.persons is None or seen.persons[k] in wanted.persons)
            for side in (0, 1)
            if is_raised(pose, side, seen.face[k])
        ]
        found: dict[tuple[int, int], tuple[Hand, bool]] = {}
        for k, side, pose in arms:
            hand = self._hands.at_wrist(bgr, pose, side)
            if hand is None and HAND_M * metre(pose, seen.face[k]) >= HAND_PX:
                wrist = pose.points[WRISTS[side], :2]
                near = self._hands.each_palm(bgr, (wrist, AROUND_M * metre(pose, seen.face[k]), 0.0))
                hand = next((h for h in near if has_hand([h], wrist)), None)
            if hand is not None:
                keep(found, hand, owner(hand, seen.poses, seen.body), (k, side))
        return found


class Unknown(Exception):
    """Somebody would have to look at the picture."""


class Memory(Eyes):
    """Says what is known, and raises Unknown where a model would have to be asked."""

    def __init__(self) -> None:
        self._pose = self._faces = self._objects = self._hands = self  # type: ignore[assignment]

    def detect(self, *_: Any) -> Any:
        raise Unknown

    placed = detect


def keep(found: dict[tuple[int, int], tuple[Hand, bool]], hand: Hand, whose: Owner, arm: tuple[int, int]) -> None:
    """Note a hand found at an arm, unless it is clearly another's or that person's other hand."""
    person, side = arm
    if whose.unsure and person in (whose.person, whose.other):
        found[arm] = hand, True
    elif whose.person == person and whose.side in (side, None):
        found[arm] = hand, False


@contextmanager
def timed(spent: dict[str, float], kind: str) -> Iterator[None]:
    """Add the processor seconds of this thread."""
    start = time.thread_time()
    yield
    spent[kind] = spent.get(kind, 0.0) + time.thread_time() - start


def boxes_at(footage: Footage, frame: int, bgr: Image) -> dict[int, Array]:
    """Body boxes in pixels of everybody whom the run's samples know around a frame of the same shot."""
    rate = footage.index.frames / max(footage.index.duration_s, 1e-6)
    reach = max(1, round(REACH_FRAMES_S * rate))
    low, high = next((a, b) for a, b in footage.shots if a <= frame < b)
    people = footage.people.during(low, high)
    scale = np.tile([bgr.shape[1], bgr.shape[0]], 2)
    return {person: body * scale for person, (body, _) in people.at(frame, reach).items()}


def own_faces(faces: list[Face], body: Array) -> list[Face | None]:
    """The face of each person, None for none."""
    owner_ = assign_faces(np.array([f.box for f in faces]).reshape(-1, 4), body)
    return [faces[k] if k >= 0 else None for k in owner_]


def near(persons: Sequence[int], body: Array, wanted: frozenset[int] | None) -> set[int]:
    """The wanted persons and those beside them."""
    if wanted is None:
        return set(persons)
    result = {p for p in persons if p in wanted}
    for k, person in enumerate(persons):
        if person in wanted:
            width = size(body[k])[0]
            gap = np.maximum(body[:, 0] - body[k, 2], body[k, 0] - body[:, 2])
            result |= {persons[int(j)] for j in np.flatnonzero(gap <= NEIGHBOUR * width)}
    return result


def is_raised(pose: Pose, side: int, face: Array) -> bool:
    """A rough form of `arms.outside` for one frame: the wrist beside the trunk, above the chest or above the elbow."""
    points, unit = pose.points[:, :2], metre(pose, face)
    shoulders, wrist, elbow = points[list(SHOULDERS)], points[WRISTS[side]], points[ELBOWS[side]]
    beside = max(shoulders[:, 0].min() - wrist[0], wrist[0] - shoulders[:, 0].max()) - ROOM * unit
    above = shoulders[:, 1].mean() + TOP * unit - wrist[1]
    return bool(max(beside, above, elbow[1] - wrist[1]) >= OUT_M * unit)


def metre(pose: Pose, face: Array) -> float:
    """Pixels per metre on one frame, as `window.scales` has it over many; at least 1."""
    points = pose.points[:, :2]
    shoulders, hips = points[list(SHOULDERS)], points[list(HIPS)]
    return max(
        float(np.linalg.norm(shoulders[0] - shoulders[1])) / SHOULDER_M,
        float(np.linalg.norm(shoulders.mean(0) - hips.mean(0))) / TORSO_M,
        float(np.nan_to_num(face[3] - face[1])) / FACE_M,
        1.0,
    )


def threads() -> int:
    return min(MAX_THREADS, len(os.sched_getaffinity(0)))


def look_at(
    eyes: Eyes, footage: Footage, frames: Array, wanted: Callable[[int], Wanted], report: Callable[[int], None]
) -> Iterator[Seen]:
    """The frames (ascending) in order; a few are looked at at once, and only those of which not everything is known.
    `wanted` is asked by position, `report` is called with the number of frames done and may raise."""
    waiting: deque[Future[Seen]] = deque()
    known = [eyes.recall(footage, int(number), wanted(k)) for k, number in enumerate(frames)]
    new = [k for k, seen in enumerate(known) if seen is None]
    with ThreadPoolExecutor(threads()) as pool:
        pictures = zip(new, read_frames(footage.video, footage.index, frames[new]), strict=True)
        for done, seen in enumerate(known):
            while len(waiting) <= threads() and (following := next(pictures, None)) is not None:
                k, (number, bgr) = following
                waiting.append(pool.submit(eyes.look, bgr, footage, number, wanted(k)))
            yield waiting.popleft().result() if seen is None else seen
            report(done + 1)


def laid_out(seen: Sequence[Seen], footage: Footage) -> Window:
    """What the looks saw, as arrays over time."""
    persons = sorted({person for look in seen for person in look.persons})
    place = {person: k for k, person in enumerate(persons)}
    seconds = footage.index.seconds[[look.frame for look in seen]]
    shape = (len(seen), len(persons))
    pose, hand = np.full((*shape, 33, 3), np.nan), np.full((*shape, 2, 21, 2), np.nan)
    unsure = np.zeros((*shape, 2), bool)
    body, face = np.full((*shape, 4), np.nan), np.full((*shape, 4), np.nan)
    for t, look in enumerate(seen):
        for k, person in enumerate(look.persons):
            p = place[person]
            body[t, p], face[t, p] = look.body[k], look.face[k]
            own = look.poses[k]
            if own is not None:
                pose[t, p] = own.points[:, :3]
        for (k, side), (found, doubtful) in look.hands.items():
            hand[t, place[look.persons[k]], side] = found.points
            unsure[t, place[look.persons[k]], side] = doubtful
    thing, names, scores = follow(seconds, [look.objects for look in seen])
    frames = np.array([look.frame for look in seen], np.int64)
    return Window(
        frames, seconds, np.array(persons, np.int64), pose, hand, unsure, body, face, thing, names, scores,
        footage.width, footage.height,
    )  # fmt: skip
