"""Endpoints of projects, video lists and uploads."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from ninja import Router, Schema
from pydantic import Field

from webapp.accounts.access import allowed, check, project_for
from webapp.accounts.models import User
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library import queries, uploads
from webapp.library.models import Upload, Video

router = Router()

LIST_LIMIT = 500


class UploadIn(Schema):
    name: str = Field(min_length=1, max_length=1000)
    size: int = Field(ge=0)


class FinishIn(Schema):
    name: str = Field(default="", max_length=255)
    source_recording: str = Field(default="", max_length=255)
    licence: str = Field(default="", max_length=200)
    consent_note: str = Field(default="", max_length=5000)


@router.get("/projects")
def list_projects(request: HttpRequest) -> list[dict[str, Any]]:
    """My projects with the number of videos, of videos with something to review, and of live jobs."""
    found = queries.project_list(request.user).values("slug", "name", "video_total", "open_total", "job_total")
    return [
        {
            "slug": project["slug"],
            "name": project["name"],
            "videos": project["video_total"] or 0,
            "open": project["open_total"] or 0,
            "jobs": project["job_total"] or 0,
        }
        for project in found[:LIST_LIMIT]
    ]


@router.get("/projects/{slug:slug}")
def get_project(request: HttpRequest, slug: str) -> dict[str, Any]:
    project = project_for(request.user, slug, "view")
    return {
        "slug": project.slug,
        "name": project.name,
        "description": project.description,
        "licence": project.licence,
        "consent": project.consent,
        "link_identities": project.link_identities,
        "actions": allowed(request.user, project.id),
    }


@router.get("/projects/{slug:slug}/videos")
def list_videos(request: HttpRequest, slug: str) -> dict[str, Any]:
    """The list of the project page: q, state, left, sort, after, before; 50 at a time."""
    project = project_for(request.user, slug, "view")
    page = queries.video_page(project, queries.Wanted.read(request.GET))
    return {
        "videos": [video_row(video, page.jobs.get(video.id)) for video in page.videos],
        "count": min(page.count, page.wanted.count_limit),
        "more_than_counted": page.more_than_counted,
        "before": page.earlier,
        "after": page.later,
    }


def video_row(video: Video, job: Job | None) -> dict[str, Any]:
    return {
        "id": str(video.id),
        "name": video.name,
        "state": video.state,
        "error": video.error,
        "duration_s": video.duration_s,
        "frames": video.frames,
        "width": video.width,
        "height": video.height,
        "persons": video.person_count,
        "proposed": video.proposed_count,
        "reviewed": video.reviewed_count,
        "created": video.created.isoformat(),
        "job": {"id": str(job.id), "kind": job.kind, "state": job.state, "stage": job.stage, "share": job.share}
        if job
        else None,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Uploads


@router.post("/projects/{slug:slug}/uploads")
def post_upload(request: HttpRequest, slug: str, wanted: UploadIn) -> dict[str, Any]:
    """Announce a file; an unfinished upload of the same name and size goes on where it stopped."""
    project = project_for(request.user, slug, "import")
    user = cast(User, request.user)
    return upload_row(uploads.start_upload(project=project, user=user, name=wanted.name, size=wanted.size))


@router.get("/uploads/{uuid:upload_id}")
def get_upload(request: HttpRequest, upload_id: UUID) -> dict[str, Any]:
    return upload_row(_own_upload(request, upload_id))


@router.put("/uploads/{uuid:upload_id}")
def put_piece(request: HttpRequest, upload_id: UUID, offset: int) -> Any:
    """The raw bytes of the next piece; 409 with `received` when it does not start there."""
    upload = _own_upload(request, upload_id)
    length = request.headers.get("Content-Length", "")
    if not length.isdigit() or int(length) > settings.UPLOAD_PIECE_BYTES:
        raise Refused(f"A piece has between 1 and {settings.UPLOAD_PIECE_BYTES} bytes.")
    try:
        return {"received": uploads.add_piece(upload=upload, offset=offset, piece=request.body)}
    except uploads.WrongOffset as wrong:
        sentence = f"The next piece starts at byte {wrong.received}."
        return JsonResponse({"error": sentence, "received": wrong.received}, status=409)


@router.post("/uploads/{uuid:upload_id}/finish")
def finish_upload(request: HttpRequest, upload_id: UUID, wanted: FinishIn | None = None) -> dict[str, Any]:
    """All pieces are here: the video is made, with this name and provenance where given, and its import queued."""
    upload = _own_upload(request, upload_id)
    facts = wanted.dict() if wanted else {}
    video, job = uploads.finish_upload(upload=upload, user=cast(User, request.user), **facts)
    return {"video": str(video.id), "job": str(job.id)}


@router.delete("/uploads/{uuid:upload_id}", response={204: None})
def delete_upload(request: HttpRequest, upload_id: UUID) -> Any:
    uploads.cancel_upload(upload=_own_upload(request, upload_id))
    return 204, None


def _own_upload(request: HttpRequest, upload_id: UUID) -> Upload:
    """One's own upload, while one's role still allows imports."""
    upload = Upload.objects.select_related("project").filter(id=upload_id, user=cast(User, request.user)).first()
    if upload is None:
        raise Http404("There is no such upload, or it is not yours.")
    check(request.user, upload.project_id, "import")
    return upload


def upload_row(upload: Upload) -> dict[str, Any]:
    return {
        "id": str(upload.id),
        "name": upload.name,
        "size": upload.size,
        "received": upload.received,
        "piece": settings.UPLOAD_PIECE_BYTES,
        "video": str(upload.video_id) if upload.video_id else None,
    }
