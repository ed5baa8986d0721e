"""The demo clip: choice of frames by hand; the whole clip when its packages can be fetched."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ml.media import demo_clip
from ml.media.errors import MediaError
from ml.media.importer import prepare
from ml.progress import silent
from tests import clips


def test_frames_are_chosen_by_time_forth_and_back() -> None:
    """Footage at 10 per second, 0 to 0.4 s, shown at 25: the first frame at or after k / 25 s, then backwards."""
    chosen = demo_clip._choose(np.array([0.0, 0.1, 0.2, 0.3, 0.4]), 22)
    assert chosen.tolist()[:11] == [0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4]
    # 0.44 s plays as 0.36 s, 0.48 as 0.32, ...; 0.60 and 0.80 s fall on a frame's very time, up to rounding.
    assert chosen.tolist()[11:15] == [4, 4, 3, 3]
    assert chosen.tolist()[16:20] == [2, 2, 1, 1]


@pytest.mark.parametrize(("start", "seconds"), [(0, 1), (0.4, 0.4), (1.2, 1.8)])
def test_clips_are_streamed_or_held_with_the_same_result(start: float, seconds: float, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    clips.write(path, clips.steady(60, Fraction(25), bframes=2))
    shown = [clips.read_number(picture) for picture in demo_clip._clip(path, start, seconds, 1280)]
    times = demo_clip._times(path, start, start + seconds + demo_clip.LEAD_S)
    assert len(shown) == round(25 * seconds)
    first = round(start * 25)
    assert shown == [first + k for k in demo_clip._choose(times, int(25 * seconds))]
    forth = range(first, min(60, first + len(shown)))
    np.testing.assert_allclose(shown[: len(forth)], forth, atol=1)


def test_another_package_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "package").write_bytes(b"something else")
    sources = dict.fromkeys(demo_clip.SOURCES, tmp_path / "package")
    with pytest.raises(MediaError, match="not the expected package file"):
        demo_clip.compose(sources, tmp_path / "demo.mp4", silent)
    assert not (tmp_path / "demo.mp4").exists()


@pytest.mark.long
def test_the_demo_clip_is_as_its_truth_says(tmp_path: Path) -> None:
    from scenedetect import AdaptiveDetector, SceneManager, open_video

    from ml.weights import fetch

    path = tmp_path / "demo.mp4"
    truth = demo_clip.compose({name: fetch.package(name) for name in demo_clip.SOURCES}, path, silent)
    assert truth["cuts"] == [150, 250, 375, 475]
    result = prepare(path, tmp_path / "out", silent)
    assert (result.frames, result.width, result.height, result.duration_s) == (550, 1280, 720, 22.0)
    assert result.warnings == []
    manager = SceneManager()
    manager.add_detector(AdaptiveDetector())
    manager.detect_scenes(open_video(str(path), backend="pyav"))
    cuts = [round(start.seconds * 25) for start, _ in manager.get_scene_list(start_in_scene=True)]
    assert cuts == [0, *truth["cuts"]]
