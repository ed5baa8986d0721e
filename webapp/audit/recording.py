"""What workers write of an audit: packages, what was found of each claim, and the machine's verdicts.

Short transactions, each whole: a package comes with all its claims, a claim with its grounding and its verdict. All of
it can be done again: what is there already stays, but for a claim whose verdict was an error. The video's row is locked
first, as deletions do; a response that went with its video is said by `Gone`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from ml.evidence.package import Package as Made
from webapp.audit import tallies
from webapp.audit.models import Audit, Claim, Grounding, MachineVerdict, Package, Reprompt, Response
from webapp.audit.rating import hold_open
from webapp.audit.services import NAMESPACE, stored
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Video


class Gone(Exception):
    """The response, or what of it was to be written, is gone with its video, or its audit is finished."""


@dataclass(frozen=True)
class Found:
    """What one call of a grounder found of a claim, as it is stored. `queries`: see `models.Grounding`."""

    queries: Sequence[Mapping[str, Any]] = ()
    looked: Sequence[int] = ()
    inside: Sequence[bool] = ()
    masks: str = ""
    columns: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """The machine's verdict as it is stored."""

    name: str
    rule: str
    sentence: str
    numbers: Mapping[str, Any]
    provenance: Mapping[str, Any]


@contextmanager
def _of(response_id: UUID) -> Iterator[Response]:
    """The response's row, locked after its video's and audit's; nothing of a finished audit changes. Raises Gone."""
    with transaction.atomic():
        home = Response.objects.filter(id=response_id).values_list("video", "audit").first()
        if home is None or not Video.objects.select_for_update(no_key=True).filter(id=home[0]).exists():
            raise Gone
        try:
            hold_open(home[1])
        except Refused as finished:
            raise Gone from finished
        row = Response.objects.select_for_update(of=("self",)).filter(id=response_id).first()
        if row is None:
            raise Gone
        yield row


def claim_id(response_id: UUID, name: str) -> UUID:
    """The id of a claim: the same claim of the same response always has the same."""
    return uuid5(NAMESPACE, f"{response_id} {name}")


def keep_package(
    *,
    response_id: UUID,
    made: Made,
    tree: Mapping[str, Any],
    windows: Mapping[str, Sequence[int]],
    provenance: Mapping[str, Any],
) -> None:
    """Keep a package with all its claims, once. `windows`: claim's name -> [start, end) of its time. Raises Gone."""
    with _of(response_id) as response:
        if Package.objects.filter(response=response).exclude(tree={}).exists():
            return
        Package.objects.update_or_create(
            response=response,
            defaults={
                "tree": stored(tree),
                "provenance": stored(provenance),
                "language": made.language,
                "raw": stored(made.raw),
            },
        )
        Claim.objects.bulk_create(
            [
                Claim(
                    id=claim_id(response.id, one.id),
                    response=response,
                    name=one.id,
                    position=position,
                    type=one.type,
                    load_bearing=one.load_bearing,
                    groundable=one.groundable,
                    body=stored(asdict(one)),
                    window=list(windows[one.id]) if one.id in windows else None,
                )
                for position, one in enumerate(made.claims, 1)
            ]
        )
        mended = [sentence for sentence in made.repairs if sentence not in response.repairs]
        if mended:
            response.repairs = stored([*response.repairs, *mended])
            response.save(update_fields=["repairs"])
        tallies.add_claims(response, len(made.claims))


def keep_claim(*, response_id: UUID, name: str, found: Found | None, judged: Judged) -> None:
    """Keep what was found of a claim and the verdict; one that is there stays, unless it was an error. Raises Gone."""
    with _of(response_id) as response:
        claim = Claim.objects.filter(response=response, name=name).first()
        if claim is None:
            raise Gone
        before = MachineVerdict.objects.filter(claim=claim, reprompt=None).first()
        if before is not None and before.name != "error":
            return
        _write(claim, None, found, judged)
        if before is not None and "deletion" in response.provenance:  # tested by what was there before
            del response.provenance["deletion"]
            response.save(update_fields=["provenance"])
        if not claim.settled:
            claim.settled = True
            claim.save(update_fields=["settled"])


