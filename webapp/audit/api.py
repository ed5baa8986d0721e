"""Endpoints of audits: lists, one response as one person may see it, masks, places, verdicts, corrections, reports.

Blind by default, see `webapp.audit.queries`. Conflicts are answered with 409 and both versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from ninja import Form, Router, Schema
from pydantic import Field

from ml.formats.errors import FormatError
from webapp.accounts.access import project_for, role_in
from webapp.accounts.permissions import role_allows
from webapp.audit import agreeing, importing, masking, producing, queries, rating, reporting, reprompting, services
from webapp.audit.access import audit_for, claim_for, response_for
from webapp.audit.models import Grounding, MachineVerdict, Response
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale
from webapp.lib.http import UserRequest

router = Router()
NONE_LEFT = "Every response is rated, in other hands just now, or not for you: those whose key you saw."
NOT_YET = "No response is ready for raters yet."


class ImportIn(Schema):
    name: str = Field(default="", max_length=200)
    summariser: str = Field(default="rules", max_length=30)
    grounder: str = Field(default="embedded", max_length=30)
    raters: int = 2
    deletion: bool = False


class ProduceIn(ImportIn):
    questions: list[UUID] | None = Field(default=None, max_length=10_000)
    model: str = Field(default="endpoint", max_length=20)


class ChangeIn(Schema):
    version: int
    name: str | None = Field(default=None, max_length=200)
    raters: int | None = None


class FinishIn(Schema):
    version: int
    force: bool = False


class VerdictIn(Schema):
    id: UUID
    version: int | None = None
    verdict: str = Field(max_length=20)
    relevance: str = Field(default="", max_length=20)
    reason: str = Field(default="", max_length=4000)
    seconds: float | None = None
    reveal: bool = False


class VersionIn(Schema):
    version: int


class MaskIn(Schema):
    id: UUID
    query: str = Field(max_length=60)
    object: int
    frame: int
    action: str = Field(max_length=10)
    version: int | None = None
    size: list[int] = Field(default=[], max_length=2)
    counts: str = Field(default="", max_length=masking.MOST_COUNTS)


class StepIn(Schema):
    id: UUID
    kind: str = Field(max_length=10)
    edits: list[MaskIn] = Field(max_length=masking.MOST_ROWS)


class UndoIn(Schema):
    step: UUID | None = None


class PropagateIn(Schema):
    id: UUID
    query: str = Field(max_length=60)
    object: int
    frames: list[int] = Field(max_length=masking.MOST_ROWS)
    by: str = Field(default="shapes", max_length=10)


class RepromptIn(Schema):
    id: UUID
    text: str = Field(max_length=200)


class DecisionIn(Schema):
    id: UUID
    verdict: str = Field(max_length=20)
    relevance: str = Field(default="", max_length=20)
    reason: str = Field(max_length=4000)


@contextmanager
def _both_versions() -> Iterator[None]:
    """Turn a conflict into the answer that has both versions."""
    try:
        yield
    except Stale as stale:
        raise Conflict(stale) from stale


class Conflict(Exception):
    """Answered with 409; see `webapp.api`."""

    def __init__(self, stale: Stale) -> None:
        super().__init__(str(stale))
        self.stale = stale


def _told(job: Job | None) -> dict[str, Any]:
    return {"job": str(job.id) if job else None}


# ---------------------------------------------------------------------------------------------------------------------
# Audits


@router.get("/projects/{slug:slug}/audits")
def list_audits(request: UserRequest, slug: str) -> dict[str, Any]:
    project = project_for(request.user, slug, "view")
    role = role_in(request.user, project.id) or "viewer"
    imports = [str(job.id) for job in importing.under_way(project)] if role_allows(role, "audit") else []
    return {"audits": queries.audits_of(project, request.user, role), "importing": imports}


@router.post("/projects/{slug:slug}/audits")
def import_responses(request: UserRequest, slug: str, form: Form[ImportIn]) -> dict[str, Any]:
    """Bring the `file` of responses in and start its audit; the same file again is the same audit.

    Very many are brought in by a job: then `importing` is true, `job` is that one, and the audit, null until then, is
    there at its end; its result says `made` and `known`.
    """
    from webapp.exchange import responses

    project = project_for(request.user, slug, "audit")
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise Refused("Choose a file of responses.", "file")
    try:
        made = responses.import_upload(file=file, project=project, user=request.user, **form.dict())
    except FormatError as error:
        raise Refused(str(error), "file") from error
    if isinstance(made, Job):
        return {"audit": None, "made": None, "known": None, "importing": True, **_told(made)}
    job = services.request_audit(audit=made.audit, user=request.user) if made.made else None
    row = queries.audit_row(made.audit, request.user, role_in(request.user, project.id) or "viewer")
    return {"audit": row, "made": made.made, "known": made.known, "importing": False, **_told(job)}


@router.post("/projects/{slug:slug}/audits/produce")
def produce(request: UserRequest, slug: str, wanted: ProduceIn) -> dict[str, Any]:
    """Have the configured endpoint answer questions of the bench, at its cost, and audit what it says."""
    project = project_for(request.user, slug, "audit")
    audit, job = producing.request_responses(project=project, user=request.user, **wanted.dict())
    row = queries.audit_row(audit, request.user, role_in(request.user, project.id) or "viewer")
    return {"audit": row, **_told(job)}


@router.get("/audits/{uuid:audit_id}")
def get_audit(request: UserRequest, audit_id: UUID, part: str = "all", first: int = 0) -> dict[str, Any]:
    """An audit and a page of its responses: a hundred of `part` (all, open, mine, disputed, failed) from `first` on."""
    audit, role = audit_for(request.user, audit_id, "view")
    if part not in queries.PARTS or first < 0:
        raise Refused(f"A part is one of {', '.join(queries.PARTS)}, and `first` a count.", "part")
    row = queries.audit_row(audit, request.user, role)
    return row | queries.response_list(audit, request.user, role, part=part, first=first)


@router.patch("/audits/{uuid:audit_id}")
def patch_audit(request: UserRequest, audit_id: UUID, wanted: ChangeIn) -> dict[str, Any]:
    audit, role = audit_for(request.user, audit_id, "audit")
    changes = wanted.dict(exclude_unset=True, exclude={"version"})
    with _both_versions():
        changed = services.configure(audit=audit, user=request.user, version=wanted.version, changes=changes)
    return queries.audit_row(changed, request.user, role)


@router.post("/audits/{uuid:audit_id}/start")
def start_audit(request: UserRequest, audit_id: UUID) -> dict[str, Any]:
    """Do what is left: responses that wait or failed, claims that ended in an error."""
    audit, _ = audit_for(request.user, audit_id, "audit")
    return _told(services.request_audit(audit=audit, user=request.user))


@router.post("/audits/{uuid:audit_id}/finish")
def finish_audit(request: UserRequest, audit_id: UUID, wanted: FinishIn) -> dict[str, Any]:
    audit, role = audit_for(request.user, audit_id, "audit")
    with _both_versions():
        done = services.finish(audit=audit, user=request.user, version=wanted.version, force=wanted.force)
    return queries.audit_row(done, request.user, role)


@router.post("/audits/{uuid:audit_id}/report")
def make_report(request: UserRequest, audit_id: UUID) -> dict[str, Any]:
    audit, _ = audit_for(request.user, audit_id, "audit")
    return _told(reporting.request_report(audit=audit, user=request.user))


@router.get("/audits/{uuid:audit_id}/report")
def get_report(request: UserRequest, audit_id: UUID) -> dict[str, Any]:
    audit, _ = audit_for(request.user, audit_id, "view")
    report, job = reporting.report_of(audit)
    return {"report": report, **_told(job)}


@router.get("/audits/{uuid:audit_id}/agreement")
def get_agreement(request: UserRequest, audit_id: UUID) -> dict[str, Any]:
    audit, _ = audit_for(request.user, audit_id, "view")
    reporting.need_finished(audit)
    return {"rows": agreeing.told(audit.report.get("agreement", []))}


@router.get("/audits/{uuid:audit_id}/compare/{uuid:other_id}")
def get_comparison(request: UserRequest, audit_id: UUID, other_id: UUID) -> dict[str, Any]:
    one, _ = audit_for(request.user, audit_id, "view")
    other, _ = audit_for(request.user, other_id, "view")
    return {"comparison": reporting.compare(one, other)}


@router.get("/audits/{uuid:audit_id}/disputes")
def list_disputes(request: UserRequest, audit_id: UUID) -> dict[str, Any]:
    audit, _ = audit_for(request.user, audit_id, "review")
    return {"disputes": queries.disputes(audit, request.user)}


@router.post("/audits/{uuid:audit_id}/next")
def post_next(request: UserRequest, audit_id: UUID) -> dict[str, Any]:
    """A response to rate, held for a while; asked again before it is completed, it is the same one."""
    audit, role = audit_for(request.user, audit_id, "review")
    seat = rating.next_response(audit=audit, user=request.user)
    if seat is None:
        ready = Response.objects.filter(audit=audit, state=Response.State.DONE).exists()
        return {"task": None, "why": NONE_LEFT if ready else NOT_YET}
    response, _ = response_for(request.user, seat.response_id, "review")
    return {
        "task": queries.task(response, request.user, role),
        "waiting": rating.waiting([audit.id], request.user).get(audit.id, 0),
    }


# ---------------------------------------------------------------------------------------------------------------------
# One response


@router.get("/audit/responses/{uuid:response_id}")
def get_response(request: UserRequest, response_id: UUID, adjudicate: bool = False) -> dict[str, Any]:
    """`adjudicate`: with what its raters said; for a third person, once they are done."""
    response, role = response_for(request.user, response_id, "review" if adjudicate else "view")
    if adjudicate and not rating.may_see_raters(response, request.user):
        raise PermissionDenied(rating.NOT_THIRD)
    return queries.task(response, request.user, role, adjudicate=adjudicate)


@router.get("/audit/responses/{uuid:response_id}/masks")
def get_masks(request: UserRequest, response_id: UUID) -> HttpResponse:
    """The masks of all claims as columns, in one answer."""
    response, _ = response_for(request.user, response_id, "view")
    return _columns(response, queries.mask_files(response, request.user))


@router.get("/audit/claims/{uuid:claim_id}/masks")
def get_masks_of_claim(request: UserRequest, claim_id: UUID) -> HttpResponse:
    claim, _ = claim_for(request.user, claim_id, "view")
    return _columns(claim.response, queries.mask_files(claim.response, request.user, claims=[claim.id]))


def _columns(response: Response, groundings: list[Grounding]) -> HttpResponse:
    parts = []
    for grounding in groundings:
        try:
            with default_storage.open(f"{response.folder}/{grounding.columns}") as file:
                parts.append((grounding, json.load(file)))
        except (FileNotFoundError, ValueError):
            raise Http404("The masks of this response are gone from the store, or damaged there.") from None
    text = json.dumps(queries.columns_of(response, parts), separators=(",", ":"))
    answer = HttpResponse(text, content_type="application/json")
    answer["Cache-Control"] = "private, no-cache"
    return answer


@router.post("/audit/responses/{uuid:response_id}/complete")
def complete(request: UserRequest, response_id: UUID) -> Any:
    response, _ = response_for(request.user, response_id, "review")
    try:
        seat = rating.complete(response=response, user=request.user)
    except rating.Unsaid as unsaid:
        told = {"error": unsaid.sentence, "field": "claims", "missing": unsaid.claims}
        return HttpResponse(json.dumps(told), status=422, content_type="application/json")
    return {"completed": seat.completed.isoformat() if seat.completed else None}


@router.post("/audit/responses/{uuid:response_id}/give-back", response={204: None})
def give_back(request: UserRequest, response_id: UUID) -> Any:
    response, _ = response_for(request.user, response_id, "review")
    rating.give_back(response=response, user=request.user)
    return 204, None


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts


@router.put("/audit/claims/{uuid:claim_id}/verdict")
def put_verdict(request: UserRequest, claim_id: UUID, wanted: VerdictIn) -> dict[str, Any]:
    """`reveal`: with the machine's verdict, noted as seen; without it stays hidden and this one can be taken back."""
    claim, _ = claim_for(request.user, claim_id, "review")
    words = wanted.dict(exclude={"reveal"})
    with _both_versions():
        said = rating.say(claim=claim, user=request.user, **words)
    machine = queries.machine_row(rating.reveal(claim=claim, user=request.user)) if wanted.reveal else None
    mine = rating.row_of(said)
    if mine is not None and wanted.reveal:
        mine["revealed"] = True
    return {"mine": mine, "machine": machine, "left": rating.left(claim.response, request.user)}


