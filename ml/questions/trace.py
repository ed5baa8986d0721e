"""What a proof shows: the ground-truth events of the grounding reward, the reasoning trace, the reviewers' sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ml.formats.errors import FormatError
from ml.questions import words
from ml.questions.facts import Facts
from ml.questions.grammar import After, Claim, Either, Events, Expr, Extreme, Is, Overlapping, Selection, Value
from ml.questions.proof import Proof, evaluate, parse
from ml.questions.selecting import choose
from ml.questions.table import table_of


def gt_events(
    proof: Proof | Mapping[str, Any], facts: Facts, clock: Callable[[int], float] | None = None
) -> list[dict[str, Any]]:
    """Exactly the events the key rests on: [{"source", "persons": [numbers], "start", "end"}], by start.

    `clock`: from source frame to seconds (of the clip, say); without it, seconds from the first frame of the source.
    Raises FormatError for a person who is not in the video.
    """
    tell = clock or (lambda frame: float(facts.seconds[frame] - facts.seconds[0]))
    numbers = {person.id: person.number for person in facts.persons}
    used = [facts.by_id[id] for id in evaluate(proof, facts).used]
    for event in used:
        for person in event.who() - numbers.keys():
            raise FormatError(f"The event {event.id} names the person “{person}”, who is not in this video.")
    return [
        {
            "source": event.modality,
            "persons": sorted(numbers[person] for person in event.who()),
            "start": round(tell(event.start), 3),
            "end": round(tell(event.end), 3),
        }
        for event in used
    ]


def trace(proof: Proof | Mapping[str, Any], facts: Facts, answer: str, others: Sequence[str] = ()) -> str:
    """The reasoning an SFT item teaches, with slots: a think block with one gaze or gesture block per event of the key.

    `answer`: the key in words; `others`: the other options. Where the key is an absence, the blocks say where none is.
    """
    proof = proof if isinstance(proof, Proof) else parse(proof)
    used = [facts.by_id[id] for id in evaluate(proof, facts).used]
    lines = [f"I look at the time {words.span(proof.span)}."]
    lines += [f"<{e.modality}>{words.statement(facts, e)} {words.span((e.start, e.end))}.</{e.modality}>" for e in used]
    lines += [f"<{modality}>{sentence}</{modality}>" for modality, sentence in _absent(proof, facts)]
    lines.append(f"So the answer is: {answer.rstrip('.')}.")
    if others:
        lines.append(f"The events rule out the other options: {'; '.join(others)}.")
    return "<think>\n" + "\n".join(lines) + "\n</think>"


def sentence(proof: Proof | Mapping[str, Any], facts: Facts, answer: str) -> str:
    """What reviewers read, with slots: "Key: Person 3, because Person 2 points at Person 3 from 7.5 s to 9.0 s." """
    proof = proof if isinstance(proof, Proof) else parse(proof)
    used = [facts.by_id[id] for id in evaluate(proof, facts).used]
    why = [f"{words.statement(facts, event)} {words.span((event.start, event.end))}" for event in used]
    why += [f"{text[:1].lower()}{text[1:]}".rstrip(".") for _, text in _absent(proof, facts)]
    return f"Key: {answer.rstrip('.')}, because {words.listed(why) or 'the events marked leave nothing else'}."


def _absent(proof: Proof, facts: Facts) -> Iterator[tuple[str, str]]:
    """Modality and sentence of each selection whose emptiness is the key."""
    values = dict(proof.options)
    for id in proof.key:
        stated = values[id]
        ask: Expr = stated.expr if isinstance(stated, Claim) else proof.ask
        for node in _empty(ask, True if isinstance(stated, Claim) else stated):
            if not choose(node, table_of(facts, 0)).members:
                yield from _none_of(node, facts, " in that time")


def _empty(ask: Expr, stated: Value) -> list[Selection]:
    """The selections that the value may say are empty."""
    if isinstance(ask, Is):
        return _empty(ask.expr, ask.value)
    absent = stated is None or stated is False or stated == ()
    if not absent or ask.word in ("most", "others"):
        return []
    return [ask.a] if ask.b is None else [ask.a, ask.b]


def _none_of(node: Selection, facts: Facts, when: str) -> Iterator[tuple[str, str]]:
    """ "No mutual gaze with Person 1 overlaps it." Of a selection that refers to another event, "it" is that one."""
    if isinstance(node, Events):
        kinds = [words.TYPES[type].removeprefix("a ") for type in node.types]
        kind = " or ".join(kinds) if kinds else "gaze event" if node.modality == "gaze" else "gesture"
        persons = frozenset(person for _, person in node.roles)
        whose = f" with {words.people(facts, persons)}" if persons else ""
        where = f" is there {words.span(node.during)}" if node.during else f" is there{when}"
        yield node.modality, f"No {kind}{whose}{where if when == ' in that time' else when}."
    elif isinstance(node, Either):
        yield from _none_of(node.a, facts, when)
        yield from _none_of(node.b, facts, when)
    elif isinstance(node, Overlapping):
        yield from _none_of(node.a, facts, " overlaps it in time")
    elif isinstance(node, After):
        within = "" if node.within_s is None else f" within {node.within_s:g} seconds"
        yield from _none_of(node.a, facts, f" starts{within} after it")
    elif isinstance(node, Extreme):
        yield from _none_of(node.a, facts, when)
