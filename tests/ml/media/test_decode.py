"""Every frame is found under its number, in order and out of order, in every kind of clip."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.media import decode
from ml.media.decode import read_frames
from ml.media.errors import MediaError
from ml.media.index import FrameIndex
from ml.media.source import Source
from tests import clips
from tests.ml.media.conftest import Import

SEEKABLE = (
    "bframes",
    "open-gop",
    "random-bframes",
    "variable-mkv",
    "trimmed-bframes",
    "late-start",
    "hevc",
    "vp9-webm",
)


def numbers(path: Path, index: FrameIndex, frames: list[int] | None = None, gap: int = decode.SEEK_GAP) -> list[int]:
    return [clips.read_number(picture) for _, picture in read_frames(path, index, frames, seek_gap=gap)]


@pytest.mark.parametrize("kind", clips.KINDS)
def test_all_frames_in_order(kind: str, imported: Callable[[str], Import]) -> None:
    clip, _, result, index = imported(kind)
    found = list(read_frames(clip.path, index))
    assert [number for number, _ in found] == list(range(index.frames))
    assert [clips.read_number(picture) for _, picture in found] == clip.numbers
    assert {picture.shape for _, picture in found} == {(result.height, result.width, 3)}
    assert all(picture.dtype == np.uint8 and picture.flags.c_contiguous for _, picture in found[:2])


@pytest.mark.parametrize("kind", clips.KINDS)
def test_single_frames_are_those_of_the_whole(kind: str, imported: Callable[[str], Import]) -> None:
    clip, _, _, index = imported(kind)
    random = np.random.default_rng(5)
    for size in (1, 2, 5):
        wanted = sorted(random.choice(index.frames, min(size, index.frames), replace=False).tolist())
        assert numbers(clip.path, index, wanted, gap=2) == [clip.numbers[k] for k in wanted]
    assert numbers(clip.path, index, [index.frames - 1, 0], gap=2) == [clip.numbers[0], clip.numbers[-1]]


@pytest.mark.parametrize("kind", SEEKABLE)
def test_each_frame_alone_by_seeking(kind: str, imported: Callable[[str], Import]) -> None:
    """Also those just before a key frame, and the leading pictures of open groups."""
    clip, _, _, index = imported(kind)
    for k in range(20, min(56, index.frames)):
        assert numbers(clip.path, index, [k], gap=0) == [clip.numbers[k]], k


def test_sought_pictures_equal_those_read_in_order(imported: Callable[[str], Import]) -> None:
    clip, _, _, index = imported("open-gop")
    whole = dict(read_frames(clip.path, index))
    for number, picture in read_frames(clip.path, index, [11, 37, 60, 61, 89], seek_gap=0):
        np.testing.assert_array_equal(picture, whole[number])


def test_seeking_saves_decoding(imported: Callable[[str], Import], monkeypatch: pytest.MonkeyPatch) -> None:
    clip, _, _, index = imported("open-gop")
    decoded = itertools.count()
    stamp = Source.stamp

    def counted(self: Source, frame: object) -> int | None:
        next(decoded)
        return stamp(self, frame)

    monkeypatch.setattr(Source, "stamp", counted)
    numbers(clip.path, index, [85], gap=0)
    assert next(decoded) < 40, "a key frame every 12 frames makes 85 cheap to reach"


@pytest.mark.parametrize("kind", SEEKABLE)
def test_frames_left_out_do_not_change_those_wanted(kind: str, imported: Callable[[str], Import]) -> None:
    clip, _, _, index = imported(kind)
    whole = dict(read_frames(clip.path, index))
    for first, step in itertools.product(range(3), (3, 7)):
        found = dict(read_frames(clip.path, index, range(first, index.frames, step), seek_gap=index.frames))
        assert list(found) == list(range(first, index.frames, step))
        assert all(np.array_equal(picture, whole[number]) for number, picture in found.items())


def test_frames_nobody_needs_are_not_decoded(
    imported: Callable[[str], Import], monkeypatch: pytest.MonkeyPatch
) -> None:
    clip, _, _, index = imported("bframes")
    decoded = itertools.count()
    stamp = Source.stamp

    def counted(self: Source, frame: object) -> int | None:
        next(decoded)
        return stamp(self, frame)

    monkeypatch.setattr(Source, "stamp", counted)
    wanted = list(range(0, index.frames, 5))
    assert numbers(clip.path, index, wanted, gap=index.frames) == wanted
    assert len(wanted) <= next(decoded) < 0.8 * index.frames


def test_a_decoder_that_gets_out_of_step_is_asked_for_all_frames(
    imported: Callable[[str], Import], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if one did not give a wanted frame when others were left out before it."""
    clip, _, _, index = imported("bframes")
    lost = {10, 35}
    plain = Source.decode

    def forgetful(self: Source, packets: Any, tally: Any, passes_over: Callable[[int], bool] | None = None) -> Any:
        assert passes_over is not None
        for frame in plain(self, packets, tally, passes_over):
            stamp = self.stamp(frame)
            assert stamp is not None
            if int(np.searchsorted(index.stamps, stamp)) not in lost or not passes_over(int(index.stamps[1])):
                yield frame

    monkeypatch.setattr(Source, "decode", forgetful)
    wanted = list(range(0, index.frames, 5))
    assert numbers(clip.path, index, wanted, gap=index.frames) == wanted


