"""Readings of replies and their scores, against values worked out by hand."""

from __future__ import annotations

import pytest

from ml.evaluation.scoring import read_reply
from tests.ml.evaluation.samples import item

LETTER = item(key="B")
FIVE = item(key="E", options=("a", "b", "c", "d", "e"))
SEVERAL = item(key="A,C", kind="letters", options=("joy", "fear", "anger", "calm"))
JUDGE = item(key="no", kind="yes_no", options=())
NUMBER = item(key="3", kind="number", options=())


@pytest.mark.parametrize(
    ("text", "strict", "released", "lenient"),
    [
        ("<think>A)</think><answer>B</answer>", "B", "B", "B"),
        ("<answer>B) Person 2</answer>", "", "B", "B"),
        ("<answer>b</answer>", "", "", "B"),
        ("<answer>(b)</answer>", "", "", "B"),
        ("so \\boxed{B}", "", "B", "B"),
        ("It is C) rather than B)", "", "B", "B"),  # B is tried before C
        ("Because he nods.", "", "B", ""),  # the released last step: first character
        ("B", "", "B", "B"),
        ("The answer is B.", "", "B", "B"),
        ("<answer>Person 2</answer>", "", "", "B"),
        ("<answer>E</answer>", "", "", ""),  # not on offer
        ("", "", "", ""),
        ("I cannot see the video.", "", "", ""),
        ("<answer>A, B</answer>", "", "A", ""),  # two where one is right: no answer to a lenient reader
        ("<think>never ends <answer>B", "", "", ""),
        ("<think>A) is wrong, C) might", "", "A", ""),  # cut off while it thought
    ],
)
def test_one_letter(text: str, strict: str, released: str, lenient: str) -> None:
    found = read_reply(text, LETTER)
    assert tuple("".join(found[name].said) for name in ("strict", "released", "lenient")) == (strict, released, lenient)
    assert all(read.score == float(read.said == ("B",)) for read in found.values())


def test_letters_on_offer_are_those_of_the_item() -> None:
    assert read_reply("<answer>E</answer>", FIVE)["released"].score == 1


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("<answer>A,C</answer>", 1.0),
        ("<answer>C, A</answer>", 1.0),  # order and spaces do not matter
        ("<answer>A and C</answer>", 1.0),
        ("<answer>AC</answer>", 1.0),
        ("<answer>A</answer>", 2 / 3),  # 2 * 1 / (2 + 1)
        ("<answer>A, B</answer>", 0.5),  # 2 * 1 / (2 + 2)
        ("<answer>A, B, C, D</answer>", 4 / 6),
        ("<answer>B, D</answer>", 0.0),
        ("", 0.0),
    ],
)
def test_several_letters_score_f1_of_the_sets(text: str, score: float) -> None:
    assert read_reply(text, SEVERAL)["released"].score == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<answer>No</answer>", "no"),
        ("<answer>no.</answer>", "no"),
        ("<answer>I do not know</answer>", ""),  # "know" is no "no", and "not" is none either
        ("He knows her.", ""),
        ("Yes, he does.", "yes"),
        ("Yes or no?", ""),
        ("<think>no no</think>yes", "yes"),
    ],
)
def test_yes_and_no_are_whole_words(text: str, said: str) -> None:
    found = read_reply(text, JUDGE)["released"]
    assert "".join(found.said) == said and found.score == float(said == "no")


def test_numbers_are_equal_at_two_decimals() -> None:
    assert read_reply("<answer>3.004</answer>", NUMBER)["strict"].score == 1
    assert read_reply("about 3 times", NUMBER)["released"].score == 1
    assert read_reply("3 or 4", NUMBER)["released"].said == ()
    assert read_reply("<answer>3.1</answer>", NUMBER)["released"].score == 0
