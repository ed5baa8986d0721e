"""Small clips with the frame number burnt into the picture, and the reader of that number.

Layout of the number, in coordinates relative to the upright picture (0 to 1, origin top left, y down), the same on any
size, so that it can be read from a decoded frame, a proxy, or a browser's canvas:

    - The grid covers [0.1, 0.9) x [0.1, 0.9): 10 columns of width 0.08 and 4 rows of height 0.2. The middle of the cell
      (row r, column c) is at x = 0.14 + 0.08 c, y = 0.2 + 0.2 r. White is 1, black is 0.
    - Column 0 is the marker 1 1 0 0 from top to bottom, column 9 the marker 1 0 1 0: turned or mirrored pictures fail.
    - Columns 1-8 of row 0 hold bits 15 to 8 of the number from left to right, of row 1 bits 7 to 0.
    - Rows 2 and 3 hold the complement of rows 0 and 1, as a check.
    - A cell is read as the mean brightness of its inner half (x within 0.02, y within 0.05 of the middle); it is 1
      above 127.5, and within 32 of that the cell counts as unreadable.

`make(kind, folder)` writes one of `KINDS` and returns the truth: the burnt-in number and the exact media time of every
frame that a player presents.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]  # h x w x 3, BGR

COLUMNS, ROWS, LEFT, TOP, CELL_W, CELL_H = 10, 4, 0.1, 0.1, 0.08, 0.2
FIRST_COLUMN, LAST_COLUMN = (1, 1, 0, 0), (1, 0, 1, 0)
BACKGROUND = 96
NTSC = 1001  # rates such as 29.97 are 30000 / 1001


@dataclass(frozen=True)
class Clip:
    """A clip and what a player presents of it: burnt-in numbers and exact media times, one per frame."""

    path: Path
    numbers: list[int]
    times: list[Fraction]
    end: Fraction  # media time at which the last frame ends


# --- the number in the picture -------------------------------------------------------------------------------------


def cells(number: int) -> NDArray[np.uint8]:
    """The grid of a number, 4 x 10, 1 for white."""
    bits = np.array([number >> (15 - k) & 1 for k in range(16)], np.uint8).reshape(2, 8)
    middle = np.vstack([bits, 1 - bits])
    return np.hstack([np.array(FIRST_COLUMN)[:, None], middle, np.array(LAST_COLUMN)[:, None]]).astype(np.uint8)


def draw_number(number: int, width: int, height: int, noise: int = 0) -> Picture:
    """Picture of `width` x `height` that shows `number` (0 to 65535); `noise` makes the border incompressible."""
    picture = np.full((height, width), BACKGROUND, np.uint8)
    if noise:
        picture = np.random.default_rng(number).integers(0, noise, (height, width)).astype(np.uint8)
    bar = number * 3 % width  # something that moves, so that frames depend on each other
    picture[: max(1, height // 20), bar : bar + max(1, width // 10)] = 200
    x = [round((LEFT + CELL_W * column) * width) for column in range(COLUMNS + 1)]
    y = [round((TOP + CELL_H * row) * height) for row in range(ROWS + 1)]
    for (row, column), value in np.ndenumerate(cells(number)):
        picture[y[row] : y[row + 1], x[column] : x[column + 1]] = 255 * value
    return np.repeat(picture[:, :, None], 3, axis=2)


def read_number(bgr: NDArray[Any]) -> int:
    """The number burnt into a picture of any size; ValueError when it cannot be read or the picture is not upright."""
    height, width = bgr.shape[:2]
    values = np.empty((ROWS, COLUMNS))
    for row, column in itertools.product(range(ROWS), range(COLUMNS)):
        x, y = LEFT + CELL_W * (column + 0.5), TOP + CELL_H * (row + 0.5)
        rows = slice(int((y - CELL_H / 4) * height), max(int((y + CELL_H / 4) * height), int(y * height) + 1))
        columns = slice(int((x - CELL_W / 4) * width), max(int((x + CELL_W / 4) * width), int(x * width) + 1))
        values[row, column] = bgr[rows, columns].mean()
    if np.any(np.abs(values - 127.5) < 32):
        raise ValueError("a block is neither black nor white")
    bits = values > 127.5
    if tuple(bits[:, 0]) != FIRST_COLUMN or tuple(bits[:, -1]) != LAST_COLUMN:
        raise ValueError("the markers at the sides are not where they belong")
    if np.any(bits[:2, 1:-1] == bits[2:, 1:-1]):
        raise ValueError("number and complement do not agree")
    return int("".join("1" if bit else "0" for bit in bits[:2, 1:-1].ravel()), 2)


# --- writing clips -------------------------------------------------------------------------------------------------


@dataclass
class Recipe:
    """How a clip is written; `pts` counts ticks of `time_base`, `last` is the duration of the last frame in ticks."""

    pts: Sequence[int]
    time_base: Fraction
    last: int
    suffix: str = ".mp4"
    codec: str = "libx264"
    size: tuple[int, int] = (320, 180)  # of the stored picture
    pix_fmt: str = "yuv420p"
    bframes: int = 0
    gop: int = 30
    options: dict[str, str] = field(default_factory=dict)
    muxer: dict[str, str] = field(default_factory=dict)
    stored: Sequence[tuple[int, int]] | None = None  # (pts, dts) to write instead of the encoder's, in stored order
    sound: bool = False
    turn: int = 0  # degrees clockwise by which the stored picture must be turned to stand upright
    mirrored: bool = False  # after turning, left and right are exchanged
    noise: int = 0


QUICK = {
    "libx264": {"preset": "ultrafast", "crf": "20"},
    "libx265": {"preset": "ultrafast", "x265-params": "log-level=none"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "auto-alt-ref": "0"},
}


def stored_picture(number: int, recipe: Recipe) -> Picture:
    """The picture as it lies in the file: the upright one turned back."""
    width, height = recipe.size if recipe.turn % 180 == 0 else recipe.size[::-1]
    picture = draw_number(number, width, height, recipe.noise)
    picture = picture[:, ::-1] if recipe.mirrored else picture
    return np.ascontiguousarray(np.rot90(picture, recipe.turn // 90))


def encode(stream: Any, recipe: Recipe) -> Iterator[Any]:
    """Packets of the video stream; the number burnt in is the position in `recipe.pts`."""
    for number, pts in enumerate(recipe.pts):
        frame = av.VideoFrame.from_ndarray(stored_picture(number, recipe), format="bgr24")
        frame = frame.reformat(format=recipe.pix_fmt)
        frame.pts, frame.time_base = pts, recipe.time_base
        yield from stream.encode(frame)
    yield from stream.encode()


def tone(seconds: float, rate: int = 48000) -> Iterator[av.AudioFrame]:
    """440 Hz: silent in even seconds, half amplitude in odd ones."""
    for start in range(0, int(seconds * rate), 1024):
        t = np.arange(start, start + 1024) / rate
        wave = 0.5 * np.sin(2 * np.pi * 440 * t) * (t.astype(int) % 2)
        frame = av.AudioFrame.from_ndarray(wave.astype(np.float32)[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
        yield frame


def write(path: Path, recipe: Recipe) -> None:
    """Write a clip by its recipe."""
    with av.open(str(path), "w", options=recipe.muxer) as container:
        stream: Any = container.add_stream(recipe.codec, rate=30)
        stream.width, stream.height = recipe.size
        stream.pix_fmt, stream.gop_size = recipe.pix_fmt, recipe.gop
        stream.time_base = stream.codec_context.time_base = recipe.time_base
        stream.codec_context.max_b_frames = recipe.bframes
        stream.options = {**QUICK.get(recipe.codec, {}), **recipe.options}
        sound: Any = container.add_stream("aac", rate=48000, layout="mono") if recipe.sound else None
        packets = encode(stream, recipe)
        if sound is not None:
            seconds = float((recipe.pts[-1] + recipe.last) * recipe.time_base)
            packets = itertools.chain(packets, (p for f in [*tone(seconds), None] for p in sound.encode(f)))
        for k, packet in enumerate(packets):
            if recipe.stored is not None and packet.stream is stream:
                packet.pts, packet.dts = recipe.stored[k]
                packet.time_base = recipe.time_base
            if packet.stream is stream and packet.pts == recipe.pts[-1]:
                packet.duration = recipe.last
            container.mux(packet)


# --- patching mp4 files --------------------------------------------------------------------------------------------


def boxes(data: bytes | bytearray, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """(type, start of the content, end) of the boxes of [start, end)."""
    while start + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, start)
        size = size if size > 1 else end - start if size == 0 else struct.unpack_from(">Q", data, start + 8)[0]
        yield bytes(kind), start + 8, start + size
        start += size


def box(data: bytes | bytearray, *kinds: bytes) -> tuple[int, int]:
    """Content [start, end) of the first box along a path such as moov, trak, tkhd."""
    start, end = 0, len(data)
    for kind in kinds:
        start, end = next((a, b) for name, a, b in boxes(data, start, end) if name == kind)
    return start, end


def patch(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def set_rotation(path: Path, degrees: int, size: tuple[int, int], mirrored: bool = False) -> None:
    """Write the display matrix of the first track: turn the stored picture of `size` clockwise by `degrees`."""
    width, height = size
    a, b, c, d, x, y = {
        0: (1, 0, 0, 1, 0, 0),
        90: (0, 1, -1, 0, height, 0),
        180: (-1, 0, 0, -1, width, height),
        270: (0, -1, 1, 0, 0, width),
    }[degrees]
    if mirrored:  # x becomes the upright width minus x
        a, c, x = -a, -c, (height if degrees % 180 else width) - x
    one = 1 << 16
    matrix = struct.pack(">9i", a * one, b * one, 0, c * one, d * one, 0, x * one, y * one, 1 << 30)

    def change(data: bytearray) -> None:
        start, _ = box(data, b"moov", b"trak", b"tkhd")
        data[start + 40 : start + 76] = matrix

    patch(path, change)


def set_edit(path: Path, skip: Fraction, seconds: Fraction) -> None:
    """Let the edit list of the first track present `seconds` of its media, leaving out the first `skip` seconds."""

    def change(data: bytearray) -> None:
        start, _ = box(data, b"moov", b"mvhd")
        movie_scale = struct.unpack_from(">I", data, start + 12)[0]
        start, _ = box(data, b"moov", b"trak", b"mdia", b"mdhd")
        media_scale = struct.unpack_from(">I", data, start + 12)[0]
        start, _ = box(data, b"moov", b"trak", b"edts", b"elst")
        version, entries, _, media_time = struct.unpack_from(">IIIi", data, start)
        assert version == 0 and entries == 1, "the writer made another edit list than expected"
        media_time += int(skip * media_scale)
        struct.pack_into(">Ii", data, start + 8, int(seconds * movie_scale), media_time)

    patch(path, change)


def cut_file(path: Path, share: float) -> None:
    """Keep the first `share` of the bytes."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def damage(path: Path, start: float, size: int) -> None:
    """Overwrite `size` bytes from the share `start` of the file with noise."""

    def change(data: bytearray) -> None:
        at = int(len(data) * start)
        data[at : at + size] = np.random.default_rng(7).bytes(size)

    patch(path, change)


