"""How far the raters of an audit agree with each other, over all models: on verdicts and on the masks' relevance.

Made from the rows of the report, with its rules: blind words of completed places, "mask wrong" as "cannot tell"
(`ml.evidence.metrics`, which also holds people against the machine, by model). Units are claims that two or more people
rated; intervals draw whole videos (`ml.statistics.agreement`). As everywhere in a report, fewer than LEAST claims are
told as their number only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ml.evidence.metrics import HUMAN
from ml.statistics.agreement import MEASURES, Unit, estimate
from ml.statistics.intervals import LEAST

REPLICATES = 300
SEED = 0


def agreement_of(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows {"what", "units", measure: {"value", "low", "high"}} for verdict and relevance."""
    claims = [(row["video"], claim) for row in rows for claim in row["claims"]]
    verdicts = [(video, {who: HUMAN[word] for who, word in claim["human"].items()}) for video, claim in claims]
    relevances = [(video, claim["relevance"]) for video, claim in claims]
    return [_row(what, _units(said)) for what, said in (("verdict", verdicts), ("relevance", relevances))]


def _units(said: Sequence[tuple[str, Mapping[str, str]]]) -> list[Unit]:
    return [Unit(video, tuple(sorted(words.items()))) for video, words in said if len(words) > 1]


def told(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Stored rows under the rule for small numbers, which reports made before it did not follow."""
    return [dict(row) | (_untold() if row["units"] < LEAST else {}) for row in rows]


def _untold() -> dict[str, Any]:
    return {name: {"value": None, "low": None, "high": None} for name in MEASURES}


def _row(what: str, units: Sequence[Unit]) -> dict[str, Any]:
    row: dict[str, Any] = {"what": what, "units": len(units)}
    if len(units) < LEAST:
        return row | _untold()
    measures = estimate(units, replicates=REPLICATES, seed=SEED)
    return row | {name: asdict(measures[name]) for name in MEASURES}
