"""The page's two binary files: layout byte by byte, runs, velocity, and size."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ml.social.display import (
    COLUMNS,
    FROM_PROFILE,
    HAS_FACE,
    HAS_GAZE,
    NO_ANGLE,
    NO_TRACK,
    NO_VELOCITY,
    PROFILE_METHOD,
    RECORD,
    SAMPLED,
    pack_records,
    read_display,
    write_display,
)

Columns = dict[str, NDArray[Any]]


def table(rows: list[dict[str, Any]]) -> Columns:
    """Columns of samples.parquet from rows that name only what matters."""
    usual: dict[str, Any] = dict.fromkeys(COLUMNS, np.nan) | {
        "shot": 0,
        "sampled": True,
        "body_derived": False,
        "target_kind": "",
        "target_track": -1,
    }
    whole = {"frame": "i4", "shot": "i2", "track": "i4", "sampled": "?", "body_derived": "?", "target_track": "i4"}
    filled = [usual | row for row in rows]
    return {
        name: np.array([row[name] for row in filled], dtype=object if name == "target_kind" else whole.get(name, "f4"))
        for name in COLUMNS
    }


def look(frame: int, track: int, kind: str = "scene", x: float = 0.5, **more: Any) -> dict[str, Any]:
    """A sampled row: a face around (0.5, 0.5), gaze at (x, 0.5)."""
    face = {"face_x1": 0.4, "face_y1": 0.4, "face_x2": 0.6, "face_y2": 0.6}
    return {"frame": frame, "track": track, "target_kind": kind, "gaze_x": x, "gaze_y": 0.5, **face, **more}


def seconds(frames: int, rate: float = 10.0) -> NDArray[np.float64]:
    return np.arange(frames + 1) / rate


def test_a_record_lies_at_the_documented_bytes(tmp_path: Path) -> None:
    row = {
        "frame": 70000,
        "track": 513,
        "body_x1": 0.25,
        "body_y1": -0.5,
        "body_x2": 0.5,
        "body_y2": 1.0,
        "body_derived": True,
        "face_x1": 0.125,
        "face_y1": 0.25,
        "face_x2": 0.375,
        "face_y2": 0.5,
        "eye_x": 0.25,
        "eye_y": 0.375,
        "gaze_x": 5.0,
        "gaze_y": -5.0,
        "target_kind": "person",
        "target_track": 7,
        "confidence": 0.5,
        "inframe": 1.0,
        "face_score": 0.2,
        "body_score": 0.0,
        "yaw": -45.4,
        "pitch": 12.6,
    }
    write_display(tmp_path, table([row]), seconds=seconds(70001), frames=70001, aspect=16 / 9)
    data = (tmp_path / "tracks.bin").read_bytes()
    # x 16384: 0.25 -> 4096, -0.5 -> -8192, 1.0 -> 16384, 0.125 -> 2048, 0.375 -> 6144; 5.0 is clipped to 32767.
    # flags 1 + 2 + 4 + 8 = 15; x 255: 0.5 -> 127.5 -> 128 (to even), 0.2 -> 51.
    assert data == struct.pack(
        "<IHBB4h4h2h2hHBBBBbb",
        70000, 513, 15, 1, 4096, -8192, 8192, 16384, 2048, 4096, 6144, 8192, 4096, 6144, 32767, -32768, 7,
        128, 255, 51, 0, -45, 13,
    )  # fmt: skip
    assert len(data) == RECORD.itemsize == 40


def test_missing_values_have_their_marks() -> None:
    record = pack_records(table([{"frame": 3, "track": 1, "sampled": False}]))[0]
    assert record["flags"] == 0 and record["kind"] == 0
    assert record["target"] == NO_TRACK and record["yaw"] == NO_ANGLE
    assert record["face"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("stored", [False, True])
def test_gaze_of_a_profile_is_marked(tmp_path: Path, stored: bool) -> None:
    from ml.perception.samples import ESTIMATE, METHODS, PROFILE, SCHEMA

    assert PROFILE_METHOD == PROFILE and ESTIMATE in METHODS
    columns = table([look(0, 1), look(5, 1), look(10, 1)]) | {"method": np.array([ESTIMATE, PROFILE, ""], dtype=object)}
    samples: Columns | Path = columns
    if stored:
        import pyarrow
        import pyarrow.parquet

        arrays = {name: pyarrow.array(values) for name, values in columns.items()}
        arrays["method"] = arrays["method"].dictionary_encode().cast(SCHEMA.field("method").type)
        samples = tmp_path / "samples.parquet"
        pyarrow.parquet.write_table(pyarrow.table(arrays), samples)
    write_display(tmp_path, samples, seconds=seconds(20), frames=20, aspect=1.0)
    plain = SAMPLED | HAS_FACE | HAS_GAZE
    assert read_display(tmp_path).records["flags"].tolist() == [plain, plain | FROM_PROFILE, plain]


def test_records_are_sorted_by_frame_and_track() -> None:
    packed = pack_records(table([look(5, 2), look(1, 9), look(5, 1)]))
    assert [(row["frame"], row["track"]) for row in packed] == [(1, 9), (5, 1), (5, 2)]


def test_a_track_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"samples.track: expected numbers from 0 to 65534"):
        pack_records(table([look(0, 65535)]))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    columns = table([look(0, 1)])
    del columns["eye_x"]
    with pytest.raises(ValueError, match="the column eye_x is missing"):
        write_display(tmp_path, columns, seconds=seconds(1), frames=1, aspect=1.0)
    assert list(tmp_path.iterdir()) == []


def test_the_ribbon_header_and_sections_are_where_they_say(tmp_path: Path) -> None:
    rows = [look(frame, track) for frame in range(0, 600, 5) for track in (1, 2)]
    write_display(tmp_path, table(rows), seconds=seconds(600), frames=600, aspect=1.0)
    data = (tmp_path / "ribbon.bin").read_bytes()
    length = struct.unpack_from("<I", data)[0]
    header = json.loads(data[4 : 4 + length].decode("utf-8"))
    assert (header["v"], header["frames"], header["block"]) == (1, 600, 256)
    assert all(section["offset"] % 8 == 0 for section in header["sections"].values())
    assert min(section["offset"] for section in header["sections"].values()) == 4 + length
    assert list(header["sections"]) == [
        "block_rows", "run_track", "run_start", "run_end", "run_kind", "run_target", "run_filled", "vel_frame", "vel",
    ]  # fmt: skip
    # ceil(600 / 256) + 1 = 4 entries. Frames below 256: 0..255 = 52 samples x 2; below 512: 103 x 2; 120 x 2 in all.
    display = read_display(tmp_path)
    assert display.sections["block_rows"].tolist() == [0, 104, 206, 240]
    assert header["tracks"] == [{"track": 1, "first": 0, "count": 120}, {"track": 2, "first": 120, "count": 120}]
    assert display.sections["vel_frame"][:3].tolist() == [0, 5, 10]


def runs_of(display: Any) -> list[tuple[int, ...]]:
    names = ("run_track", "run_start", "run_end", "run_kind", "run_target", "run_filled")
    return [tuple(int(value) for value in row) for row in zip(*(display.sections[name] for name in names), strict=True)]


def test_runs_join_equal_samples_and_end_where_the_next_starts(tmp_path: Path) -> None:
    rows = [look(0, 1), look(5, 1), look(10, 1, "person", target_track=2), look(15, 1, "person", target_track=2)]
    rows += [look(20, 1, "person", target_track=3), look(25, 1, "camera")]
    rows += [{"frame": 27, "track": 1, "sampled": False}]
    write_display(tmp_path, table(rows), seconds=seconds(100), frames=100, aspect=1.0)
    # One step is 5 frames; the track's last row is frame 27, so the last run ends at 28 and not at 30.
    assert runs_of(read_display(tmp_path)) == [
        (1, 0, 10, 3, NO_TRACK, 0),
        (1, 10, 20, 1, 2, 0),
        (1, 20, 25, 1, 3, 0),
        (1, 25, 28, 4, NO_TRACK, 0),
    ]


def test_the_last_run_of_a_track_lasts_to_the_end_of_its_span(tmp_path: Path) -> None:
    """One step is 5 frames. Track 1 stays to the cut at 23, track 2 until the look at 17 that misses it; the span of
    track 3 goes on for longer than its last sample speaks. Track 4 is not listed."""
    rows = [look(frame, track) for frame in (0, 5, 10, 15, 20) for track in (1, 2, 3, 4) if track == 1 or frame < 20]
    rows += [look(frame, 5, shot=1) for frame in (23, 28)]
    ends = {1: 23, 2: 17, 3: 23, 5: 60}
    write_display(tmp_path, table(rows), seconds=seconds(60), frames=60, aspect=1.0, track_ends=ends)
    found = {run[0]: run[1:3] for run in runs_of(read_display(tmp_path))}
    assert found == {1: (0, 23), 2: (0, 17), 3: (0, 20), 4: (0, 16), 5: (23, 33)}


def test_runs_break_at_a_gap_and_a_short_one_is_bridged(tmp_path: Path) -> None:
    def gap(lost: int, after: str = "scene") -> list[tuple[int, ...]]:
        kinds = ["scene", "scene", *[""] * lost, after, after]
        rows = [look(5 * at, 1, kind) for at, kind in enumerate(kinds)]
        rows += [{"frame": 5 * len(kinds), "track": 1, "sampled": False}]
        write_display(tmp_path, table(rows), seconds=seconds(100), frames=100, aspect=1.0)
        return runs_of(read_display(tmp_path))

    # Samples are 0.5 s apart: 3 lost ones last 1.5 s and are bridged, 4 are not, nor are runs of two kinds.
    assert gap(3) == [(1, 0, 10, 3, NO_TRACK, 0), (1, 10, 25, 3, NO_TRACK, 1), (1, 25, 35, 3, NO_TRACK, 0)]
    assert gap(4) == [(1, 0, 10, 3, NO_TRACK, 0), (1, 30, 40, 3, NO_TRACK, 0)]
    assert [run[-1] for run in gap(2, "object")] == [0, 0]


def test_velocity_is_the_displacement_relative_to_the_face_over_half_a_second(tmp_path: Path) -> None:
    rows = [look(5 * at, 1, x=0.5 if at < 3 else 0.7) for at in range(6)]
    write_display(tmp_path, table(rows), seconds=seconds(100), frames=100, aspect=2.0)
    display = read_display(tmp_path)
    # Width is the longer side: 0.2 in 0.5 s = 0.4 per second at the fourth sample, the largest, so it is 65534.
    assert display.header["vmax"] == pytest.approx(0.4, abs=1e-6)
    assert display.sections["vel"].tolist() == [NO_VELOCITY, 0, 0, 65534, 0, 0]


def test_an_empty_run_gives_readable_files(tmp_path: Path) -> None:
    write_display(tmp_path, table([]), seconds=seconds(10), frames=10, aspect=1.0)
    display = read_display(tmp_path)
    assert len(display.records) == 0 and display.header["tracks"] == []
    assert display.sections["block_rows"].tolist() == [0, 0]


def test_it_reads_the_parquet_file_itself(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = table([look(frame, 1, "person" if frame else "scene", target_track=4) for frame in range(0, 50, 5)])
    arrays = {name: pyarrow.array(values) for name, values in columns.items()}
    arrays["target_kind"] = arrays["target_kind"].dictionary_encode()
    parquet.write_table(pyarrow.table(arrays), tmp_path / "samples.parquet")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    write_display(tmp_path / "a", tmp_path / "samples.parquet", seconds=seconds(50), frames=50, aspect=1.5)
    write_display(tmp_path / "b", columns, seconds=seconds(50), frames=50, aspect=1.5)
    for name in ("tracks.bin", "ribbon.bin"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["ribbon.bin", "tracks.bin"]


def test_a_large_run_is_packed_quickly(tmp_path: Path) -> None:
    samples, tracks = 72_000, 4
    frame = np.repeat(np.arange(samples, dtype=np.int32) * 3, tracks)
    size = len(frame)
    rng = np.random.default_rng(0)
    columns: Columns = {name: rng.random(size, dtype=np.float32) for name in COLUMNS}
    columns |= {
        "frame": frame,
        "track": np.tile(np.arange(tracks, dtype=np.int32), samples),
        "shot": np.zeros(size, dtype=np.int16),
        "sampled": np.ones(size, dtype=bool),
        "body_derived": np.zeros(size, dtype=bool),
        "target_kind": rng.integers(0, 7, size).astype(np.uint8),
        "target_track": rng.integers(-1, tracks, size).astype(np.int32),
    }
    started = time.process_time()
    write_display(tmp_path, columns, seconds=seconds(3 * samples, 29.97), frames=3 * samples, aspect=16 / 9)
    assert time.process_time() - started < 4
    assert (tmp_path / "tracks.bin").stat().st_size == 40 * size
