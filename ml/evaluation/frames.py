"""Pictures of an item's clip, each with its time: at most 240, evenly spaced, as GRASP's evaluation has them.

Tags of persons are in the pictures where the clip was cut with them; the time goes along as words before each picture.
Videos are files, or folders of numbered pictures. `ml.media` is imported when pictures are read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ml.evaluation.bench import Bench, Item
from ml.formats.errors import FormatError

MOST_FRAMES = 240
RATE = 2.0  # per second at most
LONGEST = 768  # pixels of the longer side
QUALITY = 85
PICTURES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True)
class Shown:
    """One picture, JPEG, and its second of the clip."""

    second: float
    jpeg: bytes


@dataclass(frozen=True)
class Look:
    """How clips are shown. `shuffled`: a seed by which the pictures change places while the times stay."""

    most: int = MOST_FRAMES
    rate: float = RATE
    longest: int = LONGEST
    shuffled: int | None = None


def place(item: Item, videos: Path) -> Path:
    """The item's video. Raises FormatError: it has none, it lies outside the folder, or is not there."""
    if not item.video:
        raise FormatError(f"The item {item.id} names no video.")
    root = videos.resolve()
    path = root / item.video
    tried = [path, root / "video" / item.video, path.with_name(f"{path.name}.mp4"), root / path.name]
    for one in tried:
        if one.exists() and one.resolve().is_relative_to(root):
            return one
    raise FormatError(f"The video {item.video} of the item {item.id} is not below {videos}.")


def even(duration_s: float, look: Look) -> NDArray[np.float64]:
    """Seconds at which pictures are taken: the middles of equal parts, even in number from 2 on."""
    wanted = min(look.most, max(1, int(np.floor(duration_s * look.rate + 1e-9))))
    wanted -= wanted % 2 if wanted > 1 else 0
    return np.asarray((np.arange(wanted) + 0.5) * duration_s / wanted, np.float64)


def shown(item: Item, bench: Bench, look: Look) -> list[Shown]:
    """The pictures. Raises FormatError, MediaError."""
    assert bench.videos is not None
    path = place(item, bench.videos)
    found = _folder(path, item, look) if path.is_dir() else _file(path, item, look)
    if look.shuffled is None:
        return found
    digest = hashlib.sha256(f"{look.shuffled}:{item.id}".encode()).digest()
    order = np.random.default_rng(int.from_bytes(digest[:8], "big")).permutation(len(found))
    return [Shown(one.second, found[at].jpeg) for one, at in zip(found, order.tolist(), strict=True)]


def _folder(path: Path, item: Item, look: Look) -> list[Shown]:
    import cv2

    files = sorted(one for one in path.iterdir() if one.suffix.lower() in PICTURES)
    if not files:
        raise FormatError(f"The folder {item.video} of the item {item.id} holds no picture.")
    rate = item.rate or look.rate
    low, high = item.start or 0.0, item.end if item.end is not None else len(files) / rate
    seconds = low + even(high - low, look)
    numbers = np.unique(np.clip((seconds * rate).astype(int), 0, len(files) - 1))
    found = []
    for number in numbers.tolist():
        image = cv2.imread(str(files[number]))
        if image is None:
            raise FormatError(f"{files[number].name} of {item.video} is no picture that can be read.")
        found.append(Shown(number / rate - low, _jpeg(np.asarray(image, np.uint8), look.longest)))
    return found


def _file(path: Path, item: Item, look: Look) -> list[Shown]:
    from ml.media.decode import read_frames

    index = index_of(path)
    low = item.start or 0.0
    high = min(index.duration_s, item.end) if item.end is not None else index.duration_s
    if high <= low:
        raise FormatError(f"The clip of the item {item.id} begins at {low:g} s, the video ends at {high:g} s.")
    numbers = np.unique(np.searchsorted(index.zeroed[:-1], low + even(high - low, look), side="right") - 1)
    pictures = read_frames(path, index, numbers, longest=look.longest)
    return [Shown(float(index.zeroed[n]) - low, _jpeg(picture, look.longest)) for n, picture in pictures]


def index_of(path: Path):  # type: ignore[no-untyped-def]
    """The frame index of a video: by its packets where each names its time, else by decoding. Raises MediaError."""
    from ml.media.index import FrameIndex
    from ml.media.source import Tally, open_source
    from ml.media.timeline import Timeline

    with open_source(path) as source:
        packets = list(source.packets([source.video], Tally()))[:-1]
        known = [(p.pts, p.duration or 0) for p in packets if p.pts is not None and not p.is_discard]
        origin, base = source.origin, source.time_base
        simple = not (source.starts_at_zero or source.decode_order_only) and len(known) == len(packets)
    known.sort()
    ticks = np.array([tick for tick, _ in known], np.int64) - origin
    if simple and len(ticks) and ticks[0] >= 0 and (np.diff(ticks) > 0).all():
        last = known[-1][1] or (int(ticks[-1] - ticks[-2]) if len(ticks) > 1 else 1)
        decoded = None if origin == 0 else ticks + origin
        return FrameIndex(np.append(ticks, ticks[-1] + last), base, decoded=decoded)
    tally = Tally()
    with open_source(path) as source:
        rate = source.video.average_rate or 25
        step = max(1, round(1 / (rate * source.time_base)))
        line = Timeline(source.time_base, step, source.origin, source.starts_at_zero)
        for frame in source.frames(tally):
            line.push(source.stamp(frame), frame.duration)
        line.finish()
    if not len(line.pts):
        from ml.media.source import refuse

        raise refuse("no picture in it can be decoded")
    return line.index(tally.errors)


def _jpeg(picture: NDArray[np.uint8], longest: int) -> bytes:
    import cv2

    height, width = picture.shape[:2]
    if max(height, width) > longest:
        scale = longest / max(height, width)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    made, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not made:
        raise RuntimeError("OpenCV could not write a JPEG.")
    return bytes(data)
