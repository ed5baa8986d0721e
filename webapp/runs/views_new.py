"""Drafting a run: what it learns from, what it begins with, and its settings. A draft has its page like any run."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from ml.training import configs
from webapp.accounts.access import project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page, wants_part
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Project
from webapp.runs import forms, run_settings, services
from webapp.runs.access import run_by_number
from webapp.runs.models import STAGES, TrainingRun

DEFAULT_STAGE, DEFAULT_PRESET = "grpo", "lora-1gpu"
STALE = "Somebody else changed this draft in the meantime: this is how it is now. Make your change again."


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """The form; sent, it makes a draft, which is looked at in the background before it may start."""
    project = project_for(request.user, slug, "train")
    return _drafted(request, project, None)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The same form for a draft."""
    found, _ = run_by_number(request.user, slug, number, "train")
    if found.state != TrainingRun.State.DRAFT:
        messages.warning(request, f"Run {number} is no draft any more: clone it to change its settings.")
        return redirect("run", slug, number)
    return _drafted(request, found.project, found)


def _drafted(request: HttpRequest, project: Project, draft: TrainingRun | None) -> HttpResponse:
    told = request.POST if request.method == "POST" else request.GET
    stage = draft.stage if draft else chosen(told.get("stage", ""), STAGES, DEFAULT_STAGE)
    presets = [one.name for one in configs.presets(stage)]
    preset = chosen(told.get("preset", ""), presets, draft.preset if draft else DEFAULT_PRESET)
    if preset not in presets:
        preset = presets[0]
    asked = request.method == "POST" or wants_part(request)
    overrides = run_settings.sent(told, stage, preset) if asked else dict(draft.overrides) if draft else {}
    errors: dict[str, str] = {}
    try:
        overrides = run_settings.checked(stage, preset, overrides)
    except configs.ConfigError as error:
        errors = {error.field: str(error)}
    if wants_part(request):
        return page(request, "runs/settings.html", settings_of(stage, preset, overrides, errors), project=project)
    given = (request.POST,) if request.method == "POST" else ()
    form = forms.RunForm(
        project, stage, *given, fixed=draft is not None, initial=initial(draft, preset, request.GET.get("snapshot", ""))
    )
    if request.method == "POST" and form.is_valid() and not errors:
        try:
            made = _kept(request, project, draft, stage, form.wanted() | {"overrides": overrides})
            return redirect("run", project.slug, made.number)
        except Refused as refused:
            form.add_error(FIELDS.get(refused.field), refused.sentence)
        except Stale:
            messages.error(request, STALE)
            return redirect("run_edit", project.slug, cast(TrainingRun, draft).number)
    failed = bool(form.errors or errors)
    context = settings_of(stage, preset, overrides, errors) | {
        "form": form,
        "draft": draft,
        "failed_settings": bool(errors),
        "error": errors.get("", ""),
    }
    return page(request, "runs/new.html", context, project=project, status=422 if failed else 200)


FIELDS = {
    "name": "name",
    "stage": "stage",
    "snapshot": "snapshot",
    "base_model": "start",
    "parent": "start",
    "preset": "preset",
}


def chosen(word: str, offered: Any, default: str) -> str:
    return word if word in offered else default


def initial(draft: TrainingRun | None, preset: str, snapshot: str) -> dict[str, Any]:
    if draft is None:
        return {"preset": preset, "snapshot": snapshot}
    start = f"run:{draft.parent.number}" if draft.parent else f"model:{draft.base_model}"
    return {
        "name": draft.name,
        "stage": draft.stage,
        "snapshot": str(draft.snapshot.number),
        "start": start,
        "preset": preset,
    }


def settings_of(stage: str, preset: str, overrides: dict[str, Any], errors: dict[str, str]) -> dict[str, Any]:
    """The settings' part of the form."""
    about = next(one for one in configs.presets(stage) if one.name == preset)
    return {
        "groups": run_settings.groups(stage, preset, overrides, errors),
        "preset": about,
        "differs": about.differs.get(stage, ()),
        "stage": stage,
    }


def _kept(
    request: HttpRequest, project: Project, draft: TrainingRun | None, stage: str, wanted: dict[str, Any]
) -> TrainingRun:
    user = cast(User, request.user)
    if draft is None:
        return services.create_run(project=project, user=user, stage=stage, **wanted)
    word = request.POST.get("version", "")
    version = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else -1
    return services.change_draft(run=draft, user=user, version=version, changes=wanted)
