"""The three forms of the grounding reward against values worked out by hand; what must not change the strict one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.rewards import grounding
from ml.rewards.rows import Row, Truth, parse_row

FIVE = frozenset(range(1, 6))
ONE = (Truth("gaze", frozenset({3}), (3.0, 5.0)),)
TIMED = " from 3.0 s to 5.0 s"


def gaze(*sentences: str) -> str:
    return "<think>" + "".join(f"<gaze>{s}.</gaze>" for s in sentences) + "</think><answer>B</answer>"


def gesture(sentence: str) -> str:
    return f"<think><gesture>{sentence}.</gesture></think><answer>B</answer>"


EVERYONE = gaze("Person 1, Person 2, Person 3, Person 4, Person 5 are there" + TIMED)
TWO = (Truth("gaze", frozenset({1, 2}), (0.0, 2.0)), Truth("gesture", frozenset({2, 4}), (2.0, 4.0)))

# name, completion, question, events, visible -> sgr-release, sgr-paper, sgr-strict; by hand
TABLE = [
    # the worked example of the reference: five visible people, one target
    ("the right one", gaze("Person 3 looks away" + TIMED), "Who?", ONE, FIVE, 1.0, 2.0, 1.0),
    ("all five", EVERYONE, "Who?", ONE, FIVE, 0.7 + 0.3 * 0.2, 2 * 0.2, 0.0),
    ("none", gaze("somebody looks away" + TIMED), "Who?", ONE, FIVE, 0.0, 0.0, 0.0),
    # P = 1/2; chance 1/5; P' = (0.5 - 0.2) / 0.8
    ("one right, one wrong", gaze("Person 3 and Person 4 look away" + TIMED), "Who?", ONE, FIVE, 0.85, 1.0, 0.375),
    ("the wrong one", gaze("Person 4 looks away" + TIMED), "Who?", ONE, FIVE, 0.0, 0.0, 0.0),
    ("no time stated", gaze("Person 3 looks away"), "Who?", ONE, FIVE, 1.0, 2.0, 0.5),
    ("a moment inside", gaze("Person 3 looks away at 4.0 s"), "Who?", ONE, FIVE, 1.0, 2.0, 0.5),
    ("a moment outside", gaze("Person 3 looks away at 9.0 s"), "Who?", ONE, FIVE, 1.0, 2.0, 0.0),
    # tIoU of [4, 6) and [3, 5) is 1/3, of [4.5, 7) and [3, 5) 0.5 / 4
    ("a time that meets", gaze("Person 3 looks away from 4 to 6 s"), "Who?", ONE, FIVE, 1.0, 2.0, 1.0),
    ("a time that misses", gaze("Person 3 looks away from 4.5 to 7 s"), "Who?", ONE, FIVE, 1.0, 2.0, 0.0),
    # two sentences with a time name the target, one meets: credit 1/2
    ("two times", gaze("Person 3 turns" + TIMED, "Person 3 turns from 8 to 9 s"), "Who?", ONE, FIVE, 1.0, 2.0, 0.5),
    ("lower case", gaze("person 3 looks away" + TIMED), "Who?", ONE, FIVE, 0.0, 0.0, 1.0),
    ("short form", gaze("P3 looks away" + TIMED), "Who?", ONE, FIVE, 1.0, 2.0, 1.0),
    ("outside the tags", "<think>Person 3 looks away</think><answer>B</answer>", "Who?", ONE, FIVE, 0.0, 0.0, 0.0),
    ("never closed", "<think><gaze>Person 3 looks away</think>", "Who?", ONE, FIVE, 0.0, 0.0, 0.0),
    ("the other tag", gesture("Person 3 waves" + TIMED), "Who?", ONE, FIVE, 0.0, 0.0, 0.0),
    # named in the right tag, and Person 4 in the other one: free as released; strict P = 1/2 as above
    (
        "a name in the other tag",
        gaze("Person 3 turns" + TIMED) + "<gesture>Person 4 waves</gesture>",
        "Who?", ONE, FIVE, 1.0, 2.0, 0.375,
    ),
    ("asked already", gaze("Person 3 looks away" + TIMED), "Where does Person 3 look?", ONE, FIVE, None, None, None),
    ("no events", gaze("Person 3 looks away" + TIMED), "Who?", (), FIVE, None, None, None),
    # Q = {1}: target of the first is {2}, of the second {2, 4}; Person 1 counts nowhere.
    # R = (1 + 0) / 2; P: gaze {2}: 1, gesture without mentions: left out
    # strict: 1 of 1 pair right, chance: 3 pairs of 2 modalities x {2, 3, 4, 5}: 3/8; P' = 1; R = 1/2
    (
        "one of two events",
        gaze("Person 1 looks at Person 2 from 0 to 2 s"),
        "Person 1?", TWO, FIVE, 0.7 * 0.5 + 0.3, 1.5, 0.5,
    ),
    # R = (1 + 1/2) / 2; P = mean(1, 1/2); strict: 2 of 3 pairs, P' = (2/3 - 3/8) / (5/8) = 7/15
    (
        "two events, half of one",
        gaze("Person 2 is met from 0 to 2 s") + gesture("Person 3 gives to Person 4 from 2 to 4 s"),
        "Person 1?", TWO, FIVE, 0.7 * 0.75 + 0.3 * 0.75, 1.75 * 0.75, 0.75 * 7 / 15,
    ),
    # everybody visible is a target: naming all of them is right
    (
        "all are targets",
        gaze("Persons 1, 2 and 3 look at it from 3 to 5 s"),
        "Who?", (Truth("gaze", frozenset({1, 2, 3}), (3.0, 5.0)),), frozenset({1, 2, 3}), 0.0, 0.0, 1.0,
    ),
    ("nobody knows who is visible", EVERYONE, "Who?", ONE, None, 0.76, 0.4, 0.2),
    ("an event without times", gaze("Person 3 turns"), "Who?", (Truth("gaze", frozenset({3})),), FIVE, 1.0, 2.0, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "question", "events", "visible", "release", "paper", "strict"), TABLE)
def test_by_hand(
    name: str,
    text: str,
    question: str,
    events: tuple[Truth, ...],
    visible: frozenset[int] | None,
    release: float | None,
    paper: float | None,
    strict: float | None,
) -> None:
    row = Row(text, question, "B", events, visible)
    assert grounding.sgr_release(row) == (None if release is None else pytest.approx(release))
    assert grounding.sgr_paper(row) == (None if paper is None else pytest.approx(paper))
    assert grounding.sgr_strict(row) == (None if strict is None else pytest.approx(strict))


SENTENCES = st.lists(
    st.tuples(
        st.frozensets(st.integers(1, 6), min_size=1), st.sampled_from(["", TIMED, " from 0 to 2 s", " at 4.0 s"])
    ),
    min_size=1,
    max_size=4,
)
EVENTS = st.lists(
    st.builds(
        Truth,
        st.sampled_from(["gaze", "gesture"]),
        st.frozensets(st.integers(1, 6), min_size=1, max_size=3),
        st.sampled_from([(3.0, 5.0), (0.0, 2.0), None]),
    ),
    max_size=3,
)


def written(sentences: list[tuple[frozenset[int], str]], rng: Random, style: str) -> str:
    said = []
    for at, (numbers, when) in enumerate(sentences):
        order = rng.sample(sorted(numbers), len(numbers))
        match style:
            case "plain":
                names = " and ".join(f"Person {n}" for n in sorted(numbers))
            case "plural" if len(order) > 1:
                names = f"Persons {', '.join(map(str, order[:-1]))} and {order[-1]}"
            case "lower":
                names = " and ".join(f"person  {n}" for n in order)
            case _:
                names = " and ".join(f"PERSON {n}" for n in order)
        tag = ("gaze", "gesture")[at % 2]
        said.append(f"<{tag}>{names} look{when}.</{tag}>")
    return "".join(said)


@given(SENTENCES, EVENTS, st.integers(0, 9), st.sampled_from(["plural", "lower", "upper"]))
def test_order_case_plural_and_spacing_change_nothing(
    sentences: list[tuple[frozenset[int], str]], events: list[Truth], seed: int, style: str
) -> None:
    plain = Row(written(sentences, Random(0), "plain"), "What of Person 6?", events=tuple(events), visible=FIVE)
    other = Row(written(sentences, Random(seed), style), "What of Person 6?", events=tuple(events), visible=FIVE)
    assert grounding.sgr_strict(plain) == grounding.sgr_strict(other)


@given(SENTENCES, EVENTS, st.sampled_from(["gaze", "gesture"]), st.sampled_from(["", TIMED, " at 4.0 s"]))
def test_a_wrong_name_more_never_raises_it(
    sentences: list[tuple[frozenset[int], str]], events: list[Truth], tag: str, when: str
) -> None:
    text = written(sentences, Random(0), "plain")
    before = grounding.sgr_strict(Row(text, events=tuple(events), visible=FIVE))
    for wrong in (9, *(n for n in FIVE if all(n not in e.persons or e.modality != tag for e in events))):
        longer = Row(f"{text}<{tag}>Person {wrong} looks{when}.</{tag}>", events=tuple(events), visible=FIVE)
        after = grounding.sgr_strict(longer)
        assert (before is None and after is None) or (before is not None and after is not None and after <= before)


@given(EVENTS)
def test_to_name_everyone_pays_only_where_everyone_is_right(events: list[Truth]) -> None:
    everyone = "Persons 1, 2, 3, 4, 5 and 6 look."
    row = Row(f"<gaze>{everyone}</gaze><gesture>{everyone}</gesture>", events=tuple(events), visible=FIVE | {6})
    pairs = {(e.modality, p) for e in events for p in e.persons}
    every = {(m, p) for m in {m for m, _ in pairs} for p in FIVE | {6}}
    score = grounding.sgr_strict(row)
    if events and pairs < every:
        assert score == 0.0


@given(SENTENCES, EVENTS)
def test_every_form_stays_in_its_range(sentences: list[tuple[frozenset[int], str]], events: list[Truth]) -> None:
    row = Row(written(sentences, Random(0), "plain"), "What of Person 6?", events=tuple(events), visible=FIVE)
    for form, most in ((grounding.sgr_release, 1.0), (grounding.sgr_paper, 2.0), (grounding.sgr_strict, 1.0)):
        value = form(row)
        assert (value is None) == (not row.targets)
        assert value is None or 0.0 <= value <= most + 1e-9


def test_tiou_is_of_the_union_of_what_is_stated() -> None:
    assert grounding.overlap([(0, 2), (1, 3)], (0, 3)) == 1.0
    assert grounding.overlap([(0, 1), (2, 3)], (0, 4)) == 0.5
    assert grounding.overlap([(5, 5)], (5, 5)) == 1.0 and grounding.overlap([(5, 5)], (4, 6)) == 0.0
    assert grounding.overlap([], (4, 6)) == 0.0


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ([], "row: expected an object, found []."),
        ({"completion": 3}, "completion: expected text, found 3."),
        ({"completion": "", "gt_events": {}}, "gt_events: expected a list, found {}."),
        (
            {"completion": "", "gt_events": [{"source": "gaze", "persons": ["1"]}]},
            'gt_events[0].persons[0]: expected the number of a person, found "1".',
        ),
        (
            {"completion": "", "gt_events": [{"source": "gaze", "persons": [1], "start": 3}]},
            "gt_events[0].end: expected seconds, found null.",
        ),
        (
            {"completion": "", "gt_events": [{"source": "gaze", "persons": [1], "start": 3, "end": 1}]},
            "gt_events[0]: the event ends at 1 s, before it starts at 3 s.",
        ),
    ],
)
def test_a_bad_row_is_refused_with_its_place(tree: object, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_row(tree)
    assert str(caught.value) == sentence
