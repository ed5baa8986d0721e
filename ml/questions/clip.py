"""The clip of a question: which frames it shows, what names it, and its clock.

Light on purpose: pages need spans, names and clocks, only workers cut (`ml.media.clips`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RENDERINGS = ("clean", "tags", "grasp")  # grasp: tags drawn, two frames a second
VERSION = 1  # of what `ml.media.clips` draws and writes; another one makes other clips
BEFORE_S, AFTER_S = 1.5, 2.0  # seconds around a question's span, as in GRASP's published item
CLOSE_S = 1e-6  # seconds that rounding may cost
WRITTEN_S = 1e-3  # seconds that rounding costs in a file
SLACK_S = 0.1  # seconds by which a clip may end behind the video, since the last frame's length is often guessed


def padded(
    seconds: NDArray[np.float64],
    cuts: Sequence[int],
    start: int,
    end: int,
    *,
    before_s: float = BEFORE_S,
    after_s: float = AFTER_S,
) -> tuple[int, int]:
    """Frames [start, end) of a question widened by whole frames, within the video and never across a cut.

    `seconds` float64[N + 1]: when each frame begins, and the end of the last. `cuts`: first frames of the shots. How
    GRASP pads at a cut is not known; here the padding ends there, since another scene answers nothing and its people
    would be tagged for a moment only. A span that itself runs across a cut stays whole.
    """
    frames = len(seconds) - 1
    if not 0 <= start < end <= frames:
        raise ValueError(f"the span [{start}, {end}) does not lie within the {frames} frames of the video")
    first = int(np.searchsorted(seconds, seconds[start] - max(0.0, before_s) + CLOSE_S, side="right")) - 1
    last = int(np.searchsorted(seconds, seconds[end] + max(0.0, after_s) - CLOSE_S))
    edges = np.unique([0, *cuts, frames])
    shot = int(edges[np.searchsorted(edges, start, side="right") - 1])
    next_shot = int(edges[np.searchsorted(edges, end)])
    return max(first, shot), max(end, min(last, next_shot))


def frames_of(seconds: NDArray[np.float64], start_s: float | None, end_s: float | None) -> tuple[int, int]:
    """Source frames [start, end) of a clip whose ends a file names in seconds; None: the first frame, the last.

    `seconds` float64[N + 1]: when each frame begins, and the end of the last, from 0. A frame that begins within what
    rounding costs of `start_s` or `end_s` is meant, the nearest; else the clip begins with the frame on the screen and
    ends after it. ValueError, without a full stop, for a clip that does not lie in the video.
    """
    length = float(seconds[-1])
    first, last = 0.0 if start_s is None else start_s, length if end_s is None else end_s
    if not 0 <= first < min(last, length) or last > length + SLACK_S:
        raise ValueError(f"a clip from {first:g} to {last:g} s does not lie in a video of {length:g} s")
    start, end = (int(np.searchsorted(seconds, value)) for value in (first, min(last, length)))
    start = min(_near(seconds, first, start, start - 1), len(seconds) - 2)
    return start, max(start + 1, _near(seconds, last, end, end))


def _near(seconds: NDArray[np.float64], value: float, following: int, otherwise: int) -> int:
    """The frame that begins at a written time, `following` being the first that begins no earlier; or `otherwise`."""
    k = min((max(following - 1, 0), following), key=lambda k: abs(float(seconds[k]) - value))
    return k if abs(float(seconds[k]) - value) <= WRITTEN_S else otherwise


def recipe(
    *,
    owner: str,
    video: str,
    start: int,
    end: int,
    rendering: str,
    blur: bool,
    person_map: Mapping[str, str],
    boxes: str,
) -> str:
    """sha256 of everything that decides a clip's bytes and what its tags mean.

    `owner`: id of the video, so that two projects with one file never share a clip. `video`: sha256 of the source.
    `person_map`: printed tag -> person id. `boxes`: a hash of who is where.
    """
    decides = {
        "v": VERSION,
        "owner": owner,
        "video": video,
        "span": [start, end],
        "rendering": rendering,
        "blur": blur,
        "person_map": dict(person_map),
        "boxes": boxes,
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class ClipClock:
    """Clip time and source frames, either way; the content of frames.npz.

    frame: int64[n], the source frame of each clip frame, not falling. seconds: float64[n], when each is shown, from 0.
    start, end: the source frames [start, end) the clip is of. end_s: its length in seconds.
    """

    frame: NDArray[np.int64]
    seconds: NDArray[np.float64]
    start: int
    end: int
    end_s: float

    def source(self, seconds: float) -> int:
        """The source frame on the screen at a clip time; the first or last outside the clip."""
        shown = int(np.searchsorted(self.seconds, seconds + CLOSE_S, side="right")) - 1
        return int(self.frame[min(max(shown, 0), len(self.frame) - 1)])

    def source_span(self, start_s: float, end_s: float) -> tuple[int, int]:
        """Source frames [start, end) of what is shown during [start_s, end_s) of the clip, at least one."""
        start = self.source(start_s)
        shown = int(np.searchsorted(self.seconds, end_s - CLOSE_S))
        end = self.end if shown >= len(self.frame) else int(self.frame[shown])
        return start, max(start + 1, end)

    def clip_seconds(self, frame: int) -> float:
        """When a source frame begins, on the clip's clock: exact for frames of the clip, between them in proportion.

        `end` itself is the end of the clip. ValueError for a frame outside.
        """
        if not self.start <= frame <= self.end:
            raise ValueError(f"frame {frame} lies outside the clip of frames [{self.start}, {self.end})")
        known, first = np.unique(self.frame, return_index=True)
        return float(np.interp(frame, [*known, self.end], [*self.seconds[first], self.end_s]))

    def save(self, path: Path) -> None:
        """Write frames.npz; the same bytes for the same clock."""
        with path.open("wb") as file:
            np.savez_compressed(
                file,
                allow_pickle=False,
                frame=self.frame,
                seconds=self.seconds,
                span=np.array([self.start, self.end], np.int64),
                end_s=np.array(self.end_s),
            )

    @classmethod
    def load(cls, path: Path) -> ClipClock:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            start, end = data["span"].tolist()
            return cls(data["frame"], data["seconds"], start, end, float(data["end_s"]))
