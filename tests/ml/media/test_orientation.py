"""Display matrices: the burnt-in number reads only when the picture stands upright."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from ml.media.decode import read_frames
from ml.media.importer import prepare
from ml.media.index import FrameIndex
from ml.media.orientation import Orientation
from ml.media.probe import probe
from ml.progress import silent
from tests import clips


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("mirrored", [False, True])
def test_all_eight_ways_to_hold_a_phone(tmp_path: Path, degrees: int, mirrored: bool) -> None:
    """The stored pictures are made by undoing the turn; frames and proxy must read upright."""
    path, recipe = tmp_path / "clip.mp4", clips.steady(4, Fraction(25), turn=degrees, mirrored=mirrored)
    clips.write(path, recipe)
    clips.set_rotation(path, degrees, recipe.size, mirrored)
    facts = probe(path)
    assert facts.rotation == degrees
    assert (facts.width, facts.height) == ((180, 320) if degrees % 180 else (320, 180))
    prepare(path, tmp_path / "out", silent)
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    for file in (path, tmp_path / "out" / "proxy.mp4"):
        assert [clips.read_number(picture) for _, picture in read_frames(file, index)] == [0, 1, 2, 3]
    assert probe(tmp_path / "out" / "proxy.mp4").orientation == Orientation(), "the proxy carries no turn"
