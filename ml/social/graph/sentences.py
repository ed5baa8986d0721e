"""One neutral sentence for an event: who does what with whom, without numbers about it and without guesses.

The released graph has such sentences from a language model; these are written by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, SHIFT
from ml.social.graph.model import GraphEvent

VERBS = {"pointing": "points", "showing": "shows something", "giving": "offers something", "reaching": "reaches"}
TOWARDS = {"pointing": "at", "showing": "to", "giving": "to", "reaching": "towards"}


def describe(event: GraphEvent, name: Callable[[str], str]) -> str:
    """The sentence; `name` gives what a person is called, such as "Person 2"."""
    if event.source == "gesture":
        return _gesture(event, name)
    members = [name(person) for person in event.who("member")]
    aim = "".join(f" at {name(person)}" for person in event.who("target"))
    match event.type:
        case t if t == MUTUAL:
            return f"{listed(members)} look at each other."
        case t if t == JOINT:
            return f"{listed(members)} look{aim or ' at the same place'} together."
        case t if t == CAPTURE:
            return f"{listed(members)} shift their gaze{aim} at the same moment."
        case t if t == FOLLOWING and event.who("leader"):
            followers = [name(person) for person in event.who("follower")]
            verb = "follows" if len(followers) == 1 else "follow"
            return f"{listed(followers)} {verb} the gaze of {listed([name(p) for p in event.who('leader')])}."
        case t if t == SHIFT:
            return f"{listed(members)} suddenly looks elsewhere."
    everybody = [name(person) for person, _ in event.roles]
    return f"{event.type.replace('_', ' ').capitalize()} of {listed(everybody)}."


def _gesture(event: GraphEvent, name: Callable[[str], str]) -> str:
    initiator = listed([name(person) for person in event.who("initiator")])
    target = [name(person) for person in event.who("target")]
    kind = str(event.attributes.get("target_type", ""))
    words = {"object": "an object", "location": "a place", "person": "somebody"}
    if target:
        return f"{initiator} {VERBS[event.type]} {TOWARDS[event.type]} {listed(target)}."
    if kind in words and event.type in ("pointing", "reaching"):
        return f"{initiator} {VERBS[event.type]} {TOWARDS[event.type]} {words[kind]}."
    return f"{initiator} {VERBS[event.type]}."


def listed(names: Sequence[str]) -> str:
    """A, B and C."""
    if len(names) < 2:
        return names[0] if names else "Somebody"
    return f"{', '.join(names[:-1])} and {names[-1]}"
