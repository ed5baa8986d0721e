"""Each bad file ends in a working video or in one plain sentence that names the cause."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from ml.media import importer, source
from ml.media.decode import read_frames
from ml.media.errors import MediaError
from ml.media.importer import Imported, prepare
from ml.media.index import FrameIndex
from ml.media.probe import probe
from ml.progress import silent
from tests import clips

FRAMES = 125
NOISY = {"noise": 60, "gop": 25, "bframes": 2}  # about 10 KB a frame, so that damage hits few


def sound_only(path: Path) -> None:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("aac", rate=48000, layout="mono")
        for frame in [*clips.tone(1), None]:
            container.mux(stream.encode(frame))


def sound_with_cover(path: Path) -> None:
    """An mp4 whose only picture is marked as the cover of the album."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("aac", rate=48000, layout="mono")
        cover: Any = container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 64, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        for frame in [*clips.tone(1), None]:
            container.mux(stream.encode(frame))
        picture = av.VideoFrame.from_ndarray(clips.draw_number(1, 64, 64), format="bgr24").reformat(format="yuvj420p")
        container.mux([*cover.encode(picture), *cover.encode(None)])


def picture(path: Path) -> None:
    done, data = cv2.imencode(".png" if path.stem.endswith("png") else ".jpg", clips.draw_number(1, 320, 180))
    assert done
    path.write_bytes(data.tobytes())


def playlist(path: Path) -> None:
    other = path.with_name("other.ts")
    clips.write(other, clips.steady(5, Fraction(25)))
    path.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1.0,\nfile://{other}\n#EXT-X-ENDLIST\n")


def list_of_files(path: Path) -> None:
    other = path.with_name("other.mp4")
    clips.write(other, clips.steady(5, Fraction(25)))
    path.write_text(f"ffconcat version 1.0\nfile '{other}'\n")


def index_lost(path: Path) -> None:
    clips.write(path, clips.steady(30, Fraction(25)))
    clips.cut_file(path, 0.6)


def index_damaged(path: Path) -> None:
    clips.write(path, clips.steady(30, Fraction(25)))

    def overwrite(data: bytearray) -> None:
        start, end = clips.box(data, b"moov")
        data[start:end] = np.random.default_rng(1).bytes(end - start)

    clips.patch(path, overwrite)


def all_damaged(path: Path) -> None:
    clips.write(path, clips.steady(30, Fraction(25), muxer={"movflags": "+faststart"}))

    def overwrite(data: bytearray) -> None:
        start, end = clips.box(data, b"mdat")
        data[start:end] = bytes(end - start)

    clips.patch(path, overwrite)


def unknown_codec(path: Path) -> None:
    clips.write(path, clips.steady(5, Fraction(25)))
    clips.patch(
        path, lambda data: data.__setitem__(slice(at := data.find(b"avc1", data.find(b"stsd")), at + 4), b"zzzz")
    )


REFUSED: list[tuple[str, Callable[[Path], Any], str]] = [
    ("empty.mp4", lambda path: path.touch(), "the file is empty"),
    ("text.mp4", lambda path: path.write_text("not a video\n" * 999), "not that of a video file"),
    ("noise.mp4", lambda path: path.write_bytes(np.random.default_rng(2).bytes(60_000)), "not that of a video file"),
    ("missing.mp4", lambda path: None, "there is no such file"),
    ("folder.mp4", lambda path: path.mkdir(), "it is a folder"),
    ("sound.mp4", sound_only, "no video stream, only sound"),
    ("cover.mp4", sound_with_cover, "no video stream, only sound"),
    ("picture.jpg", picture, "single picture"),
    ("picture-jpg.mp4", picture, "single picture"),
    ("picture-png.mp4", picture, "single picture"),
    ("list.m3u8", playlist, "not one that is accepted"),
    ("list.mp4", playlist, "not that of a video file"),
    ("concat.txt", list_of_files, "not one that is accepted"),
    ("index-lost.mp4", index_lost, "index .* is missing"),
    ("index-damaged.mp4", index_damaged, "index is damaged"),
    ("all-damaged.mp4", all_damaged, "no picture of its h264 video can be decoded"),
    ("unknown-codec.mp4", unknown_codec, "no decoder"),
]


