"""Endpoints for runs: start perception, look at a run, accept or discard a layer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404
from ninja import Router, Schema
from pydantic import Field

from webapp.accounts.access import check, video_for
from webapp.accounts.permissions import Action
from webapp.lib.http import UserRequest
from webapp.tracks import masking, masks, services
from webapp.tracks.models import Run

router = Router()


class PerceiveIn(Schema):
    profile: str = Field(default="embedded", max_length=40)
    rate: float = 2.0


@router.post("/videos/{uuid:video_id}/perceive")
def post_perceive(request: UserRequest, video_id: UUID, wanted: PerceiveIn) -> dict[str, Any]:
    video = video_for(request.user, video_id, "perceive")
    job = services.request_perception(video=video, user=request.user, profile=wanted.profile, rate=wanted.rate)
    return {"job": str(job.id)}


@router.post("/videos/{uuid:video_id}/masks")
def post_masks(request: UserRequest, video_id: UUID) -> dict[str, Any]:
    """Make masks of the people at the accepted run's samples."""
    video = video_for(request.user, video_id, "perceive")
    return {"job": str(masking.request_masks(video=video, user=request.user).id)}


@router.get("/videos/{uuid:video_id}/masks")
def get_masks(request: UserRequest, video_id: UUID, start: int = 0, end: int | None = None) -> dict[str, Any]:
    """Masks of the people on the frames [start, end), as columns: see `webapp.tracks.masks`."""
    return masks.masks_between(video_for(request.user, video_id, "view"), start, end)


@router.get("/runs/{uuid:run_id}")
def get_run(request: UserRequest, run_id: UUID) -> dict[str, Any]:
    run = _run(request, run_id, "view")
    report = run.report
    return {
        "id": str(run.id),
        "video": str(run.video_id),
        "profile": run.profile,
        "origin": run.origin,
        "state": run.state,
        "created": run.created.isoformat(),
        "rate": run.manifest.get("rate"),
        "backends": run.manifest.get("backends", []),
        "parameters": run.manifest.get("parameters", {}),
        "notes": run.manifest.get("notes", []),
        "report": {
            "current": report.get("revision") == run.video.revision,
            "conflicts": report.get("conflicts", []),
            "new_persons": len({row[3] for row in report.get("tracklets", []) if row[3].startswith("new-")}),
            "known_persons": len({row[3] for row in report.get("tracklets", []) if not row[3].startswith("new-")}),
        },
    }


@router.post("/runs/{uuid:run_id}/accept")
def post_accept(request: UserRequest, run_id: UUID) -> dict[str, Any]:
    job = services.request_acceptance(run=_run(request, run_id, "perceive"), user=request.user)
    return {"job": str(job.id)}


@router.post("/runs/{uuid:run_id}/discard")
def post_discard(request: UserRequest, run_id: UUID) -> dict[str, Any]:
    services.discard_run(run=_run(request, run_id, "perceive"))
    return {}


def _run(request: UserRequest, run_id: UUID, action: Action) -> Run:
    run = Run.objects.select_related("video__project").filter(id=run_id).first()
    if run is None:
        raise Http404("There is no such run, or it is not yours to see.")
    check(request.user, run.video.project_id, action)
    return run