def keep_reprompt(*, reprompt_id: UUID, found: Found | None, judged: Judged) -> None:
    """Keep what another wording found. Raises Gone."""
    home = Reprompt.objects.filter(id=reprompt_id).values_list("claim__response", flat=True).first()
    if home is None:
        raise Gone
    with _of(home):
        reprompt = Reprompt.objects.select_for_update(of=("self",)).filter(id=reprompt_id).first()
        if reprompt is None:
            raise Gone
        _write(reprompt.claim, reprompt, found, judged)


def _write(claim: Claim, reprompt: Reprompt | None, found: Found | None, judged: Judged) -> None:
    Grounding.objects.filter(claim=claim, reprompt=reprompt).delete()
    MachineVerdict.objects.filter(claim=claim, reprompt=reprompt).delete()
    if found is not None:
        Grounding.objects.create(claim=claim, reprompt=reprompt, **_columns(found))
    MachineVerdict.objects.create(claim=claim, reprompt=reprompt, **_columns(judged))


def _columns(row: Found | Judged) -> dict[str, Any]:
    return {name: stored(getattr(row, name)) for name in row.__dataclass_fields__}


def keep_response(*, response_id: UUID) -> None:
    """Say that the machine is through with a response: all its claims are settled, raters may have it. Raises Gone."""
    with _of(response_id) as response:
        if response.claims.filter(settled=False).exists():
            raise RuntimeError(f"response {response.id} has claims that are not settled")
        response.error = ""
        tallies.change_state(response, Response.State.DONE)
        response.save(update_fields=["state", "error"])


def keep_deletion(*, response_id: UUID, record: Mapping[str, Any]) -> None:
    """Keep what came of asking again with the evidence hidden. Raises Gone."""
    with _of(response_id) as response:
        response.provenance = {**response.provenance, "deletion": dict(record)}
        response.save(update_fields=["provenance"])


def keep_spent(spent: Mapping[str, float], *, response_id: UUID) -> None:
    """Add what asking again cost, whatever comes of it. Raises Gone."""
    with _of(response_id) as response:
        total = Counter(response.provenance.get("deletion_spent", {}))
        total.update(spent)
        response.provenance = {**response.provenance, "deletion_spent": dict(total)}
        response.save(update_fields=["provenance"])


def fail_response(*, response_id: UUID, error: str, raw: str = "") -> None:
    """Say why nothing can be made of a response, and keep the summariser's own output. One that raters have stays
    theirs. Raises Gone."""
    with _of(response_id) as response:
        if raw and not Package.objects.filter(response=response).exclude(tree={}).exists():
            Package.objects.update_or_create(response=response, defaults={"raw": stored(raw), "tree": {}})
        if response.state != Response.State.DONE:
            tallies.change_state(response, Response.State.FAILED)
        response.error = stored(error)
        response.save(update_fields=["state", "error"])


def left(audit: Audit) -> list[UUID]:
    """Responses with work to do, in order: those that wait, and those with a claim whose verdict is an error."""
    broken = MachineVerdict.objects.filter(claim__response=OuterRef("id"), reprompt=None, name="error")
    rows = Response.objects.filter(audit=audit).filter(Q(state=Response.State.WAITING) | Exists(broken))
    return list(rows.order_by("position").values_list("id", flat=True))


def untested(audit: Audit) -> QuerySet[Response]:
    """Responses that are done, but not asked again with their evidence hidden, in order; none where nobody asked."""
    rows = Response.objects.filter(audit=audit, state=Response.State.DONE) if audit.settings.get("deletion") else None
    return Response.objects.none() if rows is None else rows.exclude(provenance__has_key="deletion")


def settled(response: Response) -> list[str]:
    """Names of the claims the machine is through with, those that ended in an error left out."""
    broken = MachineVerdict.objects.filter(claim=OuterRef("id"), reprompt=None, name="error")
    return list(response.claims.filter(settled=True).exclude(Exists(broken)).values_list("name", flat=True))


def follow_reprompt(job: Job) -> None:
    """Say at the wording why nothing came of it (see `webapp.jobs.services.follow`)."""
    told = {Job.State.FAILED: job.error, Job.State.CANCELLED: "Looking for it was cancelled."}
    Reprompt.objects.filter(id=job.parameters.get("reprompt")).update(error=told.get(Job.State(job.state), ""))
