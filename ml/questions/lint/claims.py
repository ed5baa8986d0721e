"""Does the event table bear the key out, and only the key?

The table is asked in three values, with boundaries that may be off by a quarter of a second, and twice: with all its
events and with the sure ones only. A key is contradicted, another option is true as well, only where both say so. Where
the item brings a proof (a project of the studio), its outcome takes the place of the reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ml.formats.grasp_events import BLOCK, FIRST_ID
from ml.questions import grammar, proof
from ml.questions.lint import readings
from ml.questions.lint.findings import Finding, quoted
from ml.questions.lint.one import One, World
from ml.questions.lint.tables import RATE, Table
from ml.questions.taxonomy import CATEGORIES
from ml.text import answers

SLACK = RATE // 4


def check(one: One, world: World) -> Iterator[Finding]:
    if one.broken:
        yield Finding("proof_broken", f"The proof does not stand: {one.broken}", one.at)
    table = world.tables.of(one.item) if world.tables else None
    if table is not None:
        yield from _sources(one, table)
    truths = one.truths if one.truths is not None else _truths(one, table)
    if truths is None or one.key is None:
        return
    if truths[one.key] is False:
        said = quoted(one.words[one.key])
        better = [answers.letter_of(at) for at, truth in enumerate(truths) if truth]
        instead = f"; {' and '.join(better)} would be true" if better else ""
        yield Finding("key_contradicted", f"The event table says that the key {said} is false{instead}.", one.at)
        return
    for at, truth in enumerate(truths):
        if truth and at != one.key:
            said = f"{answers.letter_of(at)} {quoted(one.words[at])}"
            yield Finding("second_true_option", f"The event table says that option {said} is true as well.", one.at)


def _truths(one: One, table: Table | None) -> list[bool | None] | None:
    """What the table says of each option, as far as it was understood."""
    claims = readings.read(one) if table is not None and one.key is not None else None
    if claims is None or table is None:
        return None
    return [None if claim is None else _both(claim, table) for claim in claims]


def _both(claim: list[object], table: Table) -> bool | None:
    slack = 0 if "duration_s" in str(claim) else SLACK
    parsed = grammar.expr(claim)
    every, sure = table.facts(sure=False), table.facts(sure=True)
    found = proof.claim(parsed, every, slack=slack)
    return found if every is sure or proof.claim(parsed, sure, slack=slack) is found else None


def _sources(one: One, table: Table) -> Iterator[Finding]:
    """The events the item says it rests on are in the table and touch its time range."""
    for id in one.item.source_event_ids or []:
        event = table.ids.get(str(id))
        if event is None:
            if _should_be_known(one, id, table):
                yield Finding("unknown_event", f"The event {id} is not in the table of its video.", one.at)
            continue
        if one.item.time_range is None or one.item.time_range[1] < one.item.time_range[0]:
            continue
        start, end = event.start / RATE, event.end / RATE
        shifts = {0.0, one.offset}
        if not any(start <= one.item.time_range[1] + by + 0.5 and one.item.time_range[0] + by - 0.5 <= end
                   for by in shifts):  # fmt: skip
            low, high = one.item.time_range
            yield Finding(
                "event_outside_range",
                f"Event {id} goes on from {start:g} to {end:g} s and does not touch the time range {low:g}-{high:g} s.",
                one.at,
            )


def _should_be_known(one: One, id: int | str, table: Table) -> bool:
    """Gaze events have ids in known blocks; how gestures are numbered is not known, so theirs are passed over."""
    if "gaze" not in table.modalities or not (isinstance(id, int) or str(id).isdecimal()):
        return False
    known = any(str(first) in table.ids or _block(first, table) for first in FIRST_ID.values())
    gaze_only = bool(one.slugs) and all(CATEGORIES[slug].group == "gaze" for slug in one.slugs)
    return gaze_only and (known or not any(key.isdecimal() for key in table.ids))


def _block(first: int, table: Table) -> bool:
    return any(key.isdecimal() and first <= int(key) < first + BLOCK for key in table.ids)


def whole_set(ones: Sequence[One], world: World) -> Iterator[Finding]:
    """How many keys could be checked, and what kept the others from it."""
    if world.tables is None:
        left = sum(one.truths is None and not one.broken and not one.held for one in ones)
        if left and world.of_project:
            whose = "1 key was" if left == 1 else f"{left:,} keys were"
            lacks = "without a proof that can be run on them, and signed by nobody"
            yield Finding("not_run", f"{whose} not held against the project's events: {lacks}.")
        elif left:
            yield Finding("not_run", "Keys were not held against events: name event files with --events.")
        return
    why: Counter[str] = Counter()
    for one in ones:
        if one.truths is None and one.key is not None:
            if world.tables.of(one.item) is None:
                why["have no event file"] += 1
            elif one.slug is None:
                why["have a category that depends on the scheme"] += 1
            elif readings.read(one) is None:
                why["ask in a way that is not understood"] += 1
    for reason, count in why.items():
        yield Finding("key_not_checked", f"{count} of {len(ones)} items {reason}, so their keys were not checked.")
