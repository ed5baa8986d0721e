"""A proposed question: text with slots, options, key, proof, trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Draft:
    """What a generator hands over; the fields of a stored question.

    `options`: [{"id", "text", "value"}] in the order of letters, empty for kinds number and open. `key`: [option id],
    or [number], or [text] of an open item; `proof["key"]` holds ids of `proof["options"]` in every case (those of an
    open item are its sentences). `start`, `end`: the span the question asks about, half-open source frames.
    `reasoning`: the trace, with slots. `gt_events`: [{"source", "persons": [numbers], "start", "end"}] in source
    seconds.
    """

    category: str
    kind: str
    text: str
    options: list[dict[str, Any]]
    key: list[Any]
    proof: dict[str, Any]
    reasoning: str
    start: int
    end: int
    difficulty: str
    template: str
    gt_events: list[dict[str, Any]] = field(default_factory=list)
