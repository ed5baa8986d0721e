"""Clips and training videos that are really decoded: one recording is known under another encoding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from ml.formats.errors import FormatError
from ml.questions.lint import pictures
from ml.questions.lint.one import World
from ml.questions.lint.recordings import NEAREST
from ml.questions.lint.run import lint, read

FRAMES, RATE = 60, 20


def film(path: Path, seed: int, codec: str, width: int, height: int, *, every: int, drift: float = 0.06) -> Path:
    """Soft lights that wander over the picture, key frames so many frames apart; drawn afresh at each size."""
    rng = np.random.default_rng(seed)
    at, pace = rng.uniform(0, 1, (9, 2)), rng.normal(0, drift, (9, 2))
    bright, wide = rng.uniform(-110, 110, 9), rng.uniform(0.1, 0.3, 9)
    y, x = np.mgrid[0:height, 0:width] / np.array([height, width]).reshape(2, 1, 1)
    with av.open(str(path), "w") as out:
        stream: Any = out.add_stream(codec, rate=RATE)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = width, height, "yuv420p", every
        stream.bit_rate = 1_500_000
        if codec == "mjpeg":
            stream.pix_fmt = "yuvj420p"
        for n in range(FRAMES):
            grey = np.full((height, width), 128.0)
            for (cx, cy), (dx, dy), b, w in zip(at, pace, bright, wide, strict=True):
                px, py = cx + dx * n / RATE * 4, cy + dy * n / RATE * 4
                grey += b * np.exp(-((x - px) ** 2 + (y - py) ** 2) / (2 * w * w))
            picture = np.repeat(grey.clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                out.mux(packet)
        for packet in stream.encode(None):
            out.mux(packet)
    return path


def apart(a: list[int], b: list[int]) -> list[int]:
    return [(x ^ y).bit_count() for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_the_hashes_of_one_recording_hardly_depend_on_its_encoding(tmp_path: Path, seed: int) -> None:
    """Where key frames lie least of all: of a moving picture another frame is another picture."""
    one = pictures.of_video(film(tmp_path / "one.mp4", seed, "libx264", 320, 240, every=60))
    two = pictures.of_video(film(tmp_path / "two.avi", seed, "mjpeg", 160, 120, every=1))
    three = pictures.of_video(film(tmp_path / "three.mkv", seed, "mpeg4", 240, 180, every=12))
    assert len(one) == len(pictures.MOMENTS)
    assert max(apart(one, two) + apart(one, three)) <= NEAREST
    assert min(apart(one, pictures.of_video(film(tmp_path / "other.mp4", 9 + seed, "libx264", 320, 240, every=60)))) > (
        NEAREST
    )
    assert apart(one[:1], one[2:])[0] > NEAREST  # it moves


def test_a_training_video_with_the_picture_of_a_clip_is_found(tmp_path: Path) -> None:
    """Two items; the recording of the second one is in the training folder under another name, codec and size."""
    clips, train = tmp_path / "clips", tmp_path / "train"
    clips.mkdir()
    train.mkdir()
    for seed in (1, 2):
        film(clips / f"Show_qa{seed:04d}.mp4", seed, "libx264", 320, 240, every=60)
    film(train / "a.avi", 2, "mjpeg", 160, 120, every=1)
    film(train / "b.mkv", 7, "mpeg4", 160, 120, every=12)
    items = [
        {"clip_file": f"show_qa{seed:04d}.mp4", "clip_duration": 3.0, "video_name": f"show {seed}",
         "qa": {"question": f"Who looks at Person {seed} at 1.0 s?", "options": ["A) Person 3", "B) Person 4"],
                "answer": "A", "category": "T1"}} for seed in (1, 2)
    ]  # fmt: skip
    path = tmp_path / "items.json"
    path.write_text(json.dumps(items))
    ones, _ = read(path, None)
    world = World(hashes=pictures.of_items(ones, clips), train=pictures.of_train(train))
    assert sorted(world.hashes) == [0, 1] and all(len(found) == 3 for found in world.hashes.values())
    leaks = [finding for finding in lint(ones, world).findings if finding.code == "picture_in_train"]
    assert [finding.item for finding in leaks] == [1] and "a.avi" in leaks[0].sentence


def test_a_file_that_is_no_video_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(b"not a video at all")
    with pytest.raises(FormatError, match="broken.mp4 cannot be read as a video"):
        pictures.of_train(tmp_path)
