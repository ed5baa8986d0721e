"""What the options of a question claim about the event table, read off their English.

A reading turns each option into a yes/no expression of the proof grammar (`ml.questions.grammar`), or None where it is
not understood. These are heuristics for the common forms of each category, tried in turn; a question that fits none is
left alone. Person ids are numbers as text; times of the question are moved from the clip's clock to the source's, on
the tables' clock of `RATE` frames a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ml.questions.lint import words
from ml.questions.lint.one import One
from ml.questions.lint.tables import RATE
from ml.text import persons, phrases, times

Claims = list[Any]  # one expression (or None) for each option
WITHIN = 0.26  # seconds by which a stated duration may differ from the table's
ROUNDED = RATE // 10  # frames by which a printed time may miss the moment it means
RESPONSE = 3.0  # seconds within which GRASP counts a response
_NOBODY = re.compile(r"^(?:no[- ]?one|nobody|none(?: of (?:them|these|the above))?|neither)\b", re.IGNORECASE)
_NOT_IN = re.compile(
    r"\b(?:not|never|no|except|exclud\w+|without|apart|besides|other\s+than|(?:left|stays?|remains?|keeps?|is)\s+out|"
    r"missing|outside|absent)\b|n['’]t\b",
    re.IGNORECASE,
)
_IN = re.compile(
    r"\b(?:part|shar\w+|joins?|joined|involved|members?|belongs?|attends?|among|included)\b", re.IGNORECASE
)
_MAKES = r"(?:point|show|giv|gave|reach|hand|offer|gestur)\w*"
_HOW_LONG = re.compile(r"\bhow long\b|\bduration\b|\bhow many seconds\b", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|next|then|follows?|following|in response|respon\w+|subsequent\w*)\b", re.IGNORECASE)
_DURING = re.compile(r"\b(?:while|during|as|when|at the same time)\b", re.IGNORECASE)


def read(one: One) -> Claims | None:
    """The claims of the options, or None where no reading fits."""
    window = window_of(one)
    if window is None or not one.item.options or not one.slug:
        return None
    for reading in _READINGS.get(one.slug, ()):
        claims = reading(one, window)
        if claims is not None and any(claim is not None for claim in claims):
            return claims
    return None


def window_of(one: One) -> list[int] | None:
    """Frames [a, b) of the stretch the question names, or of the whole clip; None where that cannot be told."""
    if one.span is None or one.item.clip_duration is None or one.item.clip_duration <= 0:
        return None
    cited = [mention for mention in one.times if mention.kind in ("point", "span")]
    values = [value for mention in cited for value in mention.values]
    if any(not 0 <= value <= one.item.clip_duration + 0.5 for value in values) or len(cited) > 1:
        return None
    low, high = (min(values), max(values)) if values else (0.0, one.item.clip_duration)
    start = max(0, round((low + one.offset) * RATE))
    return [start, max(start + 1, round((high + one.offset) * RATE))]


def _events(modality: str, window: Sequence[int] | None, type: Any = None, **roles: Any) -> list[Any]:
    tree: dict[str, Any] = {"modality": modality}
    if type:
        tree["type"] = type
    kept = {role: who for role, who in roles.items() if who}
    if kept:
        tree["roles"] = kept
    if window:
        tree["during"] = list(window)
    return ["events", tree]


def _exists(selection: list[Any]) -> list[Any]:
    return ["exists", selection]


def _never(selection: list[Any]) -> list[Any]:
    return ["is", ["exists", selection], False]


def _people(text: str) -> list[str]:
    """The ids of an option that is nothing but persons."""
    return [str(n) for n in persons.in_order(text)] if words.is_list(words.tokens(text)) else []


def _asked(one: One) -> list[str]:
    """The persons of the question, by first mention."""
    return [str(number) for number in persons.in_order(one.item.question)]


def _each(one: One, of_person: Callable[[str], Any], nobody: Any = None) -> Claims:
    """Options that are one person each, or nobody."""
    claims: Claims = []
    for text in one.words:
        found = _people(text)
        claims.append(of_person(found[0]) if len(found) == 1 else nobody if _NOBODY.match(text) else None)
    return claims


def _only(found: set[str]) -> str | None:
    return next(iter(found)) if len(found) == 1 else None


def _gesture(one: One) -> str | None:
    """The one gesture type the question names."""
    return _only(phrases.gesture_types(one.item.question))


# ------------------------------------------------------------------------------------------------------------ gaze


def _partner(one: One, window: list[int]) -> Claims | None:
    """With whom does X make eye contact?"""
    asked = _asked(one)
    if len(asked) != 1 or "mutual_gaze" not in phrases.gaze_types(_q(one)) or _HOW_LONG.search(_q(one)):
        return None
    if _NOT_IN.search(_q(one)) or _AFTER.search(_q(one)):
        return None
    return _each(
        one,
        lambda p: None if p == asked[0] else _exists(_events("gaze", window, "mutual_gaze", person=[asked[0], p])),
        _never(_events("gaze", window, "mutual_gaze", person=asked)),
    )


def _q(one: One) -> str:
    return one.item.question


def _followed(one: One, window: list[int]) -> Claims | None:
    """Whose gaze does X follow? Who follows the gaze of X?"""
    asked = _asked(one)
    if len(asked) != 1:
        return None
    x = asked[0]
    subject = r"Person\s*[0-9]+"
    if re.search(rf"\b(?:whose|whom?)\b.*\b{subject}\s+(?:\w+\s+)?follow", _q(one), re.IGNORECASE):
        return _each(one, lambda p: _exists(_events("gaze", window, "gaze_following", follower=x, leader=p)),
                     _never(_events("gaze", window, "gaze_following", follower=x)))  # fmt: skip
    if re.search(rf"\b(?:who|which person)\s+follow\w*\s+.*{subject}", _q(one), re.IGNORECASE):
        return _each(one, lambda p: _exists(_events("gaze", window, "gaze_following", leader=x, follower=p)),
                     _never(_events("gaze", window, "gaze_following", leader=x)))  # fmt: skip
    return None


def _gaze_type(one: One, window: list[int]) -> Claims | None:
    """Which gaze interaction do these persons have?"""
    asked = _asked(one)
    if not asked or _AFTER.search(_q(one)):
        return None
    named = [_only(phrases.gaze_types(text)) for text in one.words]
    return [_exists(_events("gaze", window, type, person=asked)) if type else None for type in named]


def _pair(one: One, window: list[int]) -> Claims | None:
    """Which pair makes eye contact?"""
    if _asked(one) or phrases.gesture_types(_q(one)):
        return None
    pairs = [_people(text) for text in one.words]
    return [
        _exists(_events("gaze", window, "mutual_gaze", person=pair))
        if len(pair) == 2
        else _never(_events("gaze", window, "mutual_gaze"))
        if _NOBODY.match(text)
        else None
        for pair, text in zip(pairs, one.words, strict=True)
    ]


def _lasts(one: One, window: list[int]) -> Claims | None:
    """How long do these persons keep eye contact, or make that gesture?"""
    if not _HOW_LONG.search(_q(one)):
        return None
    asked, gaze, gesture = _asked(one), phrases.gaze_types(_q(one)), _gesture(one)
    window = [max(0, window[0] - ROUNDED), window[1] + ROUNDED]
    if asked and gaze and not gesture:
        selection = _events("gaze", window, _only(gaze) or None, person=asked)
    elif asked and gesture and not gaze:
        selection = _events("gesture", window, gesture, initiator=asked[0], target=asked[1:2])
    else:
        return None
    stated = [times.duration(text) for text in one.words]
    return [
        None if s is None or s < 0 else ["is", ["duration_s", selection], {"seconds": s, "within": _within(s, stated)}]
        for s in stated
    ]


def _within(seconds: float, stated: Sequence[float | None]) -> float:
    """A duration is right where it is the nearest on offer, however roughly it was stated."""
    gaps = [abs(seconds - other) for other in stated if other is not None and other != seconds]
    return max(WITHIN, min(gaps, default=0.0) / 2 - 0.05)


def _leads(one: One, window: list[int]) -> Claims | None:
    """Who leads (looks first), who follows?"""
    asked = _asked(one)
    leads = re.search(r"\b(?:looks?|turns?|shifts?|gazes?)\b.*\bfirst\b|\bfirst\b.*\blook|\blead|\binitiat", _q(one),
                      re.IGNORECASE)  # fmt: skip
    follows = re.search(r"\bwho\s+(?:is\s+the\s+)?follow|\bthe follower\b", _q(one), re.IGNORECASE)
    if bool(leads) == bool(follows) or _NOT_IN.search(_q(one)):
        return None
    role, other = ("leader", "follower") if leads else ("follower", "leader")

    def claim(p: str) -> Any:
        others = [one for one in asked if one != p]
        if len(others) > 1:
            return None
        roles: dict[str, Any] = {role: p, other: others}
        return _exists(_events("gaze", window, "gaze_following", **roles))

    return _each(one, claim)


def _group(one: One, window: list[int]) -> Claims | None:
    """Who is, or is not, in the shared attention?"""
    kind = _only(phrases.gaze_types(_q(one)) & {"joint_attention", "attention_capture"})
    if kind is None or _AFTER.search(_q(one)):
        return None
    asked, out = _asked(one), _NOT_IN.search(_q(one)) is not None
    if not (out or _IN.search(_q(one))):
        return None
    shape = _never if out else _exists
    return _each(one, lambda p: None if p in asked else shape(_events("gaze", window, kind, person=[*asked, p])))


# --------------------------------------------------------------------------------------------------------- gestures


def _target(one: One, window: list[int]) -> Claims | None:
    """At whom does X point? Who points at X?"""
    asked, type = _asked(one), _gesture(one)
    if len(asked) != 1 or type is None or _NOT_IN.search(_q(one)):
        return None
    x = asked[0]
    gets = rf"\b(?:at|to|for|towards?)\s+Person\s*{x}\b"
    is_maker, is_target = (re.search(sign, _q(one), re.IGNORECASE) is not None for sign in (_maker(x), gets))
    if is_maker == is_target:
        return None
    if is_target:
        return _each(one, lambda p: _exists(_events("gesture", window, type, initiator=p, target=x)),
                     _never(_events("gesture", window, type, target=x)))  # fmt: skip
    # a gesture at an object has no target person, so "no one" cannot be told from the table
    return _each(one, lambda p: _exists(_events("gesture", window, type, initiator=x, target=p)))


def _maker(person: str) -> str:
    """The person makes a gesture: "Person 1 points", "the giving by Person 1", "the gesture of Person 1"."""
    named = rf"Person\s*{person}\b"
    return rf"\b{named}(?:['’]s)?\s+(?:\w+\s+){{0,2}}?{_MAKES}|\bby\s+{named}|\b{_MAKES}\s+(?:gesture\s+)?of\s+{named}"


def _gesture_type(one: One, window: list[int]) -> Claims | None:
    """Which gesture does X make (towards Y)?"""
    asked = _asked(one)
    if not 1 <= len(asked) <= 2 or _AFTER.search(_q(one)) or phrases.gesture_types(_q(one)):
        return None
    named = [_only(phrases.gesture_types(text)) for text in one.words]
    return [_exists(_events("gesture", window, t, initiator=asked[0], target=asked[1:])) if t else None for t in named]


def _earlier(one: One, window: list[int]) -> Claims | None:
    """Which of two persons gestures first?"""
    asked, type = _asked(one), _gesture(one)
    if len(asked) != 2 or not re.search(r"\b(?:first|earlier|before)\b", _q(one), re.IGNORECASE):
        return None
    each = {p: ["first", _events("gesture", window, type, initiator=p)] for p in asked}

    def claim(p: str) -> Any:
        if p not in each:
            return None
        other = next(one for one in asked if one != p)
        return ["is", ["order", each[p], each[other]], "before"]

    return _each(one, claim)


def _oftenest(one: One, window: list[int]) -> Claims | None:
    """Who gestures most, which type is commonest, how many times?"""
    asked, type, question = _asked(one), _gesture(one), _q(one)
    if re.search(r"\bhow (?:many|often)\b", question, re.IGNORECASE) and len(asked) == 1:
        selection = _events("gesture", window, type, initiator=asked[0])
        numbers = [re.fullmatch(r"(\d{1,4})(?:\s+times?)?", text.strip(), re.ASCII) for text in one.words]
        return [["is", ["count", selection], int(n[1])] if n else None for n in numbers]
    if not re.search(r"\bmost\b", question, re.IGNORECASE):
        return None
    kinds = [_only(phrases.gesture_types(text)) for text in one.words]
    if type is None and all(kinds):
        selection = _events("gesture", window, None, initiator=asked[:1])
        return [["is", ["most", selection, "type"], kind] for kind in kinds]
    if asked:
        return None
    return _each(one, lambda p: ["is", ["most", _events("gesture", window, type), "initiator"], p])


def _next(one: One, window: list[int]) -> Claims | None:
    """Who gestures next after X's gesture?"""
    asked, type = _asked(one), _gesture(one)
    if len(asked) != 1 or type is None or not re.search(r"\bwho\b.*\b(?:next|after)\b", _q(one), re.IGNORECASE):
        return None
    anchor = _events("gesture", window, type, initiator=asked[0])
    following = ["first", ["after", _events("gesture", None), anchor, None]]
    return _each(one, lambda p: ["is", ["who", following, "initiator"], [p]])


