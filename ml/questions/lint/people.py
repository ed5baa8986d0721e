"""Are the persons named in the item people of the video, and in the picture while its clip runs?

Known from the gaze file of the video, or from the item's own list `persons` (the numbers drawn into its clip). Event
files alone know only those who take part in an event, so a person they do not know is merely noted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ml.questions.lint.findings import Finding
from ml.questions.lint.one import One, World
from ml.questions.lint.tables import Table
from ml.text import persons

SLACK = 0.5  # seconds


def check(one: One, world: World) -> Iterator[Finding]:
    yield from _forms(one)
    drawn = one.extra("persons", "visible_persons")
    if isinstance(drawn, list) and drawn and all(type(number) is int for number in drawn):
        strangers = sorted(one.everybody - set(drawn))
        if strangers:
            yield Finding(
                "person_not_visible",
                f"{persons.listed(strangers)} {_is(strangers)} named, but the clip shows "
                f"{persons.listed(sorted(drawn))}.",
                one.at,
            )
        return
    table = world.tables.of(one.item) if world.tables else None
    if table is not None and table.persons:
        yield from _known(one, table)


def _is(numbers: list[int]) -> str:
    return "is" if len(numbers) == 1 else "are"


def _forms(one: One) -> Iterator[Finding]:
    odd = [
        one.item.question[m.start : m.end]
        for m in persons.mentions(one.item.question)
        if not m.standard and (m.lower or m.plural)
    ]
    if odd:
        yield Finding("person_form", f"The released reward does not find every person in {', '.join(odd[:3])}.", one.at)


def _known(one: One, table: Table) -> Iterator[Finding]:
    strangers = sorted(one.everybody - table.persons)
    if strangers:
        known, who = persons.listed(sorted(table.persons)), f"{persons.listed(strangers)} {_is(strangers)} named"
        if not table.seen:  # somebody without an event may well be in the picture
            yield Finding("person_without_event", f"{who}, but the video's events know {known} only.", one.at)
            return
        yield Finding("person_unknown", f"{who}, but the video's files know {known} only.", one.at)
    if not table.seen or one.span is None:
        return
    low, high = one.span[0] - SLACK, one.span[1] + SLACK
    missing = [number for number in sorted(one.everybody & table.persons) if not _is_there(table, number, low, high)]
    if missing:
        yield Finding(
            "person_not_visible",
            f"{persons.listed(missing)} {_is(missing)} named, but never in the picture while the clip runs "
            f"({one.span[0]:g}-{one.span[1]:g} s).",
            one.at,
        )


def _is_there(table: Table, number: int, low: float, high: float) -> bool:
    times = table.seen.get(number)
    return times is not None and bool(np.any((times >= low) & (times <= high)))
