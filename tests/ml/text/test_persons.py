"""Person mentions: forms, lists, amounts that are none, and what the released reward finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.text import persons


@pytest.mark.parametrize(
    ("text", "numbers", "plural", "lower", "short"),
    [
        ("Person 2", (2,), False, False, False),
        ("Persons 1 and 2", (1, 2), True, False, False),
        ("Persons 1, 2 and 3", (1, 2, 3), True, False, False),
        ("Persons 1, 2, and 13", (1, 2, 13), True, False, False),
        ("Person 1 and 2", (1, 2), True, False, False),
        ("persons 0 & 4", (0, 4), True, True, False),
        ("people 3 or 4", (3, 4), True, True, False),
        ("Persons 1 to 3", (1, 2, 3), True, False, False),
        ("Persons 5-7", (5, 6, 7), True, False, False),
        ("P3", (3,), False, False, True),
        ("p12", (12,), False, True, True),
        ("person 7", (7,), False, True, False),
        ("Person #4", (4,), False, False, False),
        ("Person2", (2,), False, False, False),
        ("PERSON 2", (2,), False, False, False),
    ],
)
def test_one_mention(text: str, numbers: tuple[int, ...], plural: bool, lower: bool, short: bool) -> None:
    for around in (text, f"Then {text}.", f"({text})", f"{text}'s gaze", f"“{text}”, at 3.0 s"):
        (found,) = persons.mentions(around)
        assert (found.numbers, found.plural, found.lower, found.short) == (numbers, plural, lower, short)
        assert around[found.start : found.end] == text


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Person 1 and 2 seconds later", {1}),
        ("Persons 1 and 2 s", {1}),
        ("Person 1, Person 2 and 3 others", {1, 2}),
        ("Person 4 and 5 other people", {4}),
        ("Person 0 points 3 times", {0}),
        ("Persons 1 and 3.5 s", {1}),
        ("Person 1 and Person 2", {1, 2}),
        ("Person 1 at 0:07", {1}),
        ("between Person 3 and 5.0 s", {3}),
        ("an MP3 of P5.5 and 3P, a personal 4, step 6", set()),
        ("Persons 9 to 2", {9}),
        ("Persons 1 to 900", {1}),
        ("nobody", set()),
    ],
)
def test_who_is_named(text: str, numbers: set[int]) -> None:
    assert persons.named(text) == numbers


@given(st.lists(st.integers(0, 999), min_size=1, max_size=6, unique=True), st.text("abc .,;()\n", max_size=10))
def test_what_is_listed_is_read_back_in_order(numbers: list[int], around: str) -> None:
    text = f"{around} {persons.listed(numbers)} {around}"
    assert persons.in_order(text) == numbers


@given(st.lists(st.tuples(st.sampled_from(["Person ", "P", "Person  "]), st.integers(0, 99)), max_size=6))
def test_standard_forms_are_what_the_released_reward_finds(parts: list[tuple[str, int]]) -> None:
    text = "; ".join(f"{form}{number} looks" for form, number in parts)
    assert persons.released(text) == persons.named(text) == {number for _, number in parts}
    assert all(mention.standard for mention in persons.mentions(text))


def test_the_released_reward_misses_plural_and_lower_case_forms() -> None:
    assert persons.released("Persons 1 and 2, person 3, p4") == frozenset()
    assert persons.named("Persons 1 and 2, person 3, p4") == {1, 2, 3, 4}


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error_and_mentions_do_not_overlap(text: str) -> None:
    found = persons.mentions(text)
    assert all(a.end <= b.start for a, b in zip(found, found[1:], strict=False))
    assert all(text[m.start : m.end].strip() for m in found)
    assert persons.named(persons.without(text, "somebody")) == frozenset()


@given(st.permutations(range(6)))
def test_renumbering_keeps_the_wording(order: list[int]) -> None:
    text = "Persons 0, 1 and 2 see P3 at 4.0 s; person 5 gives 2 cups."
    new = dict(enumerate(order))
    again = persons.renumbered(text, new)
    assert persons.named(again) == {new[n] for n in (0, 1, 2, 3, 5)}
    assert re.sub(r"\d", "#", again) == re.sub(r"\d", "#", text)
    assert "4.0 s" in again and "2 cups" in again
