"""Repair of presentation timestamps while frames are decoded, with a bounded look ahead."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ml.media.index import MISSING, FrameIndex

MAX_WAITING = 16  # frames without a timestamp that wait for the next one that has it


@dataclass
class Timeline:
    """Gives every frame a timestamp after its predecessor's.

    Frames without a timestamp are spread evenly between their neighbours; where no neighbour follows (the end of the
    file, or more than `MAX_WAITING` in a row) they continue at the last interval. A timestamp that is not after its
    predecessor moves to the next tick. `origin` is taken off every timestamp; a negative first one becomes 0 and moves
    all others with it, as does any first one with `from_zero`.
    """

    time_base: Fraction
    step: int  # ticks between frames where nothing else is known
    origin: int = 0
    from_zero: bool = False
    interpolated: int = 0
    nudged: int = 0
    pts: array[int] = field(default_factory=lambda: array("q"))
    stamps: array[int] = field(default_factory=lambda: array("q"))
    last_duration: int = 0

    def push(self, stamp: int | None, duration: int | None) -> list[int]:
        """Take the next frame's timestamp and duration (ticks); returns the timestamps of frames placed by it."""
        self.stamps.append(MISSING if stamp is None else stamp)
        self.last_duration = duration or 0
        waiting = len(self.stamps) - len(self.pts)
        if stamp is None:
            self.interpolated += 1
            return self._continue(waiting) if waiting >= MAX_WAITING else []
        if not self.pts:
            first = stamp - (waiting - 1)
            self.origin = first if self.from_zero else min(self.origin, first)
        return self._place(stamp - self.origin, waiting)

    def finish(self) -> list[int]:
        """No frame follows; returns the timestamps of the frames that still waited."""
        return self._continue(len(self.stamps) - len(self.pts))

    def index(self, damaged: int) -> FrameIndex:
        """The index of all frames; the last lasts as long as the file says, or as long as the one before."""
        pts = np.array([*self.pts, self.pts[-1] + (self.last_duration or self._interval())], np.int64)
        stamps = np.array(self.stamps, np.int64)
        same = np.array_equal(stamps, pts[:-1])
        return FrameIndex(pts, self.time_base, self.interpolated, self.nudged, damaged, None if same else stamps)

    def _interval(self) -> int:
        return self.pts[-1] - self.pts[-2] if len(self.pts) > 1 else self.step

    def _place(self, stamp: int, waiting: int) -> list[int]:
        """Place `waiting` frames of which the last has a timestamp."""
        first = [] if self.pts else [max(0, stamp - (waiting - 1) * self.step)]
        start, parts = (self.pts[-1], waiting) if self.pts else (first[0], waiting - 1)
        if stamp < start + parts:
            self.nudged += 1
            stamp = start + parts
        placed = first + [start + (stamp - start) * k // parts for k in range(1, parts + 1)]
        self.pts.extend(placed)
        return placed

    def _continue(self, waiting: int) -> list[int]:
        """Place `waiting` frames after which no timestamp is known."""
        before, step = (self.pts[-1], self._interval()) if self.pts else (-self.step, self.step)
        placed = [before + step * k for k in range(1, waiting + 1)]
        self.pts.extend(placed)
        return placed
