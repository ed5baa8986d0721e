"""Open-ended items: their answer is a few sentences, each of which must be true.

The first sentence tells what the question asks about; the others tell what goes with it, comes after it or is missing.
A sentence that prints times must fit exactly one thing. Whatever it says besides is checked in any world.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tests.oracle import reading
from tests.oracle.asking import chosen, earliest, partners
from tests.oracle.reading import NotUnderstood, gesture_type, people, the_gaze, the_gesture
from tests.oracle.world import World

Check = Callable[[World], bool]
TIMES = r"from (?P<a>\d+\.\d) s to (?P<b>\d+\.\d) s"
PEOPLE = r"(?P<g>(?:Person \d+, )*(?:Person \d+ and )?Person \d+)"
_ONE = r"Person (?P<p>\d+)"
_STATEMENTS = {
    "gesture": rf"{_ONE} {reading.DOES} (?P<to>Person \d+|an object|a place|something) {TIMES}",
    "following": rf"{PEOPLE} follows? the gaze of {_ONE} {TIMES}",
    "mutual": rf"{PEOPLE} make eye contact \(mutual gaze\) {TIMES}",
    "joint": rf"{PEOPLE} share joint attention {TIMES}",
    "capture": rf"{PEOPLE} turn their gaze at once \(attention capture\) {TIMES}",
    "shift": rf"{PEOPLE} suddenly shifts gaze {TIMES}",
}


def checks(question: str, answer: str, world: World) -> list[Check]:
    """What the answer claims, one check per sentence beyond what is found. Raises NotUnderstood."""
    sentences = re.findall(r"[^.]+(?:\.\d[^.]*)*\.", answer)
    if "".join(sentences) != answer or len(sentences) < 2:
        raise NotUnderstood(f"No sentences: {answer!r}")
    subject = _thing(sentences[0].strip(" ."), world)
    _asked_about(question, subject, world)
    return [_check(sentence.strip(), subject, question, world) for sentence in sentences[1:]]


def _thing(statement: str, world: World) -> int:
    """The one thing a statement with times tells."""
    for kind, pattern in _STATEMENTS.items():
        found = re.fullmatch(pattern, statement)
        if not found:
            continue
        start, end = float(found["a"]), float(found["b"])
        if kind == "gesture":
            to = re.fullmatch(r"Person (\d+)", found["to"])
            thing = the_gesture(world, int(found["p"]), gesture_type(found[2]), start, end, int(to[1]) if to else None)
            if not to and world.things[thing].second is not None:
                raise NotUnderstood(f"The gesture is for a person: {statement}")
            return thing
        if kind == "following":
            group = people(found["g"]) | {int(found["p"])}
            thing = the_gaze(world, group, kind, start, end)
            if world.things[thing].first != int(found["p"]):
                raise NotUnderstood(f"Somebody else leads: {statement}")
            return thing
        return the_gaze(world, people(found["g"]), kind, start, end)
    raise NotUnderstood(f"No statement: {statement!r}")


def _asked_about(question: str, subject: int, world: World) -> None:
    """The times the question prints lie around, or are, those of what the answer begins with."""
    printed = [float(time) for time in re.findall(r"(\d+\.\d) s", question)]
    thing = world.things[subject]
    start, end = (float(world.seconds[frame]) - world.zero for frame in (thing.start, thing.end))
    if len(printed) != 2 or printed[0] > start + world.slack or printed[1] < end - world.slack:
        raise NotUnderstood(f"The answer begins with something else than the question asks about: {question}")


def _check(sentence: str, subject: int, question: str, world: World) -> Check:
    seconds = [float(s) for s in re.findall(r"(\d+) seconds", question)]
    within = seconds[0] if seconds else math.inf
    its = world.things[subject]
    if found := re.fullmatch(r"The next (gaze event|gesture): (.*)\.", sentence):
        kind, thing = found[1].split()[0], _thing(found[2], world)
        return lambda w: earliest(w, chosen(w, w.after(subject, within), kind=kind)) == [thing]
    if found := re.fullmatch(r"No (gaze event|gesture) starts within (\d+) seconds after it\.", sentence):
        kind, limit = found[1].split()[0], float(found[2])
        return lambda w: not chosen(w, w.after(subject, limit), kind=kind)
    if found := re.fullmatch(r"(.*) do(?:es)? not take part in it\.", sentence):
        out = people(found[1])
        return lambda w: not out & partners(w, [subject, *chosen(w, w.overlapping(subject), type=its.type)], -1)
    if found := re.fullmatch(r"No one but (.*) is in a gaze event during the gesture\.", sentence):
        group = people(found[1])
        return lambda w: partners(w, chosen(w, w.overlapping(subject), kind="gaze"), -1) == group
    if found := re.fullmatch(r"So Person (\d+) returns the gesture to Person (\d+)\.", sentence):
        back = int(found[1]), int(found[2])
        if back != (its.second, its.first):
            raise NotUnderstood(f"That is no return: {sentence}")
        return lambda w: _makers(w, subject, within) == {back}
    if found := re.fullmatch(r"The person who gestures next is Person (\d+)\.", sentence):
        maker = int(found[1])
        return lambda w: {first for first, _ in _makers(w, subject, within)} == {maker}
    thing = _thing(sentence.rstrip("."), world)  # something else that goes on at the same time
    return lambda w: thing in set(w.overlapping(subject))


def _makers(world: World, subject: int, within: float) -> set[tuple[int | None, int | None]]:
    its = earliest(world, chosen(world, world.after(subject, within), kind="gesture"))
    return {(world.things[index].first, world.things[index].second) for index in its}
