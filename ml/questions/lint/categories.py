"""Does a question ask what its category is about?

Wordings vary without end, so a missing word proves little: a misfit needs evidence *for* something else. Either the
question speaks of the other modality only (or plainly of both), or it bears a sign of a form that only some categories
ask ("how long", four pairs to choose from, ...). English, heuristic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ml.questions.lint import words
from ml.questions.lint.one import One
from ml.questions.taxonomy import CATEGORIES
from ml.text import persons, phrases, times


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


_P = r"(?:Persons?|P)\s*[0-9]+"
# plainly about looking, plainly about a gesture
GAZE = _any(
    r"eye[- ]contact", r"gaz(?:e|es|ed|ing)", r"(?:joint|shared|mutual)\s+(?:attention|look)",
    r"looks?\s+(?:at|into|back)", r"looking\s+(?:at|into)", r"line\s+of\s+sight", r"meet(?:s|ing)?\s+(?:the\s+)?eyes",
    r"attention", r"stares?", r"glanc(?:e|es|ing)",
)  # fmt: skip
GESTURE = _any(
    r"gestur(?:e|es|ed|ing)", r"pointing", r"points?\s+(?:at|to|towards?)", r"reaching", r"reaches\s+(?:for|towards?)",
    r"giving", r"showing", rf"{_P}\s+(?:points?|reaches|gives|shows|hands|offers)",
    rf"(?:do|does|did|has|have)\s+{_P}\s+(?:point|reach|give|show|hand|offer)(?:ed|n)?",
)  # fmt: skip
# may be about looking, may be about a gesture
MAYBE_GAZE = _any(
    r"looks?", r"looked", r"looking", r"eyes?", r"gaz\w+", r"attention", r"attend\w*", r"watch\w*", r"glanc\w+",
    r"star(?:e|es|ed|ing)", r"sees?", r"seen", r"sight", r"view\w*", r"heads?", r"fac(?:e|es|ed|ing)", r"turn\w*",
    r"mutual\w*", r"follow\w*",
)  # fmt: skip
MAYBE_GESTURE = _any(
    r"gestur\w+", r"point\w*", r"show\w*", r"giv\w+", r"gave", r"gifts?", r"reach\w*", r"hand\w*", r"offer\w*",
    r"pass\w*", r"fingers?", r"arms?", r"hold\w*", r"held", r"receiv\w*", r"recipient", r"initiat\w*", r"present\w*",
    r"stretch\w*", r"extend\w*", r"motion\w*",
)  # fmt: skip


@dataclass(frozen=True)
class Sign:
    """Something only the `allowed` categories ask; `what` completes "the question ..."."""

    what: str
    allowed: frozenset[str]
    shows: Callable[[One], bool]


def _in_question(what: str, allowed: str, *alternatives: str) -> Sign:
    found = re.compile("|".join(alternatives), re.IGNORECASE)
    return Sign(what, frozenset(allowed.split()), lambda one: found.search(one.item.question) is not None)


def _in_options(what: str, allowed: str, fits: Callable[[str], bool]) -> Sign:
    return Sign(what, frozenset(allowed.split()), lambda one: len(one.words) > 1 and all(map(fits, one.words)))


def _is_pair(text: str) -> bool:
    return words.is_list(words.tokens(text)) and len(persons.in_order(text)) == 2


def _is_gesture_type(text: str) -> bool:
    return len(text.split()) <= 2 and bool(phrases.gesture_types(text)) and not persons.mentions(text)


def _is_gaze_type(text: str) -> bool:
    return len(text.split()) <= 3 and bool(phrases.gaze_types(text)) and not persons.mentions(text)


def _is_duration(text: str) -> bool:
    found = times.mentions(text)
    return len(found) == 1 and found[0].kind in ("bare", "length") and not persons.mentions(text)


_DURING = rf"\b(?:while|during|as|when)\b.*{_P}"
SIGNS: tuple[Sign, ...] = (
    _in_question(
        "asks how long something lasts", "temporal_gaze gesture_temporal gaze_gesture_align",
        r"\bhow long\b", r"\bwhat is the (?:duration|length) of\b", r"\bhow many seconds\b",
    ),
    _in_options("offers durations", "temporal_gaze gesture_temporal gaze_gesture_align", _is_duration),
    _in_question(
        "asks for a pair", "mutual_gaze eye_contact_in_interaction gaze_response_to_gesture cross_modal_dynamics",
        r"\b(?:which|what)\s+pair\b", r"\bwhich\s+two\b",
    ),
    _in_options(
        "offers pairs of persons",
        "mutual_gaze eye_contact_in_interaction gaze_response_to_gesture cross_modal_dynamics group_attention",
        _is_pair,
    ),
    _in_question(
        "asks how often something happens", "gesture_frequency cross_modal_dynamics",
        r"\bmost\s+(?:often|frequent\w*|common\w*)\b", r"\bcommonest\b",
        r"\bhow\s+(?:often|many\s+(?:times|gestures))\b",
        r"\b(?:who|which person)\s+(?:gestures|points|shows|gives|reaches)\s+(?:the\s+)?most\b",
    ),
    _in_question(
        "asks whether a gesture is returned", "reciprocal_gesture",
        r"\bgestures?\s+back\b", r"\breturns?\s+the\s+gesture\b", r"\breciprocat\w+",
        r"\b(?:points?|gives?|shows?|reach(?:es)?)\s+back\b",
    ),
    _in_question(
        "asks for the next gesture", "gesture_sequence gaze_response_to_gesture reciprocal_gesture",
        r"\b(?:who|which person)\s+gestures?\s+next\b", r"\bnext\s+gesture\b",
    ),
    _in_question(
        "asks which gesture is made", "gesture_type gesture_frequency gesture_sequence",
        rf"\b(?:which|what)\s+(?:\w+\s+){{0,3}}?gesture\s+(?:does|is)\s+{_P}\s+(?:\w+\s+)?(?:make|makes|perform|making)",
        r"\b(?:which|what)\s+(?:type|kind)\s+of\s+gesture\b",
    ),
    _in_options(
        "offers gesture types", "gesture_type gesture_frequency gesture_sequence gaze_response_to_gesture",
        _is_gesture_type
    ),
    _in_question(
        "asks for the target of a gesture", "gesture_recog gesture_sequence reciprocal_gesture",
        rf"\b(?:at|to|towards?)\s+(?:whom|what|which\s+person)\s+does\s+{_P}\s+(?:point|give|show|reach|hand|offer)",
        rf"\b(?:whom|who|what)\s+does\s+{_P}\s+point\s+(?:at|to)",
    ),
    _in_question(
        "asks for the kind of a gaze event",
        "gaze_event_type gaze_response_to_gesture group_attention cross_modal_dynamics gaze_gesture_align",
        r"\b(?:which|what)\s+(?:(?:type|kind)\s+of\s+)?gaze\s+(?:event|interaction)\b",
    ),
    _in_options(
        "offers kinds of gaze events",
        "gaze_event_type gaze_response_to_gesture group_attention cross_modal_dynamics gaze_gesture_align",
        _is_gaze_type,
    ),
    _in_question(
        "asks who is outside the shared attention", "group_attention cross_modal_dynamics",
        r"\b(?:who|which\s+person)\s+(?:is|does)\s+not\b.*\b(?:attention|common|same|shared)\b",
        r"\bleft\s+out\b.*\battend",
    ),
    _in_question(
        "asks whose gaze is followed", "gaze_target gaze_following cross_modal_dynamics gaze_response_to_gesture",
        rf"\bwhose\s+gaze\s+does\s+{_P}\s+follow\b",
    ),
)  # fmt: skip


def misfit(one: One, slug: str) -> str:
    """Why the question does not fit the category, as what completes "the question ..."; empty where it does."""
    group = CATEGORIES[slug].group
    question = one.item.question
    if wrong := _modality(group, question, [question, *one.words]):
        return wrong
    return next((sign.what for sign in SIGNS if slug not in sign.allowed and _shows(sign, one)), "")


def _shows(sign: Sign, one: One) -> bool:
    kept: dict[str, bool] = one.__dict__.setdefault("_signs", {})
    if sign.what not in kept:
        kept[sign.what] = sign.shows(one)
    return kept[sign.what]


def _modality(group: str, question: str, everything: Sequence[str]) -> str:
    gaze, gesture = GAZE.search(question) is not None, GESTURE.search(question) is not None
    if group == "gaze" and gesture:
        return "speaks of gestures" + (" and gaze, so it is a joint one" if gaze else " and not of gaze")
    if group == "gesture" and gaze:
        return "speaks of gaze" + (" and gestures, so it is a joint one" if gesture else " and not of gestures")
    if group == "joint":
        text = " ".join(everything)
        if gaze and not MAYBE_GESTURE.search(text):
            return "speaks of gaze only"
        if gesture and not MAYBE_GAZE.search(text):
            return "speaks of gestures only"
    return ""
