"""Questions on gaze, as they are printed. One reader per way of asking; None: the question is not asked this way."""

from __future__ import annotations

import re
from typing import Any

from tests.oracle import options, reading
from tests.oracle.asking import (
    AT,
    GX,
    GY,
    WITHIN,
    G,
    P,
    Q,
    W,
    chosen,
    earliest,
    gaze_types,
    match,
    partners,
    span,
    spans,
    types,
)
from tests.oracle.judge import Ask
from tests.oracle.reading import (
    PERSON,
    gaze_type,
    people,
    the_gaze,
)
from tests.oracle.world import World


def eye_contact_partner(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"who makes eye contact with {P} {W}\?",
        rf"with whom does {P} share mutual gaze {W}\?",
        rf"{W}, {P} looks at someone who looks back\. Who is it\?",
        rf"whose eyes does {P} meet {W}\?",
    )
    if not found:
        return None
    who, when = int(found["p"]), span(found)

    def look(world: World) -> frozenset[int]:
        return partners(world, chosen(world, world.during(*when), type="mutual", has=frozenset((who,))), who)

    return Ask(look, options.who)


def whose_gaze_is_followed(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"whose gaze does {P} follow {W}\?",
        rf"{W}, {P} looks where another person looked just before\. Who looked first\?",
        rf"which person's gaze is followed by {P} {W}\?",
    )
    if not found:
        return None
    who, when = int(found["p"]), span(found)

    def look(world: World) -> frozenset[Any]:
        its = chosen(world, world.during(*when), type="following", second=who)
        return frozenset(world.things[index].first for index in its)

    return Ask(look, options.who)


def which_interaction(question: str, world: World) -> Ask | None:
    kind = r"(?:gaze interaction|kind of gaze event|gaze event)"
    found = match(
        question,
        rf"which {kind} involves {G} {W}\?",
        rf"what best describes the gaze of {G} {W}\?",
        rf"which {kind} do {G} take part in together {W}\?",
        rf"{W}, which {kind} does {G} have a part in\?",
    )
    if not found:
        return None
    who, when = people(found["g"]), span(found)
    return Ask(lambda world: types(world, chosen(world, world.during(*when), kind="gaze", has=who)), gaze_types)


def how_long_together(question: str, world: World) -> Ask | None:
    doing = r"(?P<what>keep eye contact|share joint attention)"
    found = match(
        question,
        rf"for about how long do {G} {doing} from {AT} on\?",
        rf"how long does the (?P<what>mutual gaze|joint attention) of {G} that begins at {AT} last\?",
        rf"at {AT}, {G} begin to {doing}\. About how long does it last\?",
    )
    if not found:
        return None
    kind = "joint" if "joint" in found["what"] else "mutual"
    thing = the_gaze(world, people(found["g"]), kind, float(found["at"]), None)
    return Ask(lambda world: world.length(thing), options.duration)


def which_gaze_first(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"which happens first for {G} {W}: {GX} or {GY}\?",
        rf"in what order do {GX} and {GY} of {G} happen {W}\?",
        rf"{W}, {G} take part in {GX} and in {GY}\. Which is first\?",
    )
    if not found:
        return None
    who, when, x, y = people(found["g"]), span(found), gaze_type(found["x"]), gaze_type(found["y"])

    def look(world: World) -> tuple[list[Any], list[Any]]:
        there = list(world.during(*when))
        return tuple(spans(world, chosen(world, there, type=kind, has=who)) for kind in (x, y))  # type: ignore[return-value]

    return Ask(look, options.in_order(lambda o: gaze_type(o) == x, lambda o: gaze_type(o) == y))


def which_pair(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"which two people make eye contact {W}\?",
        rf"which pair shares mutual gaze {W}\?",
        rf"{W}, which two people look at each other\?",
        rf"who look into each other's eyes {W}\?",
    )
    if not found:
        return None
    when = span(found)

    def look(world: World) -> frozenset[frozenset[int]]:
        return frozenset(world.things[index].people for index in chosen(world, world.during(*when), type="mutual"))

    return Ask(look, options.which_pair)


def who_leads(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"who looks first and has their gaze followed by another person {W}\?",
        rf"{W}, one person follows another's gaze\. Who leads\?",
        rf"whose gaze is followed by somebody else {W}\?",
        rf"who is the leader of the gaze following {W}\?",
    )
    if not found:
        return None
    when = span(found)

    def look(world: World) -> frozenset[Any]:
        return frozenset(world.things[index].first for index in chosen(world, world.during(*when), type="following"))

    return Ask(look, options.who)


def who_follows(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"who follows the gaze of {P} {W}\?",
        rf"{W}, who looks where {P} looked just before\?",
        rf"which person is the follower of {P}'s gaze {W}\?",
    )
    if not found:
        return None
    who, when = int(found["p"]), span(found)

    def look(world: World) -> frozenset[Any]:
        its = chosen(world, world.during(*when), type="following", first=who)
        return frozenset(world.things[index].second for index in its)

    return Ask(look, options.who)


def one_way(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"is the gaze following between {P} and {Q} one-way {W}\?",
        rf"{W}, who follows whose gaze: {P}, {Q}, or each the other's\?",
        rf"does only one of {P} and {Q} follow the other's gaze {W}\?",
    )
    if not found:
        return None
    both, when = frozenset((int(found["p"]), int(found["q"]))), span(found)

    def look(world: World) -> frozenset[tuple[Any, Any]]:
        its = [world.things[index] for index in chosen(world, world.during(*when), type="following", people=both)]
        return frozenset((thing.second, thing.first) for thing in its)  # who follows whom

    def holds(option: str, answer: frozenset[tuple[Any, Any]], _: Any) -> bool:
        says = re.fullmatch(rf"One-way: {PERSON} follows {PERSON}", option)
        if says:
            return answer == {(int(says[1]), int(says[2]))}
        if option == "Both ways: each follows the other":
            return len(answer) == 2
        if option == "Neither follows the other":
            return not answer
        raise reading.NotUnderstood(option)

    return Ask(look, holds)


def who_is_left_out(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"who is NOT part of the {GX} {W}\?",
        rf"{W}, several people take part in {GX}\. Who does not\?",
        rf"which person stays out of the {GX} {W}\?",
    )
    if not found:
        return None
    kind, when = gaze_type(found["x"]), span(found)

    def look(world: World) -> tuple[frozenset[int], frozenset[int]]:
        return partners(world, chosen(world, world.during(*when), type=kind), -1), frozenset(world.in_sight(*when))

    return Ask(look, options.left_out)


def what_comes_after(question: str, world: World) -> Ask | None:
    found = match(
        question,
        rf"{G} take part in {GX} {W}\. "
        r"Which gaze event starts first in the (?P<s>\d+) seconds after it\?",
        rf"which gaze event comes next, {WITHIN}, after the {GX} of {G} {W}\?",
    )
    if not found:
        return None
    thing = the_gaze(world, people(found["g"]), gaze_type(found["x"]), *span(found))
    within = float(found["s"])

    def look(world: World) -> frozenset[str]:
        return types(world, earliest(world, chosen(world, world.after(thing, within), kind="gaze")))

    return Ask(look, gaze_types)
