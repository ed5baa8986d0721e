"""Whom an expression or a value names: a proof about somebody who is not in the video any more proves nothing."""

from __future__ import annotations

from ml.questions.grammar import Claim, Events, Expr, Extreme, Is, Kind, One, Selection, Value

Ids = frozenset[str]


def named_by(expr: Expr) -> Ids:
    """Ids of the persons an expression names."""
    if isinstance(expr, Is):
        return named_by(expr.expr) | named_in(expr.value, expr.expr.kind)
    both = (expr.a,) if expr.b is None else (expr.a, expr.b)
    return frozenset(expr.persons).union(*(_selected(each) for each in both))


def named_in(value: Value, kind: Kind) -> Ids:
    """Ids of the persons a value names, as an answer to an expression of that kind."""
    if isinstance(value, Claim):
        return named_by(value.expr)
    if kind != "persons" or value is None:
        return frozenset()
    return frozenset({value} if isinstance(value, str) else value if isinstance(value, tuple) else ())


def _selected(node: Selection) -> Ids:
    if isinstance(node, Events):
        return frozenset(person for _, person in node.roles)
    if isinstance(node, One):
        return frozenset(person for _, person in node.marked[1]) if node.marked else frozenset()
    return _selected(node.a) if isinstance(node, Extreme) else _selected(node.a) | _selected(node.b)
