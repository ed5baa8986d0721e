"""Gaze and gesture claims against what is marked: looks by hand, proofs against a plain enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from ml.evidence.package import Statement
from ml.evidence.statements import Around, GazeLooks, Truth, looked, readable, told, visible_by
from ml.perception.gestures.protocol import People
from ml.questions.facts import Covered, Event
from ml.social.scene import CAMERA, NONE, PERSON, UNUSABLE, Scene
from tests.ml.evidence.kit import FRAMES, IDS, INDEX, SHOTS, facts, gesture, looks, looks_at, truth

AROUND = Around((20, 30), (10, 40), (0, FRAMES))
POINTS = Statement("gesture", ("pointing",), (("initiator", 1), ("target", 2)))


def test_seconds_of_looking_are_counted_within_the_span() -> None:
    """Person 1 looks at 2 from 1.5 to 2.5 s (a human says so), elsewhere until 3 s; from 2 to 4 s 1.0 s is known."""
    rows = looks((15, 25, 1, 2, True), (25, 30, 1, -1, False), (15, 40, 2, 1, True))
    assert looked(rows, INDEX.seconds, 1, 2, (20, 40)) == {
        "at_s": 0.5, "human_at_s": 0.5, "known_s": 1.0, "share": 0.5, "known_share": 0.5, "human_share": 0.25,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (((10, 40, 1, 2, True),), (True, True, "marked")),
        (((10, 40, 1, 2, False),), (True, True, "estimated")),
        (((10, 37, 1, -1, True), (37, 40, 1, 2, True)), (True, False, "marked")),  # 0.3 of 3 s
        (((10, 40, 1, -1, True),), (False, True, "marked")),
        (((10, 40, 1, -1, False),), (False, True, "estimated")),
        (((10, 34, 1, -1, True),), (False, True, "marked")),  # 2.4 of 3 s are 80 %
        (((10, 33, 1, -1, True),), (None, True, "marked")),
        ((), (None, True, "marked")),
        (((10, 40, 2, 1, True),), (None, True, "marked")),  # another one's looks say nothing of Person 1's
    ],
)
def test_looks_are_true_false_or_unknown(rows: tuple[tuple[int, int, int, int, bool], ...], expected: object) -> None:
    found = told(looks_at(1, 2), truth(gaze=looks(*rows), visible={}), AROUND)
    assert (found.truth, found.firm if found.truth else True, found.basis) == expected


def test_a_look_of_another_visible_person_is_told() -> None:
    rows = looks((10, 40, 1, -1, True), (10, 40, 2, 4, True), (10, 40, 3, 4, True))
    visible = {1: [(0, 60)], 2: [(0, 60)], 3: [(60, 100)], 4: [(0, 100)]}
    found = told(looks_at(1, 4), truth(gaze=rows, visible=visible), AROUND)
    assert (found.truth, found.instead) == (False, (("looker", 2),))  # 3 looks too, but is not in the picture
    swapped = told(looks_at(1, 2), truth(gaze=looks((10, 40, 1, -1, True), (10, 40, 2, 1, False))), AROUND)
    assert (swapped.instead, swapped.basis) == ((("looker", 2), ("looked_at", 1)), "estimated")


def test_a_look_at_another_time_needs_half_a_second() -> None:
    for end, other in ((64, False), (65, True)):
        rows = looks((10, 60, 1, -1, True), (60, end, 1, 2, True), (end, 100, 1, -1, True))
        assert told(looks_at(1, 2), truth(gaze=rows, visible={}), AROUND).other_time is other


def test_unknown_is_never_told_of_another_or_another_time() -> None:
    events = [gesture("pointing", 20, 30, 2, 1), gesture("pointing", 70, 80, 1, 2, "e2")]
    assert told(POINTS, truth(events), AROUND).instead == (("initiator", 2), ("target", 1))
    found = told(POINTS, truth(events, coverage=[]), AROUND)
    assert (found.truth, found.instead, found.other_time) == (None, (), False)


def test_statements_that_no_event_has_are_not_read() -> None:
    assert readable(looks_at(1, 2))
    assert readable(POINTS)
    assert not readable(Statement("gaze", (), (("looker", 1),)))
    assert not readable(Statement("gesture", ("pointing",), (("looker", 1), ("looked_at", 2))))
    assert not readable(Statement("gesture", ("pointing",), ()))
    assert not readable(Statement("gesture", ("pointing",), (("hero", 1),)))


@pytest.mark.parametrize("seed", range(40))
def test_proofs_agree_with_looking_through_the_events(seed: int) -> None:
    """With everything covered: true where an event of the type with the persons shares a frame with the window, false
    where none comes within a step of it."""
    rng = np.random.default_rng(seed)
    events = []
    for k in range(int(rng.integers(0, 6))):
        one, other = (int(n) for n in rng.permutation([1, 2, 3])[:2])
        start = int(rng.integers(0, 90))
        events.append(gesture(str(rng.choice(["pointing", "giving"])), start, start + 5, one, other, f"e{k}"))
    found = told(POINTS, truth(events, visible={}), AROUND)
    mine = [e for e in events if e.type == "pointing" and e.roles == ((IDS[1], "initiator"), (IDS[2], "target"))]
    if any(e.start < 40 and e.end > 10 for e in mine):
        assert found.truth is True
        assert set(found.numbers["events"]) == {e.id for e in mine if e.start < 40 and e.end > 10}
    elif any(e.start - 5 < 40 and e.end + 5 > 10 for e in mine):
        assert (found.truth, found.boundary) == (None, True)
    else:
        assert found.truth is False
        swapped = [e for e in events if e.type == "pointing" and e.start < 40 and e.end > 10]
        reverse = any(e.roles == ((IDS[2], "initiator"), (IDS[1], "target")) for e in swapped)
        assert bool(found.instead) == reverse
        assert found.other_time == (not reverse and bool(mine))


def test_marked_mutual_gaze_is_a_look() -> None:
    mutual = Event("m", "gaze", "mutual_gaze", 20, 25, (("a", "member"), ("b", "member")))
    for pair in ((1, 2), (2, 1)):
        found = told(looks_at(*pair), truth([mutual], coverage=[]), AROUND)
        assert (found.truth, found.basis, found.numbers["events"]) == (True, "marked", ["m"])
    assert told(looks_at(1, 3), truth([mutual], coverage=[]), AROUND).truth is None


def test_coverage_of_some_is_none_of_others() -> None:
    both = [Covered("gesture", 0, FRAMES, frozenset({"a", "b"}))]
    assert told(POINTS, truth([], coverage=both), AROUND).truth is False
    other = Statement("gesture", ("pointing",), (("initiator", 1), ("target", 3)))
    assert told(other, truth([], coverage=both), AROUND).truth is None


def test_looks_of_a_scene() -> None:
    """Two persons on four samples; what is unusable, unsure or aimed at nobody knows whom is left out."""
    kind = np.array([[PERSON, CAMERA], [PERSON, UNUSABLE], [PERSON, NONE], [PERSON, PERSON]], np.uint8)
    target = np.array([[8, -1], [8, -1], [-1, -1], [8, 7]])
    scene = Scene.empty(
        np.array([0, 5, 10, 15]), np.array([0, 0.5, 1, 1.5]), np.zeros(4, np.int32), np.array([7, 8]), 1
    )
    scene.kind[:], scene.target[:] = kind, target
    scene.confidence[:] = [[0.9, 0.5], [0.4, 0.9], [0.9, 0.9], [0.2, 0.5]]
    scene.human[3, 0] = True
    found = GazeLooks.of_scenes([scene])
    rows = sorted(zip(found.start, found.end, found.person, found.target, found.human, strict=True))
    assert rows == [(0, 5, 7, 8, False), (0, 5, 8, -1, False), (15, 20, 7, 8, True), (15, 20, 8, 7, False)]
    assert len(GazeLooks.of_scenes([]).start) == 0


def test_who_is_where_by_the_rows_of_a_run() -> None:
    """Rows every 5 frames; a gap of two steps parts a span, a cut alone does not."""
    frame = np.array([0, 5, 10, 25, 50, 55, 60, 65, 0, 95])
    person = np.array([1, 1, 1, 1, 1, 1, 1, 1, 2, 2])
    order = np.lexsort((person, frame))
    box = np.zeros((10, 4), np.float32)
    people = People(frame[order], person[order], box, box)
    assert visible_by(people, SHOTS, FRAMES) == {
        1: [(0, 15), (25, 30), (50, 70)], 2: [(0, 5), (95, 100)],
    }  # fmt: skip
    known = Truth.of(INDEX, SHOTS, people=people)
    assert known.sees(1, (15, 25)) is False
    assert known.sees(1, (14, 15)) is True
    assert known.sees(9, (0, FRAMES)) is False
    assert Truth.of(INDEX, SHOTS).sees(1, (0, FRAMES)) is None
    assert Truth.of(INDEX, SHOTS, facts=facts()).sees(3, (0, 60)) is False