@pytest.mark.parametrize(("name", "make", "cause"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_it_is_refused_with_one_sentence(name: str, make: Callable[[Path], Any], cause: str, tmp_path: Path) -> None:
    path = tmp_path / name
    make(path)
    with pytest.raises(MediaError, match=cause) as caught:
        prepare(path, tmp_path / "out", silent)
    sentence = str(caught.value)
    assert sentence.startswith("Cannot read the video: ") and sentence.endswith(".") and "\n" not in sentence
    assert str(tmp_path) not in sentence, "no path of the server"
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(MediaError, match=cause):
        probe(path)


def test_too_large_pictures_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clips.write(tmp_path / "clip.mp4", clips.steady(2, Fraction(25)))
    monkeypatch.setattr(source, "MAX_PIXELS", 320 * 180 - 1)
    with pytest.raises(MediaError, match="320 x 180 exceed the limit"):
        probe(tmp_path / "clip.mp4")


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clips.write(tmp_path / "clip.mp4", clips.steady(2, Fraction(25)))

    def denied(*_: Any, **__: Any) -> Any:
        raise av.error.PermissionError(13, "Permission denied")

    monkeypatch.setattr(source.av, "open", denied)
    with pytest.raises(MediaError, match="permission denied"):
        probe(tmp_path / "clip.mp4")


def load(path: Path, out: Path) -> tuple[Imported, list[int | None]]:
    """Import; returns the result and what each frame shows, the same in source and proxy."""
    result = prepare(path, out, silent)
    index = FrameIndex.load(out / "frames.npz")
    shown = [numbers(path, index), numbers(out / "proxy.mp4", index.for_proxy())]
    assert len(shown[0]) == result.frames
    # Around damage a picture may read in one and not in the other, but never as two different numbers.
    assert all(a == b or None in (a, b) for a, b in zip(*shown, strict=True))
    return result, shown[0]


def numbers(path: Path, index: FrameIndex) -> list[int | None]:
    found: list[int | None] = []
    for _, image in read_frames(path, index):
        try:
            found.append(clips.read_number(image))
        except ValueError:
            found.append(None)
    return found


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """Copies a good noisy clip of a container into a folder."""
    folder = tmp_path_factory.mktemp("good")

    def copy(suffix: str, into: Path) -> Path:
        path = folder / f"clip{suffix}"
        if not path.exists():
            muxer = {"movflags": "+faststart"} if suffix == ".mp4" else {}
            clips.write(path, clips.steady(FRAMES, Fraction(25), suffix=suffix, muxer=muxer, **NOISY))
        return Path(shutil.copy(path, into))

    return copy


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_cut_off_file_is_usable_up_to_there(suffix: str, good: Callable[[str, Path], Path], tmp_path: Path) -> None:
    path = good(suffix, tmp_path)
    clips.cut_file(path, 0.6)
    result, shown = load(path, tmp_path / "out")
    assert 0.5 * FRAMES < result.frames < 0.7 * FRAMES
    assert shown[:-3] == list(range(result.frames - 3)), "only the very last pictures may suffer"
    ends, claimed = map(float, re.findall(r"ends at (\S+) s of (\S+) s", result.warnings[0])[0])
    assert ends == pytest.approx(result.duration_s, abs=0.005) and claimed == pytest.approx(FRAMES / 25, abs=0.03)
    assert result.duration_s == pytest.approx(result.frames / 25, abs=0.09)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_damage_in_the_middle_leaves_both_sides(suffix: str, good: Callable[[str, Path], Path], tmp_path: Path) -> None:
    path = good(suffix, tmp_path)
    clips.damage(path, 0.5, 60_000)
    result, shown = load(path, tmp_path / "out")
    assert FRAMES - 60 < result.frames <= FRAMES
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    # Outside the damage and the rest of its group of pictures, every frame is there and shown at its own time.
    sound = {round(index.zeroed[k] * 25, 6): number for k, number in enumerate(shown)}
    assert all(sound.get(n) == n for n in (*range(48), *range(101, FRAMES)))
    assert len([w for w in result.warnings if "damaged" in w or "no frames between" in w]) == 1


def test_frames_of_a_damaged_clip_are_the_same_in_any_order(good: Callable[[str, Path], Path], tmp_path: Path) -> None:
    path = good(".mp4", tmp_path)
    clips.damage(path, 0.5, 60_000)
    result = prepare(path, tmp_path / "out", silent)
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    assert result.damaged > 0 and not index.regular
    whole = dict(read_frames(path, index))
    for number, image in read_frames(path, index, [40, 58, 60, 62, 64, 70, 110], seek_gap=0):
        np.testing.assert_array_equal(image, whole[number])


def test_repeated_timestamps_are_nudged_and_kept(tmp_path: Path) -> None:
    """Matroska keeps equal timestamps: frames 10 and 11 share 9's."""
    stamps = [9 if k in (10, 11) else k for k in range(30)]
    path = tmp_path / "repeated.mkv"
    recipe = clips.Recipe([40 * k for k in range(30)], Fraction(1, 1000), 40, stored=[(40 * s, 40 * s) for s in stamps])
    clips.write(path, recipe)
    result, shown = load(path, tmp_path / "out")
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    expected = [40 * k for k in range(31)]
    expected[10:12] = [361, 362]
    assert index.pts.tolist() == expected
    assert shown == list(range(30))
    assert (result.nudged, result.interpolated) == (2, 0)
    assert result.warnings == [
        "2 frames had a timestamp equal to or before that of the frame before; each was moved to the next tick."
    ]


def test_backward_timestamps_are_nudged_and_kept(tmp_path: Path) -> None:
    """Frame 10 of an mp4 claims to be shown before frame 9."""
    stored = [(12 if k == 10 else k + 5, k) for k in range(30)]
    path = tmp_path / "backward.mp4"
    clips.write(path, clips.steady(30, Fraction(25), stored=stored))
    result, shown = load(path, tmp_path / "out")
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    assert shown == list(range(30))
    assert index.nudged == result.nudged == 1
    assert index.pts[10] == index.pts[9] + 1
    np.testing.assert_allclose(np.delete(index.seconds[:30], 10) * 25, np.delete(np.arange(30) + 5, 10))


@pytest.mark.parametrize("bframes", [0, 2])
def test_missing_timestamps_are_interpolated(bframes: int, tmp_path: Path) -> None:
    path = tmp_path / "missing.ts"
    clips.write(path, clips.steady(40, Fraction(25), suffix=".ts", bframes=bframes))
    clips.drop_timestamps(path, [5, 6, 20])
    result, shown = load(path, tmp_path / "out")
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    assert shown == list(range(40))
    assert result.interpolated == 3
    np.testing.assert_allclose(index.zeroed, np.arange(41) / 25, atol=1e-9)
    assert "3 frames had no timestamp; their times were interpolated." in result.warnings


def test_a_file_without_any_timestamp_works(tmp_path: Path) -> None:
    path = tmp_path / "raw.h264"
    clips.write(path, clips.steady(40, Fraction(25), suffix=".h264"))
    result, shown = load(path, tmp_path / "out")
    assert shown == list(range(40))
    assert (result.interpolated, result.duration_s) == (40, 1.6)


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (17, 33), (16, 2000)])
def test_tiny_and_thin_pictures_work(size: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "tiny.mov"
    clips.write(path, clips.steady(4, Fraction(25), codec="png", pix_fmt="rgb24", size=size))
    result = prepare(path, tmp_path / "out", silent)
    assert (result.frames, result.width, result.height) == (4, *size)


def test_a_video_of_one_frame_works(tmp_path: Path) -> None:
    path = tmp_path / "one.mp4"
    clips.write(path, clips.steady(1, Fraction(25)))
    result, shown = load(path, tmp_path / "out")
    assert (result.frames, result.duration_s, shown) == (1, 0.04, [0])


def test_a_picture_size_that_changes_is_scaled(tmp_path: Path) -> None:
    """Two transport streams one after the other; the timestamps of the second start again and are nudged."""
    parts = [tmp_path / "a.ts", tmp_path / "b.ts"]
    for path, size in zip(parts, [(320, 180), (160, 90)], strict=True):
        clips.write(path, clips.steady(10, Fraction(25), suffix=".ts", size=size))
    both = tmp_path / "both.ts"
    both.write_bytes(b"".join(path.read_bytes() for path in parts))
    result, shown = load(both, tmp_path / "out")
    assert shown == [*range(10), *range(10)]
    assert any("picture size changes" in warning for warning in result.warnings)
    assert result.nudged == 10


@pytest.mark.parametrize(
    ("limit", "value", "cause"), [("MAX_FRAMES", 5, "more than 5 frames"), ("MAX_DECODE_S", -1, "longer than")]
)
def test_limits_of_the_decode(
    limit: str, value: int, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips.write(tmp_path / "clip.mp4", clips.steady(30, Fraction(25)))
    monkeypatch.setattr(importer, limit, value)
    with pytest.raises(MediaError, match=cause):
        prepare(tmp_path / "clip.mp4", tmp_path / "out", silent)
    assert list((tmp_path / "out").iterdir()) == []


def test_no_memory_is_taken_for_pictures_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream grows after the first picture: the decoder itself must refuse."""
    parts = [tmp_path / "a.ts", tmp_path / "b.ts"]
    for path, size in zip(parts, [(160, 90), (640, 360)], strict=True):
        clips.write(path, clips.steady(10, Fraction(25), suffix=".ts", size=size))
    both = tmp_path / "both.ts"
    both.write_bytes(b"".join(path.read_bytes() for path in parts))
    monkeypatch.setattr(source, "MAX_PIXELS", 200 * 100)
    result = prepare(both, tmp_path / "out", silent)
    assert result.frames == 10 and result.damaged > 0
