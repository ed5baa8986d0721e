"""Clips cut out of real files: which frames, when, how drawn, and the same bytes again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from ml.media import clips as cutting
from ml.media import proxy
from ml.media.clips import cut, plan, resampled
from ml.media.decode import read_frames
from ml.media.errors import MediaError
from ml.media.index import FrameIndex, sample_frames
from ml.media.tags import Tracks
from ml.progress import Cancelled
from ml.questions.clip import ClipClock
from tests import clips
from tests.figures import Record
from tests.ml.media.conftest import Import

NOBODY = np.zeros((0, 4))
KINDS = ("25", "29.97", "variable", "random-bframes", "late-start", "rotated-90", "trimmed-bframes", "microseconds",
         "hevc", "vp9-webm", "avi-bframes", "live-mkv")  # fmt: skip


def shown(path: Path) -> list[tuple[int, Fraction]]:
    """(burnt-in number, exact time) of every picture of a file, decoded by nothing of ours."""
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        return [
            (clips.read_number(frame.to_ndarray(format="bgr24")), (frame.pts or 0) * Fraction(stream.time_base or 0))
            for frame in file.decode(stream)
        ]


def nobody(index: FrameIndex) -> Tracks:
    none = np.zeros(0, np.int64)
    return Tracks([], none, none, NOBODY, NOBODY, index.seconds)


@pytest.mark.parametrize("kind", KINDS)
def test_a_clip_is_its_span_of_the_source_frame_by_frame(
    kind: str, imported: Callable[[str], Import], tmp_path: Path
) -> None:
    """Numbers burnt into the pictures and exact times, against the truth of the maker of the source."""
    clip, _, result, index = imported(kind)
    start, end = 7, index.frames - 4
    facts = cut(clip.path, index, start, end, "clean", tmp_path)
    truth = [(clip.numbers[k], clip.times[k] - clip.times[start]) for k in range(start, end)]
    assert shown(tmp_path / "clip.mp4") == truth
    length = clip.times[end] - clip.times[start]
    assert facts["frames"] == end - start and facts["duration_s"] == pytest.approx(float(length), abs=1e-9)
    assert (facts["width"], facts["height"]) == (result.width, result.height)
    clock = ClipClock.load(tmp_path / "frames.npz")
    assert clock.frame.tolist() == list(range(start, end)) and (clock.start, clock.end) == (start, end)
    np.testing.assert_allclose(clock.seconds, [float(time) for _, time in truth], atol=1e-9, rtol=0)
    with av.open(str(tmp_path / "clip.mp4")) as file:
        assert not file.streams.audio and file.streams.video[0].codec_context.name == "h264"
        assert all(packet.pts == packet.dts for packet in file.demux(video=0) if packet.size)  # no B-frames


@pytest.mark.parametrize("kind", ("25", "variable", "random-bframes", "microseconds"))
def test_a_grasp_clip_shows_two_frames_per_second(kind: str, imported: Callable[[str], Import], tmp_path: Path) -> None:
    """At k / 2 s: the first frame at or after; where the next half second begins before it, the one on the screen."""
    clip, _, _, index = imported(kind)
    start, end = 5, index.frames
    facts = cut(clip.path, index, start, end, "grasp", tmp_path, tracks=nobody(index))
    times = [time - clip.times[start] for time in clip.times[start:end]]
    length = clip.end - clip.times[start]
    expected = []
    for k in range(-(-int(length * 2 * 10**9) // 10**9)):
        due = Fraction(k, 2)
        coming = [j for j, time in enumerate(times) if due <= time < due + Fraction(1, 2)]
        on_screen = max(j for j, time in enumerate(times) if time <= due)
        expected.append((coming or [on_screen])[0] + start)
    clock = ClipClock.load(tmp_path / "frames.npz")
    assert clock.frame.tolist() == expected and clock.seconds.tolist() == [k / 2 for k in range(len(expected))]
    with av.open(str(tmp_path / "clip.mp4")) as file:
        stream = file.streams.video[0]
        pts = [(frame.pts or 0) * Fraction(stream.time_base or 0) for frame in file.decode(stream)]
    assert pts == [Fraction(k, 2) for k in range(len(expected))] and facts["frames"] == len(expected)


def test_on_a_steady_video_the_samples_are_those_of_everything_else(imported: Callable[[str], Import]) -> None:
    _, _, _, index = imported("25")
    what = plan(index, 10, 60, "grasp")
    assert what.frame.tolist() == sample_frames(index, 10, 60, 2).tolist() == [10, 23, 35, 48]


def test_resampling_across_a_gap() -> None:
    """Ticks of 0.1 s: frames at 0, 0.1 and 2.0 s, the last lasts 0.1 s. At 0.5, 1.0 and 1.5 s nothing new begins, so
    the frame of 0.1 s stays; at 2.0 s the last."""
    found = resampled(np.array([0, 1, 20, 21]), Fraction(1, 10), 2)
    assert found.tolist() == [0, 1, 1, 1, 2]


# --- whole, the same again, or not at all ----------------------------------------------------------------------------


def people(index: FrameIndex, faces: bool = True) -> Tracks:
    """ "a" moves from the left to the middle, "b" stands at the right; seen on every tenth frame."""
    frame = np.arange(0, index.frames, 10)
    share = frame / index.frames
    a = np.stack([0.05 + 0.4 * share, 0 * share + 0.3, 0.25 + 0.4 * share, 0 * share + 0.9], axis=1)
    b = np.tile([0.7, 0.3, 0.9, 0.9], (len(frame), 1))
    body = np.concatenate([a, b])
    face = np.c_[body[:, 0] + 0.05, body[:, 1], body[:, 2] - 0.05, body[:, 1] + 0.2]
    who = np.repeat([0, 1], len(frame))
    return Tracks(
        ["a", "b"],
        np.tile(frame, 2),
        who,
        body,
        face if faces else np.full_like(face, np.nan),
        index.seconds,
        reach_s=1.5,
    )


@pytest.mark.parametrize("rendering", cutting.RENDERINGS)
def test_the_same_clip_has_the_same_bytes(
    rendering: str, imported: Callable[[str], Import], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a machine with more processors, and from a copy elsewhere."""
    clip, _, _, index = imported("variable")
    made = []
    for number, cores in enumerate((1, 64)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        source = Path(shutil.copy(clip.path, tmp_path / f"copy-{number}.mp4"))
        out = tmp_path / str(number)
        facts = cut(
            source, index, 20, 90, rendering, out, tracks=people(index), person_map={"P0": "a", "P1": "b"}, blur=True
        )
        made.append((facts, (out / "clip.mp4").read_bytes(), (out / "frames.npz").read_bytes()))
    assert made[0] == made[1]


def test_a_cancelled_clip_leaves_nothing(imported: Callable[[str], Import], tmp_path: Path) -> None:
    clip, _, _, index = imported("25")
    calls: list[float] = []

    def progress(stage: str, share: float) -> None:
        calls.append(share)
        if len(calls) == 20:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        cut(clip.path, index, 0, 50, "clean", tmp_path, progress=progress)
    assert calls == sorted(calls) and list(tmp_path.iterdir()) == []


def test_a_clip_with_other_times_is_refused(
    imported: Callable[[str], Import], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip, _, _, index = imported("25")
    write = proxy.ProxyWriter.write
    monkeypatch.setattr(proxy.ProxyWriter, "write", lambda self, frame, pts: write(self, frame, pts + (pts > 2000)))
    with pytest.raises(MediaError, match="The clip would show frame"):
        cut(clip.path, index, 0, 30, "clean", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("span", [(-1, 5), (5, 5), (7, 5), (0, 61)])
def test_a_span_outside_the_video_is_an_error(span: tuple[int, int], imported: Callable[[str], Import]) -> None:
    with pytest.raises(ValueError, match="does not lie within the 60 frames"):
        plan(imported("25")[3], *span, "clean")


def test_what_makes_no_sense_is_refused(
    imported: Callable[[str], Import], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip, _, _, index = imported("25")
    with pytest.raises(ValueError, match="no rendering 'pretty'"):
        cut(clip.path, index, 0, 5, "pretty", tmp_path)
    with pytest.raises(MediaError, match="nothing to draw tags by; run perception first"):
        cut(clip.path, index, 0, 5, "tags", tmp_path)
    with pytest.raises(MediaError, match="nothing to blur faces by"):
        cut(clip.path, index, 0, 5, "clean", tmp_path, blur=True)
    monkeypatch.setattr(cutting, "MAX_FRAMES", 20)
    with pytest.raises(MediaError, match="A clip of 21 frames is too long"):
        cut(clip.path, index, 0, 21, "clean", tmp_path)


# --- what is drawn -------------------------------------------------------------------------------------------------


def pictures(path: Path) -> list[NDArray[Any]]:
    with av.open(str(path)) as file:
        return [frame.to_ndarray(format="bgr24") for frame in file.decode(video=0)]


def solid(folder: Path, colour: tuple[int, int, int], size: tuple[int, int] = (640, 360), count: int = 40) -> Path:
    """A video of one colour (BGR), 10 frames per second."""
    path = folder / "solid.mp4"
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("libx264", rate=10, options={"crf": "1"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        picture = np.full((size[1], size[0], 3), colour, np.uint8)
        for _ in range(count):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        file.mux(stream.encode(None))
    return path


def index_of(path: Path) -> FrameIndex:
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        stamps = sorted(int(packet.pts or 0) for packet in file.demux(stream) if packet.size)
        return FrameIndex(np.array([*stamps, 2 * stamps[-1] - stamps[-2]]), Fraction(stream.time_base or 0))


def test_colours_survive(tmp_path: Path) -> None:
    colour = (200, 60, 30)
    source = solid(tmp_path, colour)
    index = index_of(source)
    cut(source, index, 0, 20, "clean", tmp_path / "out")
    before = next(iter(read_frames(source, index, [5])))[1]
    after = next(iter(read_frames(tmp_path / "out" / "clip.mp4", index_of(tmp_path / "out" / "clip.mp4"), [5])))[1]
    np.testing.assert_allclose(after.mean((0, 1)), before.mean((0, 1)), atol=4)


def test_tags_are_drawn_where_people_are_and_only_for_those_in_the_map(tmp_path: Path) -> None:
    """On black: the box's edge and the tag above it are bright at "a", nothing is at "b", who has no tag."""
    source = solid(tmp_path, (0, 0, 0))
    index = index_of(source)
    tracks = people(index)
    cut(source, index, 0, 40, "tags", tmp_path / "out", tracks=tracks, person_map={"P7": "a"})
    picture = pictures(tmp_path / "out" / "clip.mp4")[20].max(2)
    left, top = round((0.05 + 0.4 * 20 / 40) * 639), round(0.3 * 359)  # of a's box halfway
    assert picture[top + 40, left - 2 : left + 3].max() > 150  # its left edge
    assert picture[top - 12 : top - 2, left + 30 : left + 95].max() > 150  # the tag above the head
    assert picture[top + 20 : top + 180, left + 10 : left + 100].max() < 60  # nothing inside
    assert picture[:, 440:].max() < 60  # nobody else
    clean = pictures(tmp_path / "out" / "clip.mp4")[20]
    assert clean.shape == (360, 640, 3)


def test_a_grasp_clip_carries_its_clock(tmp_path: Path) -> None:
    """The stamp lies at the top left, white on black, and is another on every frame."""
    source = solid(tmp_path, (128, 128, 128))
    index = index_of(source)
    cut(source, index, 0, 40, "grasp", tmp_path / "out", tracks=nobody(index))
    corners = [picture[:20, :160] for picture in pictures(tmp_path / "out" / "clip.mp4")]
    assert len(corners) == 8
    assert all(corner.min() < 30 and corner.max() > 220 for corner in corners)
    assert all(np.abs(a.astype(int) - b).max() > 100 for a, b in zip(corners, corners[1:], strict=False))
    assert cutting.stamp_text(7, 3.5) == "frame 7  3.50 s"


def noisy(folder: Path, size: tuple[int, int] = (640, 360), count: int = 30) -> Path:
    """Stripes of two pixels, which no blurred part keeps; 10 frames per second."""
    path = folder / "noisy.mp4"
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("libx264", rate=10, options={"crf": "1", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        picture = np.zeros((size[1], size[0], 3), np.uint8)
        picture[:, ::4] = picture[:, 1::4] = 255
        for _ in range(count):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        file.mux(stream.encode(None))
    return path


def contrast(picture: NDArray[Any], box: tuple[float, float, float, float]) -> float:
    x1, y1, x2, y2 = (round(v * s) for v, s in zip(box, (640, 360, 640, 360), strict=True))
    return float(picture[y1:y2, x1:x2].astype(float).std(axis=1).mean())


def test_faces_are_blurred_between_looks_too_and_nothing_else(tmp_path: Path) -> None:
    source = noisy(tmp_path)
    index = index_of(source)
    facts = cut(source, index, 0, 30, "clean", tmp_path / "out", tracks=people(index), blur=True)
    for number, picture in enumerate(pictures(tmp_path / "out" / "clip.mp4")):
        share = number / 30
        if number <= 20:  # the last look
            assert contrast(picture, (0.10 + 0.4 * share, 0.3, 0.2 + 0.4 * share, 0.5)) < 25, number  # a's moving face
        assert contrast(picture, (0.75, 0.3, 0.85, 0.5)) < 25, number
        assert contrast(picture, (0.7, 0.7, 0.9, 0.9)) > 60, number  # b's legs
    assert facts["blurred"] and len(facts["warnings"]) == 1  # only that perception may have missed somebody


def test_a_missed_face_is_said_and_the_head_is_blurred(tmp_path: Path) -> None:
    source = noisy(tmp_path)
    index = index_of(source)
    tracks = people(index, faces=False)
    named = {"P0": "a", "P1": "b"}
    facts = cut(source, index, 0, 30, "tags", tmp_path / "out", tracks=tracks, person_map=named, blur=True)
    picture = pictures(tmp_path / "out" / "clip.mp4")[0]
    assert contrast(picture, (0.72, 0.36, 0.88, 0.45)) < 25
    assert "No face was found of P0 on 30, P1 on 30 of 30 frames" in facts["warnings"][0]


def test_frames_without_anybody_are_said(tmp_path: Path) -> None:
    source = noisy(tmp_path)
    index = index_of(source)
    facts = cut(source, index, 0, 30, "clean", tmp_path / "out", tracks=nobody(index), blur=True)
    assert "Nobody was found on 30 of 30 frames; nothing was blurred there." in facts["warnings"]


@pytest.mark.bench
def test_what_a_clip_costs(tmp_path: Path, figure: Record) -> None:
    """138 frames of 1280x720, with tags and blurred faces: processor time."""
    source = noisy(tmp_path, (1280, 720), 160)
    index = index_of(source)
    began = time.process_time()
    cut(source, index, 10, 148, "tags", tmp_path / "out", tracks=people(index), person_map={"P0": "a"}, blur=True)
    figure("clip of 138 frames at 720p, tags and blur: processor time", time.process_time() - began, "s")
