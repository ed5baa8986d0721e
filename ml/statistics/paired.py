"""Two models on the same questions: who is right where the other is not.

McNemar's test, exact (binomial on the pairs that differ; McNemar 1947, Psychometrika 12), by statsmodels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ml.statistics.intervals import LEAST, said_p


@dataclass(frozen=True)
class Paired:
    """How often both, only the first, only the second, neither. `p` is None with fewer than LEAST pairs or without one
    that differs."""

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float | None

    @property
    def n(self) -> int:
        return self.both + self.only_a + self.only_b + self.neither


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact p of the pairs that differ, at least one."""
    from statsmodels.stats.contingency_tables import mcnemar as test

    return float(test([[0, only_a], [only_b, 0]], exact=True).pvalue)


def paired(pairs: Sequence[tuple[bool, bool]], *, least: int = LEAST) -> Paired:
    """Of pairs, what is so of the first and of the second."""
    only_a, only_b = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    both = sum(a and b for a, b in pairs)
    told = len(pairs) >= least and only_a + only_b > 0
    return Paired(both, only_a, only_b, len(pairs) - both - only_a - only_b, mcnemar(only_a, only_b) if told else None)


def said(one: Paired, a: str, b: str, what: str) -> str:
    """In one sentence: "On 40 questions, A alone is right on 9, B alone on 2 (p = 0.065)." """
    if not one.n:
        return f"No question was put to both {a} and {b} of which it is known who is {what}."
    counts = f"On {one.n} question{'s' * (one.n > 1)}, {a} alone is {what} on {one.only_a}, {b} alone on {one.only_b}"
    if one.n < LEAST:
        return f"{counts}: too few to say."
    if one.p is None:
        return f"{counts}: no difference."
    verdict = "" if one.p < 0.05 else ": no difference that could not be chance"
    return f"{counts} (McNemar, exact: {said_p(one.p)}){verdict}."