# ------------------------------------------------------------------------------------------------------------ joint


def _contact_during(one: One, window: list[int]) -> Claims | None:
    """With whom does X make eye contact during a gesture of X?"""
    asked, type = _asked(one), _gesture(one)
    if len(asked) != 1 or type is None or not _DURING.search(_q(one)):
        return None
    x = asked[0]
    gesture = _events("gesture", window, type, initiator=x)
    return _each(
        one,
        lambda p: (
            None if p == x else _exists(["overlapping", _events("gaze", None, "mutual_gaze", person=[x, p]), gesture])
        ),
        _never(["overlapping", _events("gaze", None, "mutual_gaze", person=x), gesture]),
    )


def _response(one: One, window: list[int]) -> Claims | None:
    """Which gaze event (of Y) comes within 3 s of X's gesture?"""
    type, question = _gesture(one), _q(one)
    if type is None or not _AFTER.search(question) or _NOT_IN.search(question):
        return None
    of = re.search(r"\bgaze\s+event\s+(?:of|involving|with|by)\s+Person\s*([0-9]+)", question, re.IGNORECASE)
    makers = [p for p in _asked(one) if re.search(_maker(p), question, re.IGNORECASE)]
    if len(makers) != 1 or not (of or len(_asked(one)) == 1):
        return None
    gesture = _events("gesture", window, type, initiator=makers[0])
    named = [_only(phrases.gaze_types(text)) for text in one.words]
    first = ["first", ["after", _events("gaze", None, person=of[1] if of else None), gesture, RESPONSE]]
    return [["is", ["type", first], kind] if kind else None for kind in named]


_READINGS: dict[str, tuple[Callable[[One, list[int]], Claims | None], ...]] = {
    "gaze_target": (_followed, _partner),
    "gaze_event_type": (_gaze_type,),
    "temporal_gaze": (_lasts,),
    "mutual_gaze": (_partner, _pair),
    "gaze_following": (_followed, _leads),
    "group_attention": (_group,),
    "gesture_recog": (_target,),
    "gesture_type": (_gesture_type,),
    "gesture_temporal": (_lasts, _earlier),
    "gesture_frequency": (_oftenest,),
    "gesture_sequence": (_next,),
    "eye_contact_in_interaction": (_contact_during,),
    "gaze_response_to_gesture": (_response,),
}
