"""What the embedded grounder sees on single frames: masks of the people, and things of some COCO classes, cut out.

Looks are kept for the next claim about the same video; a frame looked at again gives the same.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding import cutting
from ml.evidence.grounding.protocol import Footage, Masks
from ml.media import masks as packed
from ml.media.decode import read_frames
from ml.perception import registry
from ml.perception.masks.masker import LONGEST, Masker
from ml.perception.masks.run import in_order
from ml.perception.protocols import Image

OBJECT_SCORE = 0.5  # at 0.35 a sofa arm was a handbag and crisps a cup
PERSON_SCORE = 0.4  # where no run says who is there
REACH_S = 0.75  # how far from a frame a person's box may be known
KEPT = 4000  # frames
DETECTOR = "nanodet"


@dataclass(frozen=True, eq=False)
class Thing:
    """One thing on one frame. `box`: x1, y1, x2, y2 in [0, 1]; `kind`: "mask" or "box"."""

    box: NDArray[np.float64]
    score: float
    counts: bytes
    kind: str


@dataclass(eq=False)
class Look:
    """What one frame shows. `people`: rows of masks, objects are person numbers (places in a row where nobody knows who
    is who). `things` by COCO class that was looked for; `failed`: why a class could not be."""

    people: Masks
    things: dict[str, list[Thing]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class Looker:
    """The loaded backends. Raises MissingWeights."""

    def __init__(self, weights: Path | None = None) -> None:
        self.masker = Masker(weights)
        self._detector = registry.load(DETECTOR, weights)
        self._kept: OrderedDict[int, Look] = OrderedDict()
        self._of: Footage | None = None

    def looks(
        self, footage: Footage, frames: NDArray[np.int64], classes: set[str], seconds: dict[str, float],
        progress: Callable[[float], None],
    ) -> dict[int, Look]:  # fmt: skip
        """The looks at some frames, with things of these classes. Adds processor seconds by kind of work."""
        if self._of is not footage:  # whoever audits a video makes its footage once
            self._kept.clear()
        self._of = footage
        size = size_of(footage)
        wanted = sorted(set(frames.tolist()))
        if not classes:
            self._from_file(footage, wanted, size)
        missing = [frame for frame in wanted if not self._has(frame, classes)]
        ready = self._file_rows(footage, missing, size) if missing else {}

        def look(frame: int, bgr: Image) -> tuple[int, Look, dict[str, float]]:
            return frame, *self._look(footage, frame, bgr, classes, self._kept.get(frame), ready.get(frame))

        pictures = read_frames(footage.video, footage.index, missing, longest=LONGEST)
        for done, (frame, seen, spent) in enumerate(in_order(look, pictures), 1):
            self._kept[frame] = seen
            for kind, value in spent.items():
                seconds[kind] = seconds.get(kind, 0.0) + value
            progress(done / len(missing))
        found = {frame: self._kept[frame] for frame in wanted}
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return found

    def _has(self, frame: int, classes: set[str]) -> bool:
        seen = self._kept.get(frame)
        return seen is not None and classes <= seen.things.keys() | seen.failed.keys()

    def _from_file(self, footage: Footage, frames: list[int], size: packed.Size) -> None:
        """Where only people are looked for, the run's masks are all there is to see."""
        left = [frame for frame in frames if frame not in self._kept]
        for frame, rows in self._file_rows(footage, left, size).items():
            self._kept[frame] = Look(rows)

    @staticmethod
    def _file_rows(footage: Footage, frames: list[int], size: packed.Size) -> dict[int, Masks]:
        """The run's masks of those of the frames that have any."""
        if footage.person_masks is None or not frames:
            return {}
        masks = packed.read(footage.person_masks, frames=np.array(frames))
        if masks.size != size:
            return {}
        there = np.intersect1d(np.unique(masks.frame), frames)
        return {frame: packed.picked(masks, masks.frame == frame) for frame in there.tolist()}

    def _look(
        self, footage: Footage, frame: int, bgr: Image, classes: set[str], before: Look | None, rows: Masks | None
    ) -> tuple[Look, dict[str, float]]:
        spent: dict[str, float] = {}
        start = time.thread_time()
        people = before.people if before is not None else rows
        if people is None:
            people = self._people(footage, frame, bgr)
        spent["people"] = time.thread_time() - start
        seen = Look(people) if before is None else Look(people, dict(before.things), dict(before.failed))
        new = classes - seen.things.keys()
        if not new:
            return seen, spent
        start = time.thread_time()
        found = [d for d in self._detector.detect(bgr, OBJECT_SCORE) if d.name.replace("_", " ") in new]
        spent["objects"] = time.thread_time() - start
        start = time.thread_time()
        height, width = bgr.shape[:2]
        everybody = np.zeros((height, width), bool)
        for counts in people.counts:
            everybody |= packed.decode(counts, people.size)
        for name in sorted(new):
            try:
                seen.things[name] = [
                    Thing(d.box / [width, height, width, height], d.score, *cutting.cut(bgr, d.box, everybody))
                    for d in found if d.name.replace("_", " ") == name
                ]  # fmt: skip
            except cv2.error as error:
                seen.failed[name] = f"A {name} could not be cut out of frame {frame}: {error.err}."
        spent["cutting"] = time.thread_time() - start
        return seen, spent

    def _people(self, footage: Footage, frame: int, bgr: Image) -> Masks:
        """Masks made on the spot, of whom the run knows there; without a run, of whom the detector finds."""
        if footage.people is None:
            height, width = bgr.shape[:2]
            found = [d.box for d in self._detector.detect(bgr, PERSON_SCORE) if d.name == "person"]
            body = np.array(found).reshape(-1, 4) / [width, height, width, height]
            return self.masker.look(bgr, frame, np.arange(len(body)), body, np.full((len(body), 4), np.nan))
        low, high = next(((a, b) for a, b in footage.shots if a <= frame < b), (0, footage.index.frames))
        rate = footage.index.frames / max(footage.index.duration_s, 1e-9)
        known = footage.people.during(low, high).at(frame, max(1, round(REACH_S * rate)))
        persons = np.array(sorted(known), np.int64)
        body = np.array([known[p][0] for p in persons.tolist()], float).reshape(-1, 4)
        face = np.array([known[p][1] for p in persons.tolist()], float).reshape(-1, 4)
        return self.masker.look(bgr, frame, persons, body, face)


def size_of(footage: Footage) -> packed.Size:
    """Height and width of the pictures that masks are made of."""
    scale = min(1.0, LONGEST / max(footage.width, footage.height))
    return max(1, round(footage.height * scale)), max(1, round(footage.width * scale))