@router.delete("/audit/claims/{uuid:claim_id}/verdict", response={204: None})
def delete_verdict(request: UserRequest, claim_id: UUID, wanted: VersionIn) -> Any:
    claim, _ = claim_for(request.user, claim_id, "review")
    with _both_versions():
        rating.take_back(claim=claim, user=request.user, version=wanted.version)
    return 204, None


@router.post("/audit/claims/{uuid:claim_id}/reveal")
def post_reveal(request: UserRequest, claim_id: UUID) -> dict[str, Any] | None:
    claim, _ = claim_for(request.user, claim_id, "review")
    return queries.machine_row(rating.reveal(claim=claim, user=request.user))


@router.post("/audit/claims/{uuid:claim_id}/adjudicate")
def post_adjudication(request: UserRequest, claim_id: UUID, wanted: DecisionIn) -> dict[str, Any]:
    claim, _ = claim_for(request.user, claim_id, "review")
    said = rating.adjudicate(claim=claim, user=request.user, **wanted.dict())
    machine = MachineVerdict.objects.filter(claim=claim, reprompt=None).first()  # hidden until now
    audit = claim.response.audit_id
    left = rating.disputes([audit], request.user).get(audit, 0)
    return {"adjudication": queries.adjudication_row(said), "machine": queries.machine_row(machine), "left": left}


