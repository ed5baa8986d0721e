"""Tracks over pieces: cuts, gaps, short tracks, numbering, and independence of where pieces begin."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ml.media.index import FrameIndex, sample_frames
from ml.perception import samples
from ml.perception.assemble import FILL_GAP_S, assemble
from ml.perception.records import Piece, PieceBuilder
from ml.perception.summary import Summary

FPS = 20
INDEX = FrameIndex(np.arange(401) * 5, Fraction(1, 100))  # 400 frames at 20 per second
SHOTS = [(0, 200), (200, 400)]
Scene = dict[int, list[tuple[int, float, float]]]  # frame -> (colour, left side, score)


def piece(scene: Scene, frames: list[int], unlooked: frozenset[int] = frozenset()) -> Piece:
    """What the analysis would find: every 5th frame a step, every 10th a sample; steps that are `unlooked` are not
    looked at."""
    builder = PieceBuilder()
    for k, frame in enumerate(frames):
        builder.add(frame=frame, sampled=frame % 10 == 0, looked=frame not in unlooked)
        for colour, x, score in scene.get(frame, []):
            builder.add(
                position=k, body=[x, 100, x + 100, 400], score=score, derived=False, look=np.eye(128)[colour],
                face=np.full(4, np.nan), face_score=np.nan, flag=np.nan, profile=False, yaw=np.nan, pitch=np.nan,
                eye=np.full(2, np.nan), read=np.nan,
            )  # fmt: skip
    return builder.build()


def standing(colour: int, x: float, frames: range, without: set[int] | None = None) -> Scene:
    return {f: [(colour, x, 0.8)] for f in frames if f not in (without or set())}


def together(*scenes: Scene) -> Scene:
    merged: Scene = {}
    for scene in scenes:
        for frame, people in scene.items():
            merged.setdefault(frame, []).extend(people)
    return merged


def columns(scene: Scene, bounds: list[int]) -> dict[str, Any]:
    """Rows of all pieces: frames of the scene cut at `bounds`."""
    frames = list(range(0, 400, 5))
    pieces = [piece(scene, [f for f in frames if a <= f < b]) for a, b in zip(bounds, bounds[1:], strict=False)]
    tracks = assemble(pieces, INDEX, SHOTS)
    starts = np.array([s for s, _ in SHOTS])
    parts = [samples.rows(p, r, f, starts) for p, r, f in zip(pieces, tracks.rows, tracks.fills, strict=True)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_nobody_is_followed_across_a_cut() -> None:
    found = columns(standing(0, 100, range(0, 400, 5)), [0, 400])
    assert set(zip(found["shot"].tolist(), found["track"].tolist(), strict=True)) == {(0, 0), (1, 1)}


def test_numbers_follow_first_frame_then_left_to_right() -> None:
    scene = together(
        standing(0, 600, range(0, 200, 5)), standing(1, 100, range(0, 200, 5)), standing(2, 300, range(50, 200, 5))
    )
    found = columns(scene, [0, 400])
    first = {t: int(found["body"][found["track"] == t][0, 0]) for t in set(found["track"].tolist())}
    assert first == {0: 100, 1: 600, 2: 300}


def test_a_short_gap_is_filled_in_a_straight_line() -> None:
    scene: Scene = {f: [(0, 100 + f, 0.8)] for f in range(0, 200, 5) if f not in (50, 55, 60)}
    found = columns(scene, [0, 400])
    filled = found["body_derived"]
    assert found["frame"][filled].tolist() == [50, 55, 60]
    assert found["body"][filled][:, 0].tolist() == [150, 155, 160]
    assert np.isnan(found["body_score"][filled]).all()
    assert found["sampled"][filled].tolist() == [True, False, True]


def test_a_long_gap_stays_open() -> None:
    missing = set(range(50, 50 + int(FILL_GAP_S * FPS) + 5, 5))
    found = columns(standing(0, 100, range(0, 200, 5), missing), [0, 400])
    assert not found["body_derived"].any()
    assert len(set(found["track"].tolist())) == 1
    assert not missing & set(found["frame"].tolist())


def test_somebody_seen_on_one_sample_only_is_dropped() -> None:
    found = columns(together(standing(0, 100, range(0, 200, 5)), {50: [(1, 500, 0.8)], 55: [(1, 500, 0.8)]}), [0, 400])
    assert set(found["track"].tolist()) == {0}


@pytest.mark.parametrize("bounds", [[0, 55, 400], [0, 50, 60, 200, 400], [0, 30, 70, 110, 205, 400]])
def test_where_pieces_begin_does_not_matter(bounds: list[int]) -> None:
    scene = together(
        {f: [(0, 100 + 2 * f, 0.8)] for f in range(0, 400, 5) if f not in (50, 55, 60)},
        {f: [(1, 900 - 2 * f, 0.35 if f % 15 else 0.6)] for f in range(20, 400, 5) if f != 110},
    )
    whole, cut = columns(scene, [0, 400]), columns(scene, bounds)
    for name, values in whole.items():
        assert np.array_equal(values, cut[name], equal_nan=values.dtype.kind == "f"), name


def spans(scene: Scene, bounds: list[int], unlooked: frozenset[int] = frozenset()) -> list[tuple[int, int]]:
    """First frame and end of each track as `run.json` has them."""
    frames = list(range(0, 400, 5))
    pieces = [piece(scene, [f for f in frames if a <= f < b], unlooked) for a, b in pairwise(bounds)]
    tracks, starts = assemble(pieces, INDEX, SHOTS), np.array([s for s, _ in SHOTS])
    summary = Summary(SHOTS, len(tracks.shot))
    for p, rows, fills in zip(pieces, tracks.rows, tracks.fills, strict=True):
        found = samples.rows(p, rows, fills, starts)
        samples.correct(found, np.zeros(len(SHOTS)))
        samples.add_targets(found, p, 1000, 500)
        summary.add(found, p)
    return [(t["start"], t["end"]) for t in summary.tracks(tracks.shot, tracks.end)]


@pytest.mark.parametrize("bounds", [[0, 400], [0, 105, 400], [0, 110, 115, 200, 400]])
def test_a_span_ends_with_the_look_that_misses_it_or_the_shot(bounds: list[int]) -> None:
    stays, leaves = standing(0, 100, range(20, 400, 5)), standing(1, 600, range(0, 105, 5))
    assert spans(together(stays, leaves), bounds) == [(0, 105), (20, 200), (200, 400)]
    assert spans(leaves, bounds) == [(0, 105)]  # nobody else is there to be seen at 105


def test_a_step_that_was_not_looked_at_ends_no_span() -> None:
    scene = standing(0, 100, range(0, 101, 10))
    assert spans(scene, [0, 400], frozenset(range(5, 400, 10))) == [(0, 110)]


def test_a_span_holds_the_gaps_of_its_track() -> None:
    scene = standing(0, 100, range(0, 200, 5), set(range(50, 90, 5)) | {195})
    assert spans(scene, [0, 400]) == [(0, 195)]
    assert spans(scene, [0, 60, 80, 400]) == [(0, 195)]


def at_each_frame(index: FrameIndex, shots: list[tuple[int, int]], rate: float) -> list[tuple[int, int, int]]:
    """(shot, first frame, end) of the tracks of somebody who always stands there, looked at `rate` times a second."""
    frames = np.concatenate([sample_frames(index, start, end, rate) for start, end in shots])
    one = piece({f: [(0, 100.0, 0.8)] for f in frames.tolist()}, frames.tolist())
    one.sampled[:] = True
    tracks = assemble([one], index, shots)
    firsts = [int(one.frame[one.position[tracks.rows[0] == k]][0]) for k in range(len(tracks.shot))]
    return list(zip(tracks.shot, firsts, tracks.end, strict=True))


@pytest.mark.parametrize("rate", [0.3, 2, 4, 20, 1000])
@pytest.mark.parametrize(
    "shots", [[(0, 400)], [(0, 1), (1, 2), (2, 400)], [(0, 399), (399, 400)], [(0, 150), (150, 151), (151, 400)]]
)
def test_somebody_who_stays_is_there_in_every_frame(shots: list[tuple[int, int]], rate: float) -> None:
    """At any rate, above that of the frames too, in shots of one frame, and with frames of 1 to 90 ticks."""
    ticks = np.random.default_rng(0).integers(1, 90, 400)
    for index in (INDEX, FrameIndex(np.r_[0, np.cumsum(ticks)], Fraction(1, 1000))):
        assert at_each_frame(index, shots, rate) == [(k, *span) for k, span in enumerate(shots)]


def test_rows_are_sorted_by_frame_and_track() -> None:
    scene = together(standing(0, 600, range(0, 400, 5), {100}), standing(1, 100, range(0, 400, 5)))
    found = columns(scene, [0, 130, 400])
    keys = list(zip(found["frame"].tolist(), found["track"].tolist(), strict=True))
    assert keys == sorted(set(keys))