def test_clips_with_repaired_timestamps_are_counted(imported: Callable[[str], Import]) -> None:
    clip, _, _, index = imported("avi-h264-bframes")
    assert not index.regular
    assert numbers(clip.path, index, [3, 30, 39], gap=0) == [3, 30, 39]


def test_the_proxy_is_read_with_the_index(imported: Callable[[str], Import]) -> None:
    for kind in ("variable-mkv", "trimmed", "ts", "rotated-90"):
        clip, out, _, index = imported(kind)
        proxy = index.for_proxy()
        wanted = [0, index.frames // 2, index.frames - 1]
        assert numbers(out / "proxy.mp4", proxy, wanted, gap=0) == [clip.numbers[k] for k in wanted]


def test_one_picture_at_a_time(imported: Callable[[str], Import]) -> None:
    clip, _, _, index = imported("25")
    reader = read_frames(clip.path, index)
    assert clips.read_number(next(reader)[1]) == 0
    reader.close()  # type: ignore[attr-defined]


def test_nothing_wanted_reads_nothing(imported: Callable[[str], Import]) -> None:
    _, _, _, index = imported("25")
    assert list(read_frames(Path("/nowhere.mp4"), index, [])) == []


@pytest.mark.parametrize("frames", [[-1], [60], [0, 60]])
def test_numbers_outside_the_video_are_refused(frames: list[int], imported: Callable[[str], Import]) -> None:
    clip, _, _, index = imported("25")
    with pytest.raises(ValueError, match="within the 60"):
        read_frames(clip.path, index, frames)


def test_another_file_than_the_indexed_one_is_refused(imported: Callable[[str], Import]) -> None:
    _, _, _, index = imported("25")
    with pytest.raises(MediaError, match="not in the file that was indexed"):
        list(read_frames(imported("late-start")[0].path, index))


def test_pictures_can_be_bounded_and_are_never_enlarged(imported: Callable[[str], Import]) -> None:
    for kind, longest, shape in (
        ("large", 640, (360, 640, 3)),
        ("rotated-90", 160, (160, 90, 3)),
        ("25", 999, (180, 320, 3)),
    ):
        clip, _, _, index = imported(kind)
        picture = next(read_frames(clip.path, index, [3], longest=longest))[1]
        assert picture.shape == shape
        assert clips.read_number(picture) == clip.numbers[3]


def test_the_index_loads_without_a_decoder() -> None:
    """The web process reads frame indexes and must stay light."""
    code = "import sys, ml.media.index; assert not {'av', 'cv2'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
