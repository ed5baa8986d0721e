"""The two files the workspace page draws a run from: every box and gaze point, and a compact ribbon.

`tracks.bin`: little-endian records of 40 bytes, sorted by (frame, track):

    u32 frame @0, u16 track @4, u8 flags @6 (1 sampled, 2 body derived, 4 has face, 8 has gaze point, 16 the gaze
    follows the rough direction of a profile), u8 kind @7 (0 none, 1 person, 2 object, 3 scene, 4 camera, 5 off,
    6 unusable), i16[4] body @8, i16[4] face @16, i16[2] eye @24, i16[2] gaze @28, u16 target track @32 (65535 none),
    u8 confidence @34, u8 in-frame share @35, u8 face score @36, u8 body score @37 (each value x 255), i8 yaw @38,
    i8 pitch @39 (degrees; -128 not known)

Coordinates are normalised picture coordinates x 16384, clipped to the range of i16; missing ones are 0.

`ribbon.bin`: u32 length of a JSON header, the header padded with spaces, then sections that each start at a multiple of
8. Header: {"v": 1, "frames": N, "block": 256, "vmax": number, "tracks": [{"track", "first", "count"}],
"sections": {name: {"offset" (from the start of the file), "dtype" (u8, u16 or u32), "count"}}}. Sections:

    block_rows u32     number of the first record with frame >= 256 k, for k = 0 .. ceil(N / 256); the last is the count
    run_track u16, run_start u32, run_end u32, run_kind u8, run_target u16 (65535 none), run_filled u8
                       gaze runs by track and start: consecutive samples with one kind and target, half-open frames;
                       run_filled 1 bridges samples without gaze between two runs of one kind and target
    vel_frame u32, vel u16   strict gaze velocity per sample x 65534 / vmax, 65535 not known; the samples of a track are
                       [first, first + count) as the header's `tracks` say; longer sides per second
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.social import runs
from ml.social.features import window_displacement
from ml.social.presets import Strict
from ml.social.scene import CAMERA, NONE, OFF, UNUSABLE, Bools, Floats, Ints, hold, kind_codes

RECORD = np.dtype(
    [
        ("frame", "<u4"),
        ("track", "<u2"),
        ("flags", "u1"),
        ("kind", "u1"),
        ("body", "<i2", 4),
        ("face", "<i2", 4),
        ("eye", "<i2", 2),
        ("gaze", "<i2", 2),
        ("target", "<u2"),
        ("confidence", "u1"),
        ("inframe", "u1"),
        ("face_score", "u1"),
        ("body_score", "u1"),
        ("yaw", "i1"),
        ("pitch", "i1"),
    ]
)
SAMPLED, DERIVED, HAS_FACE, HAS_GAZE, FROM_PROFILE = 1, 2, 4, 8, 16
PROFILE_METHOD = "geometric estimate, profile"  # in the column `method`, which a run may lack
UNIT = 16384
BLOCK = 256
NO_TRACK = 65535
NO_VELOCITY = 65535
NO_ANGLE = -128
_DTYPES: dict[str, np.dtype[Any]] = {"u8": np.dtype("u1"), "u16": np.dtype("<u2"), "u32": np.dtype("<u4")}
_BODY = ("body_x1", "body_y1", "body_x2", "body_y2")
_FACE = ("face_x1", "face_y1", "face_x2", "face_y2")
COLUMNS = (
    "frame",
    "shot",
    "track",
    "sampled",
    *_BODY,
    "body_score",
    "body_derived",
    *_FACE,
    "face_score",
    "yaw",
    "pitch",
    "eye_x",
    "eye_y",
    "gaze_x",
    "gaze_y",
    "inframe",
    "confidence",
    "target_kind",
    "target_track",
)

Columns = Mapping[str, NDArray[Any]]


@dataclass
class Display:
    """What the two files hold: `records` (dtype `RECORD`), the ribbon's `header` and its `sections`."""

    records: NDArray[Any]
    header: dict[str, Any]
    sections: dict[str, NDArray[Any]]


