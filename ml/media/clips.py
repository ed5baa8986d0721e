"""Cutting a clip [start, end) out of a video: frame-exact, whole or not at all, the same bytes every time.

    clean   every frame of the span, at its own time
    tags    the same, with a box around everybody who has a tag and the tag above the head
    grasp   tags, at 2 frames per second, with the clip's frame number and seconds at the top left

Clip time starts at 0 with frame `start`. A `grasp` clip shows, at k / 2 s, the first frame at or after that time; where
no frame begins within that half second, the one that is on the screen. Two files are written into the folder:

    frames.npz   `ml.questions.clip.ClipClock`: source frame and clip time of every clip frame
    clip.mp4     last: H.264 as the browser copies are (no B-frames, a key frame every second, index in front)

There is no sound in any rendering: models see pictures only and raters must answer from what they saw; and a voice
names people whose faces are blurred. Faces are blurred before tags are drawn.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from ml.media import proxy as proxies
from ml.media.blur import Blurring
from ml.media.decode import read_frames
from ml.media.errors import MediaError
from ml.media.files import sweep, whole
from ml.media.index import FrameIndex
from ml.media.orientation import Orientation
from ml.media.tags import Pen, Picture, Tracks
from ml.progress import Progress, silent
from ml.questions.clip import RENDERINGS, VERSION, ClipClock

GRASP_RATE = 2  # frames per second
MAX_FRAMES = 36_000  # 20 minutes at 30 frames per second
THREADS = 2  # of the encoder, on every machine: its bytes depend on their number
SMPTE_170M, LIMITED = 6, 1  # how BGR becomes YUV here, ITU-T H.273


@dataclass(frozen=True, eq=False)
class Plan:
    """Which source frame is shown when: frame int64[n], not falling; pts int64[n + 1], from 0, in ticks."""

    frame: NDArray[np.int64]
    pts: NDArray[np.int64]
    time_base: Fraction

    @property
    def index(self) -> FrameIndex:
        """The clip's own frame index."""
        return FrameIndex(self.pts, self.time_base)


def plan(index: FrameIndex, start: int, end: int, rendering: str) -> Plan:
    """What a clip shows. ValueError for a span outside the video or an unknown rendering."""
    if rendering not in RENDERINGS:
        raise ValueError(f"There is no rendering {rendering!r}; there is: {', '.join(RENDERINGS)}.")
    if not 0 <= start < end <= index.frames:
        raise ValueError(f"The span [{start}, {end}) does not lie within the {index.frames} frames of the video.")
    if end - start > MAX_FRAMES:
        raise MediaError(f"A clip of {end - start:,} frames is too long; at most {MAX_FRAMES:,} can be cut.")
    ticks = index.pts[start : end + 1] - index.pts[start]
    if rendering != "grasp":
        return Plan(np.arange(start, end), ticks, index.time_base)
    position = resampled(ticks, index.time_base, GRASP_RATE)
    return Plan(start + position, np.arange(len(position) + 1), Fraction(1, GRASP_RATE))


