"""How much pictures change: by hand, and the same from an import, a command line index and frames read by number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ml.media.changes import LONGEST, Changes
from ml.media.decode import read_frames
from ml.media.importer import prepare
from ml.media.index import FrameIndex
from ml.perception.run import index_of
from ml.progress import silent
from tests import clips
from tests.ml.media.conftest import Import


def plain(blue: int, green: int, red: int) -> np.ndarray:
    return np.full((4, 6, 3), [blue, green, red], np.uint8)


def test_by_hand() -> None:
    """Hue of red is 0, of green 60, of blue 120 (half degrees); grey has hue and saturation 0."""
    changes = Changes()
    for picture in (plain(0, 0, 255), plain(0, 0, 255), plain(0, 255, 0), plain(100, 100, 100), plain(130, 130, 130)):
        changes.push(picture)
    assert changes.values.dtype == np.float32
    assert changes.values == pytest.approx([0, 0, 60 / 3, (60 + 255 + 155) / 3, 30 / 3])


@pytest.mark.parametrize("kind", clips.KINDS)
def test_the_index_holds_them_for_each_frame(kind: str, imported: Callable[[str], Import]) -> None:
    clip, _, _, index = imported(kind)
    changes = Changes()
    for _, picture in read_frames(clip.path, index, longest=LONGEST):
        changes.push(picture)
    assert index.changes is not None and len(index.changes) == index.frames
    np.testing.assert_array_equal(index.changes, changes.values)
    np.testing.assert_array_equal(index_of(clip.path, silent).changes, changes.values)


def test_they_survive_saving_and_are_not_needed(imported: Callable[[str], Import], tmp_path: Path) -> None:
    _, _, _, index = imported("25")
    index.save(tmp_path / "frames.npz")
    np.testing.assert_array_equal(FrameIndex.load(tmp_path / "frames.npz").changes, index.changes)
    index.for_proxy().save(tmp_path / "frames.npz")
    assert FrameIndex.load(tmp_path / "frames.npz").changes is None


def test_a_damaged_file_has_one_for_each_frame_that_is_left(tmp_path: Path, clip: Callable[[str], clips.Clip]) -> None:
    data = bytearray(clip("bframes").path.read_bytes())
    middle = data.index(b"mdat") + (len(data) - data.index(b"mdat")) // 2
    data[middle : middle + 400] = bytes(400)
    (tmp_path / "damaged.mp4").write_bytes(data)
    prepare(tmp_path / "damaged.mp4", tmp_path / "out", silent)
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    assert index.changes is not None and len(index.changes) == index.frames
