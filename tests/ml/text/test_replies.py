"""Tags, answers, option letters and words of the subject."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.text import answers, persons, phrases, tags, times

REPLY = "<think>\nFirst.<gaze>Person 1</gaze> A) no <gesture>P2</gesture></think>\n<answer>B</answer>"


def test_blocks_of_a_reply() -> None:
    assert [(b.name, b.content.strip()) for b in tags.blocks(REPLY)] == [
        ("think", "First.<gaze>Person 1</gaze> A) no <gesture>P2</gesture>"), ("gaze", "Person 1"), ("gesture", "P2"),
        ("answer", "B"),
    ]  # fmt: skip
    assert tags.contents(REPLY, "gesture") == ["P2"]
    assert tags.after_think(REPLY) == "\n<answer>B</answer>"
    assert tags.plain(REPLY) == "\nFirst.Person 1 A) no P2\nB"


def test_blocks_that_are_open_or_written_otherwise() -> None:
    (open_one,) = tags.blocks("x <gaze>Person 1", "gaze")
    assert (open_one.closed, open_one.content) == (False, "Person 1")
    assert tags.contents("x <gaze>Person 1", "gaze") == []
    (other,) = tags.blocks("<Answer>B</ANSWER>")
    assert (other.closed, other.exact, other.content) == (True, False, "B")
    assert tags.after_think("no tags") == "no tags"
    assert tags.after_think("a</think>b</think>c") == "c"


def test_a_tag_that_is_open_already_opens_nothing() -> None:
    told = "<gaze>Person 1 <gaze>Person 2</gaze> x <GAZE>Person 3</gaze> <gaze>a<gaze>b"
    assert [(b.content, b.closed, b.exact) for b in tags.blocks(told)] == [
        ("Person 1 <gaze>Person 2", True, True), ("Person 3", True, False), ("a<gaze>b", False, True)
    ]  # fmt: skip
    assert tags.openings(told) == {"gaze": 5}


@pytest.mark.parametrize("closing", ["", "</gaze>"])
def test_a_million_letters_of_tags_are_read_at_once(closing: str) -> None:
    told = "<gaze>" * 170_000 + closing
    began = time.process_time()
    assert sum(len(block.content) for block in tags.blocks(told)) < len(told)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "letter", "how"),
    [
        ("<think>A) x</think> <answer>B</answer> \\boxed{C}", "B", "tag"),
        ("<answer>\n D) Person 3 </answer>", "D", "tag"),
        ("<answer>Person 3</answer> \\boxed{C}", "C", "boxed"),
        ("<answer>E</answer>", None, None),
        ("\\boxed{\\text{D}}", "D", "boxed"),
        ("It is D. Not A) at all", "A", "marked"),
        ("C) Person 1", "C", "marked"),
        ("The answer is B.", "B", "marked"),
        ("C", "C", "first"),
        ("Because of that", "B", "first"),
        ("<think>C)</think>", None, None),
        ("nothing", None, None),
        ("", None, None),
        ("Made in the USA.", None, None),
    ],
)
def test_the_letter_is_looked_for_in_the_released_order(text: str, letter: str | None, how: str | None) -> None:
    found = answers.find(text)
    assert (found.letter if found else None, found.how if found else None) == (letter, how)
    assert answers.letter(text) == letter


@given(st.text(max_size=60), st.sampled_from("ABCD"))
def test_a_closed_answer_tag_after_the_thought_always_wins(thought: str, letter: str) -> None:
    if "<" in thought:
        return
    assert answers.letter(f"<think>{thought}</think><answer>{letter}</answer>") == letter


@pytest.mark.parametrize(
    ("option", "letter", "words"),
    [("A) Person 1", "A", "Person 1"), ("(b) Person 1", "B", "Person 1"), ("C. x", "C", "x"), ("D: x", "D", "x"),
     ("a) x", "A", "x"), ("Person 1", None, "Person 1"), ("A person", None, "A person"), ("B)", "B", ""),
     ("e.g. this", None, "e.g. this"), (" B)  two ", "B", "two")],
)  # fmt: skip
def test_the_letter_of_an_option(option: str, letter: str | None, words: str) -> None:
    assert answers.split_option(option) == (letter, words)


def test_options_get_their_letters() -> None:
    assert answers.with_letters(["x", "Z) y"]) == ["A) x", "B) y"]
    with pytest.raises(ValueError, match="no letter"):
        answers.letter_of(26)


def test_words_of_the_subject() -> None:
    assert phrases.gaze_types("They make eye contact") == {"mutual_gaze"}
    assert phrases.gaze_types("Gaze following") == {"gaze_following"}
    assert phrases.gaze_types("A sudden gaze shift") == {"sudden_gaze_shift"}
    assert phrases.gaze_types("Joint attention") == {"joint_attention"}
    assert phrases.gaze_types("attention_capture") == {"attention_capture"}
    assert phrases.gesture_types("Pointing") == {"pointing"}
    assert phrases.gesture_types("Person 1 gives a cup, then reaches") == {"giving", "reaching"}
    assert phrases.gesture_types("The point in time") == set()
    assert phrases.speculative("It is Likely, because it seems so; unlike that") == ["likely", "because", "seems"]
    assert phrases.speculative("Which object does Person 1 indicate?") == []


@pytest.mark.parametrize(
    "piece", ["Person 1, ", "from 3 to ", "<think>", "3:", "eye ", "A) ", "points to the ", "0" * 50 + " s "]
)
def test_long_texts_are_read_in_time_that_grows_with_their_length(piece: str) -> None:
    """No expression goes back over what it read again and again."""
    text = piece * (50_000 // len(piece))
    begin = time.process_time()
    persons.mentions(text)
    times.mentions(text)
    answers.find(text)
    phrases.gaze_types(text)
    phrases.gesture_types(text)
    phrases.speculative(text)
    assert time.process_time() - begin < 5
