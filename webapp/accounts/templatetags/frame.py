"""What every page draws: icons of the sprite, and numbers as people read them."""

from __future__ import annotations

from functools import cache
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
@cache
def icon(name: str, extra: str = "") -> SafeString:
    """An icon of static/icons/sprite.svg; the text beside it, or an aria-label, says what it means."""
    address = static("icons/sprite.svg")
    return format_html('<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>', extra, address, name)


@register.filter
def clock(seconds: float | None) -> str:
    """Seconds as 0:07, 1:23 or 2:03:45; a dash where nothing is known."""
    if not seconds:
        return "–"
    whole = round(seconds)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


@register.filter
def size(number: int | None) -> str:
    """Bytes as 512 B, 3.4 MB, 64 GB (powers of 1000, as file managers show them)."""
    value = float(number or 0)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{round(value, 0 if value >= 100 else 1):g} {unit}"
        value /= 1000
    return f"{round(value, 1):g} TB"


@register.filter
def percent(share: float | None) -> int:
    """A share of 0 to 1 as whole per cent; 100 only when it is all done."""
    return int(100 * min(max(share or 0, 0), 1))


JOB_WORDS = {
    "import": "Import",
    "perceive": "Perception",
    "derive": "Social events",
    "gestures": "Gestures",
    "masks": "Masks",
    "match": "Comparison",
    "accept": "Acceptance",
    "import-run": "Run import",
    "generate": "Questions",
    "write": "Written questions",
    "prove": "Proofs",
    "agreement": "Agreement",
    "clip": "Clip",
    "release": "Release",
    "audit": "Audit",
    "respond": "Responses",
    "reprompt": "Other wording",
    "audit-report": "Audit report",
    "import-responses": "Import of responses",
    "snapshot": "Snapshot",
    "preflight": "Preflight",
    "train": "Training",
    "evaluate": "Evaluation",
}


@register.filter
def job_word(kind: str) -> str:
    """The kind of a job as people call it."""
    return JOB_WORDS.get(kind, kind)


@register.filter
def job_stage(job: Any) -> str:
    """What a job is doing, as `stageWords` of live.js: a stage that only repeats the kind beside it says nothing."""
    if job.cancel_requested:
        return "stopping"
    if job.state == "queued":
        return "waiting"
    return "running" if job.stage in job_word(job.kind).lower().split() else job.stage or "starting"


@register.filter
def elapsed(job: Any) -> str:
    """How long a job has run, or ran; a dash before it starts."""
    if job.started is None:
        return "–"
    return clock(max(1, ((job.ended or timezone.now()) - job.started).total_seconds()))
