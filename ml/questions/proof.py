"""A question's proof: what is asked, what each option says, which of them are the key; and whether it stands.

JSON, version 1: {"v": 1, "set": ID, "revision": N, "persons": [ID..], "span": [a, b), "ask": EXPR,
"options": [{"id": ID, "value": VALUE}..], "key": [option ids], "events": [ids of events used]}; EXPR and VALUE as in
`ml.questions.grammar`. A proof stands when every key option is true and every other one false, never unknown, and when
that stays so wherever the boundaries lie within one step (`facts.step`, or the looks an event was found with). It does
not stand when it names somebody who is not in the video any more: after two people were found to be one, nobody with
the old id takes part in anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ml.formats.errors import FormatError
from ml.formats.jsonfields import fail
from ml.questions import slots
from ml.questions.facts import Event, Facts, Span
from ml.questions.grammar import Expr, Value, expr, span, value
from ml.questions.naming import named_by, named_in
from ml.questions.reducing import Known, Names, Orders, Range, Top, Truth, claimed, holds, known, leads_alone
from ml.questions.support import support
from ml.questions.table import Table, table_of

MOST_WAITING = 3  # proposals named by one proof


@dataclass(frozen=True)
class Proof:
    """A parsed proof; `options` pairs option ids with values."""

    ask: Expr
    options: tuple[tuple[str, Value], ...]
    key: tuple[str, ...]
    span: Span
    persons: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    set: str = ""
    revision: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a proof. `options`: truth of each as marked; `robust`: none changes within one step.

    `value`: what is asked for, as marked, where the facts tell it exactly (persons and types as sorted lists), else
    None. `used`: ids of the events the key rests on. `reasons`: why it does not stand, in sentences.
    """

    stands: bool
    robust: bool
    options: dict[str, Truth]
    key: tuple[str, ...]
    value: Any
    used: tuple[str, ...]
    reasons: list[str] = field(default_factory=list)


def parse(tree: Any) -> Proof:
    """A proof from JSON. Raises FormatError naming the place."""
    if not isinstance(tree, Mapping):
        raise fail("proof", "an object", tree)
    if tree.get("v") != 1 or isinstance(tree.get("v"), bool):
        raise fail("v", "1", tree.get("v"))
    ask = expr(tree.get("ask"))
    rows = _list(tree.get("options"), "options")
    options = tuple(_option(row, ask, f"options[{i}]") for i, row in enumerate(rows))
    ids = [id for id, _ in options]
    if len(set(ids)) < len(ids):
        raise FormatError("options: two options have the same id.")
    key = _texts(tree.get("key"), "key")
    if not key or not set(key) <= set(ids):
        raise fail("key", "ids of options, at least one", list(key))
    return Proof(
        ask,
        options,
        key,
        span(tree.get("span"), "span"),
        _texts(tree.get("persons", []), "persons"),
        _texts(tree.get("events", []), "events"),
        str(tree.get("set") or ""),
        revision if type(revision := tree.get("revision")) is int else 0,
    )


def _option(row: Any, ask: Expr, place: str) -> tuple[str, Value]:
    if not isinstance(row, Mapping) or not isinstance(row.get("id"), str) or "value" not in row:
        raise fail(place, 'an object with "id" and "value"', row)
    return row["id"], value(row["value"], ask.kind, f"{place}.value")


def _list(tree: Any, place: str) -> list[Any]:
    if not isinstance(tree, list):
        raise fail(place, "a list", tree)
    return tree


def _texts(tree: Any, place: str) -> tuple[str, ...]:
    for i, one in enumerate(_list(tree, place)):
        if not isinstance(one, str):
            raise fail(f"{place}[{i}]", "an id", one)
    return tuple(tree)


def evaluate(proof: Proof | Mapping[str, Any], facts: Facts) -> Outcome:
    """Whether the proof stands on these facts, and why not. Raises FormatError for a tree that is no proof."""
    proof = proof if isinstance(proof, Proof) else parse(proof)
    exact, moved = table_of(facts, 0), table_of(facts, facts.step)
    wanted = {id: id in proof.key for id, _ in proof.options}
    found = _fresh(exact, proof.ask)
    marked = _truths(proof, found, exact)
    told = _gaps(exact)
    shifted = _truths(proof, _fresh(moved, proof.ask), moved)
    robust = all(shifted[id] is truth is not None for id, truth in marked.items())
    gone = _named(proof) - exact.everybody
    stands = robust and marked == wanted and not gone
    reasons: list[str] = []
    if not stands:
        reasons = ["It names somebody who is not among the people of this video."] if gone else []
        if marked != wanted:
            reasons += _why(proof, marked, wanted, told)
        elif not robust:
            reasons += _loose(proof, shifted, _gaps(moved), facts)
        reasons = [
            slots.render(reason, names(facts), lambda frame: exact.seconds(frame) - exact.seconds(0))
            for reason in reasons
        ]
    used = support(proof.ask, [dict(proof.options)[id] for id in proof.key], exact)
    return Outcome(stands, robust, marked, proof.key, plain(found), used, reasons)


