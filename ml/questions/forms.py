"""The forms a written question may have: the templates with options, in a few words each, and how each of them asks.

`closest` tells whose way of asking a text has, people, times and kinds of event aside; a heuristic over letters,
against the wordings that the templates have for a made-up scene with something of everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random

import numpy as np
from rapidfuzz import fuzz

from ml.questions import slots
from ml.questions.facts import Covered, Event, Facts, Person
from ml.questions.idea import REGISTRY
from ml.questions.scene import Scene
from ml.questions.templates import gaze, gesture, joint, opened
from ml.social.event import CAPTURE, FOLLOWING, GESTURES, JOINT, MUTUAL, SHIFT
from ml.text import persons, phrases, times

_ALL = (gaze, gesture, joint, opened)  # registers the templates
DRAWS = 4  # templates draw what they ask about: so often they are tried
FORMS: dict[str, tuple[str, str]] = {
    "eye_contact_partner": ("gaze_target", "with whom a person makes eye contact in a stretch of time"),
    "whose_gaze_is_followed": ("gaze_target", "whose gaze a person follows in a stretch of time"),
    "which_interaction": ("gaze_event_type", "which gaze event the named people take part in, in a stretch of time"),
    "how_long_eye_contact": (
        "temporal_gaze",
        "how long the eye contact or joint attention of named people lasts that begins at a time",
    ),
    "which_gaze_event_first": (
        "temporal_gaze",
        "which of two gaze events of one pair comes first in a stretch of time",
    ),
    "which_pair": ("mutual_gaze", "which pair makes eye contact in a stretch of time"),
    "who_leads": ("gaze_following", "who looks first and is followed, in a stretch of time"),
    "who_follows": ("gaze_following", "who follows the gaze of a named person in a stretch of time"),
    "one_way": ("gaze_following", "whether the gaze following between two named people is one-way"),
    "who_is_left_out": ("group_attention", "who does NOT take part in joint attention or attention capture"),
    "what_comes_after": (
        "group_attention",
        "which gaze event starts first within 5 seconds after a group event with its times",
    ),
    "to_whom": ("gesture_recog", "for whom a named person's gesture is, in a stretch of time"),
    "from_whom": ("gesture_recog", "who makes a gesture to a named person, in a stretch of time"),
    "which_gesture": ("gesture_type", "which of the four gestures a named person makes, in a stretch of time"),
    "who_is_earlier": ("gesture_temporal", "which of two named people's gestures comes first, in a stretch of time"),
    "how_long_gesture": ("gesture_temporal", "how long a named person's gesture lasts that begins at a time"),
    "who_gestures_most": ("gesture_frequency", "who makes the most gestures in a stretch of time"),
    "commonest_type": ("gesture_frequency", "which gesture is the commonest in a stretch of time"),
    "who_is_next": ("gesture_sequence", "who starts the next gesture within 10 seconds after one with its times"),
    "whom_next": (
        "gesture_sequence",
        "whom the target's own next gesture is for, within 10 seconds after a gesture with its times",
    ),
    "is_it_returned": (
        "reciprocal_gesture",
        "whether the target gestures back within 10 seconds after a gesture with its times",
    ),
    "gaze_or_gesture_first": (
        "gaze_gesture_align",
        "whether a gaze event or a gesture comes first, or they overlap, in a stretch of time",
    ),
    "eye_contact_during": (
        "eye_contact_in_interaction",
        "with whom a named person makes eye contact during a gesture with its times",
    ),
    "which_pair_during": (
        "eye_contact_in_interaction",
        "which pair makes eye contact during a gesture with its times",
    ),
    "gaze_after_gesture": (
        "gaze_response_to_gesture",
        "which gaze event of a named person starts first within 3 seconds after a gesture with its times",
    ),
    "gesture_after_gaze": (
        "gaze_response_to_gesture",
        "which gesture a named person starts first within 3 seconds after a gaze event with its times",
    ),
    "who_shares_gaze_during": (
        "cross_modal_dynamics",
        "which people take part in a kind of gaze event during a gesture with its times",
    ),
    "who_is_in_most": (
        "cross_modal_dynamics",
        "who takes part in the most gaze events and gestures together, in a stretch of time",
    ),
}


def closest(text: str, form: str) -> str:
    """Of the forms of this one's category, the one whose wordings the text is most like; this one where several are."""
    plain = _generic(text)
    best = {
        name: max(float(fuzz.ratio(plain, wording)) for wording in wordings)
        for name, wordings in _wordings()[REGISTRY[form].category].items()
    }
    return max(best, key=lambda name: (best[name], name == form))


@cache
def _wordings() -> dict[str, dict[str, frozenset[str]]]:
    """By category and template, its wordings about a sample of everything."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    sample = everything()
    for template in REGISTRY.values():
        if template.kind != "single":
            continue
        ideas = [idea for draw in range(DRAWS) for idea in template.make(Scene(sample, Random(draw)))]
        told = frozenset(_generic(slots.render(w, Numbered(), float)) for idea in ideas for w in idea.wordings)
        if told:
            found.setdefault(template.category, {})[template.name] = told
    return found


def everything() -> Facts:
    """Made-up facts with something for every template to ask about: 10 frames a second, four people."""
    events = []
    for k, move in enumerate(GESTURES):
        t = 400 * k
        rows: list[tuple[str, int, int, list[tuple[str, str]]]] = [
            (move, t + 50, t + 90, [("a", "initiator"), ("b", "target")]),
            (move, t + 150, t + 180, [("b", "initiator"), ("a", "target")]),
            (GESTURES[k - 1], t + 200, t + 230, [("c", "initiator")]),
            (MUTUAL, t + 60, t + 80, [("a", "member"), ("b", "member")]),
            (JOINT, t + 62, t + 82, [("a", "member"), ("b", "member"), ("c", "member")]),
            (FOLLOWING, t + 64, t + 84, [("a", "leader"), ("b", "follower")]),
            (CAPTURE, t + 100, t + 115, [("a", "member"), ("b", "member"), ("c", "member")]),
            (SHIFT, t + 120, t + 125, [("a", "member")]),
        ]
        for type, start, end, roles in rows:
            modality = "gesture" if type in GESTURES else "gaze"
            events.append(Event(f"{type} {start}", modality, type, start, end, tuple(roles), target="object"))
    frames = 400 * len(GESTURES)
    people = [Person(id, number, ((0, frames),)) for number, id in enumerate("abcd", 1)]
    whole = [Covered("gaze", 0, frames), Covered("gesture", 0, frames)]
    return Facts(np.arange(frames + 1) / 10, 5, people, events, whole)


def _generic(text: str) -> str:
    """The text without people, times and kinds of event: its way of asking."""
    plain = times.without(persons.without(text, "P"), "T")
    for named, mark in ((phrases.GAZE_TYPES, "L"), (phrases.GESTURE_TYPES, "G")):
        for pattern in named.values():
            plain = pattern.sub(mark, plain)
    return said(plain)


def said(text: str) -> str:
    """The words of a text, small, without marks."""
    return " ".join(re.sub(r"[^\w\s]", " ", text).casefold().split())


class Numbered(Mapping[str, str]):
    """Everybody is Person 1: enough to compare wordings without people."""

    def __getitem__(self, id: str) -> str:
        return "Person 1"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, id: object) -> bool:
        return True
