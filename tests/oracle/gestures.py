"""Questions on gestures, as they are printed. One reader per way of asking; None: not asked this way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.oracle import options, reading
from tests.oracle.asking import (
    AT,
    DX,
    HX,
    HY,
    WITHIN,
    M,
    N,
    P,
    Q,
    W,
    chosen,
    clauses,
    earliest,
    gesture_types,
    match,
    referred,
    span,
    spans,
    types,
)
from tests.oracle.judge import Ask
from tests.oracle.reading import (
    PERSON,
    gesture_type,
    the_gesture,
)
from tests.oracle.world import World


def to_whom(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"(?:whom|at whom|to whom|towards whom) does {P} {DX} {W}\?",
        rf"{W}, {P} makes a {HX} gesture\. Whom is it for\?",
        rf"{W}, to whom does {P} make a {HX} gesture\?",
        rf"who is the target of @ {W}\?",
    )
    if not found:
        return None
    who, kind, when = int(found["p"]), gesture_type(found["x"]), span(found)

    def look(world: World) -> frozenset[int | None]:
        its = chosen(world, world.during(*when), type=kind, first=who)
        return frozenset(world.things[index].second for index in its)  # None: an object or a place

    def holds(option: str, answer: frozenset[int | None], _: Any) -> bool:
        named = frozenset() if option.lower() in options.NOBODY else reading.people(option)
        return named <= answer if named else not answer - {None}

    return Ask(look, holds)


def from_whom(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"who {DX} {P} {W}\?",
        rf"{W}, who makes a {HX} gesture to {P}\?",
        rf"which person's {HX} gesture is meant for {P} {W}\?",
    )
    if not found:
        return None
    who, kind, when = int(found["p"]), gesture_type(found["x"]), span(found)

    def look(world: World) -> frozenset[Any]:
        its = chosen(world, world.during(*when), type=kind, second=who)
        return frozenset(world.things[index].first for index in its)

    return Ask(look, options.who)


def which_gesture(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"which gesture does {P} make(?: towards {Q})? {W}\?",
        rf"what type of gesture does {P} direct at {Q} {W}\?",
        rf"what type of gesture is {P} making {W}\?",
        rf"{W}, how would you name the gesture of {P}(?: towards {Q})?\?",
    )
    if not found:
        return None
    who, to, when = int(found["p"]), found.groupdict().get("q"), span(found)

    def look(world: World) -> frozenset[str]:
        its = chosen(world, world.during(*when), kind="gesture", first=who)
        return types(world, (i for i in its if to is None or world.things[i].second == int(to)))

    return Ask(look, gesture_types)


def who_is_earlier(question: str, world: World) -> Ask | None:
    one, two = rf"{P}'s {HX} gesture", rf"{Q}'s {HY} gesture"
    found = match(
        question,
        rf"in what order do {one} and {two} happen {W}\?",
        rf"{W}, which comes first: {one} or {two}\?",
        rf"who gestures earlier {W}: {P} \({HX}\) or {Q} \({HY}\)\?",
    )
    if not found:
        return None
    when, who = span(found), (int(found["p"]), int(found["q"]))
    kinds = gesture_type(found["x"]), gesture_type(found["y"])

    def look(world: World) -> Any:
        there = list(world.during(*when))
        return tuple(spans(world, chosen(world, there, type=k, first=p)) for p, k in zip(who, kinds, strict=True))

    def says(number: int) -> Callable[[str], bool]:
        return lambda option: option == f"Person {number} gestures first"

    return Ask(look, options.in_order(says(who[0]), says(who[1])))


def how_long_gesture(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"for about how long does the {HX} gesture last that {P} begins at {AT}\?",
        rf"how long does {P} keep up the {HX} gesture that starts at {AT}\?",
        rf"at {AT}, {P} begins a {HX} gesture\. About how long does it last\?",
    )
    if not found:
        return None
    thing = the_gesture(world, int(found["p"]), gesture_type(found["x"]), float(found["at"]), None)
    return Ask(lambda world: world.length(thing), options.duration)


def who_gestures_most(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"who makes the most gestures {W}\?",
        rf"which person makes the largest number of gestures {W}\?",
        rf"{W}, which person gestures most often\?",
    )
    if not found:
        return None
    when = span(found)

    def look(world: World) -> dict[Any, int]:
        return Counter(world.things[index].first for index in chosen(world, world.during(*when), kind="gesture"))

    return Ask(look, options.most)


def commonest_type(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"which gesture do people make most frequently {W}\?",
        rf"{W}, which gesture is made most often\?",
        rf"which type of gesture is the most common {W}\?",
    )
    if not found:
        return None
    when = span(found)

    def look(world: World) -> dict[str, int]:
        return Counter(world.things[index].type for index in chosen(world, world.during(*when), kind="gesture"))

    return Ask(look, options.most_common)


def who_is_next(question: str, world: World) -> Ask | None:
    found = match(
        question,
        *clauses(rf"{W}\. Who starts the next gesture {WITHIN}\?"),
        rf"after @ {W}, who gestures next {WITHIN}\?",
    )
    if not found:
        return None
    thing, within = referred(found, world), float(found["s"])

    def look(world: World) -> frozenset[Any]:
        its = earliest(world, chosen(world, world.after(thing, within), kind="gesture"))
        return frozenset(world.things[index].first for index in its)

    return Ask(look, options.who)


def whom_next(question: str, world: World) -> Ask | None:
    found = match(
        question,
        *clauses(rf"{W}\. To whom does {N} gesture next {WITHIN}\?"),
        *clauses(rf"{W}\. Whom is the next gesture of {N} for, {WITHIN}\?"),
    )
    if not found:
        return None
    thing, within, who = referred(found, world), float(found["s"]), int(found["n"])

    def look(world: World) -> frozenset[Any]:
        its = earliest(world, chosen(world, world.after(thing, within), kind="gesture", first=who))
        return frozenset(world.things[index].second for index in its) - {None}

    return Ask(look, options.who)


def is_it_returned(question: str, world: World) -> Ask | None:
    found = match(
        question,
        *clauses(rf"{W}\. Does {N} gesture back at {M} {WITHIN} after it\?"),
        *clauses(rf"{W}\. Is the gesture returned by {N} {WITHIN}\?"),
    )
    if not found:
        return None
    thing, within, who, back = referred(found, world), float(found["s"]), int(found["n"]), int(found["p"])

    def look(world: World) -> frozenset[Any]:
        its = chosen(world, world.after(thing, within), kind="gesture", first=who)
        return frozenset(world.things[index].second for index in its) - {None}

    def holds(option: str, answer: frozenset[Any], _: Any) -> bool:
        if option == "No, at no person":
            return not answer
        named = [int(number) for number in re.findall(PERSON, option)]
        if re.fullmatch(rf"Yes, at {PERSON}", option):
            return named == [back] and answer == {back}
        if re.fullmatch(rf"No, only at {PERSON}", option):
            return back not in named and answer == set(named)
        if re.fullmatch(rf"Yes, and at {PERSON}, too", option):
            return answer == {back, *named}
        raise reading.NotUnderstood(option)

    return Ask(look, holds)
