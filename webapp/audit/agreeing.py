"""How far the raters of a finished audit agree with each other, and with the machine.

Units are claims that two or more people rated; what counts are blind words of completed places. Against the machine
the adjudicated word counts, else the raters' common one, and the machine's verdict is taken as
`ml.evidence.verdicts.AGREES` says; what ended in an error is left out. "Mask wrong" counts as "cannot tell" there.
Intervals draw whole videos (`ml.statistics.agreement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ml.statistics.agreement import MEASURES, Unit, estimate
from webapp.audit.models import Audit, AuditAdjudication, Claim, MachineVerdict
from webapp.audit.rating import counted

REPLICATES = 300
SEED = 0


def agreement_of(audit: Audit) -> list[dict[str, Any]]:
    """Rows {"what", "units", measure: {"value", "low", "high"}} for verdict, relevance and human_machine."""
    from ml.evidence.metrics import HUMAN
    from ml.evidence.verdicts import AGREES

    said = counted(audit)
    videos = dict(Claim.objects.filter(response__audit=audit).values_list("id", "response__video"))
    decided = dict(AuditAdjudication.objects.filter(claim__response__audit=audit).values_list("claim", "verdict"))
    machine = dict(
        MachineVerdict.objects.filter(claim__response__audit=audit, reprompt=None).values_list("claim", "name")
    )
    verdicts, relevances, both = [], [], []
    for claim, words in said.items():
        video = videos[claim]
        verdicts.append(Unit(video, tuple((str(v.user_id), v.blind_verdict) for v in words)))
        relevances.append(Unit(video, tuple((str(v.user_id), v.blind_relevance) for v in words if v.blind_relevance)))
        common = {v.blind_verdict for v in words}
        human = decided.get(claim) or (common.pop() if len(common) == 1 else None)
        theirs = AGREES.get(machine.get(claim, "error"))
        if human is not None and theirs is not None:
            both.append(Unit(video, (("human", HUMAN[human]), ("machine", theirs))))
    found = (("verdict", verdicts), ("relevance", relevances), ("human_machine", both))
    return [_row(what, [unit for unit in units if len(unit.answers) > 1]) for what, units in found]


def _row(what: str, units: Sequence[Unit]) -> dict[str, Any]:
    row: dict[str, Any] = {"what": what, "units": len(units)}
    if not units:
        return row | {name: {"value": None, "low": None, "high": None} for name in MEASURES}
    measures = estimate(units, replicates=REPLICATES, seed=SEED)
    return row | {name: asdict(measures[name]) for name in MEASURES}
