"""The copy of a video that browsers play: every source frame, at its exact time.

H.264 without B-frames, a key frame every second of time, at most 1280 x 720 (720 x 1280 when upright pictures are
tall), never larger than the source, upright, even sides, index in front; AAC when there is sound. B-frames would make
browsers miss frames of variable-rate clips when seeking.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import numpy as np
from av.video.frame import PictureType
from numpy.typing import NDArray

from ml.media import sound
from ml.media.errors import MediaError
from ml.media.index import FrameIndex
from ml.media.orientation import Orientation

LONG_SIDE, SHORT_SIDE = 1280, 720  # pixels
KEY_FRAME_S = 1  # seconds between key frames
OPTIONS = {"preset": "veryfast", "crf": "23"}
MAX_THREADS = 8
SOUND_BITS = 128_000  # per second


def fit(width: int, height: int) -> tuple[int, int]:
    """Width and height of the proxy of upright pictures of this size."""
    scale = min(1.0, LONG_SIDE / max(width, height), SHORT_SIDE / min(width, height))
    return max(2, int(width * scale + 1e-9) // 2 * 2), max(2, int(height * scale + 1e-9) // 2 * 2)


class ProxyWriter:
    """Writes a proxy frame by frame. Use as a context; call `finish` when all frames are in.

    size: width and height of the proxy. time_base: seconds per tick of the timestamps given. rate: frames per second,
    roughly, for the encoder's rate control. channels: of the sound, 0 for none. threads: of the encoder, whose bytes
    depend on their number; by default as many as this machine is good for.
    """

    def __init__(
        self,
        path: Path,
        size: tuple[int, int],
        orientation: Orientation,
        time_base: Fraction,
        rate: Fraction,
        channels: int,
        threads: int | None = None,
    ) -> None:
        self.size, self.orientation, self.time_base = size, orientation, time_base
        self.container = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"})
        video: Any = self.container.add_stream("libx264", rate=rate)
        video.width, video.height = size
        video.pix_fmt = "yuv420p"
        video.time_base = video.codec_context.time_base = time_base
        video.codec_context.max_b_frames = 0
        video.codec_context.gop_size = 1 << 30  # key frames are asked for by time
        video.codec_context.thread_count = threads or min(MAX_THREADS, os.cpu_count() or 1)
        video.options = OPTIONS
        self.video = video
        self.sound: Any = None
        if channels:
            layout = "mono" if channels == 1 else "stereo"
            self.sound = self.container.add_stream("aac", rate=sound.RATE, layout=layout, bit_rate=SOUND_BITS)
        self.first = 0  # timestamp of the first frame
        self.next_key: int | None = None  # earliest timestamp of the next key frame
        self.held: Any = None  # the packet whose duration the next one tells

    def __enter__(self) -> ProxyWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.container.close()

    def write(self, frame: Any, pts: int) -> None:
        """Add a decoded frame, shown from `pts` on."""
        if self.next_key is None:
            self._copy_colours(frame)
            self.first = pts
        picture = self._upright(frame)
        picture.pts, picture.time_base = pts, self.time_base
        picture.pict_type = PictureType.NONE
        if self.next_key is None or pts >= self.next_key:
            picture.pict_type = PictureType.I
            self.next_key = pts + round(KEY_FRAME_S / self.time_base)
        self._mux(self.video.encode(picture))

    def write_sound(self, position: int, samples: NDArray[np.float32]) -> None:
        """Add samples, channels x n, of which the first is sample number `position` of the media clock."""
        layout = "mono" if samples.shape[0] == 1 else "stereo"
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format="fltp", layout=layout)
        frame.sample_rate, frame.pts, frame.time_base = sound.RATE, position, Fraction(1, sound.RATE)
        self.container.mux(self.sound.encode(frame))

    def finish(self, end: int) -> None:
        """Write out what the encoders still hold; the last frame lasts until `end`."""
        self._mux(self.video.encode(None))
        if self.held is not None:
            # Browsers take the sum of the frames' durations for the end of the video, and do not seek beyond it. Where
            # the first frame is not shown at 0, the last one must make up for that, or it could not be reached.
            self.held.duration = end - self.held.pts + self.first
            self.container.mux(self.held)
            self.held = None
        if self.sound is not None:
            self.container.mux(self.sound.encode(None))

    def _mux(self, packets: list[Any]) -> None:
        for packet in packets:
            if self.held is not None:
                self.held.duration = packet.pts - self.held.pts
                self.container.mux(self.held)
            self.held = packet

    def _upright(self, frame: Any) -> Any:
        """The frame in the proxy's size and pixel format, turned upright."""
        width, height = self.orientation.size(*self.size)
        picture = frame.reformat(width=width, height=height, format="yuv420p")
        if self.orientation == Orientation():
            return picture
        flat, area = picture.to_ndarray().ravel(), width * height
        half = (height // 2, width // 2)  # of the two colour planes
        planes = (
            flat[:area].reshape(height, width),
            flat[area : area + area // 4].reshape(half),
            flat[area + area // 4 :].reshape(half),
        )
        turned = np.concatenate([self.orientation.apply(plane).ravel() for plane in planes])
        return av.VideoFrame.from_ndarray(turned.reshape(-1, self.size[0]), format="yuv420p")

    def _copy_colours(self, frame: Any) -> None:
        """Tell players how the source's colours are meant; RGB sources are converted to the default."""
        if frame.format.is_rgb:
            return
        context = self.video.codec_context
        context.colorspace, context.color_primaries = frame.colorspace, frame.color_primaries
        context.color_trc, context.color_range = frame.color_trc, frame.color_range


def timestamps(path: Path) -> Iterator[tuple[int, bool]]:
    """(timestamp, whether a key frame) of the pictures of a proxy in stored order, which is that of presentation."""
    with av.open(str(path)) as container:
        for packet in container.demux(video=0):
            if packet.size and packet.pts is not None and not packet.is_discard:
                yield int(packet.pts), bool(packet.is_keyframe)


def time_base(path: Path) -> Fraction:
    """Seconds per tick of a proxy's timestamps."""
    with av.open(str(path)) as container:
        return Fraction(container.streams.video[0].time_base or 0)


def check(path: Path, index: FrameIndex, what: str = "browser copy") -> None:
    """Read a proxy back and compare its timestamps with the index, as exact fractions; MediaError where they differ."""
    theirs, ours = time_base(path), index.time_base
    left, right = theirs.numerator * ours.denominator, ours.numerator * theirs.denominator
    count = 0
    for count, (tick, _) in enumerate(timestamps(path), 1):
        if count <= index.frames and tick * left != int(index.pts[count - 1]) * right:
            shown, expected = float(tick * theirs), float(index.seconds[count - 1])
            raise MediaError(
                f"The {what} would show frame {count - 1} at {shown:.6f} s instead of {expected:.6f} s, "
                "so the video cannot be used."
            )
    if count != index.frames:
        raise MediaError(f"The {what} has {count} frames instead of {index.frames}, so the video cannot be used.")
