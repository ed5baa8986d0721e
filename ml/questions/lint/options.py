"""Do the options differ in what they say?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ml.questions.lint import words
from ml.questions.lint.findings import Finding, quoted
from ml.questions.lint.one import One, World
from ml.text import answers, times

CLOSEST = 0.25  # seconds: half the step of a clip stored at 2 frames a second
MOST = 26


def check(one: One, world: World) -> Iterator[Finding]:
    listed = [(answers.letter_of(at), text) for at, text in enumerate(one.words[:MOST]) if text]
    for (a, left), (b, right) in combinations(listed, 2):
        if words.same(left, right):
            yield Finding("duplicate_options", f"Options {a} and {b} both say {quoted(left)}.", one.at)
        elif words.nearly_same(left, right):
            yield Finding(
                "near_duplicate_options", f"Options {a} {quoted(left)} and {b} {quoted(right)} hardly differ.", one.at
            )
        else:
            yield from _too_close(one, a, left, b, right)


def _too_close(one: One, a: str, left: str, b: str, right: str) -> Iterator[Finding]:
    first, second = times.duration(left), times.duration(right)
    if first is None or second is None or times.without(left).casefold() != times.without(right).casefold():
        return
    if abs(first - second) < CLOSEST - 1e-9:
        yield Finding(
            "options_too_close",
            f"Options {a} {quoted(left)} and {b} {quoted(right)} are {abs(first - second):.2f} s apart.",
            one.at,
        )
