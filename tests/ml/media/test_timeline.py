"""Repair of timestamps, by hand and by property."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.media.timeline import MAX_WAITING, Timeline


def run(stamps: list[int | None], step: int = 40, **more: int | bool) -> Timeline:
    timeline = Timeline(Fraction(1, 1000), step, **more)  # type: ignore[arg-type]
    placed = [pts for stamp in stamps for pts in timeline.push(stamp, step)]
    placed += timeline.finish()
    assert placed == timeline.pts.tolist(), "frames are handed out in order, each once"
    return timeline


@pytest.mark.parametrize(
    ("stamps", "pts", "interpolated", "nudged"),
    [
        ([0, 40, 80], [0, 40, 80], 0, 0),
        ([100, 140], [100, 140], 0, 0),
        ([0, None, None, 90], [0, 30, 60, 90], 2, 0),
        ([0, 30, None, None], [0, 30, 60, 90], 2, 0),
        ([None, None, 100], [20, 60, 100], 2, 0),
        ([None, 10], [0, 10], 1, 0),
        ([None, None], [0, 40], 2, 0),
        ([0, 40, 40, 80], [0, 40, 41, 80], 0, 1),
        ([0, 40, 20, 30, 80], [0, 40, 41, 42, 80], 0, 2),
        ([0, 40, 40, 41], [0, 40, 41, 42], 0, 2),
        ([40, None, None, 41], [40, 41, 42, 43], 2, 1),
        ([-50, -10, 30], [0, 40, 80], 0, 0),
    ],
)
def test_timestamps_by_hand(stamps: list[int | None], pts: list[int], interpolated: int, nudged: int) -> None:
    timeline = run(stamps)
    assert timeline.pts.tolist() == pts
    assert (timeline.interpolated, timeline.nudged) == (interpolated, nudged)


def test_the_origin_is_taken_off_and_kept_apart() -> None:
    index = run([9000, 9040, None, 9120], origin=9000).index(damaged=0)
    assert index.pts.tolist() == [0, 40, 80, 120, 160]
    assert index.stamps.tolist()[:2] == [9000, 9040]
    assert run([1, 41], from_zero=True).pts.tolist() == [0, 40]


def test_the_last_frame_lasts_as_long_as_the_one_before_if_the_file_says_nothing() -> None:
    timeline = Timeline(Fraction(1, 1000), 40)
    for stamp in (0, 70):
        timeline.push(stamp, None)
    assert timeline.index(damaged=0).pts.tolist() == [0, 70, 140]


@given(st.lists(st.one_of(st.none(), st.integers(-500, 5000)), min_size=1, max_size=80), st.integers(1, 90))
def test_times_rise_and_good_timestamps_stay(stamps: list[int | None], step: int) -> None:
    timeline = run(stamps, step)
    pts = timeline.pts.tolist()
    assert len(pts) == len(stamps)
    assert pts[0] >= 0 and all(a < b for a, b in zip(pts, pts[1:], strict=False))
    known = [(p, s - timeline.origin) for p, s in zip(pts, stamps, strict=True) if s is not None]
    assert timeline.interpolated == len(stamps) - len(known)
    assert timeline.nudged == sum(p != s for p, s in known)
    assert all(p >= s for p, s in known)


@given(st.integers(1, 200))
def test_few_frames_wait_however_many_timestamps_are_missing(count: int) -> None:
    timeline = Timeline(Fraction(1, 1000), 40)
    timeline.push(0, 40)
    for k in range(count):
        timeline.push(None, 40)
        assert len(timeline.stamps) - len(timeline.pts) < MAX_WAITING, k
