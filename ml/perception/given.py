"""Persons that a person tracker followed through whole shots, for the stages that otherwise detect and track them.

One file of the work folder (.npz): on each analysed frame who is where, by the tracker's number, boxes in pixels.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Masks
from ml.perception.protocols import Array, Detection


@dataclass(frozen=True, eq=False)
class Given:
    """Rows sorted by frame. `box`: float32, as the pieces keep boxes, so that a row is found again by its box."""

    frame: NDArray[np.int64]  # N
    number: NDArray[np.int64]  # N
    score: NDArray[np.float32]  # N
    box: NDArray[np.float32]  # N x 4

    @classmethod
    def of(cls, masks: Masks, width: int, height: int) -> Given:
        """The boxes around the masks of persons, in a picture of this size."""
        order = np.lexsort((masks.object, masks.frame))
        scale = np.array([width, height, width, height], np.float32)
        return cls(masks.frame[order], masks.object[order], masks.score[order], masks.box[order] * scale)

    def persons(self, frame: int) -> list[Detection]:
        """Those on a frame."""
        low, high = np.searchsorted(self.frame, [frame, frame + 1])
        return [Detection("person", float(self.score[k]), self.box[k]) for k in range(low, high)]

    def numbers(self, frame: int, boxes: Array) -> NDArray[np.int64]:
        """The number of each of N x 4 boxes of a frame, float32; -1 for a box that is nobody's here."""
        low, high = np.searchsorted(self.frame, [frame, frame + 1])
        found = np.full(len(boxes), -1, np.int64)
        for k in range(int(low), int(high)):
            rows = np.flatnonzero((boxes.astype(np.float32) == self.box[k]).all(1) & (found < 0))
            found[rows[:1]] = self.number[k]
        return found

    @property
    def count(self) -> int:
        """One more than the highest number."""
        return int(self.number.max(initial=-1)) + 1

    def save(self, path: Path) -> None:
        """Write under a temporary name, then rename."""
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, frame=self.frame, number=self.number, score=self.score, box=self.box)
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Given:
        """What `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            return cls(data["frame"], data["number"], data["score"], data["box"])
