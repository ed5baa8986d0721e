"""Reductions evaluated: what is known of an expression's value, and whether a stated value is right.

`known(expr, table)` gives one of the `Known` kinds below; `holds(known, value)` is True or False where that is so in
every world the table leaves open, else None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ml.questions.grammar import Claim, Expr, Is, Near, Reduction, Value
from ml.questions.selecting import Chosen, Member, before, choose, overlap
from ml.questions.table import Table

Truth = bool | None
ANY = float("inf")


@dataclass(slots=True)
class Names:
    """A set of persons or types: at least `least`, at most `most` (None: anything)."""

    least: frozenset[str]
    most: frozenset[str] | None


@dataclass(slots=True)
class Top:
    """How many events each has who has any, from and to; `rest`: most that anybody else may have."""

    counts: dict[str, tuple[float, float]]
    rest: float


@dataclass(slots=True)
class Range:
    """A number from `least` to `most`."""

    least: float
    most: float


@dataclass(slots=True)
class Orders:
    """Whether each order holds; None stands for: one side has no event."""

    truth: dict[str | None, Truth]


Known = Names | Top | Range | Orders | bool | None


def known(expr: Expr, table: Table) -> Known:
    """What the facts say of the expression."""
    if isinstance(expr, Is):
        return claimed(expr, table)
    chosen = choose(expr.a, table)
    if expr.b is not None:
        return _order(chosen, choose(expr.b, table), table)
    return _REDUCTIONS[expr.word](expr, chosen, table)


def claimed(expr: Expr, table: Table) -> Truth:
    """The truth of a yes/no expression."""
    if isinstance(expr, Is):
        return holds(known(expr.expr, table), expr.value, table)
    found = known(expr, table)
    assert found is None or isinstance(found, bool)
    return found


def holds(found: Known, value: Value, table: Table) -> Truth:
    """Whether the value is right for what is known."""
    if isinstance(value, Claim):
        return claimed(value.expr, table)
    if isinstance(found, Names):
        return _names_hold(found, value)
    if isinstance(found, Top):
        return _top_holds(found, value)
    if isinstance(found, Orders):
        assert value is None or isinstance(value, str)
        return found.truth[value]
    if isinstance(found, Range):
        return _range_holds(found, value)
    return None if found is None else found is value


def _names_hold(found: Names, value: Value) -> Truth:
    if isinstance(value, str):
        if value in found.least:
            return True
        return False if found.most is not None and value not in found.most else None
    exactly = frozenset(value) if isinstance(value, tuple) else frozenset()
    if not found.least <= exactly or (found.most is not None and not exactly <= found.most):
        return False
    return True if found.least == found.most else None


def _range_holds(found: Range, value: Value) -> Truth:
    if isinstance(value, Near):
        low, high = value.seconds - value.within - 1e-9, value.seconds + value.within + 1e-9
    else:
        assert isinstance(value, int)
        low = high = value
    if low <= found.least and found.most <= high:
        return True
    return False if found.most < low or found.least > high else None


def _top_holds(found: Top, value: Value) -> Truth:
    """Whether that one has most, more than anybody else; null: nobody has."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, tuple) and value:
        return False  # most is one or nobody
    if isinstance(value, str):
        return leads_alone(found, value)
    leads = [leads_alone(found, name) for name in found.counts]
    if any(leads):
        return False
    return True if not found.rest and all(lead is False for lead in leads) else None


def leads_alone(found: Top, name: str) -> Truth:
    """Whether that one has more than anybody else."""
    unmarked = (0.0, found.rest)
    least, most = found.counts.get(name, unmarked)
    rivals = [unmarked, *(counts for other, counts in found.counts.items() if other != name)]
    if all(least > high for _, high in rivals):
        return True
    return False if any(low >= most for low, _ in rivals) else None


def _who(expr: Reduction, a: Chosen, table: Table) -> Names:
    role = None if expr.by == "person" else expr.by
    return _names(a, lambda member: member.bounds.event.who(role), table)


def _type(expr: Reduction, a: Chosen, table: Table) -> Names:
    return _names(a, lambda member: frozenset({member.bounds.event.type}), table)


