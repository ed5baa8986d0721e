"""Frame index and sampling, against hand-computed cases and the definition."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.media.errors import MediaError
from ml.media.index import MISSING, FrameIndex, sample_frames

RATES = [Fraction(1), Fraction(2), Fraction(5), Fraction(30000, 1001), 2, 0.5, 3.3, 24]


def index(*pts: int, base: Fraction = Fraction(1, 1000)) -> FrameIndex:
    return FrameIndex(np.array(pts, np.int64), base)


def test_seconds_are_the_players_and_zeroed_starts_at_0() -> None:
    late = index(100, 140, 180, 230)
    assert late.frames == 3
    np.testing.assert_array_equal(late.seconds, [0.1, 0.14, 0.18, 0.23])
    np.testing.assert_array_equal(late.zeroed, [0.0, 0.04, 0.08, 0.13])
    assert late.duration_s == 0.13


@pytest.mark.parametrize(
    ("seconds", "frame"), [(-1, 0), (0.05, 0), (0.1, 0), (0.139, 0), (0.14, 1), (0.2, 2), (0.23, 2), (9, 2)]
)
def test_frame_at_names_the_frame_whose_interval_holds_the_time(seconds: float, frame: int) -> None:
    assert index(100, 140, 180, 230).frame_at(seconds) == frame


def test_it_survives_saving(tmp_path: Path) -> None:
    decoded = np.array([0, MISSING, 3], np.int64)
    kept = FrameIndex(np.array([0, 2, 3, 5]), Fraction(1001, 30000), 1, 2, 3, decoded)
    kept.save(tmp_path / "frames.npz")
    back = FrameIndex.load(tmp_path / "frames.npz")
    np.testing.assert_array_equal(back.pts, kept.pts)
    np.testing.assert_array_equal(back.stamps, decoded)
    assert (back.time_base, back.interpolated, back.nudged, back.damaged) == (kept.time_base, 1, 2, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["frames.npz"]
    index(0, 1).save(tmp_path / "frames.npz")
    assert FrameIndex.load(tmp_path / "frames.npz").decoded is None


def test_other_time_bases_are_exact_or_refused() -> None:
    finer = index(0, 40, 80).in_time_base(Fraction(1, 16000))
    np.testing.assert_array_equal(finer.pts, [0, 640, 1280])
    with pytest.raises(MediaError, match="not whole ticks"):
        index(0, 33, 66).in_time_base(Fraction(1, 100))


def test_samples_by_hand() -> None:
    # 10 frames per second from 1.0 s on, two samples per second: due at 0, 0.5, 1.0 s after the shot's first frame.
    steady = index(*range(1000, 2300, 100))
    assert sample_frames(steady, 0, 12, 2).tolist() == [0, 5, 10]
    assert sample_frames(steady, 3, 12, 2).tolist() == [3, 8]
    assert sample_frames(steady, 3, 9, 2).tolist() == [3, 8]
    # Frames at 0, 0.4, 0.9, 2.0 s: 0.5 s is answered by 0.9, and 1.0, 1.5 and 2.0 s all by 2.0.
    assert sample_frames(index(0, 400, 900, 2000, 2100), 0, 4, 2).tolist() == [0, 2, 3]


def test_samples_do_not_drift_with_rounding() -> None:
    """0.1 s + 10 x 0.1 s is not 1.1 s in floating point; every frame of a 10 Hz clip is a sample at 10 Hz."""
    steady = index(*range(100, 10_200, 100))
    assert sample_frames(steady, 0, steady.frames, 10).tolist() == list(range(100))
    ntsc = index(*range(0, 1001 * 301, 1001), base=Fraction(1, 30000))
    assert sample_frames(ntsc, 0, 300, Fraction(30000, 1001)).tolist() == list(range(300))


@given(
    steps=st.lists(st.integers(1, 400), min_size=2, max_size=60),
    first=st.integers(0, 10_000),
    base=st.sampled_from([Fraction(1, 1000), Fraction(1, 90_000), Fraction(1001, 30_000), Fraction(1, 12_800)]),
    rate=st.sampled_from(RATES),
    data=st.data(),
)
def test_samples_follow_the_definition(
    steps: list[int], first: int, base: Fraction, rate: float | Fraction, data: st.DataObject
) -> None:
    video = index(*(np.cumsum([first, *steps]).tolist()), base=base)
    start = data.draw(st.integers(0, video.frames - 1))
    end = data.draw(st.integers(start + 1, video.frames))
    times = [int(tick) * base for tick in video.pts]
    expected, k = [], 0
    while True:
        due = times[start] + k / Fraction(rate).limit_denominator(1001)
        frame = next((n for n in range(start, end) if times[n] >= due), None)
        if frame is None:
            break
        expected.append(frame)
        k += 1
    assert sample_frames(video, start, end, rate).tolist() == sorted(set(expected))


@pytest.mark.parametrize(("start", "end", "rate"), [(-1, 2, 2), (2, 2, 2), (0, 4, 2), (0, 3, 0), (0, 3, -1)])
def test_impossible_samplings_are_refused(start: int, end: int, rate: float) -> None:
    with pytest.raises(ValueError, match="span|rate"):
        sample_frames(index(0, 1, 2, 3), start, end, rate)