def drop_timestamps(path: Path, which: Iterable[int]) -> None:
    """Blank the timestamps of the given pictures (in stored order) of an MPEG transport stream."""
    chosen = set(which)

    def change(data: bytearray) -> None:
        seen = 0
        for at in range(0, len(data), 188):
            if not data[at + 1] & 0x40:
                continue
            pes = at + 4 + (1 + data[at + 4] if data[at + 3] & 0x20 else 0)
            if data[pes : pes + 3] != b"\0\0\1" or not 0xE0 <= data[pes + 3] <= 0xEF:
                continue
            if seen in chosen:
                data[pes + 7] &= 0x3F
                data[pes + 9 : pes + 9 + data[pes + 8]] = b"\xff" * data[pes + 8]
            seen += 1

    patch(path, change)


# --- kinds of clips ------------------------------------------------------------------------------------------------


def steady(count: int, rate: Fraction, **more: Any) -> Recipe:
    """`count` frames at a constant rate."""
    ticks = rate.denominator
    return Recipe([k * ticks for k in range(count)], Fraction(1, rate.numerator), ticks, **more)


def varying(first: int = 0, **more: Any) -> Recipe:
    """2 s at 30, 3 s at 10 and 3 s at 24 frames per second, in milliseconds, shifted by `first`; 162 frames."""
    starts = [*(2000 * k // 60 for k in range(60)), *(2000 + 100 * k for k in range(30))]
    starts += [5000 + 3000 * k // 72 for k in range(72)]
    return Recipe([first + t for t in starts], Fraction(1, 1000), 8000 - starts[-1], **more)


def shaken(count: int = 70, seed: int = 3, **more: Any) -> Recipe:
    """Random intervals of 10 to 133 ms."""
    steps = np.random.default_rng(seed).integers(10, 134, count)
    pts = [0, *np.cumsum(steps).tolist()]
    return Recipe(pts[:-1], Fraction(1, 1000), int(steps[-1]), **more)


def fine(**more: Any) -> Recipe:
    """40 frames at uneven times in microseconds, up to 3 s apart."""
    steps = np.random.default_rng(4).integers(8_000, 90_000, 40)
    steps[20] = 2_999_999
    pts = [0, *np.cumsum(steps).tolist()]
    return Recipe(pts[:-1], Fraction(1, 1_000_000), int(steps[-1]), **more)


RECIPES: dict[str, Callable[[], Recipe]] = {
    "25": lambda: steady(60, Fraction(25)),
    "10": lambda: steady(43, Fraction(10)),
    "23.976": lambda: steady(60, Fraction(24000, NTSC)),
    "29.97": lambda: steady(60, Fraction(30000, NTSC)),
    "59.94": lambda: steady(60, Fraction(60000, NTSC)),
    "variable": varying,
    "variable-mkv": lambda: varying(suffix=".mkv", bframes=2),
    "random": shaken,
    "random-bframes": lambda: shaken(bframes=2),
    "bframes": lambda: steady(60, Fraction(25), bframes=3),
    "open-gop": lambda: steady(90, Fraction(25), bframes=3, gop=12, options={"x264-params": "open-gop=1"}),
    "one-key-frame": lambda: steady(100, Fraction(25), bframes=2, gop=1000, options={"x264-params": "scenecut=0"}),
    "late-start": lambda: varying(first=100),
    "rotated-90": lambda: steady(30, Fraction(25), turn=90),
    "rotated-180": lambda: steady(30, Fraction(25), turn=180),
    "rotated-270": lambda: steady(30, Fraction(25), turn=270),
    "trimmed": lambda: steady(60, Fraction(25)),
    "trimmed-bframes": lambda: steady(60, Fraction(25), bframes=2),
    "hevc": lambda: steady(40, Fraction(25), suffix=".mov", codec="libx265", bframes=3),
    "vp9-webm": lambda: shaken(50, suffix=".webm", codec="libvpx-vp9"),
    "vp9-mp4": lambda: steady(40, Fraction(30000, NTSC), codec="libvpx-vp9"),
    "10-bit": lambda: steady(30, Fraction(25), codec="libx265", pix_fmt="yuv420p10le", suffix=".mkv"),
    "alpha": lambda: steady(20, Fraction(25), codec="png", pix_fmt="rgba", suffix=".mov"),
    "avi": lambda: steady(40, Fraction(25), suffix=".avi", codec="mpeg4", bframes=0),
    "avi-bframes": lambda: steady(40, Fraction(25), suffix=".avi", codec="mpeg4", bframes=2),
    "avi-h264-bframes": lambda: steady(40, Fraction(25), suffix=".avi", bframes=2),
    "live-mkv": lambda: varying(suffix=".mkv", bframes=2, muxer={"live": "1"}),
    "fragments": lambda: varying(muxer={"movflags": "frag_keyframe+empty_moov+default_base_moof"}),
    "flv": lambda: steady(40, Fraction(25), suffix=".flv"),
    "microseconds": lambda: fine(suffix=".nut"),
    "ts": lambda: steady(60, Fraction(25), suffix=".ts", bframes=2),
    "odd-size": lambda: steady(20, Fraction(25), size=(67, 51), pix_fmt="yuv444p"),
    "tall": lambda: steady(8, Fraction(25), size=(540, 960)),
    "large": lambda: steady(6, Fraction(25), size=(1920, 1080)),
    "sound": lambda: steady(75, Fraction(25), sound=True),
    "sound-variable": lambda: shaken(50, sound=True, bframes=2),
    "sound-webm": lambda: steady(50, Fraction(25), suffix=".mkv", sound=True),
}
KINDS = tuple(RECIPES)
TRIM = 17  # frames left out by the edit list of the trimmed clips; not a key frame


def make(kind: str, folder: Path) -> Clip:
    """Write the clip of a kind into `folder` and return its truth."""
    recipe = RECIPES[kind]()
    path = folder / f"{kind}{recipe.suffix}"
    write(path, recipe)
    numbers = list(range(len(recipe.pts)))
    ticks = [*recipe.pts, recipe.pts[-1] + recipe.last]
    if recipe.turn:
        set_rotation(path, recipe.turn, recipe.size)
    if kind.startswith("trimmed"):
        skip, ticks, numbers = ticks[TRIM], ticks[TRIM:], numbers[TRIM:]
        set_edit(path, skip * recipe.time_base, (ticks[-1] - skip) * recipe.time_base)
        ticks = [tick - skip for tick in ticks]
    times = [tick * recipe.time_base for tick in ticks]
    return Clip(path, numbers, times[:-1], times[-1])
