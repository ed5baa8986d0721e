"""Padding, the name of a clip, and its clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.questions.clip import ClipClock, frames_of, padded, recipe

AT_25 = np.arange(501) / 25  # 20 s


def test_padding_of_the_published_item() -> None:
    """An event from 7.0 to 9.0 s was given a clip from 5.5 s on, 5.5 s long. At 25 per second the frame on the screen
    at 5.5 s is 137 (5.48 s); 11.0 s is where frame 275 begins."""
    assert padded(AT_25, [0], 175, 225) == (137, 275)


def test_padding_ends_at_the_ends_of_the_video() -> None:
    assert padded(AT_25, [0], 10, 480) == (0, 500)
    assert padded(AT_25, [0], 0, 500) == (0, 500)


def test_padding_ends_at_a_cut() -> None:
    assert padded(AT_25, [0, 160, 240], 175, 225) == (160, 240)
    assert padded(AT_25, [0, 175, 225], 175, 225) == (175, 225)


def test_a_span_across_a_cut_stays_whole() -> None:
    assert padded(AT_25, [0, 100, 200, 300], 175, 225) == (137, 275)
    assert padded(AT_25, [0, 150, 200, 250], 175, 225) == (150, 250)


def test_frames_of_seconds_in_a_file() -> None:
    """At 30 frames a second frame 44 begins at 1.466666..., which files write as 1.466, 1.467 or 1.46667."""
    seconds = np.arange(91) / 30
    for written in (1.466, 1.467, 1.46667, 44 / 30):
        assert frames_of(seconds, written, None) == (44, 90)
        assert frames_of(seconds, None, written) == (0, 44)
    assert frames_of(seconds, 1.48, 1.49) == (44, 45)  # between two beginnings: what is on the screen
    assert frames_of(seconds, 1.48, 1.52) == (44, 46)
    assert frames_of(seconds, 0.0, 3.08) == (0, 90)  # the last frame's length is a guess
    assert frames_of(seconds, 2.9999, 3.0) == (89, 90)


def test_every_frame_is_named_by_its_own_seconds_however_close_they_are() -> None:
    seconds = np.cumsum([0, 0.0004, 0.5, 0.0007, 0.0001, 2.0, 0.04])
    for start in range(6):
        for end in range(start + 1, 7):
            assert frames_of(seconds, float(seconds[start]), float(seconds[end])) == (start, end)


@pytest.mark.parametrize(
    "ends", [(2.0, 1.0), (1.0, 1.0), (-0.1, 1.0), (3.0, 3.05), (0.0, 3.2), (0.0, np.inf), (np.nan, 1.0)]
)
def test_a_clip_beside_the_video_is_none(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="does not lie in a video of 3 s"):
        frames_of(np.arange(91) / 30, *ends)


def test_padding_counts_seconds_on_a_variable_rate() -> None:
    """Frames at 0, 1, 1.9, 2, 3, 3.5, 5, 5.1 s, the last until 6: span [2, 3.5) s, one second each way: the frame on
    the screen at 1 s begins there; at 4.5 s the frame of 3.5 s is shown, which is taken whole."""
    seconds = np.array([0, 1, 1.9, 2, 3, 3.5, 5, 5.1, 6])
    assert padded(seconds, [0], 3, 5, before_s=1, after_s=1) == (1, 6)
    assert padded(seconds, [0], 3, 5, before_s=0, after_s=0) == (3, 5)


@pytest.mark.parametrize("rate", [24000 / 1001, 30000 / 1001, 60000 / 1001, 25, 10])
def test_padding_is_as_long_as_asked_and_less_than_a_frame_longer(rate: float) -> None:
    seconds = np.arange(2001) / rate
    for start in range(200, 900, 37):
        first, last = padded(seconds, [0], start, start + 30)
        assert 1.5 - 1e-6 <= seconds[start] - seconds[first] < 1.5 + 1 / rate
        assert 2.0 - 1e-6 <= seconds[last] - seconds[start + 30] < 2.0 + 1 / rate


@pytest.mark.parametrize("span", [(5, 5), (-1, 5), (0, 501)])
def test_a_span_outside_is_an_error(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="does not lie within the 500 frames"):
        padded(AT_25, [0], *span)


ALL: dict[str, Any] = {
    "owner": "v",
    "video": "ab" * 32,
    "start": 3,
    "end": 9,
    "rendering": "tags",
    "blur": False,
    "person_map": {"P0": "x", "P1": "y"},
    "boxes": "cd",
}


def test_everything_that_decides_the_bytes_decides_the_name() -> None:
    name = recipe(**ALL)
    assert len(name) == 64 and recipe(**ALL | {"person_map": {"P1": "y", "P0": "x"}}) == name
    others = [
        ("owner", "w"), ("video", "cd" * 32), ("start", 4), ("end", 10), ("rendering", "grasp"), ("blur", True),
        ("person_map", {"P0": "y", "P1": "x"}), ("boxes", "ce"),
    ]  # fmt: skip
    assert len({name, *(recipe(**ALL | {field: value}) for field, value in others)}) == 9


# --- the clock -----------------------------------------------------------------------------------------------------

# source frames 10 to 14, shown at 0, 0.1, 0.5, 0.6 and 1.0 s; the last until 1.2 s
CLOCK = ClipClock(np.arange(10, 15), np.array([0, 0.1, 0.5, 0.6, 1.0]), 10, 15, 1.2)
# a clip at 2 frames per second of frames 10 to 44 (10 per second), where nothing begins between 1.0 and 2.0 s
GRASP = ClipClock(np.array([10, 15, 20, 20, 30, 35, 40]), np.arange(7) / 2, 10, 45, 3.5)


@pytest.mark.parametrize(
    ("seconds", "frame"),
    [(-1, 10), (0, 10), (0.09, 10), (0.1, 11), (0.4999999999, 12), (0.55, 12), (0.6, 13), (1.1, 14), (9, 14)],
)
def test_clip_time_to_source_frame(seconds: float, frame: int) -> None:
    assert CLOCK.source(seconds) == frame


@pytest.mark.parametrize(
    ("span", "frames"),
    [
        ((0, 1.2), (10, 15)),
        ((0.1, 0.6), (11, 13)),
        ((0.1, 0.55), (11, 13)),
        ((0.5, 0.5), (12, 13)),
        ((1.0, 9), (14, 15)),
    ],
)
def test_clip_span_to_source_span(span: tuple[float, float], frames: tuple[int, int]) -> None:
    """Half-open both ways: what ends at 0.6 s does not show the frame that begins there."""
    assert CLOCK.source_span(*span) == frames


def test_source_frame_to_clip_time() -> None:
    assert [CLOCK.clip_seconds(frame) for frame in (10, 11, 12, 13, 14, 15)] == pytest.approx(
        [0, 0.1, 0.5, 0.6, 1.0, 1.2]
    )
    for outside in (9, 16):
        with pytest.raises(ValueError, match=f"frame {outside} lies outside the clip"):
            CLOCK.clip_seconds(outside)


def test_the_clock_of_a_grasp_clip() -> None:
    assert [GRASP.source(t) for t in (0, 0.5, 0.9, 1.5, 2.0, 3.4)] == [10, 15, 15, 20, 30, 40]
    assert GRASP.source_span(0.5, 2.0) == (15, 30) and GRASP.source_span(3.0, 3.5) == (40, 45)
    assert [GRASP.clip_seconds(frame) for frame in (10, 15, 20, 30, 40, 45)] == pytest.approx(
        [0, 0.5, 1.0, 2.0, 3.0, 3.5]
    )
    assert GRASP.clip_seconds(32) == pytest.approx(2.2)  # between the samples, in proportion


def test_there_and_back_names_the_frame() -> None:
    random = np.random.default_rng(4)
    for _ in range(50):
        steps = random.integers(10, 134, 40) / 1000
        seconds = np.concatenate([[0], np.cumsum(steps)])
        clock = ClipClock(np.arange(100, 140), seconds[:-1], 100, 140, float(seconds[-1]))
        assert [clock.source(clock.clip_seconds(frame)) for frame in range(100, 140)] == list(range(100, 140))


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    for clock in (CLOCK, GRASP):
        clock.save(tmp_path / "frames.npz")
        first = (tmp_path / "frames.npz").read_bytes()
        read = ClipClock.load(tmp_path / "frames.npz")
        assert read.frame.tolist() == clock.frame.tolist() and read.seconds.tolist() == clock.seconds.tolist()
        assert (read.start, read.end, read.end_s) == (clock.start, clock.end, clock.end_s)
        clock.save(tmp_path / "frames.npz")
        assert (tmp_path / "frames.npz").read_bytes() == first
