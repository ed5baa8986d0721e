"""How a printed option is held against what was seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.oracle import reading
from tests.oracle.judge import Verdict
from tests.oracle.reading import NotUnderstood

NOBODY = {"no one", "nobody", "no pair", "no person", "to no person", "an object or place, no person"}
NOTHING = {"no gaze event", "no gesture", "none of them"}


def who(option: str, answer: frozenset[int], options: Sequence[str]) -> Verdict:
    """One person: it holds of them, and no option names them together with others of whom it holds, too. Several: they
    are all of whom it holds."""
    if option.lower() in NOBODY:
        return not answer
    named = reading.people(option)
    if len(named) > 1:
        return named == answer
    fuller = any(named < reading.people(o) <= answer for o in options if o.lower() not in NOBODY)
    return named <= answer and not fuller


def which_pair(option: str, answer: frozenset[frozenset[int]], options: Sequence[str]) -> Verdict:
    """A pair of whom it holds."""
    return not answer if option.lower() in NOBODY else reading.people(option) in answer


def kind(parse: Callable[[str], str]) -> Callable[[str, frozenset[str], Sequence[str]], Verdict]:
    """A kind there is, `parse` being the name of it."""

    def holds(option: str, answer: frozenset[str], options: Sequence[str]) -> Verdict:
        return not answer if option.lower() in NOTHING else parse(option) in answer

    return holds


def left_out(option: str, answer: tuple[frozenset[int], frozenset[int]], options: Sequence[str]) -> Verdict:
    """`answer`: who takes part and who is there. Several may be left out; each of them is a true answer."""
    inside, there = answer
    if option.lower() in {"everyone takes part", "everybody takes part", *NOBODY}:
        return there <= inside
    named = reading.people(option)
    if not named <= there:
        return None  # somebody who is not to be seen
    return not named & inside


def most(option: str, answer: dict[int, int], options: Sequence[str]) -> Verdict:
    """Who (or what) counts highest, alone."""
    best = max(answer.values(), default=0)
    top = {key for key, count in answer.items() if count == best}
    if "tie" in option.lower():
        return len(top) > 1
    return reading.people(option) == top


def most_common(option: str, answer: dict[str, int], options: Sequence[str]) -> Verdict:
    best = max(answer.values(), default=0)
    return best > 0 and [key for key, count in answer.items() if count == best] == [reading.gesture_type(option)]


def duration(option: str, answer: tuple[float, float], options: Sequence[str]) -> Verdict:
    """ "About 3.5 seconds" is false when another option comes nearer, and true when none does and it is not far off.

    `answer`: seconds, and by how much they may be wrong where boundaries were moved.
    """
    length, wrong = answer
    values = {text: _seconds(text) for text in options}
    nearest = min(values.values(), key=lambda value: abs(value - length))
    if values[option] != nearest:
        return False
    return True if abs(nearest - length) <= max(0.5, 0.25 * length) + wrong else None


def _seconds(option: str) -> float:
    found = re.fullmatch(r"(?:About |Roughly )?(\d+(?:\.\d+)?) (?:s|seconds?)", option)
    if not found:
        raise NotUnderstood(f"No duration: {option!r}")
    return float(found[1])


def order(first: list[tuple[int, int]], second: list[tuple[int, int]], which: str) -> bool:
    """`which` of before, after, overlap holds of the first against the second; what happens several times is one whole:
    it comes before when all of it has ended before any of the other starts, and overlaps when any of it does."""
    if which == "overlap":
        return any(a < d and c < b for a, b in first for c, d in second)
    if which == "after":
        first, second = second, first
    return max(end for _, end in first) <= min(start for start, _ in second)


def in_order(
    first: Callable[[str], bool], second: Callable[[str], bool]
) -> Callable[[str, Any, Sequence[str]], Verdict]:
    """`first(option)`: the option says that the first comes first; likewise `second`."""

    def holds(option: str, answer: tuple[list[Any], list[Any]], options: Sequence[str]) -> Verdict:
        a, b = answer
        words = option.lower()
        if words.startswith("neither"):
            return not a and not b
        if not a or not b:
            return None if a or b else False
        if "overlap" in words:
            return order(a, b, "overlap")
        if first(option) == second(option):
            raise NotUnderstood(f"No order: {option!r}")
        return order(a, b, "before" if first(option) else "after")

    return holds
