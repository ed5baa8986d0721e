"""The oracle on a scene small enough to tell by hand.

Ten frames a second, 20 s, four people (1 to 4). Seconds:
 1-3    1 and 2 look at each other            2-4    1 gives to 2
 5-6    3 follows 1 to the box                6-8    1 and 3 look at the box
 6-8    2 points at the box                   9-10   4's look sweeps
 11-13  2 gives to 1                          12-14  3 and 4 look at each other
 15-16  1, 2 and 3 turn to the door           16-18  they look at it
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from ml.synthetic.script import Stage
from tests.oracle import told
from tests.oracle.judge import Item, read, verdicts
from tests.oracle.reading import NotUnderstood
from tests.oracle.world import World, world_of


@pytest.fixture(scope="module")
def world() -> World:
    stage = Stage(np.arange(201) / 10, list("abcd"), [1, 2, 3, 4])
    box, door = stage.add_place("object", "a box"), stage.add_place("location", "the door")
    assert stage.meet(0, 1, 10, 30) and stage.gesture("giving", 0, 1, 20, 40)
    assert stage.lead(0, 2, box, 50, 60, 80, 80) and stage.gesture("pointing", 1, box, 60, 80)
    assert stage.jump(3, 90, 100) and stage.gesture("giving", 1, 0, 110, 130)
    assert stage.meet(2, 3, 120, 140) and stage.catch([0, 1, 2], door, 150, 160, 180)
    return world_of(stage.truth())


ITEMS = {  # category, question, true options, false options; P1 is printed "Person 1"
    "partner": ("gaze_target", "Who makes eye contact with P1 between 1.0 s and 3.0 s?",
                ["P2"], ["P3", "P4", "No one"]),
    "nobody": ("gaze_target", "Whose eyes does P1 meet from 4.0 s to 6.0 s?",
               ["No one"], ["P2", "P3", "P4"]),
    "followed": ("gaze_target", "Whose gaze does P3 follow between 5.0 s and 6.0 s?",
                 ["P1"], ["P2", "P4", "No one"]),
    "type": ("gaze_event_type", "Which gaze interaction involves P1, P2 and P3 between 15.0 s and 16.0 s?",
             ["Attention capture"], ["Joint attention", "Mutual gaze", "Gaze following"]),
    "long": ("temporal_gaze", "How long does the mutual gaze of P3 and P4 that begins at 12.0 s last?",
             ["About 2 seconds"], ["About 3.5 seconds", "About 5 seconds", "About 6.5 seconds"]),
    "first": ("temporal_gaze", "Which happens first for P1 and P3 between 5.0 s and 8.0 s: joint attention or "
              "gaze following?", ["Gaze following"], ["Joint attention", "Both overlap in time", "Neither happens"]),
    "pair": ("mutual_gaze", "Which two people make eye contact between 11.0 s and 15.0 s?",
             ["P3 and P4"], ["P1 and P2", "P1 and P3", "No pair"]),
    "one-way": ("gaze_following", "Is the gaze following between P1 and P3 one-way between 5.0 s and 9.0 s?",
                ["One-way: P3 follows P1"],
                ["One-way: P1 follows P3", "Both ways: each follows the other", "Neither follows the other"]),
    "out": ("group_attention", "Who is NOT part of the joint attention between 16.0 s and 18.0 s?",
            ["P4"], ["P1", "P2", "P3"]),
    "next": ("group_attention", "P1 and P3 take part in joint attention from 6.0 s to 8.0 s. Which gaze event "
             "starts first in the 5 seconds after it?",
             ["A sudden gaze shift"], ["Mutual gaze", "Attention capture", "No gaze event"]),
    "at": ("gesture_recog", "Who is the target of P2's pointing gesture from 6.0 s to 8.0 s?",
           ["No person"], ["P1", "P3", "P4"]),
    "kind": ("gesture_type", "What type of gesture is P2 making from 6.0 s to 8.0 s?",
             ["Pointing"], ["Giving", "Showing", "Reaching"]),
    "earlier": ("gesture_temporal", "In what order do P2's giving gesture and P1's giving gesture happen from "
                "2.0 s to 13.0 s?", ["P1 gestures first"],
                ["P2 gestures first", "Their gestures overlap in time", "Neither makes such a gesture"]),
    "most": ("gesture_frequency", "Who makes the most gestures between 0.0 s and 20.0 s?",
             ["P2"], ["P1", "P3", "No one (a tie)"]),
    "commonest": ("gesture_frequency", "Which type of gesture is the most common between 0.0 s and 20.0 s?",
                  ["Giving"], ["Pointing", "Showing", "Reaching"]),
    "who next": ("gesture_sequence", "After P1's giving gesture from 2.0 s to 4.0 s, who gestures next within 10 "
                 "seconds?", ["P2"], ["P1", "P3", "No one"]),
    "back": ("reciprocal_gesture", "P1 gives something to P2 from 2.0 s to 4.0 s. Is the gesture returned by "
             "P2 within 10 seconds?", ["Yes, at P1"],
             ["No, at no person", "No, only at P3", "Yes, and at P3, too"]),
    "align": ("gaze_gesture_align", "Which comes first between 1.0 s and 4.0 s: the mutual gaze of P1 and P2 or "
              "P1's giving gesture?", ["Gaze and gesture overlap in time"],
              ["The mutual gaze ends before the gesture starts", "The gesture ends before the mutual gaze starts",
               "Neither of the two happens"]),
    "contact": ("eye_contact_in_interaction", "With whom does P1 make eye contact during the giving gesture of P1 "
                "from 2.0 s to 4.0 s?", ["P2"], ["P3", "P4", "No one"]),
    "response": ("gaze_response_to_gesture", "Which gaze event involving P1 comes next, within 3 seconds, after the "
                 "giving gesture of P1 from 2.0 s to 4.0 s?",
                 ["Gaze following"], ["Mutual gaze", "Joint attention", "No gaze event"]),
    "during": ("cross_modal_dynamics", "Which people take part in mutual gaze during the giving gesture of P2 "
               "from 11.0 s to 13.0 s?", ["P3 and P4"],
               ["P1 and P2", "P1 and P3", "P2 and P4"]),
    "in most": ("cross_modal_dynamics", "Counting gaze events and gestures together, who is in most of them from 0.0 s "
                "to 20.0 s?", ["P1"], ["P2", "P3", "No one (a tie)"]),
}  # fmt: skip


def printed(text: str) -> str:
    return re.sub(r"\bP(\d)", r"Person \1", text)


@pytest.mark.parametrize("name", ITEMS)
def test_it_knows_what_a_person_would_see(world: World, name: str) -> None:
    category, question, true, false = ITEMS[name]
    item = Item(category, printed(question), tuple(printed(option) for option in (*true, *false)))
    assert verdicts(item, read(item, world), world) == [True] * len(true) + [False] * len(false)


def test_what_moves_by_a_step_may_change_the_answer(world: World) -> None:
    """Person 1's giving ends at 4.0 s, and 1 leads 3 from 5.0 s on: with 1.2 s to either side they may overlap."""
    item = Item("gaze_response_to_gesture", printed(ITEMS["response"][1]), ("Gaze following", "Joint attention"))
    ask = read(item, world)
    zeros = np.zeros(len(world.things), int)
    later = zeros + 12 * np.array([thing.type == "giving" for thing in world.things])
    assert verdicts(item, ask, world.moved(zeros, later)) == [False, True]