# ---------------------------------------------------------------------------------------------------------------------
# Masks


@router.post("/audit/claims/{uuid:claim_id}/masks")
def post_step(request: UserRequest, claim_id: UUID, wanted: StepIn) -> dict[str, Any]:
    """One stroke or key: up to 256 masks at once; the same id again is the same step."""
    claim, _ = claim_for(request.user, claim_id, "review")
    edits = [masking.Wanted(**edit.dict()) for edit in wanted.edits]
    with _both_versions():
        done = masking.edit(claim=claim, user=request.user, id=wanted.id, kind=wanted.kind, edits=edits)
    return _stepped(done)


@router.post("/audit/claims/{uuid:claim_id}/masks/undo")
def post_undo(request: UserRequest, claim_id: UUID, wanted: UndoIn) -> dict[str, Any]:
    claim, _ = claim_for(request.user, claim_id, "review")
    with _both_versions():
        return _stepped(masking.undo(claim=claim, user=request.user, named=wanted.step))


@router.post("/audit/claims/{uuid:claim_id}/masks/propagate")
def post_propagation(request: UserRequest, claim_id: UUID, wanted: PropagateIn) -> dict[str, Any]:
    """Fill frames from one's drawn masks of an object, by their shapes (a heuristic: no picture is looked at)."""
    claim, _ = claim_for(request.user, claim_id, "review")
    if wanted.by != "shapes":
        raise Refused("Masks are carried to other frames by their shapes only: no grounder here does it.", "by")
    with _both_versions():
        done = masking.propagate(claim=claim, user=request.user, **wanted.dict(exclude={"by"}))
    return _stepped(done)


def _stepped(done: masking.Stepped) -> dict[str, Any]:
    return {
        "step": str(done.step) if done.step else None,
        "edits": [masking.row_of(edit) for edit in done.edits],
        "gone": [str(id) for id in done.gone],
        "steps": done.steps,
    }


@router.post("/audit/claims/{uuid:claim_id}/reprompts")
def post_reprompt(request: UserRequest, claim_id: UUID, wanted: RepromptIn) -> dict[str, Any]:
    claim, _ = claim_for(request.user, claim_id, "review")
    made, job = reprompting.request_reprompt(claim=claim, user=request.user, id=wanted.id, text=wanted.text)
    row = {"id": str(made.id), "text": made.text, "created": made.created.isoformat(), "error": made.error}
    return {"reprompt": row, **_told(job)}
