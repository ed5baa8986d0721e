"""Import of every kind of clip: exact times, a proxy that keeps them, all pieces."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import pytest

from ml.media.decode import read_frames
from ml.media.importer import Imported, prepare
from ml.media.index import FrameIndex
from ml.media.probe import probe
from ml.progress import Cancelled, silent
from tests import clips
from tests.ml.media.conftest import Import

PIECES = ["facts.json", "frames.npz", "import.json", "poster.jpg", "proxy.mp4", "strip.jpg", "strip.json"]
# The mp4 writer gives the last packet in stored order a wrong duration; nut stores none.
LOSES_END = ("random-bframes", "microseconds")
RATES = {"25": 25, "10": 10, "23.976": 24000 / 1001, "29.97": 30000 / 1001, "59.94": 60000 / 1001}
EXPECTED_WARNINGS = {
    "avi-h264-bframes": ["2 frames had no timestamp; their times were interpolated."],
    "microseconds": ["There are no frames between 1.16 and 4.16 s."],
}


def presented(path: Path) -> list[Fraction]:
    """Times of the frames that come out of a plain decoder."""
    with av.open(str(path)) as container:
        video = container.streams.video[0]
        return [
            frame.pts * Fraction(video.time_base or 0) for frame in container.decode(video) if frame.pts is not None
        ]


@pytest.mark.parametrize("kind", clips.KINDS)
def test_times_are_exact_in_index_and_proxy(kind: str, imported: Callable[[str], Import]) -> None:
    clip, out, result, index = imported(kind)
    times = [int(tick) * index.time_base for tick in index.pts]
    assert times[:-1] == clip.times
    assert kind in LOSES_END or times[-1] == clip.end
    assert presented(out / "proxy.mp4") == clip.times
    assert result.frames == len(clip.times)
    assert result.warnings == EXPECTED_WARNINGS.get(kind, [])


@pytest.mark.parametrize("kind", clips.KINDS)
def test_the_proxy_shows_every_frame_upright(kind: str, imported: Callable[[str], Import]) -> None:
    clip, out, result, index = imported(kind)
    found = [picture for _, picture in read_frames(out / "proxy.mp4", index.for_proxy())]
    assert [clips.read_number(picture) for picture in found] == clip.numbers
    assert found[0].shape == (result.proxy_height, result.proxy_width, 3)


@pytest.mark.parametrize("kind", clips.KINDS)
def test_the_proxy_is_what_browsers_need(kind: str, imported: Callable[[str], Import]) -> None:
    """H.264 4:2:0 without B-frames, at most 720p, even, not enlarged, index in front, a key frame each second."""
    clip, out, result, index = imported(kind)
    data = (out / "proxy.mp4").read_bytes()
    assert data.find(b"moov") < data.find(b"mdat")
    with av.open(str(out / "proxy.mp4")) as container:
        video = container.streams.video[0]
        context = video.codec_context
        assert (context.name, context.pix_fmt) == ("h264", "yuv420p")
        assert context.width % 2 == context.height % 2 == 0
        assert max(context.width, context.height) <= 1280 and min(context.width, context.height) <= 720
        assert context.width <= result.width and context.height <= result.height
        packets = [packet for packet in container.demux(video) if packet.size]
    assert [p.pts for p in packets] == sorted(p.pts for p in packets if p.pts is not None), "no reordering"
    keys = [k for k, packet in enumerate(packets) if packet.is_keyframe]
    assert keys[0] == 0
    for key, following in zip(keys, [*keys[1:], index.frames], strict=True):
        assert index.zeroed[following - 1] - index.zeroed[key] <= 1.0 + 1e-9


@pytest.mark.parametrize("kind", ["variable", "late-start", "trimmed", "sound", "ts"])
def test_the_last_frame_of_the_proxy_can_be_sought(kind: str, imported: Callable[[str], Import]) -> None:
    """Players do not seek beyond the duration, which must reach the end of the last frame on the media clock."""
    _, out, _, index = imported(kind)
    with av.open(str(out / "proxy.mp4")) as container:
        assert container.duration is not None
        assert container.duration / 1e6 == pytest.approx(index.seconds[-1], abs=0.02)


@pytest.mark.parametrize("kind", ["25", "sound", "trimmed"])
def test_all_pieces_and_nothing_else(kind: str, imported: Callable[[str], Import]) -> None:
    _, out, result, _ = imported(kind)
    sound = ["waveform.bin"] if result.has_audio else []
    assert sorted(path.name for path in out.iterdir()) == sorted([*PIECES, *sound])
    assert Imported.load(out / "import.json") == result
    assert json.loads((out / "import.json").read_text())["sha256"] == result.sha256


@pytest.mark.parametrize(("kind", "rate"), RATES.items())
def test_rates_are_measured(kind: str, rate: float, imported: Callable[[str], Import]) -> None:
    result = imported(kind)[2]
    assert result.rate == pytest.approx(rate, rel=1e-9)
    assert not result.variable


def test_facts_of_some_kinds(imported: Callable[[str], Import]) -> None:
    assert imported("variable")[2].variable and not imported("sound-webm")[2].variable
    assert imported("late-start")[2].first_s == 0.1
    assert imported("late-start")[2].duration_s == 8.0
    assert imported("rotated-90")[2].rotation == 90
    assert (imported("rotated-90")[2].width, imported("rotated-90")[2].height) == (180, 320)
    assert (imported("large")[2].proxy_width, imported("large")[2].proxy_height) == (1280, 720)
    assert (imported("odd-size")[2].proxy_width, imported("odd-size")[2].proxy_height) == (66, 50)
    assert imported("hevc")[2].codec == "hevc" and imported("vp9-webm")[2].codec == "vp9"
    assert imported("10-bit")[2].pix_fmt == "yuv420p10le"


def test_the_probe_tells_what_the_file_claims(clip: Callable[[str], clips.Clip]) -> None:
    facts = probe(clip("23.976").path)
    assert (facts.codec, facts.width, facts.height, facts.pix_fmt) == ("h264", 320, 180, "yuv420p")
    assert facts.average_rate == Fraction(24000, 1001)
    assert facts.claimed_seconds == pytest.approx(2.5025)
    assert not facts.has_audio and probe(clip("sound").path).has_audio


def test_pixels_that_are_not_square_are_made_so(tmp_path: Path) -> None:
    """A 320 x 180 picture with pixels twice as wide as high is shown 320 x 90."""
    path = tmp_path / "wide.mkv"
    clips.write(path, clips.steady(3, Fraction(25), suffix=".mkv", options={"x264-params": "sar=2/1"}))
    result = prepare(path, tmp_path / "out", silent)
    assert (result.width, result.height) == (320, 90)
    index = FrameIndex.load(tmp_path / "out" / "frames.npz")
    assert [p.shape for _, p in read_frames(path, index)] == [(90, 320, 3)] * 3
    assert [p.shape for _, p in read_frames(tmp_path / "out" / "proxy.mp4", index)] == [(90, 320, 3)] * 3


class StopAt:
    """Raises at the n-th report."""

    def __init__(self, n: int) -> None:
        self.left = n
        self.stages: list[str] = []

    def __call__(self, stage: str, share: float) -> None:
        assert 0.0 <= share <= 1.0
        if stage not in self.stages:
            self.stages.append(stage)
        self.left -= 1
        if self.left < 0:
            raise Cancelled


def test_a_stopped_import_leaves_nothing_half_written_and_is_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    clips.write(path, clips.steady(5, Fraction(25), size=(64, 48), sound=True))
    counter = StopAt(10_000)
    whole = prepare(path, tmp_path / "whole", counter)
    assert counter.stages == ["probe", "proxy", "check", "pictures", "waveform"]
    for n in range(10_000 - counter.left):
        out = tmp_path / str(n)
        with pytest.raises(Cancelled):
            prepare(path, out, StopAt(n))
        assert not list(out.glob("*.part")) and not (out / "import.json").exists()
        assert prepare(path, out, silent) == whole
        assert names(out) == names(tmp_path / "whole")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_finished_piece_is_not_redone(tmp_path: Path) -> None:
    path, out = tmp_path / "clip.mp4", tmp_path / "out"
    clips.write(path, clips.steady(12, Fraction(25), sound=True))
    first = prepare(path, out, silent)
    proxy, strip = (out / "proxy.mp4").stat(), (out / "strip.jpg").stat()
    (out / "waveform.bin").unlink()
    (out / "left-by-a-killed-run.part").touch()
    assert prepare(path, out, silent) == first
    assert (out / "waveform.bin").exists() and not (out / "left-by-a-killed-run.part").exists()
    assert (out / "proxy.mp4").stat().st_mtime_ns == proxy.st_mtime_ns
    assert (out / "strip.jpg").stat().st_mtime_ns == strip.st_mtime_ns


def test_the_pieces_of_another_file_are_not_reused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for count in (12, 9):
        clips.write(tmp_path / "clip.mp4", clips.steady(count, Fraction(25), sound=count == 12))
        assert prepare(tmp_path / "clip.mp4", out, silent).frames == count
    assert not (out / "waveform.bin").exists()
    assert [n for n, _ in read_frames(out / "proxy.mp4", FrameIndex.load(out / "frames.npz"))] == list(range(9))
