"""Pages of projects, the video list, uploads, and a video's details."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from webapp.accounts.access import project_for, require_site_admin, video_for
from webapp.accounts.models import User
from webapp.accounts.pages import page, post_only, wants_part
from webapp.lib.errors import Refused
from webapp.lib.lists import heads
from webapp.library import projects, queries, services
from webapp.library.forms import NewProjectForm, ProjectForm, ProvenanceForm
from webapp.library.listing import row_of
from webapp.library.models import Project, Video
from webapp.tracks import services as tracks
from webapp.tracks.models import Run

BULK_LIMIT = 200

# ---------------------------------------------------------------------------------------------------------------------
# Projects


@login_required
@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    return page(request, "library/projects.html", {"projects": queries.project_list(request.user)[:500]})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    require_site_admin(request.user)
    form = NewProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            project = projects.create_project(user=cast(User, request.user), **form.cleaned_data)
        except Refused as refused:
            form.add_error(refused.field or None, refused.sentence)
        else:
            messages.success(request, f"The project {project.name} is there. Next: bring videos in.")
            return redirect("project", project.slug)
    return page(request, "library/project_new.html", {"form": form}, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_settings(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, "delete")
    names = projects.CHANGEABLE
    form = ProjectForm(request.POST or None, initial={name: getattr(project, name) for name in names})
    if request.method == "POST" and form.is_valid():
        projects.change_project(project=project, **form.cleaned_data)
        messages.success(request, "The project is saved.")
        return redirect("project_settings", slug)
    return page(
        request, "library/project_settings.html", {"form": form}, project=project, status=422 if form.errors else 200
    )


# ---------------------------------------------------------------------------------------------------------------------
# Videos of a project


@login_required
@require_safe
def project(request: HttpRequest, slug: str) -> HttpResponse:
    """The video list; htmx asks for the table alone."""
    found = project_for(request.user, slug, "view")
    context = _list_context(found, queries.Wanted.read(request.GET))
    template = "library/video_table.html" if wants_part(request) else "library/project.html"
    return page(request, template, context, project=found)


def _list(request: HttpRequest, project: Project) -> HttpResponse:
    """The table alone, after a change of it."""
    context = _list_context(project, queries.Wanted.read(request.GET)) | {"swapped": True}
    return page(request, "library/video_table.html", context, project=project)


def _list_context(project: Project, wanted: queries.Wanted) -> dict[str, Any]:
    listed = queries.video_page(project, wanted)
    rows = [row_of(video, listed.jobs.get(video.id)) for video in listed.videos]
    return {
        "page": listed,
        "rows": rows,
        "wanted": wanted,
        "earlier": wanted.address(before=listed.earlier) if listed.earlier else "",
        "later": wanted.address(after=listed.later) if listed.later else "",
        "columns": _columns(wanted),
        "sort_words": queries.SORT_WORDS,
        "count_limit": wanted.count_limit,
    }


def _columns(wanted: queries.Wanted) -> dict[str, dict[str, str]]:
    """For each sortable column: the address a click on its head leads to, and aria-sort's word."""
    pairs = {
        "name": ("name", "-name"),
        "duration": ("longest", "shortest"),
        "proposed": ("proposed", "-proposed"),
        "created": ("newest", "oldest"),
    }
    return heads(wanted, pairs, queries.SORTS)


@login_required
@post_only
def videos_bulk(request: HttpRequest, slug: str) -> HttpResponse:
    """Start perception on the selected videos, or try their failed imports again."""
    found = project_for(request.user, slug, "perceive")
    videos = list(Video.objects.filter(project=found, id__in=_ids(request.POST.getlist("video"))))
    refused = []
    for video in videos:
        try:
            tracks.request_perception(video=video, user=cast(User, request.user))
        except Refused as error:
            refused.append(f"{video.name}: {error.sentence}")
    started = len(videos) - len(refused)
    if started:
        messages.success(request, f"Perception is queued for {started} video{'s' if started != 1 else ''}.")
    for sentence in refused[:5]:
        messages.error(request, sentence)
    if len(refused) > 5:
        messages.error(request, f"And {len(refused) - 5} more could not be started.")
    if not videos:
        messages.error(request, "No video was selected.")
    if wants_part(request):
        return _list(request, found)
    return redirect(reverse("project", args=[slug]) + queries.Wanted.read(request.GET).address())


