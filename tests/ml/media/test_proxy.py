"""The proxy's size, and the check that it carries the index."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ml.media import importer, proxy
from ml.media.errors import MediaError
from ml.media.importer import prepare
from ml.media.index import FrameIndex
from ml.progress import silent
from tests import clips
from tests.ml.media.conftest import Import


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((1280, 720), (1280, 720)),
        ((1920, 1080), (1280, 720)),
        ((3840, 2160), (1280, 720)),
        ((1080, 1920), (720, 1280)),
        ((1440, 1080), (960, 720)),
        ((2560, 1080), (1280, 540)),
        ((1000, 1000), (720, 720)),
        ((320, 180), (320, 180)),
        ((67, 51), (66, 50)),
        ((1, 1), (2, 2)),
        ((16, 4000), (4, 1280)),
    ],
)
def test_sizes(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert proxy.fit(*size) == expected


def shifted(index: FrameIndex, frame: int) -> FrameIndex:
    pts = index.pts.copy()
    pts[frame] += 1
    return FrameIndex(pts, index.time_base)


def test_the_check_sees_one_tick_in_one_frame(imported: Callable[[str], Import]) -> None:
    _, out, _, index = imported("variable-mkv")
    proxy.check(out / "proxy.mp4", index)
    with pytest.raises(MediaError, match="frame 100 at .* instead of"):
        proxy.check(out / "proxy.mp4", shifted(index, 100))
    for pts in (index.pts[:-1], np.append(index.pts, index.pts[-1] + 40)):
        with pytest.raises(MediaError, match="162 frames instead of"):
            proxy.check(out / "proxy.mp4", FrameIndex(pts, index.time_base))


def test_a_proxy_that_differs_fails_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "clip.mp4", tmp_path / "out"
    clips.write(path, clips.steady(10, Fraction(25)))
    write = proxy.ProxyWriter.write
    monkeypatch.setattr(proxy.ProxyWriter, "write", lambda self, frame, pts: write(self, frame, pts + (pts > 2000)))
    with pytest.raises(MediaError, match="browser copy would show frame 4 at"):
        prepare(path, out, silent)
    assert list(out.iterdir()) == []


def test_colours_survive_turning_and_scaling(imported: Callable[[str], Import]) -> None:
    """Black stays black and white stays white, within what limited range and compression cost."""
    from ml.media.decode import read_frames

    for kind in ("rotated-90", "large", "alpha", "10-bit"):
        _, out, _, index = imported(kind)
        picture = next(iter(read_frames(out / "proxy.mp4", index.for_proxy())))[1]
        height, width = picture.shape[:2]
        white = picture[int(0.2 * height), int(0.14 * width)].astype(int)
        black = picture[int(0.8 * height), int(0.14 * width)].astype(int)
        assert white.min() > 235 and black.max() < 20, kind


def test_a_copy_elsewhere_is_as_good(imported: Callable[[str], Import], tmp_path: Path) -> None:
    clip, out, result, _ = imported("25")
    moved = shutil.copy(clip.path, tmp_path / "with space: and%20colon.mp4")
    assert importer.prepare(Path(moved), tmp_path / "out", silent) == result
    assert (tmp_path / "out" / "proxy.mp4").stat().st_size == (out / "proxy.mp4").stat().st_size