def claim(statement: Any, facts: Facts, *, slack: int = 0) -> Truth:
    """Whether a yes/no expression (JSON or parsed) is true, false or unknown, boundaries being off by up to `slack`."""
    parsed = expr(statement, "claim") if isinstance(statement, list) else statement
    if getattr(parsed, "kind", None) != "yes_no":
        raise fail("claim", "a yes/no expression", statement)
    return claimed(parsed, _cleared(table_of(facts, slack)))


def names(facts: Facts) -> dict[str, str]:
    """How persons are printed, by id."""
    return {person.id: f"Person {person.number}" for person in facts.persons}


def plain(found: Known) -> Any:
    """What is known as JSON, where it is known exactly, else None."""
    if isinstance(found, Names):
        return sorted(found.least) if found.least == found.most else None
    if isinstance(found, Range):
        return found.least if found.least == found.most else None
    if isinstance(found, Orders):
        return next((word for word, truth in found.truth.items() if truth), None)
    if isinstance(found, Top):
        return next((name for name in found.counts if leads_alone(found, name)), None)
    return found


def _cleared(table: Table) -> Table:
    table.missing.clear()
    table.gone.clear()
    table.waiting.clear()
    return table


def _fresh(table: Table, ask: Expr) -> Known:
    return known(ask, _cleared(table))


def _truths(proof: Proof, found: Known, table: Table) -> dict[str, Truth]:
    return {id: holds(found, stated, table) for id, stated in proof.options}


def _named(proof: Proof) -> frozenset[str]:
    """Everybody the proof and its question name."""
    return named_by(proof.ask).union(proof.persons, *(named_in(stated, proof.ask.kind) for _, stated in proof.options))


def _gaps(table: Table) -> list[str]:
    """What left answers open, in sentences with slots."""
    gone = [
        f"The event {slots.literal(id)} is no longer marked as it was."
        if id in table.by_id
        else f"The event {slots.literal(id)} is not among the confirmed ones."
        for id in sorted(table.gone)
    ]
    waiting = [_waiting(table.undecided[id].event, table.facts) for id in sorted(table.waiting)]
    more = [f"{len(waiting) - MOST_WAITING} more proposals wait."] if len(waiting) > MOST_WAITING else []
    return (
        gone
        + waiting[:MOST_WAITING]
        + more
        + [
            f"Not all {modality} events are marked from {slots.time(a)} to {slots.time(b)}, so one may be missing."
            for modality, (a, b) in sorted(table.missing)
        ]
    )


def _waiting(event: Event, facts: Facts) -> str:
    """What to do about a proposal that leaves something open."""
    people = [slots.person(person.id) for person in facts.persons if person.id in event.who()]
    who = f"{', '.join(people[:-1])} and {people[-1]}" if len(people) > 1 else "".join(people)
    kind, span = event.type.replace("_", " "), f"{slots.time(event.start)} to {slots.time(event.end)}"
    return f"The proposal {kind} of {who} from {span} waits for a word: confirm or reject it."


def _why(proof: Proof, marked: dict[str, Truth], wanted: dict[str, bool], told: list[str]) -> list[str]:
    """Sentences for options that are not what they should be."""
    reasons = []
    for id, truth in marked.items():
        if truth is wanted[id]:
            continue
        role = "The key" if wanted[id] else "Another option"
        said = "is false" if truth is False else "is true, too" if truth else "cannot be told from the events"
        reasons.append(f"{role}, {slots.literal(id)}, {said}.")
    return reasons + (told if None in marked.values() else [])


def _loose(proof: Proof, shifted: dict[str, Truth], told: list[str], facts: Facts) -> list[str]:
    ids = [slots.literal(id) for id, truth in shifted.items() if truth is None]
    options = f"option{'s' * (len(ids) > 1)} {', '.join(ids)}"
    frames = f"{facts.step} frame{'s' * (facts.step > 1)}"
    return [f"When boundaries move by one step ({frames}), {options} could change.", *told]