def write_display(
    folder: Path,
    samples: Columns | Path,
    *,
    seconds: Floats,
    frames: int,
    aspect: float,
    track_ends: Mapping[int, int] | None = None,
) -> None:
    """Write `tracks.bin` and `ribbon.bin` into `folder`; each appears complete or not at all.

    `samples` are the columns of `samples.parquet` (`method` may be missing) or its path, `seconds` float64[frames + 1]
    the time of every source frame and of the end of the last, `aspect` width / height, `track_ends` the end of each
    track's span, by its number, as `run.json` has them (without them: the frame after its last row).
    """
    columns = _columns(samples if isinstance(samples, Mapping) else _read_parquet(samples))
    records = pack_records(columns)
    header, sections = build_ribbon(
        columns, records, seconds=seconds, frames=frames, aspect=aspect, track_ends=track_ends
    )
    _write(folder / "tracks.bin", [records.tobytes()])
    _write(folder / "ribbon.bin", _ribbon_bytes(header, sections))


def read_display(folder: Path) -> Display:
    """Read both files back."""
    data = (folder / "ribbon.bin").read_bytes()
    length = int(np.frombuffer(data, "<u4", 1)[0])
    header = json.loads(data[4 : 4 + length])
    sections = {
        name: np.frombuffer(data, _DTYPES[section["dtype"]], section["count"], section["offset"])
        for name, section in header["sections"].items()
    }
    return Display(np.fromfile(folder / "tracks.bin", RECORD), header, sections)


def pack_records(columns: Columns) -> NDArray[Any]:
    """The records (dtype `RECORD`) of rows given as columns of `samples.parquet`, sorted by (frame, track)."""
    tracks = columns["track"]
    if len(tracks) and (tracks.min() < 0 or tracks.max() >= NO_TRACK):
        raise ValueError(
            f"samples.track: expected numbers from 0 to {NO_TRACK - 1}, found {tracks.min()} to {tracks.max()}."
        )
    records = np.zeros(len(tracks), dtype=RECORD)
    records["frame"], records["track"] = columns["frame"], tracks
    kind = columns["target_kind"]
    records["kind"] = kind if kind.dtype == np.uint8 else kind_codes(kind)
    target = columns["target_track"]
    records["target"] = np.where((target >= 0) & (target < NO_TRACK), target, NO_TRACK)
    for name, parts in (("body", _BODY), ("face", _FACE), ("eye", ("eye_x", "eye_y")), ("gaze", ("gaze_x", "gaze_y"))):
        for position, part in enumerate(parts):
            records[name][:, position] = _fixed(columns[part], UNIT, -(2**15), 2**15 - 1)
    for name in ("confidence", "inframe", "face_score", "body_score"):
        records[name] = _fixed(columns[name], 255, 0, 255)
    for name in ("yaw", "pitch"):
        angle = columns[name]
        records[name] = np.where(np.isnan(angle), NO_ANGLE, _fixed(angle, 1, -127, 127))
    records["flags"] = (
        SAMPLED * np.asarray(columns["sampled"], dtype=np.uint8)
        + DERIVED * np.asarray(columns["body_derived"], dtype=np.uint8)
        + HAS_FACE * np.isfinite(columns["face_x1"]).astype(np.uint8)
        + HAS_GAZE * np.isfinite(columns["gaze_x"]).astype(np.uint8)
    )
    if "method" in columns:
        records["flags"] += FROM_PROFILE * (columns["method"] == PROFILE_METHOD).astype(np.uint8)
    in_order = (records["frame"][1:] > records["frame"][:-1]) | (
        (records["frame"][1:] == records["frame"][:-1]) & (records["track"][1:] > records["track"][:-1])
    )
    return records if in_order.all() else records[np.lexsort((records["track"], records["frame"]))]


