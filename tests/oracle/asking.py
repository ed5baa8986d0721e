"""What the readers of questions share: pieces of patterns, and picking things out of a world."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from tests.oracle import options
from tests.oracle.judge import Ask
from tests.oracle.reading import (
    DOES,
    GAZE_NAME,
    GESTURE_NAME,
    gaze_type,
    gesture_type,
    the_gesture,
    window,
)
from tests.oracle.world import World

Reader = Callable[[str, World], Ask | None]


def match(question: str, *patterns: str) -> re.Match[str] | None:
    """The first pattern that fits the whole question; case of the first letter does not matter.

    "@" stands for both ways to name somebody's gesture: "Person 1's giving gesture", "the giving gesture of Person 1".
    """
    ways = (rf"{P}'s {HX} gesture", rf"the {HX} gesture of {P}")
    for pattern in (pattern.replace("@", way) for pattern in patterns for way in ways):
        found = re.fullmatch(pattern, question) or re.fullmatch(pattern, question[:1].lower() + question[1:])
        if found:
            return found
    return None


def win(name: str = "") -> str:
    """A window whose four times are named groups."""
    time = [rf"(?P<{name}{letter}>\d+\.\d) s" for letter in "abcd"]
    return rf"(?:between {time[0]} and {time[1]}|from {time[2]} to {time[3]})"


def span(found: re.Match[str], name: str = "") -> tuple[float, float]:
    return window([found[f"{name}{letter}"] for letter in "abcd"])


def person(name: str) -> str:
    return rf"Person (?P<{name}>\d+)"


def group(name: str) -> str:
    return rf"(?P<{name}>(?:Person \d+, )*(?:Person \d+ and )?Person \d+)"


def gaze_name(name: str) -> str:
    return GAZE_NAME.replace("(mutual", f"(?P<{name}>mutual")


def gesture_name(name: str) -> str:
    return GESTURE_NAME.replace("(point", f"(?P<{name}>point")


def does(name: str) -> str:
    return f"(?P<{name}>{DOES[1:]}"


# The pieces that patterns are made of; a letter is the name under which a match finds the piece again.
W, G = win(), group("g")
P, Q, N, M = (person(name) for name in "pqnm")
GX, GY, GK = (gaze_name(name) for name in "xyk")
HX, HY, DX = gesture_name("x"), gesture_name("y"), does("x")
AT, WITHIN = r"(?P<at>\d+\.\d) s", r"within (?P<s>\d+) seconds"


def chosen(world: World, indices: Iterable[int], **wanted: Any) -> list[int]:
    """Of some things those with these attributes; `has`: people who are all in it."""
    has = wanted.pop("has", frozenset())
    return [
        index
        for index in indices
        if has <= world.things[index].people
        and all(getattr(world.things[index], name) == value for name, value in wanted.items())
    ]


def spans(world: World, indices: Iterable[int]) -> list[tuple[int, int]]:
    return [(world.things[index].start, world.things[index].end) for index in indices]


def earliest(world: World, indices: Iterable[int]) -> list[int]:
    """Those that start first: more than one when they start on the same frame."""
    listed = list(indices)
    first = min((world.things[index].start for index in listed), default=-1)
    return [index for index in listed if world.things[index].start == first]


def partners(world: World, indices: Iterable[int], who: int) -> frozenset[int]:
    """Everybody in those things but one person."""
    return frozenset().union(*(world.things[index].people for index in indices)) - {who}


def types(world: World, indices: Iterable[int]) -> frozenset[str]:
    return frozenset(world.things[index].type for index in indices)


def referred(found: re.Match[str], world: World) -> int:
    """The gesture that the question names by maker, kind and times."""
    to = found.groupdict().get("q")
    return the_gesture(world, int(found["p"]), gesture_type(found["x"]), *span(found), None if to is None else int(to))


def clauses(rest: str) -> list[str]:
    """The two ways to name a gesture in a sentence of its own, followed by the rest of the question."""
    return [
        rf"{P} makes a {HX} gesture {rest}",
        rf"{P} {DX} {Q} {rest}",
    ]


gaze_types = options.kind(gaze_type)
gesture_types = options.kind(gesture_type)
