"""Reading single frames by number, exactly, from the source file or its proxy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import av.error
import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from ml.media import orientation
from ml.media.errors import MediaError
from ml.media.index import MISSING, FrameIndex
from ml.media.source import Source, Tally, open_source

SEEK_GAP = 48  # frames to the next wanted one above which seeking is tried
BACK_OFF_S = 2  # how much earlier a seek is repeated when it landed too late; doubled each time


def read_frames(
    path: Path,
    index: FrameIndex,
    frames: Sequence[int] | NDArray[np.int64] | None = None,
    *,
    seek_gap: int = SEEK_GAP,
    longest: int | None = None,
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield (frame number, uint8 height x width x 3 BGR picture, upright) in ascending order, one picture at a time.

    `frames` are the wanted numbers (all by default; repeated ones once). Numbers follow `index`; to read the proxy,
    pass `index.for_proxy()`. Far-apart frames are sought where the file's own timestamps name its frames
    (`index.regular`), else everything before them is decoded, which is slower and gives the same. `seek_gap` is the
    number of frames worth a seek; it doubles whenever a seek turns out useless. `longest` bounds the longer side of the
    pictures in pixels: larger ones are scaled down while they are converted, which is much cheaper than afterwards.
    ValueError for a number outside the index; MediaError when the file cannot be read or has not the indexed frames.
    """
    wanted = np.arange(index.frames) if frames is None else np.unique(np.asarray(frames, np.int64))
    if wanted.size and (wanted[0] < 0 or wanted[-1] >= index.frames):
        raise ValueError(f"frames {wanted[0]} to {wanted[-1]} are not all within the {index.frames} of the video")
    return _read(path, index, wanted, seek_gap, longest)


def _read(
    path: Path, index: FrameIndex, wanted: NDArray[np.int64], gap: int, longest: int | None
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    if not wanted.size:
        return
    reader = _Reader(path, index, wanted, gap, longest)
    try:
        for number in wanted.tolist():
            yield number, reader.read(number)
    finally:
        reader.close()


class Pictures:
    """Turns decoded frames of one file into upright BGR pictures, all of the size of the first frame.

    `longest` bounds their longer side in pixels.
    """

    def __init__(self, longest: int | None = None) -> None:
        self.longest = longest
        self.size: tuple[int, int] | None = None  # width and height upright
        self._reformatter = VideoReformatter()  # one for all frames: setting it up costs as much as a small picture

    def measure(self, source: Source, frame: Any) -> None:
        """Take size and orientation from the first frame of the file."""
        self._orientation = orientation.of_frame(frame)
        width, height = self._orientation.size(*source.size(frame))
        scale = 1 if self.longest is None else min(1, self.longest / max(width, height))
        self.size = max(1, round(width * scale)), max(1, round(height * scale))

    def of(self, source: Source, frame: Any) -> NDArray[np.uint8]:
        if self.size is None:
            self.measure(source, frame)
        assert self.size is not None
        width, height = self._orientation.size(*self.size)
        averaged = None if self.longest is None else "AREA"  # three times faster than bicubic
        scaled = self._reformatter.reformat(frame, width, height, "bgr24", interpolation=averaged, threads=1)
        return np.ascontiguousarray(self._orientation.apply(scaled.to_ndarray()))


class _Reader:
    """Walks through the frames of a file forwards and knows the number of each."""

    def __init__(
        self, path: Path, index: FrameIndex, wanted: NDArray[np.int64], gap: int, longest: int | None = None
    ) -> None:
        self.path = path
        self.pictures = Pictures(longest)
        self.gap = gap
        self.last = -1  # number of the frame decoded last
        self.source: Source = open_source(path)
        self.index = index.in_time_base(self.source.time_base)
        self.stamps = self.index.stamps
        # Timestamps that needed no repair rise, and name any frame; else frames are counted from the start.
        self.by_stamp = not (index.interpolated or index.nudged)
        self.can_seek = index.regular and not self.source.decode_order_only
        self.wanted = np.zeros(index.frames, bool)
        self.wanted[wanted] = True
        self.leaves_out = self.can_seek
        self.frames: Iterator[Any] = self.source.frames(Tally(), self._passes_over)

    def close(self) -> None:
        self.source.close()

    def read(self, number: int) -> NDArray[np.uint8]:
        if self.can_seek and number - self.last > self.gap:
            self._seek(number)
        for frame in self.frames:
            known = self._number(frame)
            if known is None:
                continue
            self.last = known
            if self.pictures.size is None:
                self.pictures.measure(self.source, frame)
            if known == number:
                return self.pictures.of(self.source, frame)
            if known > number:
                break
        if self.leaves_out:  # once more, for a decoder that got out of step without the frames it was spared
            self.leaves_out = False
            self._rewind()
            return self.read(number)
        raise MediaError(f"Cannot read frame {number} of the video: it is not in the file that was indexed.")

    def _rewind(self) -> None:
        self.close()
        self.source = open_source(self.path)
        self.frames = self.source.frames(Tally(), self._passes_over)
        self.last = -1

    def _passes_over(self, stamp: int) -> bool:
        """Whether a packet holds a frame of the index that nobody wants, by its timestamp."""
        if not self.leaves_out or self.pictures.size is None:
            return False
        number = int(np.searchsorted(self.stamps, stamp))
        return number < len(self.stamps) and self.stamps[number] == stamp and not self.wanted[number]

    def _number(self, frame: Any) -> int | None:
        """Number of a decoded frame; None when it is none of the index (the remains of a damaged stretch)."""
        stamp = self.source.stamp(frame)
        if not self.by_stamp:
            number = self.last + 1
            matches = number < len(self.stamps) and self.stamps[number] == (MISSING if stamp is None else stamp)
            return number if matches else len(self.stamps)
        if stamp is None:
            return None
        number = int(np.searchsorted(self.stamps, stamp))
        return number if number < len(self.stamps) and self.stamps[number] == stamp else None

    def _seek(self, number: int) -> None:
        """Continue from the last key frame shown at or before a frame; from the start when there is none before."""
        if self.pictures.size is None:  # pictures may change size in mid-stream: the first one decides
            first = next(self.frames, None)
            if first is None:
                return
            self.pictures.measure(self.source, first)
        stamp, back = int(self.stamps[number]), 0
        while stamp - back >= self.stamps[0]:
            key = self._key_frame(stamp - back)
            if key is not None and key <= stamp:
                if np.searchsorted(self.stamps, key) <= self.last + 1:
                    self.gap = 2 * self.gap + 1  # key frames are further apart than that
                self.last = int(np.searchsorted(self.stamps, key)) - 1
                return
            back = 2 * back + int(BACK_OFF_S / self.source.time_base)
        self._rewind()

    def _key_frame(self, stamp: int) -> int | None:
        """Seek; returns the timestamp of the key packet decoding starts with, or None when there is none."""
        source = self.source
        try:
            source.container.seek(stamp, stream=source.video, backward=True)
        except (av.error.FFmpegError, OSError):
            return None
        packets = source.packets([source.video], Tally())
        key = next((packet for packet in packets if packet.is_keyframe and packet.size), None)
        if key is None or key.pts is None:
            return None
        self.frames = self._from_key(key, packets)
        return int(key.pts)

    def _from_key(self, key: Any, packets: Iterator[Any]) -> Iterator[Any]:
        """Frames from a key packet on, without those shown before it, which need pictures that were skipped."""
        for frame in self.source.decode(itertools.chain([key], packets), Tally(), self._passes_over):
            stamp = self.source.stamp(frame)
            if stamp is not None and stamp >= key.pts:
                yield frame
