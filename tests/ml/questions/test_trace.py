"""What a proof shows of itself: ground-truth events, traces, reviewers' sentences, the events used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.questions import slots
from ml.questions.facts import Facts
from ml.questions.proof import evaluate, names
from ml.questions.trace import gt_events, sentence, trace
from ml.questions.words import statement
from tests.ml.questions.scenes import facts, gaze, gesture, proof

M = gaze("m", "mutual_gaze", 100, 140, "a", "c")
F = gaze("f", "gaze_following", 150, 170, "c", "b")
J = gaze("j", "joint_attention", 300, 340, "a", "b", "d")
P = gesture("p", "pointing", 110, 130, "b", "c")
Q = gesture("q", "giving", 260, 300, "c", "b")
T = gesture("t", "reaching", 400, 430, "d")
SCENE = facts([M, F, J, P, Q, T])
GAZE: dict[str, Any] = {"modality": "gaze"}
GESTURE: dict[str, Any] = {"modality": "gesture"}


def printed(text: str, scene: Facts = SCENE) -> str:
    return slots.render(text, names(scene), lambda frame: frame / 10)


@pytest.mark.parametrize(
    ("ask", "key", "used"),
    [
        (["who", ["events", GESTURE], "initiator"], "c", ["q"]),
        (["who", ["events", {**GESTURE, "type": "reaching"}], "target"], None, ["t"]),  # the reach at no person
        (["type", ["first", ["after", ["events", GAZE], ["event", "p"], 3]]], "gaze_following", ["p", "f"]),
        (["who", ["overlapping", ["events", GAZE], ["event", "p"]], "member"], "a", ["m", "p"]),
        (["who", ["overlapping", ["events", GAZE], ["event", "t"]], "member"], None, ["t"]),  # an absence
        (["order", ["event", "m"], ["event", "q"]], "before", ["m", "q"]),
        (["most", ["events", GAZE], "person"], None, ["m", "f", "j"]),  # a tie
        (["others", ["a", "b", "c", "d", "e"], ["event", "j"]], "c", ["j"]),
        (["duration_s", ["event", "m"]], {"seconds": 4, "within": 1}, ["m"]),
        (["exists", ["events", {**GAZE, "type": "attention_capture"}]], False, []),
        (["is", ["count", ["events", GESTURE]], 3], True, ["p", "q", "t"]),
    ],
)
def test_exactly_the_events_of_the_key_are_used(ask: Any, key: Any, used: list[str]) -> None:
    tree = proof(ask, {"k": key}, "k")
    outcome = evaluate(tree, SCENE)
    assert outcome.stands, outcome.reasons
    assert list(outcome.used) == used


def test_ground_truth_is_on_the_clock_given() -> None:
    tree = proof(["who", ["overlapping", ["events", GAZE], ["event", "p"]], "member"], {"k": "a"}, "k")
    assert gt_events(tree, SCENE) == [
        {"source": "gaze", "persons": [1, 3], "start": 10.0, "end": 14.0},
        {"source": "gesture", "persons": [2, 3], "start": 11.0, "end": 13.0},
    ]
    assert gt_events(tree, SCENE, lambda frame: (frame - 90) / 10)[0]["start"] == 1.0
    late = replace(SCENE, seconds=SCENE.seconds + 5)  # a source whose first frame is not at 0
    assert gt_events(tree, late)[0]["start"] == 10.0


def test_an_event_of_a_stranger_is_refused() -> None:
    scene = replace(SCENE, persons=[person for person in SCENE.persons if person.id != "c"])
    with pytest.raises(FormatError, match="event m names the person “c”"):
        gt_events(proof(["duration_s", ["event", "m"]], {"k": 4.0}, "k"), scene)


def test_the_trace_has_a_block_for_each_event() -> None:
    tree = proof(["who", ["overlapping", ["events", GAZE], ["event", "p"]], "member"], {"k": "a"}, "k", (100, 140))
    assert printed(trace(tree, SCENE, "{p:a}", ["{p:d}", "No one"])) == (
        "<think>\n"
        "I look at the time from 10.0 s to 14.0 s.\n"
        "<gaze>Person 1 and Person 3 make eye contact (mutual gaze) from 10.0 s to 14.0 s.</gaze>\n"
        "<gesture>Person 2 points at Person 3 from 11.0 s to 13.0 s.</gesture>\n"
        "So the answer is: Person 1.\n"
        "The events rule out the other options: Person 4; No one.\n"
        "</think>"
    )


def test_an_absence_is_said() -> None:
    tree = proof(["who", ["overlapping", ["events", GAZE], ["event", "t"]], "member"], {"k": None}, "k", (400, 430))
    assert "<gaze>No gaze event overlaps it in time.</gaze>" in trace(tree, SCENE, "No one")
    span = {**GAZE, "type": "mutual_gaze", "roles": {"member": "a"}, "during": [200, 220]}
    tree = proof(["who", ["events", span], "member"], {"k": None}, "k", (200, 220))
    said = printed(sentence(tree, SCENE, "No one"))
    assert said == "Key: No one, because no mutual gaze with Person 1 is there from 20.0 s to 22.0 s."


def test_a_target_that_is_no_person_is_no_absence() -> None:
    tree = proof(["who", ["events", {**GESTURE, "type": "reaching"}], "target"], {"k": None}, "k")
    said = printed(sentence(tree, SCENE, "No person"))
    assert said == "Key: No person, because Person 4 reaches towards an object from 40.0 s to 43.0 s."


def test_every_kind_of_event_has_words() -> None:
    kinds = [
        (M, "Person 1 and Person 3 make eye contact (mutual gaze)"),
        (F, "Person 2 follows the gaze of Person 3"),
        (J, "Person 1, Person 2 and Person 4 share joint attention"),
        (gaze("x", "sudden_gaze_shift", 1, 9, "e"), "Person 5 suddenly shifts gaze"),
        (
            gaze("x", "attention_capture", 1, 9, "a", "b"),
            "Person 1 and Person 2 turn their gaze at once (attention capture)",
        ),
        (Q, "Person 3 gives something to Person 2"),
        (gesture("x", "showing", 1, 9, "a", "b"), "Person 1 shows something to Person 2"),
        (replace(T, target="location"), "Person 4 reaches towards a place"),
    ]

    for event, words in kinds:
        assert printed(statement(SCENE, event)) == words