def build_ribbon(
    columns: Columns,
    records: NDArray[Any],
    *,
    seconds: Floats,
    frames: int,
    aspect: float,
    track_ends: Mapping[int, int] | None = None,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header (without `sections`) and sections of the ribbon."""
    blocks = np.arange(-(-frames // BLOCK) + 1) * BLOCK
    blocks[-1] = max(frames, blocks[-1])
    rows = np.searchsorted(records["frame"], blocks).astype("<u4")
    rows[-1] = len(records)
    samples = _Samples.of(columns, seconds, aspect, _track_ends(columns, track_ends))
    velocity, vmax = _velocity(samples, aspect)
    at, first, count = np.unique(samples.track, return_index=True, return_counts=True)
    header = {
        "v": 1,
        "frames": frames,
        "block": BLOCK,
        "vmax": vmax,
        "tracks": [
            {"track": track, "first": start, "count": number}
            for track, start, number in zip(at.tolist(), first.tolist(), count.tolist(), strict=True)
        ],
    }
    sections = {"block_rows": rows, **_runs(samples), "vel_frame": samples.frame.astype("<u4"), "vel": velocity}
    return header, sections


@dataclass
class _Samples:
    """The sampled rows by (track, frame); `end` is the frame up to which each speaks, never beyond its track's end."""

    track: Ints
    frame: Ints
    shot: NDArray[np.int32]
    kind: NDArray[np.uint8]
    target: Ints
    point: Floats
    centre: Floats
    end: Ints
    time: Floats

    @classmethod
    def of(cls, columns: Columns, seconds: Floats, aspect: float, track_ends: Ints) -> _Samples:
        sampled = np.flatnonzero(columns["sampled"])
        order = sampled[np.lexsort((columns["frame"][sampled], columns["track"][sampled]))]
        row = {name: columns[name][order] for name in COLUMNS}
        scale = np.array([min(1.0, aspect), min(1.0, 1.0 / aspect)])
        box = np.stack([row[name].astype(np.float64) for name in _FACE], axis=1)
        frame, track = row["frame"].astype(np.int64), row["track"].astype(np.int64)
        kind = row["target_kind"]
        return cls(
            track=track,
            frame=frame,
            shot=row["shot"].astype(np.int32),
            kind=kind if kind.dtype == np.uint8 else kind_codes(kind),
            target=np.where(row["target_track"] >= 0, row["target_track"], NO_TRACK).astype(np.int64),
            point=np.stack([row["gaze_x"], row["gaze_y"]], axis=1).astype(np.float64) * scale,
            centre=(box[:, :2] + box[:, 2:]) / 2 * scale,
            end=_ends(frame, track, row["shot"].astype(np.int32), seconds, track_ends),
            time=seconds[frame],
        )


def _track_ends(columns: Columns, known: Mapping[int, int] | None) -> Ints:
    """End of each track's span, by its number: as is known, or the frame after its last row."""
    track, frame = columns["track"].astype(np.int64), columns["frame"].astype(np.int64)
    ends = np.zeros(int(track.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(ends, track, frame + 1)
    if known is not None:
        ends = np.maximum(ends, [known.get(number, 0) for number in range(len(ends))])
    return ends


def _ends(frame: Ints, track: Ints, shot: NDArray[np.int32], seconds: Floats, track_ends: Ints) -> Ints:
    """Frame up to which each sample speaks: the next sampled frame of its shot, or one usual step on where there is
    none, but never beyond its track's end."""
    if len(frame) == 0:
        return frame
    grid, first = np.unique(frame, return_index=True)
    ends, _ = hold(grid, seconds[grid], shot[first], seconds=seconds)
    return np.minimum(ends[np.searchsorted(grid, frame)], track_ends[track])


def _velocity(samples: _Samples, aspect: float) -> tuple[NDArray[Any], float]:
    """Strict velocity of each sample as u16, and the velocity that 65534 stands for (1 where nothing moves)."""
    preset = Strict()
    known = np.isfinite(samples.point[:, 0]) & np.isfinite(samples.centre[:, 0])
    known &= ~np.isin(samples.kind, (CAMERA, OFF, UNUSABLE))
    relative = samples.point - samples.centre
    velocity = np.full(len(samples.track), np.nan)
    bounds = np.flatnonzero(np.diff(samples.track, prepend=-1, append=-1))
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        at = start + np.flatnonzero(known[start:stop])
        velocity[at] = window_displacement(samples.time[at], samples.shot[at], relative[at], preset) / preset.window_s
    fastest = float(np.nanmax(velocity, initial=0.0)) if len(velocity) else 0.0
    vmax = fastest if fastest > 0 else 1.0
    scaled = np.where(np.isnan(velocity), NO_VELOCITY, np.rint(np.nan_to_num(velocity) * (NO_VELOCITY - 1) / vmax))
    return scaled.astype("<u2"), vmax


def _runs(samples: _Samples) -> dict[str, NDArray[Any]]:
    """Gaze runs by track and start, with bridges over short stretches without gaze."""
    seen = np.flatnonzero(samples.kind != NONE)
    track, kind, target = samples.track[seen], samples.kind[seen], samples.target[seen]
    same = (track[1:] == track[:-1]) & (kind[1:] == kind[:-1]) & (target[1:] == target[:-1])
    follows = samples.frame[seen][1:] <= samples.end[seen][:-1]
    begin, last = runs.split(~(same & follows), len(seen))
    start, end = samples.frame[seen][begin], samples.end[seen][last]
    bridge = _bridges(samples, seen, begin, last)
    table: dict[str, NDArray[Any]] = {
        "run_track": np.concatenate((track[begin], track[begin][bridge])),
        "run_start": np.concatenate((start, end[bridge])),
        "run_end": np.concatenate((end, start[bridge + 1])),
        "run_kind": np.concatenate((kind[begin], kind[begin][bridge])),
        "run_target": np.concatenate((target[begin], target[begin][bridge])),
        "run_filled": np.concatenate((np.zeros(len(begin)), np.ones(len(bridge)))),
    }
    order = np.lexsort((table["run_start"], table["run_track"]))
    types = {"run_track": "<u2", "run_start": "<u4", "run_end": "<u4", "run_kind": "u1", "run_target": "<u2"}
    return {name: values[order].astype(types.get(name, "u1")) for name, values in table.items()}


def _bridges(samples: _Samples, seen: Ints, begin: Ints, last: Ints) -> Ints:
    """Runs after which samples without gaze, few enough to be filled, lead to a run of the same kind and target."""
    if len(begin) < 2:
        return np.zeros(0, dtype=np.int64)
    here, there = seen[last[:-1]], seen[begin[1:]]
    alike: Bools = (
        (samples.track[here] == samples.track[there])
        & (samples.shot[here] == samples.shot[there])
        & (samples.kind[here] == samples.kind[there])
        & (samples.target[here] == samples.target[there])
        & ~np.isin(samples.kind[here], (CAMERA, OFF, UNUSABLE))
    )
    lost = there - here > 1  # the samples in between are there, with a face or without, but show no gaze
    short = samples.time[there] - samples.time[here] <= Strict().linear_s + (
        samples.time[here + 1] - samples.time[here]
    )
    return np.flatnonzero(alike & lost & short & (samples.frame[there] > samples.end[here]))


def _fixed(values: NDArray[Any], unit: float, low: int, high: int) -> NDArray[Any]:
    return np.clip(np.rint(np.nan_to_num(np.asarray(values, dtype=np.float32), nan=0.0) * unit), low, high)


def _columns(samples: Columns) -> Columns:
    missing = [name for name in COLUMNS if name not in samples]
    if missing:
        raise ValueError(f"samples: the column {missing[0]} is missing.")
    return {name: np.asarray(samples[name]) for name in (*COLUMNS, "method") if name in samples}


def _read_parquet(path: Path) -> Columns:
    # Here and not above: the page's side reads these files without Arrow.
    import pyarrow.parquet

    known = pyarrow.parquet.read_schema(path).names
    table = pyarrow.parquet.read_table(path, columns=[*COLUMNS, *({"method"} & set(known))])
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _ribbon_bytes(header: dict[str, Any], sections: dict[str, NDArray[Any]]) -> list[bytes]:
    """The pieces of the file in order. The header names offsets that depend on its own length, so room is left."""
    described = {
        name: {"offset": 0, "dtype": f"u{8 * values.dtype.itemsize}", "count": len(values)}
        for name, values in sections.items()
    }
    draft = len(json.dumps({**header, "sections": described}).encode())
    room = -(-(4 + draft + 12 * len(sections)) // 8) * 8
    pieces, offset = [], room
    for name, values in sections.items():
        described[name]["offset"] = offset
        data = values.tobytes()
        data += b"\0" * (-len(data) % 8)
        pieces.append(data)
        offset += len(data)
    text = json.dumps({**header, "sections": described}).encode().ljust(room - 4)
    return [np.array([len(text)], dtype="<u4").tobytes(), text, *pieces]


def _write(path: Path, pieces: list[bytes]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
