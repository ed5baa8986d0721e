"""Pages of releases: the numbered list, one release with its items and files, and the retirement of an item."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.storage import default_storage
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_safe

from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.access import allowed, project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page, post_only
from webapp.bench import agreeing, forms, pictures, releases
from webapp.bench.models import Release, ReleaseItem
from webapp.bench.views import JOB_KINDS, live_jobs
from webapp.lib.errors import Refused
from webapp.library import media
from webapp.library.models import Project

ITEMS_SHOWN = 100

# ---------------------------------------------------------------------------------------------------------------------
# The list


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, "export" if request.method == "POST" else "view")
    form = forms.ReleaseForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            releases.cut(project=project, user=cast(User, request.user), **form.cleaned_data)
            messages.success(request, "The release is being cut; it is listed here when it is done.")
            return redirect("releases", slug)
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.sentence)
    rows = releases.listing(project)
    left_out = releases.left_out(project)
    context = {
        "releases": rows,
        "ready": releases.ready(project, left_out),
        "left_out": left_out,
        "next_number": rows[0].number + 1 if rows else 1,
        "form": form,
        "jobs": live_jobs(project),
        "job_kinds": " ".join(JOB_KINDS),
    }
    return page(request, "bench/releases.html", context, project=project, status=422 if form.errors else 200)


# ---------------------------------------------------------------------------------------------------------------------
# One release


def _release(project: Project, number: int) -> Release:
    found = Release.objects.filter(project=project, number=number).select_related("created_by").first()
    if found is None:
        raise Http404("There is no such release.")
    return found


@login_required
@require_safe
def release(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    project = project_for(request.user, slug, "view")
    found = _release(project, number)
    word = request.GET.get("after", "")
    after = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else 0
    keys = "export" in allowed(request.user, project.id)  # they count as knowing them, should an item go round again
    items = list(found.items.filter(position__gt=after).order_by("position")[: ITEMS_SHOWN + 1])
    context = {
        "release": found,
        "changes": releases.changes_in_words(found.facts.get("changes", {})),
        "items": [_item_row(item, keys=keys) for item in items[:ITEMS_SHOWN]],
        "after": after,
        "next_after": items[ITEMS_SHOWN - 1].position if len(items) > ITEMS_SHOWN else None,
        "count": found.items.count(),
        "retired": found.items.filter(retired__isnull=False).count(),
        "composition": pictures.release_composition(found.facts.get("counts", {})),
        "agreement": pictures.agreement(found.facts.get("agreement") or {}, 0, simulated=agreeing.simulated(project)),
        "files": _files(found),
        "form": forms.RetireForm(),
    }
    return page(request, "bench/release.html", context, project=project)


def _item_row(item: ReleaseItem, *, keys: bool) -> dict[str, Any]:
    kept = item.item
    category = CATEGORIES.get(kept.get("category", ""))
    return {
        "id": item.id,
        "position": item.position,
        "withdrawn": "withdrawn" in kept,
        "text": kept.get("question", ""),
        "answer": (kept.get("answer_text") or kept.get("answer", "")) if keys else "",
        "category": category.words if category else "",
        "split": item.split,
        "sha256": item.sha256,
        "retired": item.retired,
        "retired_why": item.retired_why,
    }


def _files(found: Release) -> list[dict[str, Any]]:
    """What was written for this release, by name."""
    try:
        _, names = default_storage.listdir(found.folder)
    except FileNotFoundError:
        return []
    return [{"name": name, "bytes": default_storage.size(f"{found.folder}/{name}")} for name in sorted(names)]


@login_required
@require_safe
def download(request: HttpRequest, slug: str, number: int, name: str) -> HttpResponseBase:
    """One of the release's files, to keep."""
    project = project_for(request.user, slug, "export")
    found = _release(project, number)
    if name not in [one["name"] for one in _files(found)]:
        raise Http404("This release has no such file.")
    answer = media.serve(
        request,
        f"{found.folder}/{name}",
        "application/octet-stream",
        cache="private, no-cache",
        cap=media.LARGEST_RANGE,
    )
    answer["Content-Disposition"] = content_disposition_header(True, f"{project.slug}-{found.number}-{name}")
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return answer


@login_required
@post_only
def retire(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Take an item out of use, with the reason; what was released stays as it is."""
    project = project_for(request.user, slug, "export")
    found = _release(project, number)
    word = request.POST.get("item", "")
    item = found.items.filter(id=int(word)).first() if word.isascii() and word.isdigit() and len(word) < 19 else None
    if item is None:
        messages.error(request, "This release has no such item.")
        return redirect("release", slug, number)
    try:
        done = releases.retire(item=item, user=cast(User, request.user), reason=request.POST.get("reason", ""))
        numbers = ", ".join(str(one.release.number) for one in done)
        messages.success(request, f"Item {item.position} is retired in release {numbers}.")
    except Refused as refused:
        messages.error(request, f"Nothing was retired. {refused.sentence}")
    return redirect("release", slug, number)
