"""Where the cuts are: the adaptive content rule of PySceneDetect, on frames numbered by our own index.

A frame begins a new picture when its change from the one before (`ml.media.changes`) is LEAST or more and RATIO times
the mean change of the WINDOW frames on either side. (Not through the package itself: its import takes a process longer
than the rule takes for minutes of video.)

Only frame numbers enter, so variable rates, B-frames and edit lists cannot shift a cut; seconds come from the index.
Where the index does not hold the changes, the video is decoded for them, in pieces: a cut's decision needs REACH frames
around it and nothing else, so pieces that overlap by that much give the same cuts as one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ml.media.changes import LONGEST, Changes
from ml.media.decode import read_frames
from ml.media.index import FrameIndex
from ml.perception.protocols import Array

WINDOW = 2
REACH = WINDOW + 1  # one more in front to compare the first with
RATIO, LEAST = 3.0, 15.0
STILL = 1e-5  # a mean change below this is that of a still picture, which no ratio can be taken of
SHORTEST_S = 0.6  # cuts nearer to the last one are flashes


def candidates(path: Path, index: FrameIndex, start: int, end: int, report: Callable[[int], None]) -> list[int]:
    """Frames in [start, end) that begin a new picture; `report` is called with each frame number looked at."""
    wanted = np.arange(max(0, start - REACH), min(index.frames, end + REACH))
    changes = Changes()
    for number, bgr in read_frames(path, index, wanted, longest=LONGEST):
        changes.push(bgr)
        report(number)
    found = wanted[peaks(changes.values)]
    return found[(found >= start) & (found < end)].tolist()


def peaks(changes: Array) -> Array:
    """Positions in a row of changes that stand out as a cut does; those without a whole window around them never do."""
    if len(changes) <= 2 * WINDOW:
        return np.zeros(0, int)
    windows = np.lib.stride_tricks.sliding_window_view(changes.astype(np.float64), 2 * WINDOW + 1)
    here = windows[:, WINDOW]
    around = np.delete(windows, WINDOW, axis=1).mean(1)
    stands_out = (around < STILL) | (here >= RATIO * around)
    return np.flatnonzero(stands_out & (here >= LEAST)) + WINDOW


def shots(cuts: list[int], index: FrameIndex) -> list[tuple[int, int]]:
    """Half-open spans of the shots between cuts, each at least SHORTEST_S long but for the last."""
    starts = [0]
    for cut in sorted(cuts):
        if index.zeroed[cut] - index.zeroed[starts[-1]] >= SHORTEST_S:
            starts.append(cut)
    return list(zip(starts, [*starts[1:], index.frames], strict=True))