def _names(a: Chosen, of: Callable[[Member], frozenset[str]], table: Table) -> Names:
    """Names over the events of a selection; one that is surely not empty has what all its events share."""
    least = _union(of(m) for m in a.members if m.sure)
    if a.hides((0, table.frames)):
        return Names(least, None)
    if a.some and a.members:
        least |= frozenset.intersection(*(of(m) for m in a.members))
    return Names(least, _union(of(m) for m in a.members))


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _others(expr: Reduction, a: Chosen, table: Table) -> Names:
    there = _names(a, lambda member: member.bounds.event.who(), table)
    listed = frozenset(expr.persons)
    return Names(frozenset() if there.most is None else listed - there.most, listed - there.least)


def _most(expr: Reduction, a: Chosen, table: Table) -> Top:
    role = None if expr.by == "person" else expr.by
    counts: dict[str, tuple[float, float]] = {}
    rest = ANY if a.hides((0, table.frames)) else 0.0
    for member in a.members:
        event = member.bounds.event
        for name in {event.type} if expr.by == "type" else event.who(role):
            least, most = counts.get(name, (0.0, rest))
            counts[name] = least + member.sure, most + 1
    return Top(counts, rest)


def _count(expr: Reduction, a: Chosen, table: Table) -> Range:
    least = max(sum(member.sure for member in a.members), int(a.some))
    return Range(least, ANY if a.hides((0, table.frames)) else len(a.members))


def _duration(expr: Reduction, a: Chosen, table: Table) -> Range:
    """Seconds of the union: at least the sure events at their shortest, at most all possible ones at their longest."""
    short = [(m.bounds.s1, m.bounds.e0) for m in a.members if m.sure and m.bounds.s1 < m.bounds.e0]
    least = _seconds(short, table)
    if a.hides((0, table.frames)):
        return Range(least, ANY)
    return Range(least, _seconds([(m.bounds.s0, m.bounds.e1) for m in a.members], table))


def _seconds(spans: list[tuple[int, int]], table: Table) -> float:
    total, at = 0.0, 0
    for start, end in sorted(spans):
        if end > at:
            total += table.seconds(end) - table.seconds(max(start, at))
            at = end
    return total


def _exists(expr: Reduction, a: Chosen, table: Table) -> Truth:
    if a.some:
        return True
    return None if a.members or a.hides((0, table.frames)) else False


def _order(a: Chosen, b: Chosen, table: Table) -> Orders:
    """How the events of two selections lie to each other, an event not being compared with itself."""
    whole = (0, table.frames)
    closed = not a.hides(whole) and not b.hides(whole)
    both = a.some and b.some
    pairs = [(x, y) for x in a.members for y in b.members if x.bounds is not y.bounds]
    # are there surely two to compare, and not one event on both sides, which nobody compares with itself?
    common = {id(m.bounds) for m in a.members} & {id(m.bounds) for m in b.members}
    apart = not common or any(x.sure and y.sure for x, y in pairs)
    truth: dict[str | None, Truth] = {}
    for word, relation in (
        ("before", [before(x.bounds, y.bounds) for x, y in pairs]),
        ("after", [before(y.bounds, x.bounds) for x, y in pairs]),
    ):
        wrong = any(holds is False and x.sure and y.sure for holds, (x, y) in zip(relation, pairs, strict=True))
        if wrong or (closed and all(holds is False for holds in relation)):
            truth[word] = False
        else:
            truth[word] = True if closed and both and apart and all(relation) else None
    shared = [overlap(x.bounds, y.bounds) for x, y in pairs]
    if any(holds and x.sure and y.sure for holds, (x, y) in zip(shared, pairs, strict=True)):
        truth["overlap"] = True
    elif closed and all(holds is False for holds in shared):
        truth["overlap"] = False
    else:
        truth["overlap"] = True if closed and both and apart and pairs and all(shared) else None
    if both:
        truth[None] = False
    else:
        truth[None] = True if any(not c.members and not c.hides(whole) for c in (a, b)) else None
    return Orders(truth)


_REDUCTIONS: dict[str, Callable[[Reduction, Chosen, Table], Known]] = {
    "who": _who,
    "others": _others,
    "most": _most,
    "type": _type,
    "count": _count,
    "duration_s": _duration,
    "exists": _exists,
}
