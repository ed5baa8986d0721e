"""What the replies to a benchmark are worth: accuracy by category, group, difficulty, source and kind of answer.

Every row counts its items apart: right, partly right (F1 between 0 and 1), wrong and unanswered by the released
reading, errors (no reply came about: memory ran out, the endpoint failed, the video cannot be read) and missing (a file
of predictions has no line). `accuracy` is the mean score over all replies; an unanswered one counts 0 there, as in the
released evaluation, and so `answered` gives the mean over answered ones beside it. Errors and missing items are in
neither; `at_least` is the accuracy if all of them were wrong. Intervals (95 %) are drawn by source video.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ml.evaluation.bench import Item
from ml.evaluation.models import MISSING, Reply
from ml.evaluation.scoring import HEADLINE, READINGS, Read, read_reply
from ml.statistics import bootstrap
from ml.statistics.intervals import LEAST, wilson

RIGHT, PARTLY, WRONG, UNANSWERED, ERROR, GONE = "right", "partly", "wrong", "unanswered", "error", "missing"
STATES = (RIGHT, PARTLY, WRONG, UNANSWERED, ERROR, GONE)
BY: dict[str, Callable[[Item], str]] = {
    "category": lambda item: item.category,
    "group": lambda item: item.group,
    "difficulty": lambda item: item.difficulty,
    "source": lambda item: item.source,
    "kind": lambda item: item.kind,
}
NONE = "(none)"
RULE = (
    "Accuracy is the mean score over the replies that came about, an unanswered one counting 0; errors and missing "
    "replies are counted apart and enter only the accuracy of all items, which takes them as wrong. "
    "Intervals: 95 %, whole source videos drawn with replacement."
)


@dataclass(frozen=True)
class Scored:
    """One item with what was said to it; `reads` is empty where no reply came about."""

    item: Item
    reply: Reply
    reads: dict[str, Read]

    def state(self, reading: str = HEADLINE) -> str:
        if self.reply.error is not None:
            return GONE if self.reply.error == MISSING else ERROR
        read = self.reads[reading]
        if not read.said:
            return UNANSWERED
        return RIGHT if read.score == 1 else PARTLY if read.score > 0 else WRONG


def scored(item: Item, reply: Reply) -> Scored:
    """An item and its reply, read."""
    return Scored(item, reply, {} if reply.error is not None else read_reply(reply.text, item))


def values(rows: Sequence[Scored]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """float64[n, readings] scores of rows with a reply."""
    found = [[row.reads[reading].score for reading in READINGS] for row in rows]
    return np.array(found, float).reshape(len(rows), len(READINGS))


def tables(rows: Sequence[Scored], *, replicates: int = bootstrap.REPLICATES, seed: int = 0) -> dict[str, Any]:
    """{"overall": row, "macro": .., "tables": {by: [row]}}; a table only where there is something to tell apart."""
    replied = [row for row in rows if row.reply.error is None]
    scores = values(replied)
    clusters, _ = bootstrap.numbered([row.item.recording or row.item.id for row in replied])

    def rows_by(name: Callable[[Item], str]) -> tuple[list[dict[str, Any]], bootstrap.Draws]:
        names = sorted({name(row.item) or NONE for row in rows})
        place = {one: at for at, one in enumerate(names)}
        at = np.array([place[name(row.item) or NONE] for row in replied], np.int64)
        draws = bootstrap.grouped(scores, at, clusters, number=len(names), replicates=replicates, seed=seed)
        members: dict[str, list[Scored]] = {one: [] for one in names}
        for row in rows:
            members[name(row.item) or NONE].append(row)
        return [_row(one, members[one], draws, place[one]) for one in names], draws

    overall, _ = rows_by(lambda item: "all")
    found: dict[str, Any] = {}
    macro = None
    for by, name in BY.items():
        told, draws = rows_by(name)
        if len(told) > 1 or told[0]["name"] != NONE:
            found[by] = told
        if by == "category" and by in found:
            named = [at for at, one in enumerate(told) if one["name"] != NONE]
            valued = sum(told[at]["accuracy"][HEADLINE]["value"] is not None for at in named)
            macro = {
                "over": by,
                "categories": len(named),
                "with_replies": valued,  # those the mean is over
                **{reading: asdict(draws.macro(named, k)) for k, reading in enumerate(READINGS)},
            }
    return {"overall": overall[0], "macro": macro, "tables": found, "rule": RULE}


def _row(name: str, rows: Sequence[Scored], draws: bootstrap.Draws, at: int) -> dict[str, Any]:
    states = Counter(row.state() for row in rows)
    replied = [row for row in rows if row.reply.error is None]
    binary = all(row.reads[HEADLINE].score in (0, 1) for row in replied)
    total = float(sum(row.reads[HEADLINE].score for row in replied))
    answered = len(replied) - states[UNANSWERED]
    right = sum(row.reads[HEADLINE].score == 1 for row in replied)
    return {
        "name": name,
        "n": len(rows),
        "videos": int(draws.clusters[at]),
        **{state: states[state] for state in STATES},
        "accuracy": {reading: asdict(draws.interval(at, k)) for k, reading in enumerate(READINGS)},
        "unanswered_by": {reading: sum(not row.reads[reading].said for row in replied) for reading in READINGS},
        "answered": total / answered if answered else None,
        "at_least": total / len(rows) if rows else None,
        "wilson": list(wilson(right, len(replied))) if binary and replied else None,
        "few": len(replied) < LEAST,
    }