def _ids(words: list[str]) -> list[UUID]:
    try:
        return [UUID(word) for word in words[:BULK_LIMIT]]
    except ValueError as error:
        raise Http404("A selected video has no proper id.") from error


@login_required
@require_safe
def upload(request: HttpRequest, slug: str) -> HttpResponse:
    found = project_for(request.user, slug, "import")
    user = cast(User, request.user)
    settled = {
        "project": found.slug,
        "piece": settings.UPLOAD_PIECE_BYTES,
        "limit": settings.UPLOAD_LIMIT_BYTES,
        "unfinished": [
            {"id": str(u.id), "name": u.name, "size": u.size, "received": u.received}
            for u in queries.open_uploads(found, user)
        ],
    }
    return page(request, "library/upload.html", {"upload": settled}, project=found)


# ---------------------------------------------------------------------------------------------------------------------
# One video


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def video_details(request: HttpRequest, video_id: UUID) -> HttpResponse:
    video = video_for(request.user, video_id, "import" if request.method == "POST" else "view")
    names = ("name", *services.PROVENANCE)
    form = ProvenanceForm(request.POST or None, initial={name: getattr(video, name) for name in names})
    if request.method == "POST" and form.is_valid():
        projects.set_provenance(video=video, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("video_details", video.id)
    return _details(request, video, form, status=422 if form.errors else 200)


def _details(request: HttpRequest, video: Video, form: ProvenanceForm | None = None, status: int = 200) -> HttpResponse:
    runs = list(video.runs.select_related("job").order_by("-created")[:50])
    names = ("name", *services.PROVENANCE)
    context = {
        "video": video,
        "facts": video.blob.facts if video.blob else {},
        "form": form or ProvenanceForm(initial={name: getattr(video, name) for name in names}),
        "runs": [run for run in runs if run.state != Run.State.LAYER],
        "layers": [run for run in runs if run.state == Run.State.LAYER],
        "jobs": video.jobs.select_related("created_by").order_by("-created").defer("parameters", "result")[:10],
    }
    return page(request, "library/video_details.html", context, project=video.project, status=status)


@login_required
@post_only
def video_perceive(request: HttpRequest, video_id: UUID) -> HttpResponse:
    video = video_for(request.user, video_id, "perceive")
    try:
        tracks.request_perception(video=video, user=cast(User, request.user))
        messages.success(request, "Perception is queued.")
    except Refused as refused:
        messages.error(request, refused.sentence)
    return redirect("video_details", video.id)


@login_required
@post_only
def run_accept(request: HttpRequest, video_id: UUID, run_id: UUID) -> HttpResponse:
    """Make a layer the video's run, or throw it away."""
    video = video_for(request.user, video_id, "perceive")
    run = Run.objects.select_related("video__project").filter(id=run_id, video=video).first()
    if run is None:
        raise Http404("This video has no such run.")
    try:
        if request.POST.get("action") == "discard":
            tracks.discard_run(run=run)
            messages.success(request, "The run is discarded.")
        else:
            tracks.request_acceptance(run=run, user=cast(User, request.user))
            messages.success(request, "The run is being accepted; its persons and events appear in a moment.")
    except Refused as refused:
        messages.error(request, refused.sentence)
    return redirect("video_details", video.id)


@login_required
@post_only
def video_delete(request: HttpRequest, video_id: UUID) -> HttpResponse:
    """Delete for good; the name must have been typed."""
    video = video_for(request.user, video_id, "delete")
    if request.POST.get("confirm", "").strip() != video.name.strip():
        messages.error(request, "Nothing was deleted: the typed name differs from the video's name.")
        return redirect("video_details", video.id)
    name, found = video.name, video.project
    services.delete_video(video=video)
    messages.success(request, f"{name} is deleted.")
    return _list(request, found) if wants_part(request) else redirect("project", found.slug)
