"""Opening video files that nobody vouches for, and taking packets and frames out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import av.error

from ml.media.errors import MediaError

MAX_PIXELS = 7680 * 4320  # of one picture; a larger one is refused before memory for it is taken
MAX_SIDE = 16_384  # pixels
THREADS = 2  # per decoder, on every machine, so that a damaged file decodes alike everywhere
MAX_FAILURES = 50  # reads that fail in a row before the file counts as ended

# Only formats that hold their media themselves: a playlist could make the server read other files.
VIDEO_FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,m4v,h264,hevc,flv,asf,ogg,gif,mxf,ivf,wtv,dv,rm,nut"
)  # fmt: skip
SOUND_FORMATS = "mp3,wav,flac,aac,aiff,amr,w64,ac3,eac3,caf"  # opened only to say that they hold no video
PICTURE_FORMATS = (
    "image2,jpeg_pipe,png_pipe,webp_pipe,bmp_pipe,tiff_pipe,gif_pipe,jpegxl_pipe,j2k_pipe,psd_pipe,ppm_pipe,svg_pipe"
)
OPTIONS = {
    "protocol_whitelist": "file",
    "format_whitelist": ",".join((VIDEO_FORMATS, SOUND_FORMATS, PICTURE_FORMATS)),
}
UNANCHORED = {"mpegts", "mpeg"}  # broadcast formats: their clock starts anywhere


def refuse(cause: str) -> MediaError:
    """The error for a file that cannot be imported."""
    return MediaError(f"Cannot read the video: {cause}.")


@dataclass
class Tally:
    """What went wrong while a file was read."""

    errors: int = 0
    places: list[int] = field(default_factory=list)  # timestamps (ticks) of packets that are damaged, where known


@dataclass
class Source:
    """An open file and its video stream; close it, or use it as a context."""

    path: Path
    container: Any
    video: Any

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.container.close()

    @property
    def format(self) -> str:
        return str(self.container.format.name)

    @property
    def sound(self) -> Any | None:
        """The sound stream that goes with the video, or None."""
        streams = self.container.streams
        return streams.best("audio") if streams.audio else None

    @property
    def time_base(self) -> Fraction:
        return Fraction(self.video.time_base)

    @cached_property
    def origin(self) -> int:
        """Ticks to take off every timestamp: where the clock of a broadcast format starts, else a start below 0."""
        if self.format not in UNANCHORED:
            return min(0, self.video.start_time or 0)
        streams = [*self.container.streams.video, *self.container.streams.audio]
        starts = [s.start_time * s.time_base for s in streams if s.start_time is not None]
        return int(min(starts) // self.time_base) if starts else 0

    @property
    def starts_at_zero(self) -> bool:
        """Whether the first picture is shown at 0 whatever its timestamp: AVI, which counts the reordering delay."""
        return self.format == "avi"

    @property
    def decode_order_only(self) -> bool:
        """Whether the file knows only when frames are decoded: H.264 and HEVC in AVI, which has no place for more."""
        return self.format == "avi" and self.video.codec_context.name in ("h264", "hevc")

    def stamp(self, frame: Any) -> int | None:
        """Timestamp of a decoded frame as the file gives it, in ticks, or None."""
        stamp = frame.dts if self.decode_order_only else frame.pts
        return None if stamp is None else int(stamp)

    def size(self, frame: Any) -> tuple[int, int]:
        """Width and height of a frame with square pixels, before turning; never larger than stored."""
        width, height = frame.width, frame.height
        shape = self.video.sample_aspect_ratio or Fraction(1)
        if not Fraction(1, 8) <= shape <= 8:
            shape = Fraction(1)
        return (width, max(1, round(height / shape))) if shape > 1 else (max(1, round(width * shape)), height)

    def packets(self, streams: list[Any], tally: Tally) -> Iterator[Any]:
        """Packets in stored order, then an empty one per stream to drain its decoder; failures go to the tally."""
        failures = 0
        while failures < MAX_FAILURES:
            try:
                for packet in self.container.demux(streams):
                    if packet.size:
                        failures = 0
                        yield packet
                break
            except (av.error.FFmpegError, OSError):
                failures += 1
        tally.errors += failures
        for stream in streams:
            packet = av.Packet()
            packet.stream = stream
            yield packet

    def frames(self, tally: Tally, passes_over: Callable[[int], bool] | None = None) -> Iterator[Any]:
        """Frames of the video as a player presents them; failures go to the tally.

        `passes_over` says of the timestamp of a packet that nobody wants its frame: then the frame may be left out,
        and is where no other depends on it. Each packet must hold one frame.
        """
        yield from self.decode(self.packets([self.video], tally), tally, passes_over)

    def decode(
        self, packets: Iterable[Any], tally: Tally, passes_over: Callable[[int], bool] | None = None
    ) -> Iterator[Any]:
        """As `frames`, from these packets."""
        for packet in packets:
            if passes_over is not None:
                unwanted = packet.pts is not None and passes_over(packet.pts)
                self.video.codec_context.skip_frame = "NONREF" if unwanted else "DEFAULT"
            yield from decode(packet, tally)


def decode(packet: Any, tally: Tally) -> list[Any]:
    """Frames that a packet completes; none when it cannot be decoded. Damage goes to the tally."""
    damaged = bool(packet.is_corrupt)
    frames: list[Any] = []
    try:
        frames = list(packet.decode())
    except (av.error.FFmpegError, OSError):
        damaged = True
    if damaged:
        tally.errors += 1
        stamp = packet.dts if packet.pts is None else packet.pts
        if stamp is not None:
            tally.places.append(int(stamp))
    return frames


def open_source(path: Path) -> Source:
    """Open a file and choose its video stream; MediaError with one sentence when there is none to be had."""
    container = _open(path)
    try:
        video = _video_stream(container)
        _check_size(video.codec_context.width, video.codec_context.height)
        video.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
        video.thread_type = "AUTO"
        video.codec_context.thread_count = THREADS
        return Source(path, container, video)
    except BaseException:
        container.close()
        raise


def _open(path: Path) -> Any:
    try:
        if path.stat().st_size == 0:
            raise refuse("the file is empty (0 bytes)")
        # With a scheme, no part of the name can be taken for another protocol.
        return av.open(f"file:{path.absolute()}", options=OPTIONS, metadata_errors="replace")
    except FileNotFoundError:
        raise refuse("there is no such file") from None
    except IsADirectoryError:
        raise refuse("it is a folder, not a file") from None
    except PermissionError:
        raise refuse("the file may not be read (permission denied)") from None
    except av.error.ArgumentError:
        raise refuse("its container format is not one that is accepted here") from None
    except av.error.InvalidDataError:
        raise refuse(_why_not_media(path)) from None
    except (av.error.FFmpegError, OSError) as error:
        raise refuse(f"it could not be opened ({error.strerror})") from error


def _why_not_media(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(8)[4:] != b"ftyp":
            return "its content is not that of a video file"
        size, at, end = 0, 0, path.stat().st_size
        while at + 8 <= end:
            file.seek(at)
            head = file.read(16)
            if head[4:8] == b"moov":
                return "its index (the moov box) is damaged"
            size = int.from_bytes(head[:4], "big")
            size = int.from_bytes(head[8:16], "big") if size == 1 else size
            at = at + size if size >= 8 else end
    return "its index (the moov box) is missing, so the file was cut off while it was recorded or copied"


def _video_stream(container: Any) -> Any:
    videos = [s for s in container.streams.video if not s.disposition & av.stream.Disposition.attached_pic]
    if not videos:
        if container.streams.audio:
            raise refuse("it has no video stream, only sound")
        raise refuse("it has neither video nor sound, or its index is damaged")
    if container.format.name in PICTURE_FORMATS.split(","):
        raise refuse("it is a single picture, not a video")
    usable = [s for s in videos if s.codec_context is not None and s.time_base]
    if not usable:
        raise refuse("there is no decoder for its video")
    return usable[0]


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
        limit = f"{MAX_PIXELS / 1e6:.0f} million pixels and {MAX_SIDE} on a side"
        raise refuse(f"its pictures of {width} x {height} exceed the limit of {limit}")
