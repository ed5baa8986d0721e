"""Accuracy, forms, narration, order of events; each value worked out by hand, each public fault as a case."""

from __future__ import annotations

import time

import pytest

from ml.rewards import answering, narrating
from ml.rewards.rows import Row, Truth


@pytest.mark.parametrize(
    ("said", "right", "expected"),
    [
        ("<answer>B</answer>", "B", 1.0),
        ("<answer> B </answer>", "B", 1.0),
        ("<answer>B.</answer>", "B", 1.0),  # the public evaluation fails this one
        ("<answer>(b)</answer>", "B", 1.0),
        ("<answer>B) Person 2</answer>", "B", 1.0),
        ("<answer>A</answer>", "B", 0.0),
        ("<answer>Person 2</answer>", "Person 2", 1.0),
        ("<answer>person 2.</answer>", "Person 2", 1.0),
        ("<answer>Person 3</answer>", "Person 2", 0.0),
        ("B", "B", 0.0),  # outside the tag
        ("<answer>B", "B", 0.0),  # never closed
        ("<answer>A</answer><answer>B</answer>", "B", 0.0),  # the first one counts
        ("<answer>B,C</answer>", "B, C", 1.0),  # the public comparison loses half of it
        ("<answer>C, B</answer>", "B,C", 1.0),
        ("<answer>B</answer>", "B,C", 2 / 3),  # 2 · 1 / (2 + 1)
        ("<answer>A, B, C</answer>", "B,C", 4 / 5),
        ("<answer></answer>", "B", 0.0),
        ("<answer>I do not know</answer>", "no", 0.0),  # "know" is no "no"
        ("<answer>No.</answer>", "no", 1.0),
        ("<answer>2.50</answer>", "2.5", 1.0),
        ("<answer>2.51</answer>", "2.5", 0.0),
    ],
)
def test_accuracy(said: str, right: str, expected: float) -> None:
    assert answering.accuracy(Row(said, answer=right)) == pytest.approx(expected)


def test_without_an_answer_there_is_no_accuracy() -> None:
    assert answering.accuracy(Row("<answer>B</answer>")) is None


@pytest.mark.parametrize(
    ("said", "grasp", "affectomni"),
    [
        ("<think>x</think><answer>B</answer>", 1.0, 0.0),
        ("<context>c</context>\n<think>x\ny</think>\n<answer>B</answer>", 1.0, 1.0),
        ("<context>c</context><think>x</think><answer>B\n</answer> and more", 0.0, 1.0),
        ("<think>x</think><context>c</context><answer>B</answer>", 1.0, 0.0),  # the order is fixed
        ("well <context>c</context><think>x</think><answer>B</answer>", 1.0, 0.0),
        ("<answer>B", 0.0, 0.0),
    ],
)
def test_forms(said: str, grasp: float, affectomni: float) -> None:
    assert (answering.format_grasp(Row(said)), answering.format_affectomni(Row(said))) == (grasp, affectomni)


@pytest.mark.parametrize("piece", ["<answer>", "<context></context><think>", "</think><answer>"])
def test_forms_of_a_million_letters_are_looked_at_once(piece: str) -> None:
    row = Row("<context>" + piece * (1_000_000 // len(piece)))
    began = time.process_time()
    assert (answering.format_grasp(row), answering.format_affectomni(row)) == (0, 0)
    assert time.process_time() - began < 5


def focus(text: str) -> float:
    return narrating.person_focus(Row(f"<think>{text}</think><answer>B</answer>"))


def test_person_focus_by_hand() -> None:
    # 20 words: "she" (people 1/20 = 5 % of 6 %), "smiles" (faces 5 % > 2 %: full), nothing of moves and dealings
    text = "she smiles " + "thing " * 18
    assert focus(text) == pytest.approx(0.5 * (0.05 / 0.06) + 0.5 / 3)
    # each of three facets full, people full: 1
    assert focus("the man smiles and nods and she looks " + "thing " * 12) == pytest.approx(1.0)


def test_person_focus_counts_whole_words_and_no_length() -> None:
    assert focus("the theater building and the emancipated romantic sheriff " * 3) == 0.0
    once = focus("she smiles at the man " + "thing " * 40)
    assert focus(("she smiles at the man " + "thing " * 40) * 3) == pytest.approx(once)
    assert focus("smile " * 60) < 0.2  # one word may be said as often as one likes
    assert focus("she smiles " + "room wall street car tree sky " * 3) < focus("she smiles " + "thing " * 18)


def order(text: str) -> float:
    return narrating.temporal_order(Row(f"<think>{text}</think><answer>B</answer>"))


FORWARD = "First at 1.0 s he sits. Then at 3.0 s he nods. Finally at 6.0 s he leaves."
BACKWARD = "First at 6.0 s he sits. Then at 3.0 s he nods. Finally at 1.0 s he leaves."
EARLIER = "At 6.0 s he leaves. Earlier, at 1.0 s, he sat."


def test_a_story_told_backward_is_worth_nothing() -> None:
    assert order(FORWARD) == 1.0  # three moments, all pairs forward
    assert order(BACKWARD) == 0.0
    assert order(EARLIER) > 0.5  # it says that it goes back
    assert 0.0 < order("First he sits. Then he nods. Finally he leaves.") <= 0.5  # unchecked
    assert order("he sits there and nothing happens at all in this room here") == 0.0
    # C = 2, D = 1: moments 1, 6, 3; course 1/3, full measure
    assert order("First at 1.0 s he sits. Then at 6.0 s he nods. Finally at 3.0 s he leaves.") == pytest.approx(1 / 3)


EVENTS = (
    Truth("gaze", frozenset({1}), (1.0, 2.0)),
    Truth("gesture", frozenset({2}), (3.0, 4.0)),
    Truth("gaze", frozenset({3}), (5.0, 6.0)),
)
SAID = {1: "<gaze>Person 1 looks.</gaze>", 2: "<gesture>Person 2 points.</gesture>", 3: "<gaze>Person 3 looks.</gaze>"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [((1, 2, 3), 1.0), ((3, 2, 1), 0.0), ((1, 3, 2), 1 / 3), ((1, 2), 1 / 3), ((2,), 0.0), ((), 0.0)],
)
def test_event_order(told: tuple[int, ...], expected: float) -> None:
    assert narrating.event_order(Row("".join(SAID[n] for n in told), events=EVENTS)) == pytest.approx(expected)


def test_without_two_events_in_time_there_is_no_order() -> None:
    assert narrating.event_order(Row(SAID[1], events=EVENTS[:1])) is None
    assert narrating.event_order(Row(SAID[1], events=(Truth("gaze", frozenset({1})),) * 2)) is None


OPTIONS = ("A) The man hugs her", "B) The man ignores her", "C) A dog barks", "D) Nobody moves")


@pytest.mark.parametrize(
    ("said", "options", "expected"),
    [
        ("he hugs her", OPTIONS, 1.0),
        ("he ignores her", OPTIONS, 0.0),
        ("he hugs, he ignores", OPTIONS, 0.3),
        ("nothing of it", OPTIONS, 0.3),
        ("he hugs her", (), None),  # the public code gives 0.5 for ever: options never reach it
    ],
)
def test_thinking_focus(said: str, options: tuple[str, ...], expected: float | None) -> None:
    assert narrating.thinking_focus(Row(f"<think>{said}</think>", answer="A", options=options)) == expected
