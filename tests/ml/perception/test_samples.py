"""One made-up frame through correction, targets and table: every column, in its unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ml.perception import gaze, samples
from ml.perception.assemble import Fill
from ml.perception.nanodet import COCO
from ml.perception.records import NAN2, NAN4, Piece, PieceBuilder

WIDTH, HEIGHT = 1000, 500


@pytest.fixture
def piece() -> Piece:
    """Frame 10 (sampled): one looks right at another, who shows no direction, and a third from behind; 15: a step."""
    builder = PieceBuilder()
    look = np.zeros(128)
    seen = {"derived": False, "look": look, "profile": False}
    blind = {
        "face": NAN4,
        "face_score": np.nan,
        "flag": np.nan,
        "yaw": np.nan,
        "pitch": np.nan,
        "eye": NAN2,
        "read": np.nan,
    }
    builder.add(frame=10, sampled=True, looked=True)
    builder.add(
        position=0, body=[100, 50, 300, 450], score=0.9, **seen, face=[180, 80, 220, 120], face_score=0.8, flag=1.0,
        yaw=120.0, pitch=-6.0, eye=[200, 100], read=1.0,
    )  # fmt: skip
    builder.add(position=0, body=[600, 50, 800, 450], score=0.7, **seen, **{**blind, "face": [690, 85, 710, 105]})
    builder.add(position=0, body=[400, 50, 500, 450], score=0.6, **seen, **blind)
    builder.add(object_position=0, object_class=COCO.index("cup"), object_score=0.6, object_box=[10, 10, 20, 20])
    builder.add(frame=15, sampled=False, looked=True)
    builder.add(position=1, body=[110, 50, 310, 450], score=0.9, **seen, **blind)
    built = builder.build()
    built.face_score[1], built.flag[1] = 0.75, 0.2
    return built


@pytest.fixture
def columns(piece: Piece) -> samples.Columns:
    fills = [Fill(15, False, 0, 2, np.array([400, 50, 500, 450.0]))]
    found = samples.rows(piece, np.array([1, 0, 2, 1]), fills, np.array([0]))
    samples.correct(found, np.array([-2.0]))
    samples.add_targets(found, piece, WIDTH, HEIGHT)
    return found


def test_rows_in_order_with_fills(columns: samples.Columns) -> None:
    assert columns["frame"].tolist() == [10, 10, 10, 15, 15]
    assert columns["track"].tolist() == [0, 1, 2, 1, 2]
    assert columns["sampled"].tolist() == [True, True, True, False, False]
    assert columns["body_derived"].tolist() == [False, False, False, False, True]


def test_table(columns: samples.Columns) -> None:
    table = samples.table(columns, WIDTH, HEIGHT)
    assert table.schema == samples.SCHEMA
    looker = {name: table[name][1].as_py() for name in table.column_names}
    angle = 4 + np.degrees(np.arctan2(5, 500))  # the ray points 4 degrees down, the target lies 5 px up
    assert looker["body_x1"] == pytest.approx(0.1)
    assert looker["body_y2"] == pytest.approx(0.9)
    assert looker["face_y1"] == pytest.approx(0.16)
    assert (looker["eye_x"], looker["eye_y"]) == pytest.approx((0.2, 0.2))
    assert (looker["yaw"], looker["pitch"]) == (90, -4)  # clamped; -6 less a bias of -2
    assert (looker["target_kind"], looker["target_track"], looker["target_object"]) == ("person", 0, "")
    assert (looker["gaze_x"], looker["gaze_y"]) == pytest.approx((0.7, 0.19))
    assert looker["inframe"] == pytest.approx(gaze.INFRAME_TARGET)
    assert looker["method"] == "geometric estimate"
    assert looker["confidence"] == pytest.approx(0.8 * (1 - angle / 40))


def test_a_face_without_direction_is_unusable_and_a_back_is_nothing(columns: samples.Columns) -> None:
    table = samples.table(columns, WIDTH, HEIGHT)
    assert table["target_kind"].to_pylist() == ["unusable", "person", "", "", ""]
    assert table["method"].to_pylist() == ["", "geometric estimate", "", "", ""]
    assert table["target_track"].to_pylist() == [-1, 0, -1, -1, -1]
    assert np.isnan(table["confidence"].to_numpy()[[0, 2, 3, 4]]).all()
    assert np.isnan(table["gaze_x"].to_numpy()[[0, 2, 3, 4]]).all()


def test_an_object_is_named(piece: Piece) -> None:
    piece.yaw[0], piece.pitch[0] = -65.0, 40.0
    found = samples.rows(piece, np.array([1, 0, 2, 1]), [], np.array([0]))
    samples.correct(found, np.zeros(1))
    samples.add_targets(found, piece, WIDTH, HEIGHT)
    table = samples.table(found, WIDTH, HEIGHT)
    assert table["target_object"].to_pylist()[:3] == ["", "cup", ""]
    assert table["target_kind"].to_pylist()[1] == "object"


def test_a_profile_is_not_bias_corrected_and_says_so(piece: Piece) -> None:
    piece.profile[0] = True
    found = samples.rows(piece, np.array([1, 0, 2, 1]), [], np.array([0]))
    samples.correct(found, np.array([-2.0]))
    samples.add_targets(found, piece, WIDTH, HEIGHT)
    table = samples.table(found, WIDTH, HEIGHT)
    assert table["pitch"][1].as_py() == -6
    assert table["method"][1].as_py() == "geometric estimate, profile"
    assert table["confidence"][1].as_py() < 0.8 * gaze.PROFILE_TERM + 1e-6


def test_a_piece_survives_its_file(piece: Piece, tmp_path: Path) -> None:
    path = tmp_path / "people-00000.npz"
    piece.save(path)
    again = Piece.load(path)
    for name, values in vars(piece).items():
        assert np.array_equal(values, getattr(again, name), equal_nan=values.dtype.kind == "f"), name
    assert [p.name for p in path.parent.iterdir()] == [path.name]
