"""Which events a stated value rests on: exactly those, for reviewers, marks, traces and the grounding reward."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ml.questions.grammar import Claim, Expr, Is, Reduction, Value
from ml.questions.selecting import Chosen, Member, choose
from ml.questions.table import Table


def support(ask: Expr, values: Sequence[Value], table: Table) -> tuple[str, ...]:
    """Ids of the events that bear the values out, in order of time, then id.

    Events of a selection that show the value, and those that brought them in; where the value is an absence, the events
    the selection refers to.
    """
    ids: set[str] = set()
    for value in values:
        ids |= _of(value.expr, True, table) if isinstance(value, Claim) else _of(ask, value, table)
    known = [table.by_id[id].event for id in ids if id in table.by_id]
    return tuple(event.id for event in sorted(known, key=lambda event: (event.start, event.end, event.id)))


def _of(expr: Expr, value: Value, table: Table) -> set[str]:
    if isinstance(expr, Is):
        return _of(expr.expr, expr.value, table)
    chosen = choose(expr.a, table)
    if expr.b is not None:
        other = choose(expr.b, table)
        return _all(chosen, chosen.members) | _all(other, other.members)
    return _all(chosen, [member for member in chosen.members if _shows(expr, member, value)])


def _all(chosen: Chosen, members: Iterable[Member]) -> set[str]:
    """The members with what brought them in; without any, what the selection refers to."""
    ids = {id for member in members for id in (member.bounds.event.id, *member.via)}
    return ids or set(chosen.anchors)


def _shows(expr: Reduction, member: Member, value: Value) -> bool:
    """Whether the member is one of those that make the value right."""
    event = member.bounds.event
    if expr.word not in ("who", "most", "type") or (expr.word == "most" and not isinstance(value, str)):
        return True
    stated = {value} if isinstance(value, str) else set(value) if isinstance(value, tuple) else set()
    has = (
        {event.type}
        if expr.word == "type" or expr.by == "type"
        else event.who(None if expr.by == "person" else expr.by)
    )
    return bool(stated & has) if stated else not has
