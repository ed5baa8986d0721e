"""Questions on gaze and gestures together, as they are printed. One reader per way of asking; None: not this way."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tests.oracle import options
from tests.oracle.asking import (
    GK,
    GX,
    HY,
    WITHIN,
    G,
    N,
    P,
    W,
    chosen,
    clauses,
    earliest,
    gaze_types,
    gesture_types,
    match,
    partners,
    referred,
    span,
    spans,
    types,
)
from tests.oracle.judge import Ask
from tests.oracle.reading import (
    GAZE_NAME,
    gaze_type,
    gesture_type,
    people,
    the_gaze,
)
from tests.oracle.world import World


def gaze_or_gesture_first(question: str, world: World) -> Ask | None:
    gaze, hand = rf"the {GX} of {G}", rf"{P}'s {HY} gesture"
    found = match(
        question,
        rf"which comes first {W}: {gaze} or {hand}\?",
        rf"in what order do {gaze} and {hand} happen {W}\?",
        rf"{W}, how does {gaze} lie in time to {hand}\?",
    )
    if not found:
        return None
    when, who, kind = span(found), people(found["g"]), gaze_type(found["x"])
    maker, gesture = int(found["p"]), gesture_type(found["y"])

    def look(world: World) -> tuple[list[Any], list[Any]]:
        there = list(world.during(*when))
        looks = chosen(world, there, type=kind, has=who)
        return spans(world, looks), spans(world, chosen(world, there, type=gesture, first=maker))

    def named(says: re.Match[str] | None) -> bool:
        return says is not None and (says[1] == "gaze event" or gaze_type(says[1]) == kind)

    gaze = rf"({GAZE_NAME.replace('(mutual', '(?:mutual')}|gaze event)"

    def gaze_first(option: str) -> bool:
        return named(re.fullmatch(rf"The {gaze} ends before the gesture starts", option))

    def gesture_first(option: str) -> bool:
        return named(re.fullmatch(rf"The gesture ends before the {gaze} starts", option))

    return Ask(look, options.in_order(gaze_first, gesture_first))


def eye_contact_during(question: str, world: World) -> Ask | None:
    found = match(
        question,
        *(f"while {c}" for c in clauses(rf"\({W}\), who makes eye contact with {N} during the gesture\?")),
        *clauses(rf"{W}\. With whom does {N} share mutual gaze during this gesture\?"),
        rf"with whom does {N} make eye contact during @ {W}\?",
    )
    if not found:
        return None
    thing, who = referred(found, world), int(found["n"])

    def look(world: World) -> frozenset[int]:
        return partners(world, chosen(world, world.overlapping(thing), type="mutual", has=frozenset((who,))), who)

    return Ask(look, options.who)


def which_pair_during(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"which two people make eye contact during @ {W}\?",
        rf"which pair shares mutual gaze during @ {W}\?",
        *clauses(rf"{W}\. Which pair shares mutual gaze during this gesture\?"),
    )
    if not found:
        return None
    thing = referred(found, world)

    def look(world: World) -> frozenset[frozenset[int]]:
        its = chosen(world, world.overlapping(thing), type="mutual")
        return frozenset(world.things[index].people for index in its)

    return Ask(look, options.which_pair)


def gaze_after_gesture(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"which gaze event involving {N} comes next, {WITHIN}, after @ {W}\?",
        *clauses(rf"{W}\. Which gaze event of {N} starts first {WITHIN} after the gesture ends\?"),
    )
    if not found:
        return None
    thing, within, who = referred(found, world), float(found["s"]), frozenset((int(found["n"]),))

    def look(world: World) -> frozenset[str]:
        return types(world, earliest(world, chosen(world, world.after(thing, within), kind="gaze", has=who)))

    return Ask(look, gaze_types)


def gesture_after_gaze(question: str, world: World) -> Ask | None:
    told = rf"{G} (?:take part in|takes part in|shows) {GX} {W}\."
    found = match(
        question,
        rf"which gesture does {N} start first {WITHIN} after the gaze event "
        rf"\({GX}\) of {G} {W}\?",
        rf"{told} Which gesture does {N} make next,? {WITHIN}(?: after this gaze event)?\?",
        rf"{told} Which gesture of {N} starts first {WITHIN}(?: after this gaze event)?\?",
        rf"the gaze of {G} shifts suddenly {W}\. Which gesture of {N} starts(?: first)? {WITHIN} after it\?",
    )
    if not found:
        return None
    kind = gaze_type(found.groupdict().get("x") or "a sudden gaze shift")
    thing = the_gaze(world, people(found["g"]), kind, *span(found))
    within, who = float(found["s"]), int(found["n"])

    def look(world: World) -> frozenset[str]:
        return types(world, earliest(world, chosen(world, world.after(thing, within), kind="gesture", first=who)))

    return Ask(look, gesture_types)


def who_shares_gaze_during(question: str, world: World) -> Ask | None:
    found = match(
        question,
        *clauses(rf"{W}\. Who takes? part in {GK} during this gesture\?"),
        rf"which people take part in {GK} during @ "
        rf"{W}\?",
    )
    if not found:
        return None
    thing, kind = referred(found, world), gaze_type(found["k"])
    return Ask(lambda world: partners(world, chosen(world, world.overlapping(thing), type=kind), -1), options.who)


def who_is_in_most(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"counting gaze events and gestures together, who is in most of them {W}\?",
        rf"who takes part in the most gaze events and gestures, counted together, {W}\?",
        rf"{W}, which person has a part in the largest number of gaze and gesture events\?",
    )
    if not found:
        return None
    when = span(found)

    def look(world: World) -> dict[int, int]:
        return Counter(number for index in world.during(*when) for number in world.things[index].people)

    return Ask(look, options.most)
