"""How far the raters of an audit agree with each other, over all models: on verdicts and on the masks' relevance.

Made from the rows of the report, with its rules: blind words of completed places, "mask wrong" as "cannot tell"
(`ml.evidence.metrics`, which also holds people against the machine, by model). Units are claims that two or more people
rated; intervals draw whole videos (`ml.statistics.agreement`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ml.evidence.metrics import HUMAN
from ml.statistics.agreement import MEASURES, Unit, estimate

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


def _row(what: str, units: Sequence[Unit]) -> dict[str, Any]:
    row: dict[str, Any] = {"what": what, "units": len(units)}
    if not units:
        return row | {name: {"value": None, "low": None, "high": None} for name in MEASURES}
    measures = estimate(units, replicates=REPLICATES, seed=SEED)
    return row | {name: asdict(measures[name]) for name in MEASURES}
