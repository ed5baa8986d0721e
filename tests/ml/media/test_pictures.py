"""Poster and strip."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from ml.media import pictures
from ml.media.importer import prepare
from ml.media.index import FrameIndex
from ml.progress import silent
from tests import clips
from tests.ml.media.conftest import Import


@pytest.mark.parametrize("kind", ["variable", "rotated-90", "trimmed", "large", "late-start"])
def test_each_tile_shows_the_frame_it_names(kind: str, imported: Callable[[str], Import]) -> None:
    clip, out, _, index = imported(kind)
    layout = json.loads((out / "strip.json").read_text())
    sheet = cv2.imread(str(out / "strip.jpg"))
    assert sheet is not None
    width, height, columns = layout["tile_width"], layout["tile_height"], layout["columns"]
    assert layout["v"] == 1 and min(width, height) == pictures.TILE_HEIGHT
    assert layout["frames"] == sorted(set(layout["frames"])) and layout["frames"][-1] < index.frames
    for k, frame in enumerate(layout["frames"]):
        x, y = k % columns * width, k // columns * height
        assert clips.read_number(sheet[y : y + height, x : x + width]) == clip.numbers[frame]


def test_tiles_are_spread_evenly_in_time(imported: Callable[[str], Import]) -> None:
    """162 frames, 8 s: 12 tiles in the middles of 12 equal parts, although the rate changes twice."""
    _, out, _, index = imported("variable")
    frames = json.loads((out / "strip.json").read_text())["frames"]
    assert frames == [index.frame_at((k + 0.5) * 8 / 12) for k in range(12)]


def test_the_poster_is_upright_and_not_enlarged(imported: Callable[[str], Import]) -> None:
    for kind, shape in (("rotated-90", (320, 180, 3)), ("large", (360, 640, 3)), ("25", (180, 320, 3))):
        poster = cv2.imread(str(imported(kind)[1] / "poster.jpg"))
        assert poster is not None and poster.shape == shape
        clips.read_number(poster)


def test_a_long_clip_has_few_tiles_at_key_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_TILES", 6)
    path, out = tmp_path / "long.mp4", tmp_path / "out"
    clips.write(path, clips.steady(80, Fraction(4)))
    prepare(path, out, silent)
    frames = json.loads((out / "strip.json").read_text())["frames"]
    assert len(frames) == 6
    assert all(frame % 4 == 0 for frame in frames), "a key frame each second, four frames"
    times = FrameIndex.load(out / "frames.npz").zeroed[frames]
    middles = (np.arange(6) + 0.5) * 20 / 6
    assert np.all((middles - times >= 0) & (middles - times < 1))
