"""samples.parquet: one row per person and analysed frame, sorted by frame and track.

Boxes and points are normalised to [0, 1] of the upright picture; NaN where there is nothing. See `SCHEMA` for the types
and `rows` for how each column comes about.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ml.perception import gaze
from ml.perception.assemble import Fill
from ml.perception.nanodet import COCO
from ml.perception.protocols import Array
from ml.perception.records import Piece

ESTIMATE, PROFILE = "geometric estimate", "geometric estimate, profile"
METHODS = ("", ESTIMATE, PROFILE)

F = pa.float32()
SCHEMA = pa.schema(
    [
        ("frame", pa.int32()),
        ("shot", pa.int16()),
        ("track", pa.int32()),
        ("sampled", pa.bool_()),
        *((f"body_{side}", F) for side in ("x1", "y1", "x2", "y2")),
        ("body_score", F),
        ("body_derived", pa.bool_()),
        *((f"face_{side}", F) for side in ("x1", "y1", "x2", "y2")),
        *((name, F) for name in ("face_score", "face_flag", "yaw", "pitch", "eye_x", "eye_y", "gaze_x", "gaze_y")),
        ("inframe", F),
        ("confidence", F),
        ("method", pa.dictionary(pa.int8(), pa.string())),
        ("target_kind", pa.string()),
        ("target_track", pa.int32()),
        ("target_object", pa.string()),
    ]
)

Columns = dict[str, Array]


def rows(piece: Piece, tracks: Array, fills: list[Fill], starts: Array) -> Columns:
    """Persons of one piece in pixels: detected rows that belong to a track, and fills; sorted by frame and track.

    `tracks`: track of each row of the piece, -1 none; `starts`: first frames of the shots.
    """
    kept = np.flatnonzero(tracks >= 0)
    frame = np.concatenate([piece.frame[piece.position[kept]], [f.frame for f in fills]]).astype(np.int32)
    number = np.concatenate([tracks[kept], [f.track for f in fills]]).astype(np.int32)
    order = np.lexsort((number, frame))
    empty = len(fills)

    def column(values: Array, fill: Any) -> Array:
        extra = np.full((empty, *values.shape[1:]), fill, values.dtype)
        return np.concatenate([values[kept], extra])[order]

    body = np.concatenate([piece.body[kept], np.array([f.box for f in fills], np.float32).reshape(-1, 4)])
    return {
        "frame": frame[order],
        "shot": (np.searchsorted(starts, frame[order], side="right") - 1).astype(np.int16),
        "track": number[order],
        "sampled": np.concatenate([piece.sampled[piece.position[kept]], [f.sampled for f in fills]]).astype(bool)[
            order
        ],
        "body": body[order],
        "body_score": column(piece.score, np.nan),
        "body_derived": column(piece.derived, True),
        "face": column(piece.face, np.nan),
        "face_score": column(piece.face_score, np.nan),
        "face_flag": column(piece.flag, np.nan),
        "profile": column(piece.profile, False),
        "yaw": column(piece.yaw, np.nan),
        "pitch": column(piece.pitch, np.nan),
        "eye": column(piece.eye, np.nan),
        "read": column(piece.read, np.nan),
    }


def correct(columns: Columns, bias: Array) -> None:
    """Take the pitch bias (degrees, by shot) off the mesh's readings; clamp both angles to +-90. In place."""
    mesh = ~columns["profile"]
    columns["pitch"] = columns["pitch"] - np.where(mesh, bias[columns["shot"]], 0).astype(np.float32)
    for name in ("yaw", "pitch"):
        columns[name] = np.clip(columns[name], -90, 90)


def add_targets(columns: Columns, piece: Piece, width: int, height: int) -> None:
    """Fill in what each person looks at, frame by frame. In place."""
    count = len(columns["frame"])
    columns["kind"], columns["target_track"] = np.full(count, gaze.NONE), np.full(count, -1, np.int32)
    columns["point"], columns["inframe"] = np.full((count, 2), np.nan), np.full(count, np.nan)
    columns["confidence"], columns["target_class"] = np.full(count, np.nan), np.full(count, -1)
    columns["kind"][np.isfinite(columns["face_score"])] = gaze.UNUSABLE  # a face, unless a direction is found below
    seen = np.unique(columns["frame"][np.isfinite(columns["yaw"])])
    bounds = np.searchsorted(columns["frame"], [seen, seen + 1])
    objects = np.searchsorted(piece.object_position, np.searchsorted(piece.frame, [seen, seen + 1]))
    for low, high, first, last in zip(*bounds.tolist(), *objects.tolist(), strict=True):
        _add_frame(columns, piece, slice(low, high), slice(first, last), width, height)


def _add_frame(columns: Columns, piece: Piece, here: slice, objects: slice, width: int, height: int) -> None:
    part = {name: columns[name][here] for name in ("yaw", "pitch", "eye", "face", "track")}
    looks = gaze.look_targets(
        part["yaw"], part["pitch"], part["eye"], part["face"], piece.object_box[objects], width, height
    )  # fmt: skip
    directed = np.isfinite(part["yaw"])
    about = (columns[name][here] for name in ("face_score", "face_flag", "read", "profile"))
    term = gaze.face_term(*about)
    columns["kind"][here][directed] = looks.kind[directed]
    columns["point"][here], columns["inframe"][here] = looks.point, looks.inframe
    columns["confidence"][here] = np.where(directed, term * looks.term, np.nan)
    person, thing = looks.kind == gaze.PERSON, looks.kind == gaze.OBJECT
    columns["target_track"][here][person] = part["track"][looks.target[person]]
    columns["target_class"][here][thing] = piece.object_class[objects][looks.target[thing]]


def table(columns: Columns, width: int, height: int) -> pa.Table:
    """The columns as they are stored."""
    scale = np.array([width, height, width, height], np.float32)
    method = np.where(np.isnan(columns["yaw"]), 0, np.where(columns["profile"], 2, 1)).astype(np.int8)
    names = np.array([*COCO, ""], dtype=object)  # -1 is the last
    plain = {
        **{name: columns[name] for name in ("frame", "shot", "track", "sampled", "body_score", "body_derived")},
        **{name: columns[name] for name in ("face_score", "face_flag", "yaw", "pitch", "inframe", "confidence")},
        **{name: columns[name] for name in ("target_track",)},
        **_split("body", columns["body"] / scale, ("x1", "y1", "x2", "y2")),
        **_split("face", columns["face"] / scale, ("x1", "y1", "x2", "y2")),
        **_split("eye", columns["eye"] / scale[:2], ("x", "y")),
        **_split("gaze", columns["point"] / scale[:2], ("x", "y")),
        "method": pa.DictionaryArray.from_arrays(pa.array(method), pa.array(METHODS)),
        "target_kind": np.array(gaze.KINDS, dtype=object)[columns["kind"]],
        "target_object": names[columns["target_class"]],
    }
    return pa.table({field.name: _array(plain[field.name], field.type) for field in SCHEMA}, schema=SCHEMA)


def _split(prefix: str, values: Array, parts: tuple[str, ...]) -> Columns:
    return {f"{prefix}_{part}": values[:, k] for k, part in enumerate(parts)}


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, kind)
