"""Why a completion got what it got: every mention of a person, and whether it counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ml.rewards import grounding
from ml.rewards.reply import Segment
from ml.rewards.rows import Row
from ml.text import persons

Counted = Literal["target", "wrong", "asked", "outside"]


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters [start, end) of the completion name `number`.

    `counted`, for the strict form: a target of the block's modality; wrong, which costs precision; asked, since the
    question names it already; outside every closed gaze or gesture block, where nothing counts. `credit` in [0, 1] is
    what the target earns its event at best. `released`: the released and the paper's form see it as well.
    """

    start: int
    end: int
    number: int
    counted: Counted
    modality: str = ""
    credit: float = 0.0
    released: bool = False

    @property
    def sentence(self) -> str:
        who = f"Person {self.number}"
        if self.counted == "outside":
            return f"{who}: outside a closed gaze or gesture block, not counted."
        if self.counted == "asked":
            return f"{who}: named by the question already, not counted."
        if self.counted == "wrong":
            return f"{who}: takes part in no {self.modality} event of the key; costs precision."
        return f"{who}: takes part in a {self.modality} event of the key; credit {self.credit:g}."


def marks(row: Row) -> list[Mark]:
    """Every mention in the completion, by its place; a list ("Persons 1 and 2") gives one mark for each person."""
    inside: dict[int, tuple[str, Segment]] = {}
    for segment in row.reply.segments:
        said = persons.mentions(segment.text)
        inside |= {segment.start + mention.start: (segment.modality, segment) for mention in said}
    credits: dict[tuple[str, int], float | None] = {}  # a person may be named thousands of times
    found = []
    for mention in persons.mentions(row.completion):
        seen = persons.released(row.completion[mention.start : mention.end])
        block = inside.get(mention.start)
        for number in mention.numbers:
            released = block is not None and number in seen
            if block is None:
                found.append(Mark(mention.start, mention.end, number, "outside"))
            elif number in row.asked:
                found.append(Mark(mention.start, mention.end, number, "asked", block[0], released=released))
            else:
                who = (block[0], number)
                if who not in credits:
                    credits[who] = _credit(row, *who)
                credit = credits[who]
                counted: Counted = "wrong" if credit is None else "target"
                found.append(Mark(mention.start, mention.end, number, counted, block[0], credit or 0.0, released))
    return found


def _credit(row: Row, modality: str, number: int) -> float | None:
    """The best credit this person earns an event; None where it is no target of the modality."""
    events = [event for event, novel in row.targets if event.modality == modality and number in novel]
    said = [s for s in row.reply.segments if s.modality == modality and number in s.persons]
    return max((grounding.credit(event.span, said, [e.span for e in events]) for event in events), default=None)
