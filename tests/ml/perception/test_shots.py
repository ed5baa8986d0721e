"""Cuts on a made-up clip of variable rate, whole and in pieces; shots from cuts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from ml.media.changes import LONGEST
from ml.media.decode import read_frames
from ml.media.index import FrameIndex
from ml.perception import shots
from ml.perception.run import index_of
from ml.progress import silent

CUTS = [60, 90]  # at 2.0 s and 5.0 s: 60 frames at 30, 30 at 10, 48 at 24 per second


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three textures that drift slowly, at 30, 10 and 24 frames per second, with B-frames."""
    path = tmp_path_factory.mktemp("shots") / "variable.mp4"
    generator = np.random.default_rng(3)
    textures = [
        np.kron(generator.integers(0, 255, (24, 44, 3)), np.ones((10, 10, 1))).astype(np.uint8) for _ in range(3)
    ]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        stream.codec_context.time_base = stream.time_base = Fraction(1, 1200)
        pts = 0
        for texture, count, step in zip(textures, (60, 30, 48), (40, 120, 50), strict=True):
            for k in range(count):
                frame = av.VideoFrame.from_ndarray(
                    np.ascontiguousarray(texture[:, k % 60 : k % 60 + 320]), format="bgr24"
                )
                frame.pts, frame.time_base = pts, Fraction(1, 1200)
                pts += step
                container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.fixture(scope="module")
def index(clip: Path) -> FrameIndex:
    return index_of(clip, silent)


def test_cuts_are_frames_of_the_index(clip: Path, index: FrameIndex) -> None:
    looked: list[int] = []
    assert shots.candidates(clip, index, 0, index.frames, looked.append) == CUTS
    assert looked == list(range(index.frames))
    assert index.changes is not None and shots.peaks(index.changes).tolist() == CUTS
    assert index.zeroed[CUTS] == pytest.approx([2.0, 5.0])


@pytest.mark.parametrize("bound", [58, 59, 60, 61, 62, 89, 91, 100])
def test_pieces_find_the_same_cuts(clip: Path, index: FrameIndex, bound: int) -> None:
    found = [
        cut
        for start, end in ((0, bound), (bound, index.frames))
        for cut in shots.candidates(clip, index, start, end, lambda n: None)
    ]
    assert found == CUTS


def by_scenedetect(path: Path, index: FrameIndex) -> list[int]:
    """Cuts that the package finds in pictures of the same size."""
    from scenedetect import AdaptiveDetector, FrameTimecode

    detector = AdaptiveDetector(min_scene_len=1)
    found = []
    for number, bgr in read_frames(path, index, longest=LONGEST):
        found += [cut.frame_num for cut in detector.process_frame(FrameTimecode(number, fps=1.0), bgr)]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_rule_is_that_of_scenedetect(tmp_path: Path, seed: int) -> None:
    """On scenes of 2 to 12 frames that differ by little or by much, some of them still, some moving."""
    random = np.random.default_rng(seed)
    path = tmp_path / "scenes.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "bgr0"
        colour = np.full(3, 128.0)
        for _ in range(40):
            colour = np.clip(colour + random.normal(0, random.choice([4, 25, 80]), 3), 0, 255)
            noise = random.choice([0, 3, 20])
            for _ in range(random.integers(2, 13)):
                picture = np.clip(colour + random.normal(0, noise + 1e-9, (48, 64, 3)), 0, 255).astype(np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode())
    index = index_of(path, silent)
    expected = by_scenedetect(path, index)
    assert len(expected) >= 5
    assert shots.candidates(path, index, 0, index.frames, lambda n: None) == expected


def test_peaks_by_hand() -> None:
    """A score stands out at 15 or more and three times the mean of the two on either side."""
    assert shots.peaks(np.array([2.0, 2, 15, 2, 2])).tolist() == [2]
    assert shots.peaks(np.array([2.0, 2, 14.9, 2, 2])).tolist() == []  # too small
    assert shots.peaks(np.array([6.0, 6, 17.9, 6, 6])).tolist() == []  # not three times
    assert shots.peaks(np.array([6.0, 6, 18, 6, 6])).tolist() == [2]
    assert shots.peaks(np.array([0.0, 0, 15, 0, 0])).tolist() == [2]  # in a still picture
    assert shots.peaks(np.array([0.0, 90, 0, 0, 0, 90, 0])).tolist() == []  # without a whole window
    assert shots.peaks(np.zeros(4)).tolist() == []


def test_shots_are_half_open_and_cover_the_video(index: FrameIndex) -> None:
    assert shots.shots([90, 60], index) == [(0, 60), (60, 90), (90, index.frames)]
    assert shots.shots([], index) == [(0, index.frames)]


def test_a_flash_is_no_shot(index: FrameIndex) -> None:
    assert shots.shots([60, 63, 66, 90], index) == [(0, 60), (60, 66), (66, 90), (90, index.frames)]
    assert shots.shots([10, 60], index) == [(0, 60), (60, index.frames)]
