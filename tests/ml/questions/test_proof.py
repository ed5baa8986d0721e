"""Proofs: by hand, one rule at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.questions.facts import Covered, Event
from ml.questions.proof import claim, evaluate, parse
from tests.ml.questions.scenes import facts, gaze, gesture, proof

M = gaze("m", "mutual_gaze", 100, 140, "a", "c")
P = gesture("p", "pointing", 200, 230, "b", "c")
Q = gesture("q", "giving", 260, 300, "c", "b")
WHOM: list[Any] = [
    "who",
    ["events", {"modality": "gesture", "type": "pointing", "roles": {"initiator": "b"}}],
    "target",
]
FOUR = {"1": "c", "2": "a", "3": "d", "4": None}


def test_a_key_that_is_marked_and_distractors_that_are_not_stand() -> None:
    outcome = evaluate(proof(WHOM, FOUR, "1"), facts([M, P, Q]))
    assert outcome.stands and outcome.robust
    assert outcome.options == {"1": True, "2": False, "3": False, "4": False}
    assert (outcome.value, outcome.used, outcome.reasons) == (["c"], ("p",), [])


def test_without_coverage_a_distractor_is_unknown_and_the_gap_is_named() -> None:
    half = [Covered("gesture", 0, 350)]
    outcome = evaluate(proof(WHOM, FOUR, "1"), facts([M, P, Q], coverage=half))
    assert not outcome.stands
    assert outcome.options == {"1": True, "2": None, "3": None, "4": False}
    assert outcome.reasons[-1] == "Not all gesture events are marked from 35.0 s to 60.0 s, so one may be missing."


def test_coverage_of_the_window_is_enough_with_a_step_to_spare() -> None:
    tree = ["who", ["events", {**WHOM[1][1], "during": [190, 240]}], "target"]
    assert evaluate(proof(tree, FOUR, "1"), facts([P], coverage=[Covered("gesture", 185, 245)])).stands
    close = evaluate(proof(tree, FOUR, "1"), facts([P], coverage=[Covered("gesture", 186, 245)]))
    assert not close.stands and close.options["2"] is False and not close.robust


def test_coverage_must_speak_of_the_persons_concerned() -> None:
    ask = ["exists", ["events", {"modality": "gaze", "type": "mutual_gaze", "roles": {"member": ["a", "b"]}}]]
    for persons, truth in (
        (None, False),
        ({"a", "b"}, False),
        ({"a", "b", "d"}, False),
        ({"a"}, None),
        ({"b", "c"}, None),
    ):
        rows = [Covered("gaze", 0, 600, frozenset(persons) if persons else None)]
        assert claim(ask, facts([M], coverage=rows)) is truth
    assert claim(ask, facts([M], coverage=[Covered("gesture", 0, 600)])) is None


def test_gestures_between_all_pairs_must_be_covered_when_the_target_is_open() -> None:
    ask = ["exists", ["events", {"modality": "gesture", "roles": {"initiator": "a"}}]]
    pairs = [Covered("gesture", 0, 600, frozenset({"a", other})) for other in "bcde"]
    assert claim(ask, facts([], coverage=pairs)) is False
    assert claim(ask, facts([], coverage=pairs[1:])) is None


def test_an_event_of_any_number_of_people_needs_coverage_of_everybody() -> None:
    ask = ["exists", ["events", {"modality": "gaze", "type": "joint_attention", "roles": {"member": "a"}}]]
    pairs = [Covered("gaze", 0, 600, frozenset({"a", other})) for other in "bcde"]
    assert claim(ask, facts([], coverage=pairs)) is None
    assert claim(ask, facts([], coverage=[Covered("gaze", 0, 600, frozenset("abcde"))])) is False


def test_order_falls_when_a_step_could_turn_it() -> None:
    ask = ["order", ["event", "p"], ["event", "q"]]
    options = {"1": "before", "2": "after", "3": "overlap", "4": None}
    assert evaluate(proof(ask, options, "1"), facts([P, Q])).stands  # 30 frames apart, two steps are 10
    near = gesture("q", "giving", 239, 300, "c", "b")
    outcome = evaluate(proof(ask, options, "1"), facts([P, near]))
    assert outcome.options == {"1": True, "2": False, "3": False, "4": False}
    assert not outcome.robust and not outcome.stands
    assert outcome.reasons[0] == "When boundaries move by one step (5 frames), options 1, 3 could change."
    assert evaluate(proof(ask, options, "1"), facts([P, gesture("q", "giving", 240, 300, "c", "b")])).stands


def test_the_key_of_a_duration_must_survive() -> None:
    ask = ["duration_s", ["event", "m"]]  # 4.0 s, so 3.0 to 5.0 s

    def stands(**values: Any) -> bool:
        return evaluate(proof(ask, values, "k"), facts([M])).stands

    assert stands(k={"seconds": 4.0, "within": 1.0}, x={"seconds": 7.0, "within": 1.0})
    assert not stands(k=4.0, x=7.0)
    assert not stands(k={"seconds": 4.5, "within": 1.0}, x=9.0)
    assert not stands(k={"seconds": 4.0, "within": 1.0}, x={"seconds": 6.0, "within": 1.0})


def test_an_event_that_is_gone_makes_the_proof_fall() -> None:
    outcome = evaluate(proof(["duration_s", ["event", "x"]], {"1": 4.0}, "1"), facts([M]))
    assert not outcome.stands and "The event x is not among the confirmed ones." in outcome.reasons


def test_looks_further_apart_than_a_step_widen_the_doubt() -> None:
    from dataclasses import replace

    ask, options = ["order", ["event", "p"], ["event", "q"]], {"1": "before", "2": "overlap"}
    late = replace(Q, onset_after=228)  # not looked at in between: it may have begun at frame 229
    assert not evaluate(proof(ask, options, "1"), facts([P, late])).stands


def test_claims() -> None:
    table = facts([M, P, Q])
    looks = [
        "events",
        {"modality": "gaze", "type": "mutual_gaze", "roles": {"member": ["a", "c"]}, "during": [110, 120]},
    ]
    assert claim(["exists", looks], table) is True
    assert claim(["is", ["count", looks], 1], table) is True
    assert claim(["is", ["exists", looks], False], table) is False
    with pytest.raises(FormatError, match="yes/no"):
        claim(["count", looks], table)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"v": 2}, "v:"),
        ({"ask": ["why", ["event", "m"]]}, r"ask\[0\]"),
        ({"ask": ["who", ["events", {"modality": "smell"}], "member"]}, r"ask\[1\]\[1\]\.modality"),
        ({"ask": ["who", ["events", {"modality": "gaze", "type": "pointing"}], "member"]}, r"ask\[1\]\[1\]\.type"),
        ({"ask": ["who", ["event", "m"]]}, "ask:"),
        ({"key": ["9"]}, "key"),
        ({"key": []}, "key"),
        ({"span": [5, 5]}, "span"),
        ({"options": [{"id": "1", "value": 3}]}, r"options\[0\]\.value"),
        ({"options": [{"id": "1", "value": "a"}, {"id": "1", "value": "b"}]}, "same id"),
        ({"options": "x"}, "options"),
    ],
)
def test_a_bad_tree_is_refused_naming_the_place(change: dict[str, Any], place: str) -> None:
    with pytest.raises(FormatError, match=place):
        parse({**proof(WHOM, FOUR, "1"), **change})


def test_a_tree_as_deep_as_you_like_is_refused() -> None:
    tree: Any = ["event", "m"]
    for _ in range(500):
        tree = ["first", tree]
    with pytest.raises(FormatError, match="inside each other"):
        parse(proof(["exists", tree], {"1": True}, "1"))


def test_something_unmarked_may_bring_a_marked_event_in() -> None:
    """The gesture is marked and gestures are covered; a gaze event that overlaps it may not be."""
    gestures = [Covered("gesture", 0, 600)]
    ask = ["exists", ["overlapping", ["events", {"modality": "gesture"}], ["events", {"modality": "gaze"}]]]
    assert claim(ask, facts([P], coverage=gestures)) is None
    assert claim(ask, facts([P], coverage=[*gestures, Covered("gaze", 200, 230)])) is False
    after = ["exists", ["after", ["events", {"modality": "gesture"}], ["events", {"modality": "gaze"}], None]]
    assert claim(after, facts([P], coverage=gestures)) is None
    assert claim(after, facts([P], coverage=[*gestures, Covered("gaze", 0, 200)])) is False


@pytest.mark.parametrize(("word", "open_span"), [("first", (0, 100)), ("last", (350, 600)), ("longest", (450, 600))])
def test_something_unmarked_may_come_first_last_or_last_longer(word: str, open_span: tuple[int, int]) -> None:
    long = gesture("r", "reaching", 310, 345, "d", "a")
    ask = ["is", ["who", [word, ["events", {"modality": "gesture"}]], "initiator"], {"first": "b"}.get(word, "d")]
    if word == "longest":
        long = gesture("r", "reaching", 310, 400, "d", "a")
    a, b = open_span
    rows = [Covered("gesture", 0, a)] if a else []
    rows += [Covered("gesture", b, 600)] if b < 600 else []
    assert claim(ask, facts([P, Q, long])) is True
    assert claim(ask, facts([P, Q, long], coverage=rows)) is None
    if word != "longest":  # what is unmarked on the other side of it changes nothing
        side = [Covered("gesture", 0, 250)] if word == "first" else [Covered("gesture", 310, 600)]
        assert claim(ask, facts([P, Q, long], coverage=side)) is True


GESTURES: dict[str, Any] = {"modality": "gesture"}
EARLY = [Covered("gesture", 0, 400)]  # something may be unmarked from frame 400 on


@pytest.mark.parametrize(
    ("ask", "value", "covered", "early"),
    [
        (["most", ["events", {**GESTURES, "type": "giving"}], "initiator"], "c", True, None),
        (["most", ["events", GESTURES], "initiator"], None, True, None),  # b and c tie
        (["others", ["a", "b", "d"], ["events", GESTURES]], "a", True, None),
        (["others", ["a", "b", "d"], ["events", GESTURES]], "b", False, False),
        (["order", ["events", {**GESTURES, "type": "pointing"}], ["event", "q"]], "before", True, None),
        (["order", ["events", {**GESTURES, "type": "pointing"}], ["event", "q"]], "overlap", False, None),
        (["order", ["events", {**GESTURES, "type": "pointing"}], ["event", "q"]], "after", False, False),
        (["order", ["events", {**GESTURES, "type": "pointing"}], ["event", "q"]], None, False, False),
        (["count", ["events", GESTURES]], 2, True, None),
        (["count", ["events", GESTURES]], 1, False, False),
        (["duration_s", ["events", GESTURES]], 7.0, True, None),
        (["duration_s", ["events", GESTURES]], 6.0, False, False),
        (["who", ["events", GESTURES], "initiator"], ["b", "c"], True, None),
        (["who", ["events", GESTURES], "initiator"], ["b"], False, False),
        (["type", ["events", GESTURES]], "giving", True, True),
        (["type", ["events", GESTURES]], "showing", False, None),
    ],
)
def test_what_needs_coverage_and_what_does_not(ask: Any, value: Any, covered: bool, early: bool | None) -> None:
    tree = ["is", ask, value]
    assert claim(tree, facts([P, Q])) is covered
    assert claim(tree, facts([P, Q], coverage=EARLY)) is early


def test_what_must_come_within_some_seconds() -> None:
    """P ends at 23.0 s, Q begins at 26.0 s; each may be off by half a second."""

    def after(within: float, slack: int) -> bool | None:
        return claim(["exists", ["after", ["event", "q"], ["event", "p"], within]], facts([P, Q]), slack=slack)

    assert [after(within, 0) for within in (2.9, 3.0, 4.0)] == [False, True, True]
    assert [after(within, 5) for within in (1.9, 2.0, 3.9, 4.0)] == [False, None, None, True]


def test_coverage_for_what_comes_after_reaches_as_far_as_it_may_start() -> None:
    ask = ["exists", ["after", ["events", GESTURES], ["event", "q"], 5]]  # Q ends at frame 300, so up to 350
    assert claim(ask, facts([P, Q], coverage=[Covered("gesture", 300, 351)])) is False
    assert claim(ask, facts([P, Q], coverage=[Covered("gesture", 300, 350)])) is None
    assert claim(ask, facts([P, Q], coverage=[Covered("gesture", 301, 351)])) is None


def test_of_two_that_may_be_first_what_both_have_is_known() -> None:
    twins = [P, gesture("p2", "showing", 203, 240, "b", "d"), Q]
    who = ["who", ["first", ["events", GESTURES]], "initiator"]
    assert claim(["is", who, "b"], facts(twins), slack=5) is True
    assert claim(["is", ["who", ["first", ["events", GESTURES]], "target"], "c"], facts(twins), slack=5) is None
    assert claim(["is", ["count", ["first", ["events", GESTURES]]], 0], facts(twins), slack=5) is False


def test_the_longest_must_be_longer_by_all_that_both_may_be_off() -> None:
    ask = ["is", ["who", ["longest", ["events", GESTURES]], "initiator"], "c"]  # Q lasts 40 frames, P 30
    assert claim(ask, facts([P, Q]), slack=2) is True
    assert claim(ask, facts([P, Q]), slack=3) is None


def test_an_event_that_is_perhaps_in_the_window_is_perhaps_all_else() -> None:
    """P runs over [200, 230); a step is 5 frames, so of a window that ends at 204 it may have nothing."""
    edge = ["events", {**GESTURES, "during": [100, 204]}]
    assert claim(["is", ["who", edge, "initiator"], "b"], facts([P]), slack=0) is True
    assert claim(["is", ["who", edge, "initiator"], "b"], facts([P]), slack=5) is None
    near = gesture("n", "showing", 195, 260, "d", "a")
    related = ["overlapping", edge, ["event", "n"]]
    assert claim(["is", ["who", related, "initiator"], "b"], facts([P, near]), slack=0) is True
    assert claim(["is", ["who", related, "initiator"], "b"], facts([P, near]), slack=5) is None


def test_a_proof_about_somebody_who_became_somebody_else_falls() -> None:
    """Person c was found to be a: nobody named c is in any event now, so that all absences of c hold for no reason."""
    shared = gaze("j", "joint_attention", 100, 200, "a", "b")
    window = {"modality": "gaze", "type": "joint_attention", "during": [90, 210]}
    left_out = proof(["others", ["a", "b", "c"], ["events", window]], {"1": "c", "2": "a", "3": "b"}, "1")
    member = proof(["who", ["events", window], "member"], {"1": "a", "2": "c"}, "1")
    alone = proof(["exists", ["events", {**window, "roles": {"member": "c"}}]], {"1": False, "2": True}, "1")
    claimed = {"claim": ["is", ["who", ["events", window], "member"], ["a", "c"]]}
    either = proof(["exists", ["events", window]], {"1": True, "2": claimed}, "1")
    said = proof(["exists", ["events", window]], {"1": True, "2": False}, "1") | {"persons": ["c"]}
    whole = facts([shared], persons=4)
    merged = replace(whole, persons=[person for person in whole.persons if person.id != "c"])
    for tree in (left_out, member, alone, either, said):
        assert evaluate(tree, whole).stands, tree
        outcome = evaluate(tree, merged)
        assert not outcome.stands
        assert outcome.reasons == ["It names somebody who is not among the people of this video."]


@pytest.mark.parametrize(
    ("waiting", "truth"),
    [
        (gesture("p", "pointing", 200, 240, "a", "c"), None),
        (gesture("p", "showing", 200, 240, "a", "c"), False),  # of another type
        (gesture("p", "pointing", 200, 240, "b", "c"), False),  # of somebody else
        (gesture("p", "pointing", 400, 440, "a", "c"), False),  # at another time
    ],
    ids=["the same", "another type", "somebody else", "another time"],
)
def test_a_proposal_that_waits_for_a_word_is_not_absent(waiting: Event, truth: bool | None) -> None:
    """All is covered; does Person 1 point at somebody within 15 and 30 s?"""
    ask = ["exists", ["events", {"modality": "gesture", "type": "pointing", "roles": {"initiator": "a"},
                                 "during": [150, 300]}]]  # fmt: skip
    world = replace(facts([gesture("e", "pointing", 20, 40, "a", "b")]), undecided=[waiting])
    outcome = evaluate(proof(ask, {"1": False, "2": True}, "1"), world)
    assert outcome.options["2"] is truth and outcome.stands is (truth is False)
    told = (
        "The proposal pointing of Person 1 and Person 3 from 20.0 s to 24.0 s waits for a word: confirm or reject it."
    )
    assert (told in outcome.reasons) is (truth is None)


def test_what_is_marked_is_true_whatever_is_proposed_beside_it() -> None:
    ask = ["who", ["events", {"modality": "gesture", "type": "pointing", "roles": {"initiator": "a"}}], "target"]
    marked = facts([gesture("e", "pointing", 20, 40, "a", "b")])
    outcome = evaluate(proof(ask, {"1": "b", "2": "c", "3": "d"}, "1"),
                       replace(marked, undecided=[gesture("p", "pointing", 200, 240, "a", "c")]))  # fmt: skip
    assert outcome.options == {"1": True, "2": None, "3": False} and outcome.used == ("e",)
