"""Endpoints of the workspace: bundle, frame times, changes, edits, events, derivations."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import Http404, HttpResponse, StreamingHttpResponse
from ninja import Router, Schema
from pydantic import Field

from webapp.accounts.access import check, project_for, video_for
from webapp.events import derivation, gesturing, graph, ledger, queries, services
from webapp.events.models import Derivation, Event
from webapp.jobs.models import Job
from webapp.lib import live
from webapp.lib.errors import Stale
from webapp.lib.http import UserRequest
from webapp.library.frames import frame_seconds
from webapp.library.models import Video

router = Router()


class EditIn(Schema):
    id: UUID
    kind: str = Field(max_length=30)
    object: UUID
    version: int | None = None
    fields: dict[str, Any] = {}
    user: int | None = Field(default=None, description="Whose edit it is: a queue outlives a login.")


class CommentIn(Schema):
    id: UUID
    text: str = Field(max_length=4000)


class DeriveIn(Schema):
    """Without a preset the video keeps the rules it has."""

    preset: str | None = None
    min_confidence: float | None = Field(default=None, ge=0, le=1)


class GesturesIn(Schema):
    detector: str = Field(default="rules", max_length=20)


@router.get("/videos/{uuid:video_id}/bundle")
def get_bundle(request: UserRequest, video_id: UUID) -> HttpResponse:
    video = video_for(request.user, video_id, "view")
    return HttpResponse(queries.bundle_json(video, request.user), content_type="application/json")


@router.get("/videos/{uuid:video_id}/frames")
def get_frames(request: UserRequest, video_id: UUID) -> HttpResponse:
    """Media seconds of every frame and the end of the last one: float64, little-endian, N + 1 values.

    The browser asks again each time: a video without pictures has the times of its run, and may take another run.
    """
    video = video_for(request.user, video_id, "view")
    if video.state != Video.State.READY:
        raise Http404("The import of this video is not done, so it has no frame times.")
    data = frame_seconds(video).astype("<f8").tobytes()
    tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    if request.headers.get("If-None-Match") == tag:
        response = HttpResponse(status=304)
    else:
        response = HttpResponse(data, content_type="application/octet-stream")
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


@router.get("/videos/{uuid:video_id}/changes")
def get_changes(request: UserRequest, video_id: UUID, since: int) -> dict[str, Any]:
    return queries.changes_since(video_for(request.user, video_id, "view"), since)


@router.get("/videos/{uuid:video_id}/graph")
def get_graph(
    request: UserRequest, video_id: UUID, start: int | None = None, end: int | None = None, preset: str = "strict"
) -> dict[str, Any]:
    """Events and their links; of the frames [start, end) where these are given."""
    return graph.graph_columns(video_for(request.user, video_id, "view"), start, end, preset)


@router.get("/videos/{uuid:video_id}/undoable")
def get_undoable(request: UserRequest, video_id: UUID) -> dict[str, Any]:
    return queries.undoable(video_for(request.user, video_id, "annotate"), request.user)


@router.post("/videos/{uuid:video_id}/edits")
def post_edit(request: UserRequest, video_id: UUID, edit: EditIn) -> Any:
    if edit.user is not None and edit.user != request.user.id:
        sentence = "You are logged in as somebody else than the person who made this edit."
        return HttpResponse(json.dumps({"error": sentence}), status=401, content_type="application/json")
    wanted = ledger.EditRequest(edit.id, edit.kind, edit.object, edit.version, edit.fields)
    try:
        return ledger.answer(ledger.apply_edit(video_id=video_id, user=request.user, edit=wanted))
    except Stale as stale:
        return HttpResponse(
            json.dumps(ledger.conflict(stale, wanted, video_id)), status=409, content_type="application/json"
        )


@router.get("/events/{uuid:event_id}")
def get_event(request: UserRequest, event_id: UUID) -> dict[str, Any]:
    return queries.event_story(_event(request, event_id, "view"))


@router.post("/events/{uuid:event_id}/comments")
def post_comment(request: UserRequest, event_id: UUID, comment: CommentIn) -> dict[str, Any]:
    event = _event(request, event_id, "annotate")
    ledger.comment(event=event, user=request.user, id=comment.id, text=comment.text)
    return queries.event_story(_event(request, event_id, "view"))


def _event(request: UserRequest, event_id: UUID, action: Any) -> Event:
    event = Event.objects.select_related("video", "set", "changed_by").filter(id=event_id).first()
    if event is None:
        raise Http404("There is no such event, or it is not yours to see.")
    check(request.user, event.video.project_id, action)
    return event


@router.get("/projects/{slug:slug}/triage")
def get_triage(request: UserRequest, slug: str, type: str = "", skip: str = "") -> dict[str, Any]:
    """`skip`: event ids to leave out, joined by commas (what the page holds already)."""
    project = project_for(request.user, slug, "annotate")
    left_out = [services.uuid_of(word, "skip") for word in skip.split(",")[:200] if word]
    return {"items": queries.triage(project, type=type, skip=left_out)}


# ---------------------------------------------------------------------------------------------------------------------
# Derivation


@router.post("/videos/{uuid:video_id}/derive")
def post_derive(request: UserRequest, video_id: UUID, wanted: DeriveIn) -> dict[str, Any]:
    video = video_for(request.user, video_id, "annotate")
    rules = derivation.rules_of(video)
    if wanted.preset is not None and (wanted.preset, wanted.min_confidence) != rules:
        check(request.user, video.project_id, "perceive")  # other rules change everybody's proposals
        rules = wanted.preset, wanted.min_confidence
    job = derivation.request_derivation(video=video, user=request.user, preset=rules[0], min_confidence=rules[1])
    return {"job": str(job.id)}


@router.post("/videos/{uuid:video_id}/gestures")
def post_gestures(request: UserRequest, video_id: UUID, wanted: GesturesIn) -> dict[str, Any]:
    """Look for gestures; what is found becomes proposals."""
    video = video_for(request.user, video_id, "perceive")
    return {"job": str(gesturing.request_gestures(video=video, user=request.user, detector=wanted.detector).id)}


@router.get("/derivations/{uuid:derivation_id}")
def get_derivation(request: UserRequest, derivation_id: UUID) -> dict[str, Any]:
    found = _derivation(request, derivation_id, "view")
    return {
        "id": str(found.id),
        "revision": found.revision,
        "preset": found.preset,
        "current": found.applied is None and found.revision == found.video.revision,
        "difference": found.difference,
    }


@router.post("/derivations/{uuid:derivation_id}/apply")
def apply_derivation(request: UserRequest, derivation_id: UUID) -> Any:
    found = _derivation(request, derivation_id, "annotate")
    try:
        return {"revision": derivation.apply(derivation=found, user=request.user).revision}
    except Stale:
        sentence = "The video was edited since this difference was made; derive again."
        return HttpResponse(json.dumps({"error": sentence}), status=409, content_type="application/json")


def _derivation(request: UserRequest, derivation_id: UUID, action: Any) -> Derivation:
    found = Derivation.objects.select_related("video").filter(id=derivation_id).first()
    if found is None:
        raise Http404("There is no such derivation, or it is not yours to see.")
    check(request.user, found.video.project_id, action)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Live


@router.get("/videos/{uuid:video_id}/stream")
async def stream(request: UserRequest, video_id: UUID) -> StreamingHttpResponse:
    """Server-sent events: `revision` when somebody saved, `job` while the video's jobs move; a job's `run` is the id of
    the run it makes (perceive) or accepts (accept), else null.

    Access is looked up again at every step, so a removed member stops hearing.
    """
    user = await request.auser()
    await sync_to_async(video_for)(user, video_id, "view")
    return live.stream(lambda: _state(user, video_id))


def _state(user: Any, video_id: UUID) -> list[live.Message]:
    user.refresh_from_db(fields=["is_active", "is_superuser"])
    video = Video.objects.only("project_id", "revision").get(id=video_id)
    check(user, video.project_id, "view")
    recent = Job.objects.filter(video_id=video_id).defer("log", "stages").order_by("-created")[:5]
    return [("revision", {"revision": video.revision})] + [
        (
            "job",
            {
                "id": str(job.id),
                "kind": job.kind,
                "state": job.state,
                "stage": job.stage,
                "share": round(job.share, 3),
                "error": job.error,
                "result": job.result if job.kind in ("derive", "accept") else {},
                "run": job.parameters.get("run"),
            },
        )
        for job in reversed(recent)
    ]
