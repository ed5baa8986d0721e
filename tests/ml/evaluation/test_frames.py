"""Which pictures of a clip are shown: even, at their times, at most as many as allowed; the numbers in them tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from ml.evaluation.frames import Look, Shown, even, index_of, place, shown
from ml.formats.errors import FormatError
from tests.clips import draw_number, make, read_number
from tests.ml.evaluation.samples import bench, item


def number(one: Shown) -> int:
    picture = cv2.imdecode(np.frombuffer(one.jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    found = read_number(np.asarray(picture, np.uint8))
    assert found is not None
    return int(found)


def test_even_times() -> None:
    assert even(4.0, Look()).tolist() == [0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75]
    assert len(even(600.0, Look())) == 240  # at most, however long
    assert len(even(3.6, Look())) == 6  # 7 would be odd
    assert even(0.2, Look()).tolist() == [0.1] and len(even(100, Look(most=5))) == 4


@pytest.mark.parametrize("kind", ["25", "variable", "trimmed-bframes", "avi-h264-bframes", "late-start"])
def test_a_file_shows_the_frames_on_the_screen_at_those_times(tmp_path: Path, kind: str) -> None:
    clip = make(kind, tmp_path)
    one = item(video=clip.path.name)
    look = Look(rate=3.0)
    found = shown(one, bench(one, videos=tmp_path), look)
    starts = np.array([float(time - clip.times[0]) for time in clip.times])
    due = even(float(clip.end - clip.times[0]), look)
    on_screen = np.unique(np.searchsorted(starts, due, side="right") - 1)
    assert [number(picture) for picture in found] == [clip.numbers[k] for k in on_screen]
    assert [picture.second for picture in found] == pytest.approx(starts[on_screen].tolist())
    assert index_of(clip.path).frames == len(clip.numbers)


def test_a_part_of_a_file_and_another_order(tmp_path: Path) -> None:
    clip = make("25", tmp_path)  # 60 frames, 2.4 s
    one = item(video=clip.path.name, start=0.8, end=1.8)
    plain = shown(one, bench(one, videos=tmp_path), Look(rate=10))
    numbers = [number(picture) for picture in plain]
    assert len(numbers) == 10 and min(numbers) >= 20 and max(numbers) < 45 and 0 <= plain[0].second < 0.1
    mixed = shown(one, bench(one, videos=tmp_path), Look(rate=10, shuffled=1))
    assert [picture.second for picture in mixed] == [picture.second for picture in plain]
    assert [number(p) for p in mixed] != numbers and sorted(number(p) for p in mixed) == numbers
    with pytest.raises(FormatError, match="begins at 9 s, the video ends at 2.4 s"):
        shown(replace(one, start=9.0, end=None), bench(one, videos=tmp_path), Look())


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "frames/s01e01"
    folder.mkdir(parents=True)
    for k in range(12):
        cv2.imwrite(str(folder / f"{k + 1:05d}.png"), draw_number(k, 320, 180))
    one = item(video="s01e01", rate=3.0)
    found = shown(one, bench(one, videos=tmp_path / "frames"), Look(rate=1.0))  # 12 pictures are 4 s
    assert [number(picture) for picture in found] == [1, 4, 7, 10]  # on the screen at 0.5, 1.5, 2.5, 3.5 s
    assert [picture.second for picture in found] == pytest.approx([1 / 3, 4 / 3, 7 / 3, 10 / 3])
    small = shown(one, bench(one, videos=tmp_path / "frames"), Look(longest=80))[0]
    assert cv2.imdecode(np.frombuffer(small.jpeg, np.uint8), 1).shape == (45, 80, 3)  # type: ignore[union-attr]


def test_videos_that_are_not_there_or_not_below(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    (tmp_path / "secret.mp4").write_bytes(b"x")
    with pytest.raises(FormatError, match="c.mp4 of the item q1 is not below"):
        place(item(video="c.mp4"), tmp_path / "videos")
    with pytest.raises(FormatError, match="is not below"):
        place(item(video="../secret.mp4"), tmp_path / "videos")
    with pytest.raises(FormatError, match="names no video"):
        place(item(), tmp_path)
    (tmp_path / "videos/video").mkdir()
    (tmp_path / "videos/video/c.mp4").write_bytes(b"x")
    assert place(item(video="c.mp4"), tmp_path / "videos").name == "c.mp4"  # as the released archive has them
