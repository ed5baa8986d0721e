"""Matching a written question to a template: if it asks what the template asks, the template's expression can prove it.

The model says which form (template) it asked. Its words are believed only as far as they agree with the template's own:
the same people, the same kinds of event, negated alike, the same times, and alike enough as text (`likeness`, a
heuristic over letters). The options are read into values, and the proof of `ml.questions.proof` decides. Whatever
cannot be matched stays unproven; a human may sign it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any

from rapidfuzz import fuzz

from ml.formats.errors import FormatError
from ml.questions import slots
from ml.questions.facts import Event, Facts, Span
from ml.questions.forms import DRAWS, FORMS, Numbered, closest, said
from ml.questions.grammar import expr
from ml.questions.idea import REGISTRY, Idea
from ml.questions.proof import evaluate
from ml.questions.scene import Scene
from ml.text import persons, phrases, times

LIKE = 60.0  # least likeness of a question to a template's wording, 0 to 100
LIKE_OPTION = 85.0  # of an option to one of the template's
MOST_IDEAS = 100  # of one draw of a template
TIE = 0.01  # of likeness, below which two readings are equally good
PRINTED_S = 0.05  # seconds that a printed time may be off
NOBODY = re.compile(
    r"\s*(?:no[ -]?one|nobody|none(?: of (?:them|these|the others))?|no (?:person|pair|one else|such person)|"
    r"neither(?: of them)?|everyone takes part|to no person)[.\s]*",
    re.IGNORECASE,
)
NOTHING = re.compile(
    r"\s*(?:none(?: of these)?|nothing|no (?:gaze |gesture )?(?:event|gesture|gaze event|interaction)s?)\b",
    re.IGNORECASE,
)
JOINED = re.compile(r"\s*(?:,|,?\s*(?:and|&|or))\s*")
ONLY_PEOPLE = re.compile(r"(?:\bP\b|\band\b|\bboth\b|\bthe pair\b|\bonly\b|[\s,&.])*")


@dataclass(frozen=True)
class Matched:
    """A proof that stands. `span`: what the clip must show; `likeness` of the words, 0 to 100."""

    form: str
    proof: dict[str, Any]
    values: list[Any]
    span: Span
    likeness: float


@dataclass(frozen=True)
class Asked:
    """A written question, with slots where it names people and moments. Options as written."""

    form: str
    plain: str  # the question as written
    text: str  # with slots
    options: list[str]
    key: int  # position of the right one
    events: list[Event]


def match(asked: Asked, facts: Facts) -> tuple[Matched | None, str]:
    """The proof of what is asked, or why there is none.

    Only the readings most alike in words count, and where there are several (the two sides of a comparison exchanged,
    say), each of them must be proven: a reading is never taken because it happens to make the key right.
    """
    if asked.form not in FORMS:
        return None, "it asks something that no template asks"
    readings = list(_readings(asked, facts))
    if not readings:
        return None, "its words do not agree with what it says it asks"
    if closest(asked.plain, asked.form) != asked.form:
        return None, "its words are closer to another form than to the one it names"
    best = max(likeness for likeness, _ in readings)
    proven = []
    for idea in (idea for likeness, idea in readings if likeness >= best - TIE):
        found, why = _proven(asked, idea, facts, best)
        if found is None:
            return None, why
        proven.append(found)
    return proven[0], ""


def _proven(asked: Asked, idea: Idea, facts: Facts, likeness: float) -> tuple[Matched | None, str]:
    """The proof of one reading, or why it does not stand."""
    values = [_value(option, idea, facts) for option in asked.options]
    if any(value is _UNREAD for value in values):
        return None, "an option cannot be read as an answer to it"
    proof = _proof(asked, idea, values, facts)
    try:
        outcome = evaluate(proof, facts)
    except FormatError as error:
        return None, str(error)
    if not outcome.stands:
        return None, " ".join(outcome.reasons) or "its proof does not stand"
    proof["events"] = list(outcome.used)
    return Matched(asked.form, proof, values, idea.span, likeness), ""


# --- readings --------------------------------------------------------------------------------------------------------


def _readings(asked: Asked, facts: Facts) -> Iterator[tuple[float, Idea]]:
    """Ideas of the form's template about these events that agree with the question's words, with their likeness."""
    frames, window = slots.frames_in(asked.text), _window(asked, facts)
    for likeness, idea in _alike(asked, asked.form, facts):
        fitted = _fitted(idea, asked.events, frames, window, facts)
        if fitted is not None and likeness >= LIKE:
            yield likeness, fitted


def _alike(asked: Asked, form: str, facts: Facts) -> Iterator[tuple[float, Idea]]:
    """Ideas of a template about these events that name the same people in the same order, with how alike the words are.

    The order tells who does what; a group ("Person 1 and Person 2") has none.
    """
    names = {person.id: f"Person {person.number}" for person in facts.persons}
    order, seen = _in_order(asked.plain), set()
    for draw in range(2 * DRAWS):
        events = asked.events if draw < DRAWS else _in_question(asked, facts)
        scene = Scene(replace(facts, events=events), Random(draw))
        for idea in islice(REGISTRY[form].make(scene), MOST_IDEAS):
            mark = repr((idea.ask, idea.span, idea.wordings[0]))
            if mark in seen or idea.kind == "open":
                continue
            seen.add(mark)
            agreeing = [w for w in idea.wordings if _in_order(slots.render(w, names, float)) == order]
            if agreeing:
                yield max(_likeness(asked, wording) for wording in agreeing), replace(idea, wordings=agreeing)


def _in_question(asked: Asked, facts: Facts) -> list[Event]:
    """The events the item names as its sources, and those in the stretch of time it asks about."""
    window = _window(asked, facts)
    inside = [e for e in facts.events if window is not None and e.start < window[1] and window[0] < e.end]
    return list({event.id: event for event in [*asked.events, *inside]}.values())


def _window(asked: Asked, facts: Facts) -> Span | None:
    """The stretch of frames the question names: one span, or one moment, which stands for its printed tenth."""
    told = [one for one in times.mentions(asked.plain) if one.kind in ("point", "span")]
    frames = slots.frames_in(asked.text)
    if len(told) != 1:
        return None
    if told[0].kind == "span" and len(frames) == 2 and frames[0] < frames[1]:
        return frames[0], frames[1]
    if told[0].kind == "point" and len(frames) == 1:
        at = float(facts.seconds[min(frames[0], facts.frames - 1)])
        low, high = facts.seconds[:-1].searchsorted([at - PRINTED_S, at + PRINTED_S], side="right").tolist()
        return max(0, low - 1), max(low, high)
    return None


def _fitted(idea: Idea, events: list[Event], frames: list[int], window: Span | None, facts: Facts) -> Idea | None:
    """The idea about the times that the question names: its own window where it asks about one, else the times of the
    events it is about, just as they are. None where the times do not fit."""
    if _mentions(idea.ask, list(idea.span)):
        if window is None:
            return None
        ask = _moved(idea.ask, list(idea.span), list(window), Scene(facts, Random(0)).visible(window))
        return replace(idea, ask=ask, span=window)
    own = {event.start for event in events} | {event.end for event in events}
    wanted = [set(slots.frames_in(wording)) for wording in idea.wordings]
    return idea if frames and set(frames) <= own and set(frames) in wanted else None


def _mentions(tree: Any, window: list[int]) -> bool:
    if isinstance(tree, Mapping):
        return tree.get("during") == window or any(_mentions(value, window) for value in tree.values())
    return isinstance(tree, list) and any(_mentions(value, window) for value in tree)


def _moved(tree: Any, old: list[int], new: list[int], visible: list[str]) -> Any:
    """The expression about another window, and about those who are visible in it."""
    if isinstance(tree, Mapping):
        return {name: new if name == "during" and value == old else value for name, value in tree.items()}
    if isinstance(tree, list) and tree[:1] == ["others"]:
        return ["others", visible, *(_moved(part, old, new, visible) for part in tree[2:])]
    return [_moved(part, old, new, visible) for part in tree] if isinstance(tree, list) else tree


def _likeness(asked: Asked, wording: str) -> float:
    """How alike two questions are as text, people and times aside; 0 where they name other kinds of event, or only one
    of them is negated."""
    printed = slots.render(wording, Numbered(), float)
    for named in (phrases.gaze_types, phrases.gesture_types):
        if named(asked.plain) != named(printed):
            return 0.0
    if bool(phrases.NEGATION.search(asked.plain)) != bool(phrases.NEGATION.search(printed)):
        return 0.0
    return float(fuzz.ratio(_bare(asked.plain), _bare(printed)))


def _in_order(text: str) -> list[tuple[int, ...]]:
    """The people a text names, mention by mention; those joined by commas and "and" are one group, sorted."""
    groups: list[list[int]] = []
    end = 0
    for mention in persons.mentions(text):
        if groups and JOINED.fullmatch(text, end, mention.start):
            groups[-1] += mention.numbers
        else:
            groups.append(list(mention.numbers))
        end = mention.end
    return [tuple(sorted(group)) for group in groups]


def _bare(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", times.without(persons.without(text, "P"), "T")).casefold().split())


# --- options ---------------------------------------------------------------------------------------------------------

_UNREAD = object()


def _value(option: str, idea: Idea, facts: Facts) -> Any:
    """The value an option states as an answer to the idea, `_UNREAD` where that cannot be told."""
    names = {person.id: f"Person {person.number}" for person in facts.persons}
    kind = expr(idea.ask).kind
    like = [
        (float(fuzz.ratio(said(option), said(text))), choice.value)
        for choice in idea.choices
        if persons.in_order(text := slots.render(choice.text, names, float)) == persons.in_order(option)
        and bool(phrases.NEGATION.search(text)) == bool(phrases.NEGATION.search(option))
    ]
    best, value = max(like, key=lambda pair: pair[0], default=(0.0, None))
    exact = best == 100.0 or (best >= LIKE_OPTION and kind in ("order", "persons"))
    if exact and kind != "seconds":
        return value
    plain = {"persons": _people, "types": _type, "seconds": _seconds}.get(kind)
    return _UNREAD if plain is None else plain(option, idea, facts)


def _people(option: str, idea: Idea, facts: Facts) -> Any:
    """One person, several, or nobody; only where the option says nothing else."""
    if NOBODY.fullmatch(option):
        return None if any(choice.value is None for choice in idea.choices) else _UNREAD
    by_number = {person.number: person.id for person in facts.persons}
    found = [by_number.get(number) for number in persons.in_order(option)]
    if not found or None in found or not ONLY_PEOPLE.fullmatch(persons.without(option, "P")):
        return _UNREAD
    ids = sorted({str(id) for id in found})
    return sorted({*ids, *_counted(idea.ask)}) if len(ids) > 1 else ids[0]


def _counted(ask: list[Any]) -> set[str]:
    """Whom the expression counts in anyway: with whom A makes eye contact is asked among all who do, A too, so that
    "B and C" says that A, B and C do."""
    if ask[0] != "who":
        return set()
    selection = ask[1]
    while selection[0] != "events":
        if selection[0] == "event":
            return set()
        selection = selection[1]
    roles = selection[1].get("roles") or {}
    found = [persons for role, persons in roles.items() if role == ask[2]]
    return {person for persons in found for person in (persons if isinstance(persons, list) else [persons])}


def _type(option: str, idea: Idea, facts: Facts) -> Any:
    named = phrases.gaze_types(option) | phrases.gesture_types(option)
    if NOTHING.match(option):
        return None
    return next(iter(named)) if len(named) == 1 and not phrases.NEGATION.search(option) else _UNREAD


def _seconds(option: str, idea: Idea, facts: Facts) -> Any:
    """A number of seconds: "about" with the tolerance that the template gives this event, else as precise as it is
    written."""
    seconds = times.duration(option)
    if seconds is None or phrases.NEGATION.search(option):
        return _UNREAD
    if re.search(r"\b(?:about|around|approximately|roughly|nearly)\b|~|≈", option, re.IGNORECASE):
        within = max(
            (float(c.value["within"]) for c in idea.choices if isinstance(c.value, Mapping)), default=PRINTED_S
        )
        return {"seconds": seconds, "within": within}
    digits = re.search(r"[0-9]+(?:\.([0-9]+))?", option)
    return {"seconds": seconds, "within": 0.5 * 10 ** -len((digits[1] or "") if digits else "")}


def _proof(asked: Asked, idea: Idea, values: list[Any], facts: Facts) -> dict[str, Any]:
    named = {person.number: person.id for person in facts.persons}
    said = [named[n] for option in asked.options for n in persons.in_order(option) if n in named]
    return {
        "v": 1,
        "set": facts.set,
        "revision": facts.revision,
        "persons": list(dict.fromkeys([*slots.persons_in(asked.text), *said])),
        "span": list(idea.span),
        "ask": idea.ask,
        "options": [{"id": str(at), "value": value} for at, value in enumerate(values, 1)],
        "key": [str(asked.key + 1)],
        "events": [],
    }
