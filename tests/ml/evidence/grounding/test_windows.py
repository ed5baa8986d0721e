from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.evidence.grounding.protocol import Query
from ml.evidence.grounding.windows import MOST_FRAMES, parts, queries_of, window_of
from ml.evidence.package import Claim, ClaimTime, Phrase
from ml.media.index import FrameIndex, sample_frames
from ml.questions.clip import ClipClock

Shots = list[tuple[int, int]]


def steady(frames: int, rate: int = 24) -> FrameIndex:
    return FrameIndex(np.arange(frames + 1), Fraction(1, rate))


def clock_of(index: FrameIndex, start: int, end: int) -> ClipClock:
    seconds = index.zeroed - index.zeroed[start]
    return ClipClock(np.arange(start, end), seconds[start:end], start, end, float(seconds[end]))


def claim(start_s: float | None = None, end_s: float | None = None, **more: object) -> Claim:
    time = ClaimTime(start_s, end_s, "unknown" if start_s is None else "stated")
    return Claim("c1", (0, 1), "x", "object", time=time, **more)  # type: ignore[arg-type]


def test_a_point_is_looked_at_one_second_around_and_as_long_on_either_side() -> None:
    index = steady(240)  # 10 s
    window = window_of(claim(5.0, 5.0), clock_of(index, 0, 240), index, [(0, 240)])
    assert window.span == (120, 121)
    grid = np.arange(0, 240, 3)  # 8 samples per second of 24 frames
    inside = grid[(grid >= 96) & (grid < 145)]  # 4.0 s to one second after the frame's end
    assert window.frame[window.inside].tolist() == inside.tolist()
    outside = window.frame[~window.inside]
    assert abs(len(outside) - len(inside)) <= 1  # as the grid falls
    assert outside.min() >= 96 - 25 and outside.max() < 145 + 25
    assert (outside < 96).any() and (outside >= 145).any()


def test_the_control_is_taken_where_the_clip_has_room() -> None:
    index = steady(240)
    early = window_of(claim(0.0, 0.5), clock_of(index, 48, 240), index, [(0, 240)])
    assert early.span == (48, 60)
    assert early.frame[early.inside].min() == 48  # not a frame before the clip
    assert early.frame[early.inside].max() < 84
    assert early.frame[~early.inside].tolist() == list(range(84, 120, 3))


def test_the_padding_ends_at_a_cut() -> None:
    index = steady(240)
    shots = [(0, 100), (100, 240)]
    window = window_of(claim(4.5, 5.0), clock_of(index, 0, 240), index, shots)  # frames 108 to 120
    assert window.frame[window.inside].min() == 100
    across = window_of(claim(3.5, 5.0), clock_of(index, 0, 240), index, shots)
    assert across.frame[across.inside].min() == 60 and across.frame[across.inside].max() < 144
    assert [len(part) for part in parts(across.frame, shots)] == [
        int((across.frame < 100).sum()), int((across.frame >= 100).sum()),
    ]  # fmt: skip


def test_a_claim_without_a_time_has_the_whole_clip_and_no_control() -> None:
    index = steady(24 * 60)
    window = window_of(claim(), clock_of(index, 240, 1200), index, [(0, 24 * 60)])
    assert window.span == (240, 1200) and window.inside.all()
    assert 60 <= len(window.frame) <= MOST_FRAMES
    assert np.isin(window.frame, sample_frames(index, 0, 1440, Fraction(8, 5))).all()  # 40 s at 1.6 per second


def test_source_frames_follow_the_clock_of_a_thinned_clip() -> None:
    index = steady(240)
    grasp = ClipClock(np.arange(24, 240, 12), np.arange(18) / 2, 24, 240, 9.0)  # two frames per second, from 1 s on
    window = window_of(claim(3.0, 3.0), grasp, index, [(0, 240)])
    assert window.span == (96, 97)  # 3 s of the clip are 4 s of the source


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_windows_hold_their_promises_on_any_clip(data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(1, 400), min_size=1, max_size=600), "ticks between frames")
    index = FrameIndex(np.cumsum([0, *steps]), Fraction(1, 1000))
    cuts = data.draw(st.lists(st.integers(1, max(1, index.frames - 1)), max_size=8))
    edges = np.unique([0, *(c for c in cuts if c < index.frames), index.frames]).tolist()
    shots = list(zip(edges, edges[1:], strict=False))
    start = data.draw(st.integers(0, index.frames - 1))
    end = data.draw(st.integers(start + 1, index.frames))
    clock = clock_of(index, start, end)
    low = data.draw(st.floats(0, clock.end_s))
    high = data.draw(st.floats(low, clock.end_s))
    window = window_of(claim(low, high), clock, index, shots)
    frame, inside = window.frame, window.inside
    assert 1 <= len(frame) <= MOST_FRAMES and (np.diff(frame) > 0).all()
    assert frame.min() >= start and frame.max() < end
    assert inside.any() and (~inside).sum() <= inside.sum()
    seconds = index.zeroed
    near = (seconds[frame] >= seconds[window.span[0]] - 1.001) & (seconds[frame] <= seconds[window.span[1]] + 1.001)
    assert near[inside].all()
    span = frame[inside].min(), frame[inside].max()
    assert not ((frame[~inside] > span[0]) & (frame[~inside] < span[1])).any()  # the control lies around it
    again = window_of(claim(low, high), clock, index, shots)
    assert (again.frame == frame).all() and (again.inside == inside).all()


@pytest.mark.parametrize("cuts", [300, 3])
def test_many_shots_and_hours_stay_within_the_limit(cuts: int) -> None:
    index = steady(2 * 3600 * 24)
    edges = np.linspace(0, index.frames, cuts + 1).astype(int).tolist()
    window = window_of(claim(), clock_of(index, 0, index.frames), index, list(zip(edges, edges[1:], strict=False)))
    assert 48 <= len(window.frame) <= MOST_FRAMES
    assert np.diff(window.frame).max() < index.frames / 20  # spread over all of it


def test_a_phrase_keeps_its_words_and_the_bare_category_is_a_query_of_its_own() -> None:
    """Fault 3 of the public pipeline: "man in plaid shirt" was asked for as "person", and only the first class."""
    found = queries_of(
        claim(
            persons=(2,),
            phrases=(
                Phrase("man in plaid shirt", "man", ("plaid shirt",), person=3, negative="woman in plaid shirt"),
                Phrase("Cup", "cup", negative="bowl"),
            ),
        ),
        {2: 12, 3: 13},
    )
    assert found == [
        Query("phrase-1", "man in plaid shirt"),
        Query("category-1", "man", "category"),
        Query("negative-1", "woman in plaid shirt", "negative"),
        Query("phrase-2", "Cup"),
        Query("negative-2", "bowl", "negative"),
        Query("person-2", "", "person", 12),
        Query("person-3", "", "person", 13),
    ]


def test_unknown_tags_and_claims_no_mask_can_speak_of_ask_for_nothing() -> None:
    assert queries_of(claim(persons=(1, 2)), {2: 7}) == [Query("person-2", "", "person", 7)]
    assert queries_of(claim(persons=(1,))) == [Query("person-1", "", "person", 1)]
    assert queries_of(claim(persons=(1,), groundable=False, why_not="Nobody can see a sound.")) == []
