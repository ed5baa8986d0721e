"""The GRASP gaze JSON: one file per video, gaze of every person on sampled frames.

Layout:

    {"video_path": str, "video_fps": number, "sample_fps": number, "total_frames": int, "processed_frames": int,
     "persons_summary": {"<id>": {"person_id", "track_length", "face_detection_pct", "inframe_gaze_pct"}},
     "frames": [{"frame_idx": int, "timestamp": seconds, "persons": [
         {"person_id": int, "body_bbox": box | null, "face_bbox": box | null, "head_bbox": box | null,
          "gaze_point": [x, y] | null, "inout": bool | 0..1 | null, "face_detected": bool | null}]}]}

Boxes are x1, y1, x2, y2 and points x, y, normalised by the picture's width and height (origin top left, y down).
`frame_idx` counts frames of the source video; it and `timestamp` grow strictly from frame to frame.

Optional additions in the head, ours: `width` and `height` (pixels, upright; only their ratio matters) and `shots`
(a list of [start, end) source frames, in order, without overlap). Other fields of the head are kept as they are; other
fields of frames and persons are dropped.

Reading is `parse` (bytes to `GazeFile`), writing is `build` (`GazeFile` to a tree for JSON); both are pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

HEAD = ("video_path", "video_fps", "sample_fps", "total_frames", "processed_frames", "persons_summary", "frames")
OPTIONAL_HEAD = ("width", "height", "shots")
LARGEST_PERSON = 2**31 - 1

# Boxes may stick out of the picture a little, and gaze may land outside it; anything further is pixels, not shares.
NORMALISED = (-2.0, 3.0)

_BOXES = ("body_bbox", "face_bbox", "head_bbox")


@dataclass
class GazeFile:
    """One gaze file, columns first.

    `frames` int64[T] and `times` float64[T] (seconds) are the samples. A row is one person on one sample, rows sorted
    by sample as in the file: `row_sample` int64[R] (index into `frames`), `row_person` int64[R], `body`, `face` and
    `head` float64[R, 4], `gaze` float64[R, 2], `inout` float64[R] and `face_detected` float64[R]; NaN where the file
    holds null or nothing.
    """

    video_path: str
    video_fps: float
    sample_fps: float
    total_frames: int | None
    processed_frames: int | None
    persons_summary: dict[str, Any]
    frames: NDArray[np.int64]
    times: NDArray[np.float64]
    row_sample: NDArray[np.int64]
    row_person: NDArray[np.int64]
    body: NDArray[np.float64]
    face: NDArray[np.float64]
    head: NDArray[np.float64]
    gaze: NDArray[np.float64]
    inout: NDArray[np.float64]
    face_detected: NDArray[np.float64]
    width: int | None = None
    height: int | None = None
    shots: list[tuple[int, int]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GazeFile):
            return NotImplemented
        return all(_same(getattr(self, each.name), getattr(other, each.name)) for each in fields(self))


def parse(data: bytes | str) -> GazeFile:
    """Read and check one gaze file; `FormatError` names the place and the cause."""
    tree = read.mapping(read.load(data), "the file")
    columns = _Columns()
    for position, item in enumerate(read.sequence(read.member(tree, "frames", ""), "frames")):
        _frame(item, f"frames[{position}]", columns)
    width, height = _size(tree)
    return GazeFile(
        video_path=read.text(read.member(tree, "video_path", ""), "video_path"),
        video_fps=_rate(tree, "video_fps"),
        sample_fps=_rate(tree, "sample_fps"),
        total_frames=_count(tree, "total_frames"),
        processed_frames=_count(tree, "processed_frames"),
        persons_summary=_summary(tree.get("persons_summary")),
        width=width,
        height=height,
        shots=_shots(tree.get("shots")),
        extra={key: read.plain(tree[key], read.step("", key)) for key in tree if key not in HEAD + OPTIONAL_HEAD},
        **columns.arrays(),
    )


def build(gaze: GazeFile) -> dict[str, Any]:
    """The tree that `json.dumps` writes; `parse` of it gives an equal `GazeFile`."""
    tree: dict[str, Any] = {
        "video_path": gaze.video_path,
        "video_fps": gaze.video_fps,
        "sample_fps": gaze.sample_fps,
        "total_frames": gaze.total_frames,
        "processed_frames": gaze.processed_frames,
        **({} if gaze.width is None else {"width": gaze.width, "height": gaze.height}),
        **({} if gaze.shots is None else {"shots": [list(shot) for shot in gaze.shots]}),
        **gaze.extra,
        "persons_summary": gaze.persons_summary,
    }
    bounds = np.searchsorted(gaze.row_sample, np.arange(len(gaze.frames) + 1))
    tree["frames"] = [
        {
            "frame_idx": int(frame),
            "timestamp": float(time),
            "persons": [_person(gaze, row) for row in range(bounds[sample], bounds[sample + 1])],
        }
        for sample, (frame, time) in enumerate(zip(gaze.frames, gaze.times, strict=True))
    ]
    return tree


class _Columns:
    """Rows on their way into arrays."""

    def __init__(self) -> None:
        self.frames: list[int] = []
        self.times: list[float] = []
        self.samples: list[int] = []
        self.persons: list[int] = []
        self.values: list[list[float]] = []

    def arrays(self) -> dict[str, NDArray[Any]]:
        values = np.array(self.values, dtype=np.float64).reshape(-1, 16)
        return {
            "frames": np.array(self.frames, dtype=np.int64),
            "times": np.array(self.times, dtype=np.float64),
            "row_sample": np.array(self.samples, dtype=np.int64),
            "row_person": np.array(self.persons, dtype=np.int64),
            "body": values[:, 0:4].copy(),
            "face": values[:, 4:8].copy(),
            "head": values[:, 8:12].copy(),
            "gaze": values[:, 12:14].copy(),
            "inout": values[:, 14].copy(),
            "face_detected": values[:, 15].copy(),
        }


def _frame(item: Any, place: str, columns: _Columns) -> None:
    tree = read.mapping(item, place)
    frame = read.whole(read.member(tree, "frame_idx", place), f"{place}.frame_idx")
    time = read.number(read.member(tree, "timestamp", place), f"{place}.timestamp", low=0.0, high=1e8)
    if columns.frames and frame <= columns.frames[-1]:
        raise FormatError(f"{place}.frame_idx: {frame} does not come after {columns.frames[-1]}, the frame before it.")
    if columns.times and time <= columns.times[-1]:
        raise FormatError(f"{place}.timestamp: {time:g} does not come after {columns.times[-1]:g}, the one before it.")
    seen: set[int] = set()
    for position, entry in enumerate(read.sequence(read.member(tree, "persons", place), f"{place}.persons")):
        person_place = f"{place}.persons[{position}]"
        person = read.mapping(entry, person_place)
        number = _identifier(read.member(person, "person_id", person_place), f"{person_place}.person_id")
        if number in seen:
            raise FormatError(f"{person_place}.person_id: person {number} is listed twice in this frame.")
        seen.add(number)
        columns.samples.append(len(columns.frames))
        columns.persons.append(number)
        columns.values.append(_values(person, person_place))
    columns.frames.append(frame)
    columns.times.append(time)


def _identifier(value: Any, place: str) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    return read.whole(value, place, high=LARGEST_PERSON)


def _values(person: Mapping[str, Any], place: str) -> list[float]:
    """Body, face and head box, gaze point, in/out, face flag: 16 numbers, NaN for what is not there."""
    values: list[float] = []
    for name in _BOXES:
        values += _optional(person.get(name), f"{place}.{name}", 4, NORMALISED if name == "face_bbox" else None)
    x1, y1, x2, y2 = values[4:8]
    if x2 < x1 or y2 < y1:
        raise FormatError(
            f"{place}.face_bbox: the right or lower edge lies before the left or upper one "
            f"([{x1:g}, {y1:g}, {x2:g}, {y2:g}])."
        )
    values += _optional(person.get("gaze_point"), f"{place}.gaze_point", 2, NORMALISED)
    values.append(_flag(person.get("inout"), f"{place}.inout"))
    values.append(_flag(person.get("face_detected"), f"{place}.face_detected"))
    return values


def _optional(value: Any, place: str, count: int, limits: tuple[float, float] | None) -> list[float]:
    if value is None or (isinstance(value, list) and value and all(item is None for item in value)):
        return [math.nan] * count
    result = read.numbers(value, place, count)
    if limits and not all(limits[0] <= item <= limits[1] for item in result):
        raise FormatError(f"{place}: {read.shown(value)} is not normalised by the picture's width and height.")
    return result


def _flag(value: Any, place: str) -> float:
    if value is None:
        return math.nan
    return float(value) if isinstance(value, bool) else read.number(value, place, low=0.0, high=1.0)


def _rate(tree: Mapping[str, Any], key: str) -> float:
    rate = read.number(read.member(tree, key, ""), key, high=1e6)
    if rate <= 0:
        raise FormatError(f"{key}: expected a rate above 0, found {rate:g}.")
    return rate


def _count(tree: Mapping[str, Any], key: str) -> int | None:
    return None if tree.get(key) is None else read.whole(tree[key], key)


def _size(tree: Mapping[str, Any]) -> tuple[int | None, int | None]:
    if tree.get("width") is None and tree.get("height") is None:
        return None, None
    for key in ("width", "height"):
        if tree.get(key) is None:
            raise FormatError(f"{key}: width and height come together or not at all.")
    width, height = (read.whole(tree[key], key, low=1, high=2**20) for key in ("width", "height"))
    return width, height


def _summary(value: Any) -> dict[str, Any]:
    return {} if value is None else dict(read.mapping(read.plain(value, "persons_summary"), "persons_summary"))


def _shots(value: Any) -> list[tuple[int, int]] | None:
    if value is None:
        return None
    shots: list[tuple[int, int]] = []
    for position, item in enumerate(read.sequence(value, "shots")):
        place = f"shots[{position}]"
        pair = read.sequence(item, place)
        if len(pair) != 2:
            raise read.fail(place, "two frame numbers", item)
        start, end = (read.whole(each, f"{place}[{at}]") for at, each in enumerate(pair))
        if end <= start:
            raise FormatError(f"{place}: the shot ends at {end}, not after its start {start}.")
        if shots and start < shots[-1][1]:
            raise FormatError(f"{place}: the shot starts at {start}, before the previous one ends ({shots[-1][1]}).")
        shots.append((start, end))
    return shots


def _person(gaze: GazeFile, row: int) -> dict[str, Any]:
    inout = gaze.inout[row]
    detected = gaze.face_detected[row]
    return {
        "person_id": int(gaze.row_person[row]),
        "body_bbox": _list(gaze.body[row]),
        "face_bbox": _list(gaze.face[row]),
        "head_bbox": _list(gaze.head[row]),
        "gaze_point": _list(gaze.gaze[row]),
        "inout": _unflag(inout),
        "face_detected": _unflag(detected),
    }


def _list(values: NDArray[np.float64]) -> list[float] | None:
    return None if np.isnan(values).any() else values.tolist()


def _unflag(value: float) -> bool | float | None:
    if math.isnan(value):
        return None
    return bool(value) if value in (0.0, 1.0) else float(value)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b)
