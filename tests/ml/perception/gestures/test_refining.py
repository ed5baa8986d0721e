"""What becomes of a model's words and of a critic's, without any server: by cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ml.perception.gestures.prompts import Said
from ml.perception.gestures.protocol import Gesture
from ml.perception.gestures.refining import Looks, screen, settle, stable, tag, tiou

# ten pictures, one every 10 frames and half a second from 20.0 s on; P1 and P2 are there, P3 from the fifth on
LOOKS = Looks(
    np.arange(100, 200, 10),
    20 + np.arange(10) / 2,
    205,
    [frozenset({1, 2}) if k < 4 else frozenset({1, 2, 3}) for k in range(10)],
)


def said(start_s: float, end_s: float, **more: object) -> Said:
    fields = {
        "type": "pointing", "initiator": "P1", "start_s": start_s, "end_s": end_s, "target_kind": "person",
        "target_person": "P2", "target_description": "the woman", "confidence": 0.9,
    }  # fmt: skip
    return Said.model_validate(fields | more)


def gesture(start: int, end: int, type: str = "pointing", initiator: int = 1, target: int = 2) -> Gesture:
    return Gesture(type, start, end, initiator, "person", target, confidence=0.9)


def test_times_become_frames() -> None:
    """Seen on the pictures of 20.5, 21.0 and 21.5 s: frames 110, 120, 130; it is over with the next one, frame 140."""
    (found,) = screen([said(20.5, 21.5)], LOOKS).gestures
    assert (found.start, found.end, found.initiator, found.target_person) == (110, 140, 1, 2)
    assert found.roles == ((1, "initiator"), (2, "target")) and found.confidence == 0.9


@pytest.mark.parametrize(
    ("times", "span"),
    [((20.0, 20.0), (100, 110)), ((24.5, 24.5), (190, 205)), ((20.49, 20.52), (110, 120)), ((19.5, 25.0), (100, 205))],
    ids=["one picture", "the last one", "rounded", "half a second outside"],
)
def test_times_at_the_edges(times: tuple[float, float], span: tuple[int, int]) -> None:
    (found,) = screen([said(*times)], LOOKS).gestures
    assert (found.start, found.end) == span


UNSEEN_TARGET = "nobody with the tag {} is visible then, whom it is said to be aimed at"


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (said(10.0, 11.0), "its times lie outside these pictures"),
        (said(24.0, 40.0), "its times lie outside these pictures"),
        (said(22.0, 21.0), "it ends before it starts"),
        (said(20.0, 21.0, initiator="P9"), "nobody with the tag P9 is visible then"),
        (said(20.0, 21.0, initiator="the man"), "nobody with the tag the man is visible then"),
        (said(20.0, 21.0, target_person="P3"), UNSEEN_TARGET.format("P3")),
        (said(20.0, 21.0, target_person=None), UNSEEN_TARGET.format(None)),
        (said(20.0, 21.0, target_person="P1"), "it is said to be aimed at its own initiator"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_dropped_with_its_reason(one: Said, reason: str) -> None:
    found = screen([one], LOOKS)
    assert found.gestures == [] and found.dropped == [{"said": one.model_dump(), "reason": reason}]


def test_a_person_who_comes_later_may_be_the_target_then() -> None:
    assert screen([said(22.0, 23.0, target_person="P3")], LOOKS).gestures[0].target_person == 3


def test_an_object_has_no_person_whatever_is_said() -> None:
    (found,) = screen([said(20.0, 21.0, target_kind="object", target_person="P2")], LOOKS).gestures
    assert (found.target_kind, found.target_person, found.target_description) == ("object", None, "the woman")


def test_doubles_are_dropped() -> None:
    """The same gesture from 20.0 to 21.0 and to 21.5 s: 3 of 4 pictures shared."""
    found = screen([said(20.0, 21.0), said(20.0, 21.5), said(23.0, 24.0)], LOOKS)
    assert [(g.start, g.end) for g in found.gestures] == [(100, 130), (160, 190)]
    assert [drop["reason"] for drop in found.dropped] == ["it was said twice"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("P3", 3), ("p3", 3), (" P 3", None), ("Person 12", 12), ("7", 7), ("P3 and P4", None), (None, None)],
)  # fmt: skip
def test_tags_as_models_copy_them(text: str | None, number: int | None) -> None:
    assert tag(text) == number


# --- the critic ----------------------------------------------------------------------------------------------------

FIRST, SECOND = gesture(100, 140), gesture(150, 200, "giving", 2, 1)


def test_it_may_take_out_and_narrow() -> None:
    settled = settle([FIRST, SECOND], [gesture(110, 130)])
    assert [(g.type, g.start, g.end) for g in settled.gestures] == [("pointing", 110, 130)]
    assert (settled.deleted, settled.tightened, settled.added, settled.widened) == (1, 1, 0, 0)


def test_it_may_not_add() -> None:
    settled = settle([FIRST], [FIRST, gesture(160, 190), SECOND])
    assert settled.gestures == [FIRST] and settled.added == 2 and settled.deleted == 0


def test_it_may_not_widen() -> None:
    """Wider on one side and narrower on the other: only the narrower side counts."""
    settled = settle([FIRST], [gesture(90, 130)])
    assert [(g.start, g.end) for g in settled.gestures] == [(100, 130)]
    assert (settled.widened, settled.tightened) == (1, 1)
    assert settle([FIRST], [gesture(50, 300)]).gestures == [FIRST]


@pytest.mark.parametrize(
    "other", [gesture(100, 140, "reaching"), gesture(100, 140, target=3), gesture(100, 140, initiator=3)]
)
def test_it_may_not_change_type_or_people(other: Gesture) -> None:
    """That is one gesture taken out, and one added, which is ignored."""
    settled = settle([FIRST], [other])
    assert settled.gestures == [] and (settled.deleted, settled.added) == (1, 1)


def test_it_may_not_move_a_gesture_elsewhere() -> None:
    settled = settle([FIRST], [gesture(150, 180)])
    assert settled.gestures == [] and (settled.deleted, settled.added) == (1, 1)


def test_one_word_speaks_of_one_gesture() -> None:
    """Two pointings of the same people; one wide word overlaps both, and more of the first."""
    settled = settle([gesture(100, 150), gesture(160, 180)], [gesture(100, 180)])
    assert [(g.start, g.end) for g in settled.gestures] == [(100, 150)] and settled.deleted == 1


def test_lists_only_shrink_whatever_the_critic_says() -> None:
    """Random critics: every gesture of a list lies within one of the list before it."""
    random = np.random.default_rng(8)

    def some(count: int) -> list[Gesture]:
        starts, lengths = random.integers(0, 200, count), random.integers(1, 80, count)
        kinds, people = random.integers(0, 2, count), random.integers(1, 3, count)
        return [
            gesture(int(s), int(s + n), ("pointing", "giving")[k], int(p), int(3 - p))
            for s, n, k, p in zip(starts, lengths, kinds, people, strict=True)
        ]

    for _ in range(200):
        before, theirs = some(6), some(6)
        after = settle(before, theirs).gestures
        assert len(after) <= len(before)
        for one in after:
            assert any(
                (one.type, one.initiator) == (old.type, old.initiator) and old.start <= one.start < one.end <= old.end
                for old in before
            )


def test_stable_is_the_same_gestures_at_half_overlap() -> None:
    """40 frames against 20 of them: tIoU 0.5, which is enough; 19 are not."""
    assert tiou(FIRST, gesture(100, 120)) == 0.5
    assert stable([FIRST], [gesture(100, 120)]) and not stable([FIRST], [gesture(100, 119)])
    assert not stable([FIRST, SECOND], [FIRST]) and stable([], [])
