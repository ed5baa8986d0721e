"""Slots: filled, listed, escaped, refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.formats.errors import FormatError
from ml.questions import slots

NAMES = {"a": "Person 3", "6b-f": "Person 10"}


def clock(frame: int) -> float:
    return frame / 4


def test_persons_and_times_are_filled() -> None:
    text = "Does {p:a} look at {p:6b-f} at {t:30}?"
    assert slots.render(text, NAMES, clock) == "Does Person 3 look at Person 10 at 7.5 s?"
    assert slots.persons_in(text) == ["a", "6b-f"]
    assert slots.frames_in(text) == [30]


def test_each_is_listed_once_in_order() -> None:
    text = "{p:6b-f}{t:9}{p:a}{t:2}{p:6b-f}{t:9}"
    assert (slots.persons_in(text), slots.frames_in(text)) == (["6b-f", "a"], [9, 2])


def test_doubled_braces_are_literal() -> None:
    assert slots.render("{{p:a}} {{{p:a}}}", NAMES, clock) == "{p:a} {Person 3}"
    assert slots.persons_in("{{p:a}}") == []


@pytest.mark.parametrize("text", ["{", "}", "{a}", "{p:}", "{t:x}", "{t:-3}", "{p:a", "p:a}", "{x:1}", "{{}"])
def test_other_braces_are_refused(text: str) -> None:
    for act in (lambda: slots.render(text, NAMES, clock), lambda: slots.persons_in(text)):
        with pytest.raises(FormatError, match="brace"):
            act()


def test_an_unknown_person_is_refused() -> None:
    with pytest.raises(FormatError, match="“z”"):
        slots.render("{p:z}", NAMES, clock)


def test_time_before_the_clip_is_never_minus_zero() -> None:
    assert slots.render("{t:0}", {}, lambda frame: -0.04) == "0.0 s"


@given(st.text())
def test_literal_text_comes_back(text: str) -> None:
    assert slots.render(slots.literal(text), {}, clock) == text
