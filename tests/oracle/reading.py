"""Small pieces of printed English: times, people, names of events and gestures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tests.oracle.world import World

PERSON = r"Person (\d+)"
GAZE = {
    "mutual gaze": "mutual", "eye contact": "mutual", "joint attention": "joint", "shared attention": "joint",
    "gaze following": "following", "attention capture": "capture", "sudden gaze shift": "shift",
}  # fmt: skip
GAZE_NAME = r"(?:an? )?(mutual gaze|eye contact|joint attention|gaze following|attention capture|sudden gaze shift)"
GESTURE_NAME = r"(pointing|showing|giving|reaching)"
# "points at", "gives something to" and so on, in whatever form the verb comes
DOES = (
    r"(points?(?:ing)?(?: at)?|(?:shows?|showing)(?: something)?(?: to)?|(?:gives?|giving)(?: something)?(?: to)?|"
    + (r"reach(?:es|ing)?(?: towards| for)?)")
)


class NotUnderstood(AssertionError):
    """The oracle cannot read this text, or it names something that is not there."""


def gaze_type(words: str) -> str:
    words = re.sub(r"^an? ", "", words.strip().lower())
    if words not in GAZE:
        raise NotUnderstood(f"No kind of gaze event: {words!r}")
    return GAZE[words]


def gesture_type(words: str) -> str:
    for start, name in (("point", "pointing"), ("show", "showing"), ("giv", "giving"), ("reach", "reaching")):
        if words.strip().lower().startswith(start):
            return name
    raise NotUnderstood(f"No kind of gesture: {words!r}")


def people(words: str) -> frozenset[int]:
    """ "Person 1, Person 2 and Person 5" """
    found = [int(number) for number in re.findall(PERSON, words)]
    rest = re.sub(r"Person \d+|,| and |\s", "", words)
    if not found or rest or len(set(found)) != len(found):
        raise NotUnderstood(f"No people: {words!r}")
    return frozenset(found)


def window(groups: Iterable[str | None]) -> tuple[float, float]:
    """The two times of a window among its four groups (between .. and .., from .. to ..)."""
    a, b = (float(group) for group in groups if group is not None)
    if b <= a:
        raise NotUnderstood(f"The window from {a} s to {b} s is empty.")
    return a, b


def the(world: World, start: float, end: float | None, fits: Callable[[int], bool]) -> int:
    """The one thing that starts (and ends) at the printed times; there must be exactly one."""
    found = [
        index
        for index, thing in enumerate(world.things)
        if fits(index)
        and abs(world.seconds[thing.start] - world.zero - start) <= world.slack
        and (end is None or abs(world.seconds[thing.end] - world.zero - end) <= world.slack)
    ]
    if len(found) != 1:
        raise NotUnderstood(f"{len(found)} things fit what starts at {start} s and ends at {end} s.")
    return found[0]


def the_gesture(world: World, who: int, kind: str, start: float, end: float | None, to: int | None = None) -> int:
    def fits(index: int) -> bool:
        thing = world.things[index]
        return thing.kind == "gesture" and (thing.type, thing.first) == (kind, who) and to in (None, thing.second)

    return the(world, start, end, fits)


def the_gaze(world: World, who: frozenset[int], kind: str, start: float, end: float | None) -> int:
    return the(world, start, end, lambda index: (world.things[index].type, world.things[index].people) == (kind, who))
