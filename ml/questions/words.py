"""Plain words for events, persons and spans, with slots; used by questions, traces and reviewers' sentences alike."""

from __future__ import annotations

from collections.abc import Sequence

from ml.questions import slots
from ml.questions.facts import Event, Facts, Span
from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, SHIFT

TYPES = {
    MUTUAL: "mutual gaze",
    JOINT: "joint attention",
    FOLLOWING: "gaze following",
    CAPTURE: "attention capture",
    SHIFT: "a sudden gaze shift",
    "pointing": "pointing",
    "showing": "showing",
    "giving": "giving",
    "reaching": "reaching",
}
_VERBS = {
    "pointing": ("points", "pointing", "at"),
    "showing": ("shows something", "showing something", "to"),
    "giving": ("gives something", "giving something", "to"),
    "reaching": ("reaches", "reaching", "towards"),
}


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def listed(things: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(things) < 2:
        return "".join(things)
    return f"{', '.join(things[:-1])} and {things[-1]}"


def people(facts: Facts, ids: Sequence[str] | frozenset[str]) -> str:
    """Slots of persons in the order of their numbers, each with its own word: "Person 1 and Person 2"."""
    numbers = {person.id: person.number for person in facts.persons}
    return listed([slots.person(id) for id in sorted(ids, key=lambda id: (numbers.get(id, len(numbers)), id))])


def span(window: Span) -> str:
    """ "from 3.0 s to 5.0 s"."""
    return f"from {slots.time(window[0])} to {slots.time(window[1])}"


def between(window: Span) -> str:
    """ "between 3.0 s and 5.0 s"."""
    return f"between {slots.time(window[0])} and {slots.time(window[1])}"


def does(type: str) -> str:
    """ "points at", "gives something to"."""
    verb, _, towards = _VERBS[type]
    return f"{verb} {towards}"


def doing(type: str) -> str:
    """ "pointing at", "giving something to"."""
    _, verb, towards = _VERBS[type]
    return f"{verb} {towards}"


def do(type: str) -> str:
    """ "point at", "give something to"."""
    return {"pointing": "point at", "showing": "show something to", "giving": "give something to"}.get(
        type, "reach towards"
    )


def target(event: Event) -> str:
    """A gesture's target in words; what kind of thing where it is no person."""
    persons = sorted(event.who("target"))
    if persons:
        return listed([slots.person(id) for id in persons])
    return {"object": "an object", "location": "a place"}.get(event.target, "no person")


def statement(facts: Facts, event: Event) -> str:
    """What happens, as a clause without times: "{p:a} and {p:c} make eye contact"."""
    if event.modality == "gesture":
        who = people(facts, event.who("initiator"))
        verb, _, towards = _VERBS[event.type]
        return f"{who} {verb} {towards} {target(event)}"
    if event.type == FOLLOWING:
        followers = event.who("follower")
        verb = "follow" if len(followers) > 1 else "follows"
        return f"{people(facts, followers)} {verb} the gaze of {people(facts, event.who('leader'))}"
    members = people(facts, event.who("member") or event.who())
    if event.type == MUTUAL:
        return f"{members} make eye contact (mutual gaze)"
    if event.type == JOINT:
        return f"{members} share joint attention"
    if event.type == CAPTURE:
        return f"{members} turn their gaze at once (attention capture)"
    return f"{members} suddenly shifts gaze"
