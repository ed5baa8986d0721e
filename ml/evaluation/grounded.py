"""Grounded-participant precision: who the reasoning names, against who takes part, and whether that goes with being
right.

Of one reply: the persons named in its closed gaze and gesture blocks, without those the question names (Q), against the
participants of the item's true events without Q. Precision = named and taking part / named. An item whose events have
nobody beyond Q has no value (its share is the SGR coverage), nor has a reply that names nobody. Unlike the reward, the
two kinds of block are taken together: it is asked who, not where.

Spearman's rho of precision with the score is given over items and over categories, with their numbers; which of the two
(or of models, see `compare.py`) the published 0.64 is, is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ml.evaluation.scoring import HEADLINE
from ml.evaluation.tables import Scored
from ml.rewards.rows import Row
from ml.statistics import bootstrap, ranks

PRESENT = 0.5  # precision from which a reply counts as grounded in the split below


def precision(row: Scored) -> float | None:
    """Of one reply; None where it has no value."""
    if row.reply.error is not None:
        return None
    told = _row(row)
    targets = frozenset().union(*(novel for _, novel in told.targets))
    named = frozenset().union(*(segment.persons for segment in told.reply.segments)) - told.asked
    return len(named & targets) / len(named) if targets and named else None


def _row(row: Scored) -> Row:
    return Row(row.reply.text, row.item.question, events=row.item.events, visible=row.item.visible)


def summary(rows: Sequence[Scored], *, replicates: int = ranks.REPLICATES, seed: int = 0) -> dict[str, Any] | None:
    """Of all replies; None where no item has a true event. Counts say how many had no value, and why."""
    replied = [row for row in rows if row.reply.error is None]
    known = [row for row in replied if row.item.events]
    if not known:
        return None
    covered = [row for row in known if _row(row).targets]
    pairs = [(row, value) for row in covered if (value := precision(row)) is not None]
    recordings = [row.item.recording or row.item.id for row, _ in pairs]
    values = np.array([value for _, value in pairs], float)
    scores = np.array([row.reads[HEADLINE].score for row, _ in pairs], float)
    clusters, _ = bootstrap.numbered(recordings)
    mean = bootstrap.grouped(
        values[:, None], np.zeros(len(values), np.int64), clusters, number=1, replicates=replicates, seed=seed
    ).interval(0)
    return {
        "items": len(replied),
        "with_events": len(known),
        "coverage": len(covered) / len(known),
        "named_nobody": len(covered) - len(pairs),
        "n": len(pairs),
        "precision": asdict(mean),
        "rho_items": asdict(
            ranks.spearman(values.tolist(), scores.tolist(), recordings, replicates=replicates, seed=seed)
        ),
        "rho_categories": _by_category(pairs),
        "accuracy_grounded": _mean(scores[values >= PRESENT]),
        "accuracy_not_grounded": _mean(scores[values < PRESENT]),
        "n_grounded": int((values >= PRESENT).sum()),
    }


def _mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    return float(values.mean()) if len(values) else None


def _by_category(pairs: Sequence[tuple[Scored, float]]) -> dict[str, Any]:
    told: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row, value in pairs:
        if row.item.category:
            told[row.item.category].append((value, row.reads[HEADLINE].score))
    points = {name: np.mean(both, axis=0).tolist() for name, both in sorted(told.items())}
    return {"value": ranks.rho(*zip(*points.values(), strict=True)) if points else None, "n": len(points)}
