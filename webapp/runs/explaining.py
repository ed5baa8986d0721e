"""One answer of a rollout as people read it: its text with every mention marked, and what each reward gave and why.

The marks are those of `ml.rewards.explain`, for the strict form of the Social Grounding Reward. What a completion says
is never trusted: it leaves here escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from ml.formats.errors import FormatError
from ml.rewards import explain, narrating
from ml.rewards.rows import Row, parse_row
from webapp.bench.charts import bar
from webapp.runs.run_settings import meaning

TAG = re.compile(r"</?\s*[A-Za-z]{1,12}\s*>")
STRONGEST = ("wrong", "target", "asked", "outside")  # of several persons in one mention
WORDS = {
    "target": "a person who takes part",
    "wrong": "somebody who does not: costs precision",
    "mixed": "both in one mention",
    "asked": "named by the question already: not counted",
    "outside": "outside a closed gaze or gesture block: not counted",
}


@dataclass(frozen=True)
class Line:
    """What one reward gave an answer. `value` None: it has no value for this item."""

    name: str
    weight: float | None
    value: float | None
    says: str
    bar: SafeString


@dataclass(frozen=True)
class Answer:
    """One of the K answers, ready to be shown."""

    number: int
    text: SafeString
    total: float | None
    advantage: float | None
    tokens: int | None
    clipped: bool
    lines: list[Line]
    mentions: list[str]  # a sentence for each mention, in the order of the text
    best: bool = False


def answers(
    tree: Mapping[str, Any], completions: Sequence[Mapping[str, Any]], weights: Mapping[str, float]
) -> list[Answer]:
    """Every answer to a prompt. `tree`: what rewards need of the item; where it is gone, nothing is explained."""
    totals = [total(one.get("rewards") or {}, weights) for one in completions]
    best = max((value for value in totals if value is not None), default=None)
    spread = len({value for value in totals if value is not None}) > 1
    return [
        _answer(number, tree, one, weights, value, spread and value == best)
        for number, (one, value) in enumerate(zip(completions, totals, strict=True), start=1)
    ]


def _answer(
    number: int,
    tree: Mapping[str, Any],
    one: Mapping[str, Any],
    weights: Mapping[str, float],
    sum_: float | None,
    best: bool,
) -> Answer:
    text = str(one.get("text", ""))
    row = row_of(tree, text)
    marks = explain.marks(row) if row else []
    return Answer(
        number,
        marked(text, marks),
        sum_,
        one.get("advantage"),
        one.get("tokens"),
        bool(one.get("clipped")),
        [_line(row, name, value, weights.get(name)) for name, value in (one.get("rewards") or {}).items()],
        [mark.sentence for mark in marks],
        best,
    )


def row_of(tree: Mapping[str, Any], text: str) -> Row | None:
    """The row a reward was given; None where the item was erased or does not read as one."""
    if not tree:
        return None
    try:
        return parse_row({**tree, "completion": text})
    except FormatError:
        return None


def total(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """The weighted sum of the values there are; every weight 1 where none is known. None without any value."""
    there = {name: value for name, value in values.items() if value is not None}
    if not there:
        return None
    return sum((weights.get(name, 0.0) if weights else 1.0) * value for name, value in there.items())


# ---------------------------------------------------------------------------------------------------------------------
# The text


def marked(text: str, marks: Sequence[explain.Mark]) -> SafeString:
    """The text with its mentions marked and its tags set apart. The sentence of a mark is its title."""
    pieces, at = [], 0
    for (start, end), group in groupby(marks, key=lambda mark: (mark.start, mark.end)):
        if start < at:
            continue  # a mention inside another one
        them = list(group)
        pieces.append(_tags(text[at:start]))
        kind = kind_of([mark.counted for mark in them])
        title = " ".join(mark.sentence for mark in them)
        pieces.append(format_html('<mark class="said said-{}" title="{}">{}</mark>', kind, title, text[start:end]))
        at = end
    pieces.append(_tags(text[at:]))
    return mark_safe("".join(pieces))  # every piece is escaped above


def kind_of(counted: Sequence[str]) -> str:
    found = set(counted)
    return "mixed" if {"wrong", "target"} <= found else next(kind for kind in STRONGEST if kind in found)


def _tags(text: str) -> str:
    pieces, at = [], 0
    for found in TAG.finditer(text):
        pieces += [escape(text[at : found.start()]), format_html('<span class="tag">{}</span>', found[0])]
        at = found.end()
    return "".join([*pieces, escape(text[at:])])


# ---------------------------------------------------------------------------------------------------------------------
# The rewards


def _line(row: Row | None, name: str, value: float | None, weight: float | None) -> Line:
    says = _says(row, name) if row else ""
    share = 0.0 if value is None else value / 2 if name == "sgr-paper" else value
    words = "no value" if value is None else f"{value:.3g}"
    part = ("reward", share) if share >= 0 else ("penalty", -share)
    return Line(name, weight, value, says or meaning(name), bar([part], words=f"{name}: {words}"))


def _says(row: Row, name: str) -> str:
    for prefix, says in SAYS.items():
        if name.startswith(prefix):
            return says(row)
    return ""


def _accuracy(row: Row) -> str:
    said = row.reply.answer
    told = "No closed answer tag" if said is None else f"Answered “{_short(said)}”"
    return f"{told}; " + ("the item has no key." if row.answer is None else f"the key is “{_short(row.answer)}”.")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _format_grasp(row: Row) -> str:
    found = row.reply.answer is not None and "\n" not in row.reply.answer
    return "An answer tag opens and closes on one line." if found else "No answer tag opens and closes on one line."


def _format_affectomni(row: Row) -> str:
    return "Looks for the blocks context, think and answer, in this order."


def _grounding_tag(row: Row) -> str:
    count = len(row.reply.blocks)
    return (
        f"{count} closed gaze or gesture block{'' if count == 1 else 's'}."
        if count
        else "No closed gaze or gesture block."
    )


def _sgr(row: Row, *, released: bool = False) -> str:
    """Who is named of those to be named, as this form reads mentions."""
    if not row.targets:
        return "No value: the question names everybody who takes part, or the item has no event."
    wanted = {(event.modality, person) for event, novel in row.targets for person in novel}
    marks = [mark for mark in explain.marks(row) if mark.counted in ("target", "wrong")]
    named = {(mark.modality, mark.number) for mark in marks if mark.released or not released}
    missed = ", ".join(f"Person {person} ({modality})" for modality, person in sorted(wanted - named))
    told = f"Names {len(named & wanted)} of {len(wanted)} to be named"
    told += f", misses {missed}" if missed else ""
    wrong, unseen = len(named - wanted), released and any(not mark.released for mark in marks)
    told += f"; {wrong} named who take{'s' if wrong == 1 else ''} no part." if wrong else "; nobody else named."
    return told + (" This form does not read plurals and small letters." if unseen else "")


def _sgr_released(row: Row) -> str:
    return _sgr(row, released=True)


def _person_focus(row: Row) -> str:
    found = narrating.focus(row)
    faces, moves, between = found.facets
    return (
        f"Of {_some(found.words, 'word')}: {found.people} of people, {faces} of faces, {moves} of movements, "
        f"{between} of dealings with each other, {found.around} of surroundings (by a list of words)."
    )


def _temporal_order(row: Row) -> str:
    found = narrating.course(row)
    told = f"{_some(found.markers, 'word')} of order in {found.words}, {_some(found.moments, 'sentence')} with a time"
    pairs = found.forward + found.backward
    runs = f"; {found.forward} of {pairs} pairs run forward" if pairs else "; no two times to compare: half at most"
    return f"{told}{runs}."


def _thinking_focus(row: Row) -> str:
    found = narrating.named_options(row)
    if found is None:
        return "No value: the item has no right and wrong options."
    return f"Says {found[0]:.0%} of the right option's own words, at most {found[1]:.0%} of a wrong one's."


def _event_order(row: Row) -> str:
    found = narrating.told_pairs(row)
    if found is None:
        return "No value: there are no two events that begin at different times."
    pairs, right, wrong = found
    left = pairs - right - wrong
    return f"Of {_some(pairs, 'pair')} of events {right} told in order, {wrong} in the wrong one, {left} not."


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _judged(row: Row) -> str:
    return ""  # a judge's ranking of the whole group: there is no number of this answer alone


SAYS: dict[str, Callable[[Row], str]] = {  # by the beginning of a reward's name
    "accuracy": _accuracy,
    "format-affectomni": _format_affectomni,
    "format": _format_grasp,
    "grounding-tag": _grounding_tag,
    "sgr-release": _sgr_released,
    "sgr-paper": _sgr_released,
    "sgr": _sgr,
    "person-focus-judged": _judged,
    "temporal-order-judged": _judged,
    "person-focus": _person_focus,
    "temporal-order": _temporal_order,
    "thinking-focus": _thinking_focus,
    "event-order": _event_order,
}


def events(tree: Mapping[str, Any]) -> Iterator[str]:
    """The ground-truth events of an item, a sentence each."""
    for event in tree.get("gt_events") or []:
        people = ", ".join(f"Person {number}" for number in event.get("persons", []))
        start, end = event.get("start"), event.get("end")
        when = "" if start is None or end is None else f", {start:g} to {end:g} s"
        yield f"{str(event.get('source', '')).capitalize()}: {people}{when}"
