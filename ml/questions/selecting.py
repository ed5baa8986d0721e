"""Selections evaluated: which events are in, surely or perhaps, and whether an unmarked one may be.

Each statement holds for every way the boundaries can lie within the table's slack, each boundary by itself. Where one
event is tested twice (both for a span and for an overlap) the tests are taken as independent: then "sure" is never
claimed wrongly, "perhaps" at times needlessly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from ml.questions.facts import Span
from ml.questions.grammar import After, Either, Events, Extreme, One, Overlapping, Selection
from ml.questions.table import Bounds, Table


@dataclass(slots=True)
class Member:
    """An event that is in the selection, surely or perhaps; `via`: ids of the events that brought it in."""

    bounds: Bounds
    sure: bool
    via: frozenset[str] = frozenset()


@dataclass(slots=True)
class Chosen:
    """`hides(window)`: may an unmarked event that shares a frame with the window be in? `some`: surely not empty.

    `anchors`: ids of the events the selection refers to, though they need not be in it.
    """

    members: list[Member]
    hides: Callable[[Span], bool]
    some: bool
    anchors: frozenset[str] = frozenset()


def choose(node: Selection, table: Table, window: Span | None = None) -> Chosen:
    """The events of a selection. With `window`, members that share no frame with it may be left out."""
    if isinstance(node, Events):
        return _events(node, table, window)
    if isinstance(node, One):
        return _one(node, table)
    if isinstance(node, Extreme):
        return _EXTREMES[node.word](choose(node.a, table), table)
    if isinstance(node, Either):
        return _either(choose(node.a, table, window), choose(node.b, table, window))
    return _related(node, table)


def _made(members: list[Member], hides: Callable[[Span], bool], anchors: frozenset[str] = frozenset()) -> Chosen:
    return Chosen(members, hides, any(member.sure for member in members), anchors)


def _events(node: Events, table: Table, window: Span | None) -> Chosen:
    members = []
    for bounds in table.candidates(node, node.during or window):
        event = bounds.event
        if node.types and event.type not in node.types:
            continue
        if not all(person in event.who(None if role == "person" else role) for role, person in node.roles):
            continue
        sure = bounds.decided
        if node.during is not None:
            a, b = node.during
            if not (bounds.s0 < b and a < bounds.e1):
                continue
            sure = sure and bounds.s1 < b and a < bounds.e0
        if not bounds.decided:
            table.waiting.add(event.id)
        members.append(Member(bounds, sure))
    return _made(members, lambda window: table.hides(node, window))


def _one(node: One, table: Table) -> Chosen:
    bounds = table.by_id.get(node.id)
    if bounds is None or (node.marked is not None and node.marked != _marked(bounds)):
        table.gone.add(node.id)
        return _made([], lambda window: True)
    return _made([Member(bounds, True)], lambda window: False, frozenset({node.id}))


def _either(a: Chosen, b: Chosen) -> Chosen:
    """The union; an event that is in both counts once."""
    merged: dict[str, Member] = {}
    for member in [*a.members, *b.members]:
        known = merged.get(member.bounds.event.id)
        sure, via = (known.sure, known.via) if known else (False, frozenset())
        merged[member.bounds.event.id] = Member(member.bounds, sure or member.sure, via | member.via)
    return Chosen(
        list(merged.values()),
        lambda window: a.hides(window) or b.hides(window),
        a.some or b.some,
        a.anchors | b.anchors,
    )


def _marked(bounds: Bounds) -> tuple[str, tuple[tuple[str, str], ...], Span]:
    event = bounds.event
    return event.type, tuple(sorted((role, person) for person, role in event.roles)), (event.start, event.end)


def overlap(a: Bounds, b: Bounds) -> bool | None:
    """Do two events share a frame?"""
    if a.s1 < b.e0 and b.s1 < a.e0:
        return True
    return None if a.s0 < b.e1 and b.s0 < a.e1 else False


def before(a: Bounds, b: Bounds) -> bool | None:
    """Has `a` ended when `b` starts?"""
    if a.e1 <= b.s0:
        return True
    return None if a.e0 <= b.s1 else False


def _follows(table: Table, a: Bounds, b: Bounds, within: float | None) -> bool | None:
    ended = before(b, a)
    if ended is False or within is None:
        return ended
    least = max(table.seconds(a.s0) - table.seconds(b.e1), 0.0)
    most = table.seconds(a.s1) - table.seconds(b.e0)
    if least > within + 1e-9:
        return False
    return True if ended and most <= within + 1e-9 else None


def _related(node: Overlapping | After, table: Table) -> Chosen:
    """Events of A that stand in a relation to another event, one of B."""
    b = choose(node.b, table)
    whole = (0, table.frames)

    def relation(one: Bounds, other: Bounds) -> bool | None:
        if isinstance(node, Overlapping):
            return overlap(one, other)
        return _follows(table, one, other, node.within_s)

    def reach(bounds: Bounds) -> Span:
        """Where an event related to this one, from B, must have a frame."""
        if isinstance(node, Overlapping):
            return bounds.s0, bounds.e1
        if node.within_s is None:
            return bounds.e0, table.frames
        return bounds.e0, _frame_after(table, table.seconds(bounds.e1) + node.within_s)

    def back(bounds: Bounds) -> Span:
        """Where an event of B must have a frame, to which this one, from A, is related."""
        return (bounds.s0, bounds.e1) if isinstance(node, Overlapping) else (0, bounds.s1)

    reached = [reach(other.bounds) for other in b.members] or [(0, 0)]
    hull = (min(start for start, _ in reached), max(end for _, end in reached))
    a = choose(node.a, table, None if b.hides(whole) else hull)
    members = []
    for member in a.members:
        found: bool | None = False
        via: set[str] = set()
        for other in b.members:
            if other.bounds is member.bounds:
                continue
            holds = relation(member.bounds, other.bounds)
            if holds is False:
                continue
            via |= {other.bounds.event.id, *other.via}
            found = True if found or (holds and other.sure) else None
        if found is False and b.hides(back(member.bounds)):
            found = None
        if found is not False:
            members.append(Member(member.bounds, bool(found) and member.sure, member.via | via))

    def hides(window: Span) -> bool:
        near = any(a.hides(reach(other.bounds)) for other in b.members) or b.hides(whole)
        return near and a.hides(window)

    anchors = a.anchors | b.anchors | {other.bounds.event.id for other in b.members}
    return _made(members, hides, anchors)


def _frame_after(table: Table, seconds: float) -> int:
    """The first frame that begins after that moment."""
    return bisect_right(table.facts.seconds, seconds + 1e-9, 0, table.frames)


def _first(a: Chosen, table: Table) -> Chosen:
    bound = min((m.bounds.s1 for m in a.members if m.sure), default=table.frames)

    def surely(member: Member) -> bool:
        others = all(o is member or o.bounds.s0 >= member.bounds.s1 for o in a.members)
        return member.sure and others and not a.hides((0, member.bounds.s1))

    kept = [Member(m.bounds, surely(m), m.via) for m in a.members if m.bounds.s0 <= bound]
    return Chosen(kept, lambda window: a.hides(window) and a.hides((0, bound + 1)), a.some, a.anchors)


def _last(a: Chosen, table: Table) -> Chosen:
    bound = max((m.bounds.s0 for m in a.members if m.sure), default=0)

    def surely(member: Member) -> bool:
        others = all(o is member or o.bounds.s1 <= member.bounds.s0 for o in a.members)
        return member.sure and others and not a.hides((member.bounds.s0 + 1, table.frames))

    kept = [Member(m.bounds, surely(m), m.via) for m in a.members if m.bounds.s1 >= bound]
    return Chosen(kept, lambda window: a.hides(window) and a.hides((bound, table.frames)), a.some, a.anchors)


def _longest(a: Chosen, table: Table) -> Chosen:
    whole = (0, table.frames)
    lasts = {id(m): table.duration(m.bounds) for m in a.members}
    bound = max((lasts[id(m)][0] for m in a.members if m.sure), default=0.0)

    def surely(member: Member) -> bool:
        others = all(o is member or lasts[id(o)][1] <= lasts[id(member)][0] + 1e-9 for o in a.members)
        return member.sure and others and not a.hides(whole)

    kept = [Member(m.bounds, surely(m), m.via) for m in a.members if lasts[id(m)][1] >= bound - 1e-9]
    return Chosen(kept, a.hides, a.some, a.anchors)


_EXTREMES: dict[str, Callable[[Chosen, Table], Chosen]] = {"first": _first, "last": _last, "longest": _longest}
