"""Where the cuts are: PySceneDetect's AdaptiveDetector, fed with frames numbered by our own index.

The detector only ever sees frame numbers, so variable rates, B-frames and edit lists cannot shift a cut; seconds come
from the index. A long video is looked at in pieces: a cut's decision needs REACH frames around it and nothing else, so
pieces that overlap by that much give the same cuts as one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scenedetect import AdaptiveDetector, FrameTimecode

from ml.media.decode import read_frames
from ml.media.index import FrameIndex

REACH = 3  # two frames of window on either side, and one more in front to compare the first with
LONGEST = 256  # pixels of the longer side that the detector sees
SHORTEST_S = 0.6  # cuts nearer to the last one are flashes


def candidates(path: Path, index: FrameIndex, start: int, end: int, report: Callable[[int], None]) -> list[int]:
    """Frames in [start, end) that begin a new picture; `report` is called with each frame number looked at."""
    detector = AdaptiveDetector(min_scene_len=1)
    found: list[int] = []
    wanted = np.arange(max(0, start - REACH), min(index.frames, end + REACH))
    for number, bgr in read_frames(path, index, wanted, longest=LONGEST):
        time = FrameTimecode(number, fps=1.0)  # a mere counter
        found += [cut.frame_num for cut in detector.process_frame(time, bgr)]
        report(number)
    return [cut for cut in found if start <= cut < end]


def shots(cuts: list[int], index: FrameIndex) -> list[tuple[int, int]]:
    """Half-open spans of the shots between cuts, each at least SHORTEST_S long but for the last."""
    starts = [0]
    for cut in sorted(cuts):
        if index.zeroed[cut] - index.zeroed[starts[-1]] >= SHORTEST_S:
            starts.append(cut)
    return list(zip(starts, [*starts[1:], index.frames], strict=True))
