"""The report of a finished audit: made by a job, stored as JSON, CSV and a page that opens without this server.

Raters are told by number, not by name, since a report leaves the house. Verdicts are the blind ones of completed
places. While an audit is open there is none for anybody.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F

from ml.evidence.package import beyond
from webapp.accounts.models import User
from webapp.audit.masking import machine_masks
from webapp.audit.models import Audit, AuditAdjudication, Claim, MachineVerdict, MaskEdit, Package, Response
from webapp.audit.rating import counted
from webapp.audit.services import live_job
from webapp.audit.shown import shown_masks
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused

KINDS = ("json", "csv", "html")
MOST_COMPARED = 2000  # responses of two audits that a page compares on the spot

Row = dict[str, Any]


def request_report(*, audit: Audit, user: User | None) -> Job:
    """Queue the making of the report. Asked again while that job waits, it is the same job. Raises Refused."""
    need_finished(audit)
    with transaction.atomic():
        locked = Audit.objects.select_for_update(of=("self",)).select_related("project").get(id=audit.id)
        waiting = Job.objects.filter(kind="audit-report", state=Job.State.QUEUED, parameters__audit=str(locked.id))
        return waiting.first() or jobs.create(
            project=locked.project, kind="audit-report", queue="cpu", parameters={"audit": str(locked.id)}, user=user
        )


def need_finished(audit: Audit) -> None:
    if audit.state != Audit.State.FINISHED:
        raise Refused(
            "The report is there once the audit is finished; until then nobody is told what others said.", "audit"
        )


def report_of(audit: Audit) -> tuple[Row | None, Job | None]:
    """The stored report, and the job that makes one. Raises Refused while the audit is open."""
    need_finished(audit)
    job = live_job(audit, ("audit-report",))
    if not audit.report:
        return None, job
    try:
        with default_storage.open(file_of(audit, "json")) as file:
            return json.load(file), job
    except FileNotFoundError:  # gone with a video a moment ago, or lost: it is made again
        return None, job


def file_of(audit: Audit, kind: str) -> str:
    """Storage name of the report as json, csv or html. Raises Refused where there is none."""
    need_finished(audit)
    if kind not in KINDS or not audit.report:
        raise Refused("This report is not made yet.", "audit")
    return f"{audit.folder}/report.{kind}"


def keep_report(*, audit_id: UUID, version: int, facts: Mapping[str, Any]) -> bool:
    """Note that the files of a report are there; False when the audit is gone or has changed since they were made."""
    audit = Audit.objects.select_for_update().filter(id=audit_id, version=version).first()
    if audit is None:
        return False
    audit.report = dict(facts)
    audit.save(update_fields=["report"])
    return True


def compare(one: Audit, other: Audit) -> Row:
    """Two finished audits side by side, as `ml.evidence.report` compares models. Raises Refused."""
    from ml.evidence import report

    for audit in (one, other):
        need_finished(audit)
    if one.project_id != other.project_id:
        raise Refused("Only audits of one project are compared.", "other")
    if Response.objects.filter(audit__in=[one, other]).count() > MOST_COMPARED:
        raise Refused(
            f"A page compares at most {MOST_COMPARED:,} responses; with both models' responses in one file, the report "
            "of their audit does.",
            "other",
        )
    rows = [row for audit in (one, other) for row in rows_of(audit, masks=False, named=one.id != other.id)]
    title = f"{one.name} and {other.name}"
    return report.build(rows, title=title, about={"audits": [about(one), about(other)]})


def about(audit: Audit) -> Row:
    """What a report says of where it comes from."""
    return {
        "audit": audit.number,
        "name": audit.name,
        "summariser": audit.summariser,
        "grounder": audit.grounder,
        "raters": audit.raters,
        "source": audit.source,
        "notes": [*audit.notes, *beyond(list(dropped_of(audit)))],
        **({"responses_cost": audit.settings["spent"]} if audit.settings.get("spent") else {}),
        **({"deletion_test": spent(audit)} if audit.settings.get("deletion") else {}),
    }


def dropped_of(audit: Audit) -> Iterable[int]:
    """How many claims beyond the limit each response has that has any."""
    return Package.objects.filter(response__audit=audit, tree__dropped__gt=0).values_list("tree__dropped", flat=True)


def spent(audit: Audit) -> Row:
    """What the deletion test cost, also where nothing came of it: sums over its responses, and which models answered.

    Records of before costs were kept beside them hold their own.
    """
    total: Counter[str] = Counter()
    models = set()
    told = Response.objects.filter(audit=audit, provenance__has_any_keys=["deletion", "deletion_spent"])
    for record, cost in told.values_list("provenance__deletion", "provenance__deletion_spent").iterator():
        total.update(cost or (record or {}).get("spent", {}))
        if "changed" in (record or {}):
            models.add(record["decides"]["asker"].get("model", record["decides"]["asker"]["name"]))
    return {"models": sorted(models), **{name: total[name] for name in sorted(total)}}


# ---------------------------------------------------------------------------------------------------------------------
# Rows


def rows_of(audit: Audit, *, humans: bool = True, masks: bool = True, named: bool = False) -> list[Row]:
    """The rows `ml.evidence.report.build` is made from, one a response, in order.

    `humans`: with what people said; False for a report of the machine alone, which anybody may see who runs it.
    `masks`: with the overlap of corrected masks, for which stored masks are read. `named`: models with the audit's
    number behind and all in one set, to hold two audits against each other.
    """
    said = counted(audit) if humans else {}
    people = sorted({verdict.user_id or 0 for words in said.values() for verdict in words})
    raters = {user: f"rater {n}" for n, user in enumerate(people, 1)}
    decided = dict(AuditAdjudication.objects.filter(claim__response__audit=audit).values_list("claim", "verdict"))
    judged = MachineVerdict.objects.filter(claim__response__audit=audit, reprompt=None).defer("provenance")
    machine = {verdict.claim_id: verdict for verdict in judged}
    overlaps = overlaps_of(audit) if humans and masks else {}
    seen = shown_masks(claim__response__audit=audit) if humans else set()
    claims: dict[UUID, list[Any]] = defaultdict(list)  # with polarity and words, without the rest of their body
    split = Claim.objects.filter(response__audit=audit).defer("body").order_by("position")
    for one in split.annotate(polarity=F("body__polarity"), words=F("body__text")):
        claims[one.response_id].append(one)
    rows = []
    responses = Response.objects.filter(audit=audit).defer("text", "person_map", "options", "letters")
    for response in responses.order_by("position"):
        told = []
        for claim in claims[response.id]:
            verdict = machine.get(claim.id)
            if verdict is None:
                continue
            row: Row = {
                "id": claim.name,
                "type": claim.type,
                "polarity": claim.polarity,
                "text": claim.words,
                "load_bearing": claim.load_bearing,
                "groundable": claim.groundable,
                "verdict": verdict.name,
                "rule": verdict.rule,
                "sentence": verdict.sentence,
                "numbers": verdict.numbers,
                "human": {},
                "adjudicated": None,
                "relevance": {},
                "iou": overlaps.get(claim.id),
            }
            if humans:
                words = said.get(claim.id, [])
                row["human"] = {raters[v.user_id or 0]: v.blind_verdict for v in words}
                row["relevance"] = {
                    raters[v.user_id or 0]: v.blind_relevance
                    for v in words
                    if v.blind_relevance and not seen.isdisjoint({(claim.id, None), (claim.id, v.user_id)})
                }
                row["adjudicated"] = decided.get(claim.id)
            told.append(row)
        rows.append(
            {
                "id": str(response.id),
                "model": f"{response.model} (audit {audit.number})" if named else response.model,
                "set": "" if named else audit.name,
                "video": str(response.video_id),
                "question": str(response.question_id or f"{response.start}-{response.end} {response.asked}"),
                "correct": response.correct,
                "error": response.error if response.state == Response.State.FAILED else "",
                "repairs": len(response.repairs),
                "claims": told,
                "deletion": tested(response),
            }
        )
    return rows


def tested(response: Response) -> Row | None:
    """The record of the deletion test; None where there was nothing to hide, or nobody asked for it."""
    record: Row = response.provenance.get("deletion") or {}
    return record if "changed" in record else None


# ---------------------------------------------------------------------------------------------------------------------
# Masks


def overlaps_of(audit: Audit) -> dict[UUID, float]:
    """Claim -> mean IoU of the machine's masks and what people of completed places made of them: one where accepted,
    none where deleted or drawn where the machine had nothing. Masks filled in from neighbours do not count."""
    edits = MaskEdit.objects.filter(
        claim__response__audit=audit,
        claim__response__ratings__completed__isnull=False,
        claim__response__ratings__user=F("user"),
    ).exclude(origin=MaskEdit.Origin.SHAPES)
    found: dict[UUID, float] = {}
    ordered = edits.order_by("claim", "query", "object", "frame", "user").iterator()
    for claim, own in groupby(ordered, key=lambda edit: edit.claim_id):  # one claim's masks in memory at a time
        values = list(_overlaps(list(own), *machine_masks(claim)))
        if values:
            found[claim] = round(sum(values) / len(values), 4)
    return found


def _overlaps(
    edits: Sequence[MaskEdit], machine: Mapping[tuple[str, int, int], str], size: Sequence[int] | None
) -> Iterator[float]:
    from ml.formats import coco_rle

    for edit in edits:
        theirs = machine.get((edit.query, edit.object, edit.frame))
        if edit.action == MaskEdit.Action.ACCEPT:
            if theirs is not None:
                yield 1.0
        elif edit.action == MaskEdit.Action.DELETE:
            if theirs is not None:
                yield 0.0
        elif theirs is None:
            yield 0.0
        elif size is not None and list(size) == list(edit.size):
            pair = coco_rle.iou([theirs.encode()], [edit.counts.encode()], (size[0], size[1]))
            yield float(pair.reshape(-1)[0])
