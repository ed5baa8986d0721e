"""The packed masks file: one Parquet file with the masks of a run or a grounding, one row per query, object and frame.

Rows are sorted by query, object, frame, and are unique in these three. Columns: `query` and `kind` (text), `object`,
`frame`, `person` (-1: nobody's), `score`, `tracker_score` (NaN: the backend has none), `x1`, `y1`, `x2`, `y2` (of the
detection, in [0, 1] of the upright picture), `area` (pixels), `counts` (COCO run lengths, see `ml.formats.coco_rle`).
The file's key `sightline.masks` holds {"v": 1, "size": [height, width], "meta": {...}} as JSON. The same masks and meta
give the same bytes. Groups of rows are small, so that a few frames of a long video are read without the rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Masks
from ml.formats.coco_rle import (
    Size,
    area,
    boxes,
    check,
    decode,
    encode,
    intersection,
    iou,
    of_box,
    png,
    runs,
    union,
)
from ml.formats.errors import FormatError
from ml.media.files import whole

__all__ = [
    "Masks", "Size", "area", "boxes", "check", "decode", "empty", "encode", "intersection", "iou", "joined", "meta",
    "of_box", "picked", "png", "read", "runs", "union", "write",
]  # fmt: skip

KEY, VERSION = b"sightline.masks", 1
GROUP = 256  # rows read together
MOST_PIXELS = 1 << 15  # of a side
KINDS = ("mask", "box")
SIDES = ("x1", "y1", "x2", "y2")
TYPES = {
    "query": pa.string(),
    "object": pa.int32(),
    "frame": pa.int32(),
    "person": pa.int32(),
    "score": pa.float32(),
    "tracker_score": pa.float32(),
    **dict.fromkeys(SIDES, pa.float32()),
    "area": pa.int64(),
    "kind": pa.string(),
    "counts": pa.binary(),
}
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in TYPES.items()])
PLAIN = ("query", "object", "frame", "person", "score", "tracker_score", "area", "kind")


def empty(size: Size) -> Masks:
    """No masks, of pictures of this size."""
    none = np.empty(0, np.int64)
    real = np.empty(0, np.float32)
    text = np.empty(0, np.str_)
    return Masks(size, text, none, none, none, real, real, real.reshape(0, 4), none, text, [])


def picked(masks: Masks, rows: Any) -> Masks:
    """Some rows (an index or a bool array), in the given order."""
    at = np.arange(len(masks.frame))[rows]
    columns = {name: getattr(masks, name)[at] for name in (*PLAIN, "box")}
    return Masks(size=masks.size, counts=[masks.counts[k] for k in at.tolist()], **columns)


def joined(parts: Sequence[Masks]) -> Masks:
    """The rows of all parts (at least one, of one size), sorted by query, object, frame."""
    if any(part.size != parts[0].size for part in parts):
        raise ValueError(f"Masks of different sizes cannot be joined: {sorted({part.size for part in parts})}.")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in (*PLAIN, "box")}
    masks = Masks(size=parts[0].size, counts=[c for part in parts for c in part.counts], **columns)
    return picked(masks, np.lexsort((masks.frame, masks.object, masks.query)))


def write(path: Path, masks: Masks, meta: dict[str, Any]) -> None:
    """Write all of the file or nothing. `meta`: plain JSON, kept as it is (backends, weights, settings).

    Raises FormatError with a sentence for masks that cannot be: without a pixel, of another size than said, whose box
    leaves the picture, two of one object on one frame.
    """
    masks = joined([masks])
    _refuse_what_cannot_be(masks, f"{path.name}: ")
    about = json.dumps({"v": VERSION, "size": list(masks.size), "meta": meta}, sort_keys=True, ensure_ascii=False)
    columns = {name: getattr(masks, name) for name in PLAIN}
    columns |= {side: masks.box[:, k] for k, side in enumerate(SIDES)}
    arrays = [
        pa.array(list(masks.counts) if f.name == "counts" else columns[f.name].tolist(), f.type, from_pandas=False)
        for f in SCHEMA
    ]
    table = pa.table(arrays, schema=SCHEMA.with_metadata({KEY: about.encode()}))
    with whole(path) as part:
        pq.write_table(
            table, part, row_group_size=GROUP, compression="zstd", use_dictionary=["query", "kind"],
            write_page_checksum=True,
        )  # fmt: skip


def _refuse_what_cannot_be(masks: Masks, where: str) -> None:
    check(masks.counts, masks.size, where)
    counted = area(masks.counts, masks.size)
    same = (
        (masks.query[1:] == masks.query[:-1])
        & (masks.object[1:] == masks.object[:-1])
        & (masks.frame[1:] == masks.frame[:-1])
    )
    low, high = masks.box[:, :2], masks.box[:, 2:]
    faults = (
        (counted == 0, "the mask has no pixel"),
        (counted != masks.area, "the area is not the number of pixels of the mask"),
        (~((low >= 0).all(1) & (high <= 1).all(1) & (low < high).all(1)), "the box leaves the picture or is empty"),
        (~np.isin(masks.kind, KINDS), f"the kind is none of {', '.join(KINDS)}"),
        (~np.isfinite(masks.score), "the score is no number"),
        ((masks.frame < 0) | (masks.person < -1), "the frame or the person is below 0"),
        (np.r_[False, same][: len(masks.frame)], "it stands there twice"),
    )
    for wrong, sentence in faults:
        if wrong.any():
            k = int(np.argmax(wrong))
            row = f"object {masks.object[k]} of query {str(masks.query[k])!r} on frame {masks.frame[k]}"
            raise FormatError(f"{where}{row}: {sentence}.")


def meta(path: Path) -> dict[str, Any]:
    """What was written as `meta`. Raises FormatError."""
    with _opened(path) as file:
        return _about(file, path)["meta"]


Frames = tuple[int, int] | NDArray[np.int64]  # [start, end), or these


def read(path: Path, queries: Sequence[str] | None = None, frames: Frames | None = None) -> Masks:
    """The masks of a file: of some queries only, and of some frames only, without keeping the others in memory.

    Raises FormatError with file and cause when it is none, damaged, or cut off.
    """
    with _opened(path) as file:
        size = tuple(_about(file, path)["size"])
        groups = [
            k for k in range(file.metadata.num_row_groups) if _may_hold(file.metadata.row_group(k), queries, frames)
        ]
        try:
            table = file.read_row_groups(groups)
            table = table.filter(pa.array(_wanted(table, queries, frames)))
            columns = {name: np.asarray(table[name].to_numpy(zero_copy_only=False)) for name in table.column_names}
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise FormatError(f"{path.name}: it is damaged.") from error
    given: dict[str, Any] = {
        **{name: columns[name].astype(np.int64) for name in ("object", "frame", "person", "area")},
        **{name: columns[name].astype(np.str_) for name in ("query", "kind")},
        **{name: columns[name].astype(np.float32) for name in ("score", "tracker_score")},
        "box": np.stack([columns[side] for side in SIDES], 1).astype(np.float32),
    }
    masks = Masks(size=size, counts=columns["counts"].tolist(), **given)
    check(masks.counts, masks.size, f"{path.name}: ")
    return masks


def _wanted(table: pa.Table, queries: Sequence[str] | None, frames: Frames | None) -> NDArray[np.bool_]:
    wanted = np.ones(table.num_rows, bool)
    if queries is not None:
        asked = pa.array(list(queries), pa.string())
        wanted &= pc.is_in(table["query"], value_set=asked).to_numpy()
    if frames is not None:
        frame = table["frame"].to_numpy()
        wanted &= (frame >= frames[0]) & (frame < frames[1]) if isinstance(frames, tuple) else np.isin(frame, frames)
    return wanted


def _opened(path: Path) -> pq.ParquetFile:
    if not path.is_file():
        raise FormatError(f"{path.name}: there is no such file.")
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path.name}: it is no masks file, or one that is cut off or damaged.") from error


def _about(file: pq.ParquetFile, path: Path) -> dict[str, Any]:
    raw = (file.schema_arrow.metadata or {}).get(KEY)
    if raw is None or not file.schema_arrow.equals(SCHEMA):
        raise FormatError(f"{path.name}: it is a Parquet file, but none with masks.")
    try:
        about = json.loads(raw)
        version, (height, width), _ = about["v"], about["size"], about["meta"]
        sound = all(isinstance(n, int) and 0 < n < MOST_PIXELS for n in (height, width))
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path.name}: what it says of itself is damaged.") from error
    if not sound:
        raise FormatError(f"{path.name}: its pictures would have {width!r} x {height!r} pixels.")
    if version != VERSION:
        raise FormatError(f"{path.name}: it has version {version!r} of the masks file; this program reads {VERSION}.")
    return about


def _may_hold(group: pq.RowGroupMetaData, queries: Sequence[str] | None, frames: Frames | None) -> bool:
    """Whether a group of rows can hold a wanted one, by the smallest and largest values noted of it."""
    place = {group.column(k).path_in_schema: group.column(k).statistics for k in range(group.num_columns)}
    query, frame = place["query"], place["frame"]
    if query is None or frame is None or not (query.has_min_max and frame.has_min_max):
        return True
    if queries is not None and not any(query.min <= q <= query.max for q in queries):
        return False
    if isinstance(frames, tuple):
        return bool(frame.min < frames[1] and frame.max >= frames[0])
    return frames is None or bool(((frames >= frame.min) & (frames <= frame.max)).any())
