"""What a reward is given: one completion with its question, its right answer and the events behind it.

A row in JSON: {"question", "completion", "answer", "gt_events": [{"source": "gaze" | "gesture", "persons": [numbers],
"start"?, "end"?}], "visible_persons": [numbers], "options"?: [texts], "prompt_id"?}. Times are seconds on the clip's
clock, as the completion's are. Only `completion` must be there; a reward that needs what is missing gives no value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from ml.rewards.reply import Reply
from ml.text import persons


class Truth(NamedTuple):
    """One ground-truth event; `span` in seconds, None where the row does not tell it."""

    modality: str
    persons: frozenset[int]
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Row:
    """One completion and what it is held against. `visible`: None where the row does not tell who is visible."""

    completion: str
    question: str = ""
    answer: str | None = None
    events: tuple[Truth, ...] = ()
    visible: frozenset[int] | None = None
    options: tuple[str, ...] = ()
    prompt_id: str = ""

    @cached_property
    def reply(self) -> Reply:
        return Reply(self.completion)

    @cached_property
    def held(self) -> Held:
        return _held(self.question, self.events)

    @property
    def asked(self) -> frozenset[int]:
        """Persons whom the question names: to name them again shows nothing."""
        return self.held.asked

    @property
    def targets(self) -> tuple[tuple[Truth, frozenset[int]], ...]:
        """Each event with its novel participants, those the question does not name; events without any are left out."""
        return self.held.targets


@dataclass(frozen=True, slots=True)
class Held:
    """What the completions of one prompt are held against. `asked`, `targets`: as in `Row`. `spans`: per pair of
    modality and novel participant, the spans of the events it takes part in."""

    asked: frozenset[int]
    targets: tuple[tuple[Truth, frozenset[int]], ...]
    spans: dict[tuple[str, int], list[tuple[float, float] | None]]


@lru_cache(4096)
def _held(question: str, events: tuple[Truth, ...]) -> Held:
    """Worked out once for the rollouts of a prompt."""
    asked = persons.named(question)
    targets = tuple([(event, novel) for event in events if (novel := event.persons - asked)])
    spans: dict[tuple[str, int], list[tuple[float, float] | None]] = defaultdict(list)
    for event, novel in targets:
        for person in novel:
            spans[event.modality, person].append(event.span)
    return Held(asked, targets, dict(spans))


def parse_row(tree: Any, place: str = "") -> Row:
    """Check one row; `FormatError` names the place and the cause. Unknown fields are left aside."""
    if not isinstance(tree, Mapping):
        raise read_as.fail(place or "row", "an object", tree)
    at = f"{place}." if place else ""
    completion = tree.get("completion")
    if not isinstance(completion, str):
        raise read_as.fail(f"{at}completion", "text", completion)
    question, answer = tree.get("question", ""), tree.get("answer")
    if not isinstance(question, str):
        raise read_as.fail(f"{at}question", "text", question)
    if answer is not None and not isinstance(answer, str):
        raise read_as.fail(f"{at}answer", "text", answer)
    seen = tree.get("visible_persons")
    return Row(
        completion,
        question,
        answer,
        tuple(_event(e, f"{at}gt_events[{i}]") for i, e in enumerate(_list(tree.get("gt_events"), f"{at}gt_events"))),
        None if seen is None else _numbers(seen, f"{at}visible_persons"),
        tuple(_text(o, f"{at}options[{i}]") for i, o in enumerate(_list(tree.get("options"), f"{at}options"))),
        str(tree.get("prompt_id") or ""),
    )


def rows_in(path: Path) -> Iterator[Row]:
    """The rows of a JSON or JSONL file, one at a time. Raises FormatError, also in the middle of the reading."""
    for entry in entries(path):
        try:
            yield parse_row(entry.tree)
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error


def _event(tree: Any, place: str) -> Truth:
    if not isinstance(tree, Mapping):
        raise read_as.fail(place, "an object", tree)
    source = tree.get("source")
    if not isinstance(source, str):
        raise read_as.fail(f"{place}.source", "gaze or gesture", source)
    ends = [tree.get(name) for name in ("start", "end")]
    span = None
    if ends != [None, None]:
        start, end = (_seconds(value, f"{place}.{name}") for value, name in zip(ends, ("start", "end"), strict=True))
        if end < start:
            raise FormatError(f"{place}: the event ends at {end:g} s, before it starts at {start:g} s.")
        span = (start, end)
    # the released records call a source "gaze" or anything else
    return Truth("gaze" if source == "gaze" else "gesture", _numbers(tree.get("persons"), f"{place}.persons"), span)


def _list(tree: Any, place: str) -> list[Any]:
    if tree is None:
        return []
    if not isinstance(tree, list):
        raise read_as.fail(place, "a list", tree)
    return tree


def _numbers(tree: Any, place: str) -> frozenset[int]:
    found = _list(tree, place)
    for i, one in enumerate(found):
        if type(one) is not int or one < 0:
            raise read_as.fail(f"{place}[{i}]", "the number of a person", one)
    return frozenset(found)


def _text(tree: Any, place: str) -> str:
    if not isinstance(tree, str):
        raise read_as.fail(place, "text", tree)
    return tree


def _seconds(tree: Any, place: str) -> float:
    if isinstance(tree, bool) or not isinstance(tree, int | float) or not abs(tree) < float("inf"):
        raise read_as.fail(place, "seconds", tree)
    return float(tree)
