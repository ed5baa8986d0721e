"""Everything that looks at a frame: persons and objects on each analysed frame; on the sampled ones also faces, their
match to the persons, face mesh and direction, and now and then an embedding.

Between two samples on which everybody is where they were, the tracker's steps are not looked at: the tracker fills them
in by straight lines. That, and the choice of which faces are embedded, is all that one frame decides for another, and
it is forgotten between pieces. So pieces can be analysed in any order and by several processes with the same result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from ml.media.decode import read_frames
from ml.media.index import FrameIndex
from ml.perception import headpose, matching, registry, tracker
from ml.perception.geometry import ious, size
from ml.perception.given import Given
from ml.perception.nanodet import COCO
from ml.perception.protocols import (
    Array,
    Detection,
    Face,
    FaceDetector,
    FaceEmbedder,
    FaceMesher,
    Image,
    ObjectDetector,
)
from ml.perception.records import NAN2, NAN4, Piece, PieceBuilder

PERSON_SCORE = 0.3  # the tracker continues a track down to here; it starts one only at its own, higher score
OBJECT_SCORE = 0.5  # lower: a sofa arm becomes a handbag, crisps a cup
MESH_FLAG = 0.5  # below: a profile or hidden face, whose mesh means nothing
LOOK_SIDE = 416  # least longer side in pixels of the thinned picture the colours are taken from
EMBED_AGAIN_S = 1.5  # a face is embedded once per this time in one place, sooner when it shows clearly better
EMBED_BETTER = 1.25
MAX_WAITING = 3  # pictures between two samples that are kept until it is known whether they are needed
WORK = ("decode", "persons", "faces", "gaze", "identity")


@dataclass
class Seen:
    """A face that was embedded lately."""

    box: Array
    time_s: float
    quality: float


class Analyser:
    """The loaded backends of a profile."""

    def __init__(
        self, chosen: registry.Profile, weights: Path | None, *, identity: bool, given: Given | None = None
    ) -> None:
        self._given = given  # the persons, where somebody else followed them
        self._objects: ObjectDetector = registry.load(chosen.objects, weights)
        self._faces: FaceDetector = registry.load(chosen.faces, weights)
        self._mesh: FaceMesher = registry.load(chosen.mesh, weights)
        self._identity: FaceEmbedder | None = registry.load(chosen.identity, weights) if identity else None
        self._spent = dict.fromkeys(WORK, 0.0)
        self._seen: list[Seen] = []

    def piece(
        self, path: Path, index: FrameIndex, frames: Array, sampled: Array, shot: Array, report: Callable[[int], None]
    ) -> Piece:
        """Analyse these frames (ascending); `sampled` says for each whether it is a gaze sample, `shot` its shot."""
        self._spent, self._seen = dict.fromkeys(WORK, 0.0), []
        rows, pictures = PieceBuilder(), read_frames(path, index, frames)
        waiting: list[tuple[int, Image]] = []
        before: list[Detection] | None = None  # persons on the last sample
        may_wait = longest_run(~sampled) <= MAX_WAITING
        for k, wanted in enumerate(sampled):
            with self._timed("decode"):
                number, bgr = next(pictures)
            if not wanted:
                waiting.append((number, bgr))
                if not may_wait:
                    self._steps(waiting, True, rows)
            else:
                found = self._find(number, bgr)
                persons = [d for d in found if d.name == "person"]
                ends = k > 0 and shot[k] != shot[k - 1]  # nothing is filled in after a shot's last sample
                moved = self._given is not None or before is None or not is_calm(before, persons)
                self._steps(waiting, not ends and moved, rows)
                rows.add(frame=number, sampled=True, looked=True)
                self._sample(bgr, float(index.zeroed[number]), found, rows)
                before = persons
            report(number)
        self._steps(waiting, True, rows)
        for kind in WORK:
            rows.add(seconds=self._spent[kind])
        return rows.build()

    def _steps(self, waiting: list[tuple[int, Image]], needed: bool, rows: PieceBuilder) -> None:
        """Note the steps that waited, and look at them if needed."""
        for number, bgr in waiting:
            rows.add(frame=number, sampled=False, looked=needed)
            if needed:
                persons = self._persons_at(number, bgr)
                self._persons(bgr, persons, rows)
                for _ in persons:
                    add_no_face(rows)
        waiting.clear()

    @contextmanager
    def _timed(self, kind: str) -> Iterator[None]:
        start = time.thread_time() if kind != "decode" else time.process_time()  # the decoder has threads of its own
        yield
        end = time.thread_time() if kind != "decode" else time.process_time()
        self._spent[kind] += end - start

    def _find(self, number: int, bgr: Image) -> list[Detection]:
        with self._timed("persons"):
            found = self._objects.detect(bgr, PERSON_SCORE)
        if self._given is None:
            return found
        return [*self._given.persons(number), *(d for d in found if d.name != "person")]

    def _persons_at(self, number: int, bgr: Image) -> list[Detection]:
        if self._given is not None:
            return self._given.persons(number)
        return [d for d in self._find(number, bgr) if d.name == "person"]

    def _sample(self, bgr: Image, time_s: float, found: list[Detection], rows: PieceBuilder) -> None:
        with self._timed("faces"):
            faces = self._faces.detect(bgr)
            persons = [d for d in found if d.name == "person"]
            persons, owner = with_faces(persons, faces, bgr.shape[1], bgr.shape[0])
        add_objects(rows, rows.count("frame") - 1, found)
        first = rows.count("position")
        self._persons(bgr, persons, rows)
        for row, face in enumerate(owner, first):
            self._face(bgr, time_s, faces[face] if face >= 0 else None, row, rows)

    def _persons(self, bgr: Image, persons: list[Detection], rows: PieceBuilder) -> None:
        with self._timed("persons"):
            step = max(1, max(bgr.shape[:2]) // LOOK_SIDE)
            hsv = cv2.cvtColor(np.ascontiguousarray(bgr[::step, ::step]), cv2.COLOR_BGR2HSV)
            for p in persons:
                look = tracker.look(hsv, p.box / step)
                position = rows.count("frame") - 1
                rows.add(position=position, body=p.box, score=p.score, derived=p.name == "face", look=look)

    def _face(self, bgr: Image, time_s: float, face: Face | None, row: int, rows: PieceBuilder) -> None:
        if face is None:
            add_no_face(rows)
            return
        with self._timed("gaze"):
            mesh = self._mesh.mesh(bgr, face)
            readable = mesh.flag >= MESH_FLAG
            ray = headpose.from_mesh(mesh.points) if readable else None
        if ray is None:
            ray = headpose.from_profile(face)
        rows.add(face=face.box, face_score=face.score, flag=mesh.flag, profile=not readable and ray is not None)
        if ray is None:
            rows.add(yaw=np.nan, pitch=np.nan, eye=NAN2, read=np.nan)
            return
        rows.add(yaw=ray.yaw, pitch=ray.pitch, eye=ray.eye, read=ray.read)
        if readable and self._identity is not None:
            with self._timed("identity"):
                self._embed(bgr, time_s, face, face_quality(face, ray), row, rows)

    def _embed(self, bgr: Image, time_s: float, face: Face, quality: float, row: int, rows: PieceBuilder) -> None:
        assert self._identity is not None
        self._seen = [s for s in self._seen if time_s - s.time_s < EMBED_AGAIN_S]
        here = [s for s in self._seen if ious(s.box[None], face.box[None])[0, 0] > 0.3]
        if any(quality < EMBED_BETTER * s.quality for s in here):
            return
        self._seen.append(Seen(face.box, time_s, quality))
        rows.add(embedded_row=row, embedding=self._identity.embed(bgr, face), quality=quality)


def is_calm(before: list[Detection], after: list[Detection]) -> bool:
    """`tracker.calm` of the persons on two samples."""
    boxes = [np.array([d.box for d in persons]).reshape(-1, 4) for persons in (before, after)]
    sure = [np.array([d.score for d in persons]) >= tracker.Settings().new_score for persons in (before, after)]
    return tracker.calm(boxes[0], sure[0], boxes[1], sure[1])


def longest_run(flags: Array) -> int:
    """Length of the longest run of true values."""
    ends = np.flatnonzero(np.diff(np.r_[False, flags, False]))
    return int((ends[1::2] - ends[::2]).max(initial=0))


def add_no_face(rows: PieceBuilder) -> None:
    """The face columns of a person without one."""
    rows.add(face=NAN4, face_score=np.nan, flag=np.nan, profile=False)
    rows.add(yaw=np.nan, pitch=np.nan, eye=NAN2, read=np.nan)


def face_quality(face: Face, ray: headpose.Ray) -> float:
    """How well a face tells people apart: cosines of the head's angles x score x height, up to 100 px, / 100."""
    frontal = np.cos(np.radians(ray.head_yaw)) * np.cos(np.radians(ray.head_pitch))
    return float(max(frontal, 0) * face.score * min(1.0, size(face.box)[1] / 100))


def with_faces(persons: list[Detection], faces: list[Face], width: int, height: int) -> tuple[list[Detection], Array]:
    """Persons without the false boxes around two neighbours, with those derived from faces nobody claims; and for each
    the number of its face, -1 for none."""
    boxes = np.array([p.box for p in persons]).reshape(-1, 4)
    face_boxes = np.array([f.box for f in faces]).reshape(-1, 4)
    owner = matching.assign_faces(face_boxes, boxes)
    kept = np.flatnonzero(~matching.unions(boxes, face_boxes, owner))
    free = [k for k in range(len(faces)) if k not in owner]
    derived = [Detection("face", faces[k].score, matching.derived_box(face_boxes[k], width, height)) for k in free]
    return [persons[k] for k in kept] + derived, np.r_[owner[kept], free].astype(int)


def add_objects(rows: PieceBuilder, position: int, found: list[Detection]) -> None:
    """The objects that are sure enough to be looked at."""
    for d in found:
        if d.name != "person" and d.score >= OBJECT_SCORE:
            rows.add(
                object_position=position, object_class=COCO.index(d.name), object_score=d.score, object_box=d.box
            )  # fmt: skip
