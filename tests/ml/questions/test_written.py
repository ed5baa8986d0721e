"""The call plan: which calls a video gets, what they are told, and what they are not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ml.questions.facts import Event
from ml.questions.forms import FORMS
from ml.questions.idea import REGISTRY
from ml.questions.written import MOST_EVENTS, OpenSheet, Sheet, links, plan, told
from tests.ml.questions.scenes import facts, gaze, gesture

LOOKS = [
    gaze("g1", "mutual_gaze", 10, 40, "a", "b"),
    gaze("g2", "sudden_gaze_shift", 50, 60, "c"),
    gaze("g3", "gaze_following", 100, 130, "a", "c"),
    gaze("g4", "joint_attention", 200, 260, "a", "b", "c"),
]
MOVES = [
    gesture("m1", "pointing", 20, 35, "a", "b"),
    gesture("m2", "giving", 210, 240, "b", "c"),
    gesture("m3", "reaching", 400, 420, "c"),
    gesture("m4", "showing", 500, 520, "d"),
]


def names(*events: Event) -> list[str]:
    return [call.name for call in plan(facts(list(events)))]


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ([], []),
        (LOOKS[:1], ["A"]),
        (LOOKS[:2], ["A"]),
        (LOOKS[:3], ["B"]),
        (LOOKS, ["B", "B-open"]),
        (MOVES[2:], ["C"]),
        (MOVES[:3], ["C"]),
        ([*MOVES[1:], gesture("m5", "showing", 550, 560, "e")], ["D"]),  # one gesture between persons only
        (MOVES, ["D", "D-open"]),
        ([LOOKS[0], MOVES[0]], ["A", "C"]),  # one link
        ([LOOKS[0], LOOKS[3], *MOVES[:2]], ["A", "C", "E", "E-open"]),  # two: 10-40 with 20-35, 200-260 with 210-240
        ([*LOOKS, *MOVES], ["B", "B-open", "D", "D-open", "E", "E-open"]),
    ],
)
def test_calls_by_what_there_is(events: list[Event], calls: list[str]) -> None:
    assert names(*events) == calls


def test_categories_need_their_events() -> None:
    few = {
        call.name: call.categories for call in plan(facts(LOOKS[:2] + [gaze("g9", "mutual_gaze", 300, 320, "a", "d")]))
    }
    assert "gaze_following" not in few["B"] and "group_attention" not in few["B"] and "mutual_gaze" in few["B"]
    more = {call.name: call.categories for call in plan(facts([*LOOKS, *MOVES]))}
    assert {"gaze_following", "group_attention"} <= set(more["B"]) and more["B-open"] == ("group_attention",)
    assert len(more["D"]) == 6 and more["D-open"] == ("gesture_sequence",)
    lonely = [*MOVES[1:], gesture("m5", "showing", 550, 560, "e")]
    assert set(plan(facts(lonely))[0].categories) == {
        "gesture_recog", "gesture_type", "gesture_temporal", "gesture_frequency",
    }  # fmt: skip


@pytest.mark.parametrize(("start", "count"), [(69, 1), (70, 1), (71, 0)])
def test_links_reach_three_seconds(start: int, count: int) -> None:
    """A look from 1 to 4 s; 10 frames a second."""
    assert links(facts([]), LOOKS[:1], [gesture("m", "pointing", start, start + 5, "a")]) == count


def test_an_event_is_told_in_plain_words_and_nothing_more() -> None:
    scene = facts(LOOKS)
    assert told(scene, "E1", LOOKS[2]) == {
        "id": "E1", "kind": "gaze", "event": "gaze following", "leader": ["Person 1"], "follower": ["Person 3"],
        "start_s": 10.0, "end_s": 13.0,
    }  # fmt: skip
    reach = replace(MOVES[2], description="the red cup", confidence=0.731)
    assert told(scene, "E2", reach) == {
        "id": "E2", "kind": "gesture", "event": "reaching", "initiator": ["Person 3"], "target": "an object",
        "start_s": 40.0, "end_s": 42.0,
    }  # fmt: skip


def test_times_are_told_from_the_first_frame_on() -> None:
    scene = facts(LOOKS)
    late = replace(scene, seconds=scene.seconds + 7.3)
    assert told(late, "E1", LOOKS[0])["start_s"] == 1.0


def test_the_words_hold_the_events_the_forms_and_the_rules() -> None:
    call = plan(facts([*LOOKS, *MOVES]))[0]
    rows = [json.loads(line) for line in call.task.splitlines() if line.startswith("{")]
    assert [row["id"] for row in rows] == list(call.events) == ["E1", "E2", "E3", "E4"]
    assert [event.id for event in call.events.values()] == ["g1", "g2", "g3", "g4"]
    for needed in ("answerable by watching", '"Person N"', "Exactly four options of at most 15 words", "who_leads"):
        assert needed in call.rules
    assert "to_whom" not in call.rules and call.shape is Sheet
    opens = plan(facts([*LOOKS, *MOVES]))[1]
    assert opens.shape is OpenSheet and "two to four factual sentences" in opens.rules and "form" not in opens.rules


def test_a_long_video_is_written_about_in_parts() -> None:
    many = [gaze(f"g{k}", "mutual_gaze", 10 * k, 10 * k + 5, "a", "b") for k in range(MOST_EVENTS + 2)]
    calls = plan(facts(many, frames=1000))
    assert [(call.name, len(call.events)) for call in calls] == [("B 1", MOST_EVENTS), ("A 2", 2)]


def test_every_template_with_options_is_a_form() -> None:
    single = {name: template.category for name, template in REGISTRY.items() if template.kind == "single"}
    assert {form: slug for form, (slug, _) in FORMS.items()} == single