def test_it_reads_an_answer_of_several_sentences(world: World) -> None:
    question = "Describe the chain of gestures that begins with Person 1's giving gesture from 2.0 s to 4.0 s."
    good = (
        "Person 1 gives something to Person 2 from 2.0 s to 4.0 s. The next gesture: Person 2 points at an object from "
        "6.0 s to 8.0 s. The person who gestures next is Person 2."
    )
    assert all(check(world) for check in told.checks(question, good, world))
    skipped = good.replace(
        "points at an object from 6.0 s to 8.0 s", "gives something to Person 1 from 11.0 s to 13.0 s"
    )
    assert [check(world) for check in told.checks(question, skipped, world)] == [False, True]
    with pytest.raises(NotUnderstood):
        told.checks(question, good.replace("from 6.0 s to 8.0 s", "from 6.5 s to 8.0 s"), world)


def test_it_refuses_what_is_not_there(world: World) -> None:
    gone = "After Person 1's giving gesture from 2.0 s to 5.0 s, who gestures next within 10 seconds?"
    with pytest.raises(NotUnderstood):
        read(Item("gesture_sequence", gone, ("Person 2",)), world)
    item = Item("gaze_target", printed(ITEMS["partner"][1]), ("Somebody", "Person 2"))
    with pytest.raises(NotUnderstood):
        verdicts(item, read(item, world), world)