def resampled(ticks: NDArray[np.int64], time_base: Fraction, rate: int) -> NDArray[np.int64]:
    """Positions of the frames shown at 0, 1 / rate, 2 / rate, ... until the end of the last.

    ticks int64[n + 1]: when each frame begins, from 0, and the end of the last. In whole ticks, so that no rounding
    moves a frame.
    """
    step = 1 / (rate * time_base)  # ticks between two
    count = -(-int(ticks[-1]) * step.denominator // step.numerator)
    due = np.array([-(-k * step.numerator // step.denominator) for k in range(count + 1)], np.int64)  # rounded up
    coming = np.searchsorted(ticks[:-1], due[:-1])
    on_screen = np.searchsorted(ticks[:-1], due[:-1], side="right") - 1
    late = (coming >= len(ticks) - 1) | (ticks[np.minimum(coming, len(ticks) - 1)] >= due[1:])
    return np.where(late, on_screen, coming)


@dataclass
class Drawing:
    """What is done to each picture before it is written. `labels`: person id -> printed tag."""

    plan: Plan
    tracks: Tracks | None
    labels: Mapping[str, str]
    stamped: bool
    blurring: Blurring | None
    pen: Pen | None = None  # of the clip's size, which the first picture tells

    def prepare(self, number: int, picture: Picture) -> Picture:
        """A picture in the clip's size, blurred and tagged; a stamp comes last."""
        if self.pen is None:
            self.pen = Pen(*proxies.fit(picture.shape[1], picture.shape[0]))
        size = self.pen.width, self.pen.height
        if (picture.shape[1], picture.shape[0]) != size:
            picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
        seen = self.tracks.at(number) if self.tracks is not None else []
        if self.blurring is not None:
            self.blurring.apply(picture, seen)
        if self.labels:
            last = len(self.plan.frame) - 1
            clear = [self.pen.stamp_place(self._stamp(last))] if self.stamped else []
            self.pen.tags(picture, seen, self.labels, clear)
        return picture

    def finish(self, position: int, picture: Picture) -> Picture:
        """The picture as it is shown at that position of the clip."""
        if not self.stamped or self.pen is None:
            return picture
        stamped = picture.copy()
        self.pen.stamp(stamped, self._stamp(position))
        return stamped

    def _stamp(self, position: int) -> str:
        return stamp_text(position, float(self.plan.pts[position] * self.plan.time_base))


def stamp_text(frame: int, seconds: float) -> str:
    """The words of a time stamp: number of the clip's frame, and its seconds."""
    return f"frame {frame}  {seconds:.2f} s"


def cut(
    source: Path,
    index: FrameIndex,
    start: int,
    end: int,
    rendering: str,
    out: Path,
    *,
    tracks: Tracks | None = None,
    person_map: Mapping[str, str] | None = None,
    blur: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write clip.mp4 and frames.npz into the folder `out`; returns the facts of the file.

    `person_map`: printed tag -> person id of `tracks`. Facts: bytes, sha256, width, height, frames, duration_s,
    rendering, blurred, sound, warnings (sentences), made_by. Raises MediaError with a sentence.
    """
    what = plan(index, start, end, rendering)
    if tracks is None and (blur or rendering != "clean"):
        doing = "blur faces" if blur else "draw tags"
        raise MediaError(
            f"Nobody was looked for in this video, so there is nothing to {doing} by; run perception first."
        )
    tags = {person: tag for tag, person in (person_map or {}).items()}
    blurring = Blurring() if blur else None
    drawing = Drawing(what, tracks, tags if rendering != "clean" else {}, rendering == "grasp", blurring)
    out.mkdir(parents=True, exist_ok=True)
    sweep(out)
    with whole(out / "clip.mp4") as part:
        size = _encode(source, index, part, drawing, progress)
        progress("check", 0.0)
        proxies.check(part, what.index, "clip")
        facts = _facts(part, what, size) | {"rendering": rendering, "blurred": blur, "sound": False}
        facts["warnings"] = _warnings(blurring, tags)
        clock = ClipClock(what.frame, what.index.zeroed[:-1], start, end, what.index.duration_s)
        with whole(out / "frames.npz") as times:
            clock.save(times)
    progress("check", 1.0)
    return facts


def _encode(source: Path, index: FrameIndex, part: Path, drawing: Drawing, progress: Progress) -> tuple[int, int]:
    """Decode, draw and write every frame; returns the size of the pictures."""
    what, writer = drawing.plan, None
    try:
        # upright, and not larger than they will be written
        for number, picture in read_frames(source, index, what.frame, longest=proxies.LONG_SIDE):
            ready = drawing.prepare(number, picture)
            size = ready.shape[1], ready.shape[0]
            writer = writer or _writer(part, what, size)
            low, high = np.searchsorted(what.frame, [number, number + 1]).tolist()
            for position in range(low, high):
                frame = av.VideoFrame.from_ndarray(drawing.finish(position, ready), format="bgr24")
                writer.write(frame, int(what.pts[position]))
            progress("clip", high / len(what.frame))
        assert writer is not None
        writer.finish(int(what.pts[-1]))
    finally:
        if writer is not None:
            writer.container.close()
    return size


def _writer(part: Path, what: Plan, size: tuple[int, int]) -> proxies.ProxyWriter:
    rate = Fraction(len(what.frame)) / (int(what.pts[-1]) * what.time_base)
    writer = proxies.ProxyWriter(
        part, size, Orientation(), what.time_base, min(rate, Fraction(240)).limit_denominator(1001), 0, THREADS
    )
    context = writer.video.codec_context
    context.colorspace = context.color_primaries = context.color_trc = SMPTE_170M
    context.color_range = LIMITED
    return writer


def _facts(path: Path, what: Plan, size: tuple[int, int]) -> dict[str, Any]:
    data = path.read_bytes()
    return {
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "width": size[0],
        "height": size[1],
        "frames": len(what.frame),
        "duration_s": what.index.duration_s,
        "made_by": {"clips": VERSION, "av": av.__version__, "opencv": cv2.__version__},
    }


def _warnings(blurring: Blurring | None, labels: Mapping[str, str]) -> list[str]:
    """What somebody must know before a clip with blurred faces leaves the house."""
    if blurring is None:
        return []
    said = []
    if blurring.guessed:
        known: Counter[str] = Counter()
        for person, count in blurring.guessed.items():
            known[labels.get(person, "somebody")] += count
        told = ", ".join(f"{tag} on {count}" for tag, count in sorted(known.items()))
        said.append(
            f"No face was found of {told} of {blurring.frames} frames; the upper third of the body was blurred there."
        )
    if blurring.empty:
        said.append(f"Nobody was found on {blurring.empty} of {blurring.frames} frames; nothing was blurred there.")
    said.append("Only faces that perception found are blurred: look at the clip before you hand it on.")
    return said
