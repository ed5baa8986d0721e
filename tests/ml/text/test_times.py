"""Times in text: forms, kinds, and texts moved to another clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.text import times


@pytest.mark.parametrize(
    ("text", "kind", "low", "high"),
    [
        ("at 7.5 s", "point", 7.5, 7.5),
        ("at 7.5s.", "point", 7.5, 7.5),
        ("around 7 seconds", "point", 7, 7),
        ("t=3.0s", "point", 3, 3),
        ("0:07", "point", 7, 7),
        ("1:02:03.5", "point", 3723.5, 3723.5),
        ("after 3 s", "point", 3, 3),
        ("from 3 to 5 s", "span", 3, 5),
        ("between 3.0s and 5.0s", "span", 3, 5),
        ("from 5.0 s until 3.0 s", "span", 5, 3),
        ("3.0-5.0 s", "span", 3, 5),
        ("3.0s–5.0s", "span", 3, 5),
        ("[3.0s, 5.0s]", "span", 3, 5),
        ("(7.0-9.0 s)", "span", 7, 9),
        ("[0:03]-[0:05]", "span", 3, 5),
        ("from 0:58 to 1:02", "span", 58, 62),
        ("for 2.5 seconds", "length", 2.5, 2.5),
        ("lasts about 4 s", "length", 4, 4),
        ("2 seconds later", "length", 2, 2),
        ("a 3-second clip", "length", 3, 3),
        ("within 3 s", "length", 3, 3),
        ("in the first 3 s", "length", 3, 3),
        ("2.5 s", "bare", 2.5, 2.5),
        ("two seconds", "bare", 2, 2),
        ("-1.5 s", "bare", -1.5, -1.5),
        ("250 ms", "bare", 0.25, 0.25),
        ("1 min 5 s", "bare", 65, 65),
        ("0.0 seconds", "bare", 0, 0),
    ],
)
def test_one_time(text: str, kind: str, low: float, high: float) -> None:
    (found,) = times.mentions(text)
    assert (found.kind, found.low, found.high) == (kind, pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    "text",
    ["between 3 and 5 people", "Person 3 and Person 5", "25 fps", "4 steps", "P3 s", "version 1.2.3 s", "12",
     "3 to 5", "Person 2 sits", "5 students", "1:2", "a ratio of 16:9"],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    assert times.mentions(text) == []


def test_several_times_in_one_sentence() -> None:
    text = "At 3.5 s, 2 s before Person 1 points (6.0-7.5 s), from 1 to 2 s and for 4 seconds; at 8.0 s and 9.0 s."
    found = [(m.kind, m.low, m.high) for m in times.mentions(text)]
    assert found == [
        ("point", 3.5, 3.5), ("length", 2, 2), ("span", 6, 7.5), ("span", 1, 2), ("length", 4, 4), ("point", 8, 8),
        ("point", 9, 9),
    ]  # fmt: skip
    assert times.moments(text) == [3.5, 6, 7.5, 1, 2, 8, 9]


def test_a_number_of_persons_is_no_beginning_of_a_span() -> None:
    assert [m.kind for m in times.mentions("Person 3 to 5 s")] == ["point"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2.5 s", 2.5), ("About 2.5 seconds", 2.5), ("From 1 to 2 s", None), ("Person 2", None), ("2 s or 3 s", None),
     ("Eight seconds", 8)],
)  # fmt: skip
def test_a_duration_is_a_text_with_one_time(text: str, seconds: float | None) -> None:
    assert times.duration(text) == seconds


tenths = st.integers(0, 6000).map(lambda n: n / 10)


@given(tenths, tenths, st.sampled_from(["from {} to {} s", "between {} s and {} s", "{}-{} s", "[{} s, {} s]"]))
def test_spans_are_read_as_written(low: float, high: float, form: str) -> None:
    (found,) = times.mentions(f"Look {form.format(low, high)}.")
    assert (found.kind, found.values) == ("span", (low, high))


@given(st.lists(tenths, min_size=1, max_size=4), st.integers(-50, 50).map(lambda n: n / 10))
def test_moving_moves_moments_and_leaves_the_rest(moments: list[float], by: float) -> None:
    text = " then ".join(f"at {moment:.1f} s Person 2 looks for 3 seconds" for moment in moments)
    again = times.shifted(text, by)
    assert times.moments(again) == pytest.approx([moment + by for moment in moments])
    assert again.count("for 3 seconds") == len(moments)
    assert times.shifted(again, -by) == text


@given(st.integers(0, 99), st.integers(0, 59))
def test_clock_forms(minutes: int, seconds: int) -> None:
    assert times.moments(f"{minutes}:{seconds:02d}") == [minutes * 60 + seconds]


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error_and_mentions_do_not_overlap(text: str) -> None:
    found = times.mentions(text)
    assert all(a.end <= b.start for a, b in zip(found, found[1:], strict=False))
    times.shifted(text, 1.0)
