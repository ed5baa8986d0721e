"""What holds for every text: spans, nothing invented, the same result twice, time that grows with its length."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.evidence import package as packages
from ml.evidence.reading import parsed
from ml.evidence.summarisers import registry
from ml.evidence.vocabulary import EMBEDDED

RULES = registry.load("rules")
WORDS = [
    "Person 1", "person 2", "P3", "Persons 1 and 4", "the man", "She", "looks at", "points", "turns", "is",
    "smiling", "not", "and", "then", "while", "because", "who", "that", "at 3.0 s", "0:07", "from 2 to 4 s",
    "for 2 s", "at the end", ",", ".", "?", ";", ":", "\n", "- ", "1. ", "<think>", "</think>", "<gaze>",
    "</gaze>", "<answer>", "</answer>", "<think", "/think>", "B", "the answer", "a red, round cup", "(", ")",
    '"', "人物1", "看向", "，", "然后", "在3秒时", "微笑", "。",
    "e.g.", "\r\n", "יום", "\u202e", "\0", "\ud800", "é", "😀",
    "’s", "doesn't",
]  # fmt: skip
texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=30).map("".join),
    st.text(max_size=120),
)


@given(texts, st.one_of(st.none(), st.floats(0.5, 600)))
@settings(max_examples=250, deadline=None)
def test_claims_lie_in_the_text_and_say_nothing_that_is_not_there(text: str, duration_s: float | None) -> None:
    made = RULES.summarise(text, duration_s=duration_s, vocabulary=EMBEDDED)
    packages.check(made, text)  # in bounds, ascending, disjoint, the words of their spans
    assert packages.parse(packages.to_json(made)) == made
    assert made == RULES.summarise(text, duration_s=duration_s, vocabulary=EMBEDDED)
    reasoning = parsed(text).rationale_spans
    numbers = {float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)} | {1.0, 2.0, 3.0}  # 1-3: in Chinese numerals, too
    for claim in made.claims:
        assert any(a <= claim.span[0] and claim.span[1] <= b for a, b in reasoning)
        assert not re.search(r"</?(?:think|gaze|gesture|answer|context)>", claim.text)
        assert claim.text == claim.text.strip(" \t\r\n")
        for number in (*claim.persons, *claim.meant):
            assert float(number) in numbers
        for word in claim.persons:
            assert str(word) in claim.text
        if claim.time.span and claim.time.basis != "unknown":
            assert re.search(
                r"[0-9]|end|beginning|throughout|秒|全程|始终|开|结", text[slice(*claim.time.span)], re.IGNORECASE
            )
        assert all(phrase.span and text[slice(*phrase.span)].strip() for phrase in claim.phrases)


@given(texts)
@settings(max_examples=150, deadline=None)
def test_any_reply_is_read(text: str) -> None:
    found = parsed(text)
    ends = [0, *(end for span in found.rationale_spans for end in span)]
    assert ends == sorted(ends) and ends[-1] <= len(text)
    assert all(start < end for start, end in found.rationale_spans)
    assert len(found.repairs) <= 51 and all(repair.endswith(".") for repair in found.repairs)
    assert len(set(found.letters)) == len(found.letters) and set(found.letters) <= set("ABCD")


MEGABYTE = 1_000_000
LONG = {
    "prose": "At 3.0 s, Person 1 turns and looks at Person 2, while the woman in a red dress smiles. ",
    "no end": "person 1 walks and looks at 3 s ",
    "commas": "a cup, ",
    "tags": "<think></gaze><answer>",
    "open tags": "<think>",
    "half tags": "<think ",
    "brackets": "((",
    "digits": "1",
    "points": ".",
    "quotes": '."',
    "blanks": " ",
    "lines": "\r\n",
    "NUL": "\0",
    "surrogates": "\ud800",
    "Chinese": "人物1在3秒时看向人物2，然后人物2微笑",
    "right to left": "האיש מביט בה ",
    "answers": "Answer: B\n",
    "times": "from 3 to ",
    "joiners": "and then ",
}


def seconds_for(text: str) -> float:
    RULES.summarise("Person 1 looked.")  # the dictionary is loaded once
    began = time.process_time()
    made = RULES.summarise(text, duration_s=10.0)
    took = time.process_time() - began
    packages.check(made, text)
    return took


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_of_any_kind_is_read_in_time(kind: str) -> None:
    """Work that grew with the square would take minutes."""
    assert seconds_for((LONG[kind] * (MEGABYTE // len(LONG[kind]) + 1))[: MEGABYTE // 5]) < 2.0


def test_a_megabyte_is_read_in_time() -> None:
    text = (LONG["prose"] * (MEGABYTE // len(LONG["prose"]) + 1))[:MEGABYTE]
    assert seconds_for(text) < 6.0  # under 2 s on a quiet machine


def test_time_grows_with_the_length_of_prose_that_does_not_repeat() -> None:
    def seconds(count: int) -> float:
        text = " ".join(f"At {k}.5 s, Person {k} turns and looks at the cup number {k}." for k in range(count))
        began = time.process_time()
        RULES.summarise(text)
        return time.process_time() - began

    seconds(100)
    assert seconds(1200) < 10 * max(seconds(300), 0.05)  # 4 times the text; 16 times the work would be quadratic


@pytest.mark.parametrize(
    "text", ["", " \n", "<think></think>", "<answer>B</answer>", "\0", "\ud800", "<<<>>>", "。", "?"]
)
def test_nothing_makes_no_claim(text: str) -> None:
    assert RULES.summarise(text).claims == ()
