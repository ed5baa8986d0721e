"""Rows of the video list as the page shows them.

A list of 50 rows spends most of its time in the template's look-ups and filters; so words and addresses are made here,
and the template only places them. It escapes them as always.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

from django.urls import reverse

from webapp.accounts.templatetags.frame import clock, job_stage, job_word, percent
from webapp.jobs.models import Job
from webapp.library.models import Video

NOBODY = UUID(int=0)
NOTHING = "–"
ERROR_LENGTH = 110


def row_of(video: Video, job: Job | None) -> dict[str, Any]:
    """One row: text, numbers as people read them, and where its links lead."""
    seen = video.run_id is not None
    return {
        "id": str(video.id),
        "name": video.name,
        "facts": f"{video.width} × {video.height} · {video.frames:,} frames · " if video.width else "",
        "state": _state(video),
        "error": _short(video.error) if video.state == Video.State.FAILED else "",
        "duration": clock(video.duration_s),
        "persons": str(video.person_count) if seen else NOTHING,
        "open": f"{video.proposed_count:,}" if seen or video.proposed_count else NOTHING,
        "some_open": video.proposed_count > 0,
        "reviewed": f"{video.reviewed_count:,}",
        "reviewed_share": _share(video),
        "added": f"{video.created:%Y-%m-%d}",
        "job": _job(job) if job else None,
        **_addresses(video),
    }


def _state(video: Video) -> str:
    """failed, importing, new (no perception yet), bare (no pictures), or ready."""
    if video.state != Video.State.READY:
        return video.state
    if video.run_id is None:
        return "new"
    return "ready" if video.has_pixels else "bare"


def _share(video: Video) -> str:
    """Share of the events that are reviewed, "" where there are none."""
    total = video.reviewed_count + video.proposed_count
    return f"{video.reviewed_count / total:.3f}" if total else ""


def _short(text: str) -> str:
    return text if len(text) <= ERROR_LENGTH else text[: ERROR_LENGTH - 1] + "…"


def _job(job: Job) -> dict[str, str]:
    running = job.state == Job.State.RUNNING
    return {
        "id": str(job.id),
        "state": job.state,
        "words": f"{job_word(job.kind)}: {job_stage(job)}",
        "percent": f"{percent(job.share)} %" if running else "",
        "share": f"{job.share:.3f}",
    }


def _addresses(video: Video) -> dict[str, str]:
    """Looking three addresses up for each row would take longer than the rest of the row."""
    base = _workspace_of_nobody().replace(str(NOBODY), str(video.id))
    details = f"{base}details/"
    poster = f"{base}media/poster.jpg?v={video.blob_id[:12]}" if video.blob_id and video.has_pixels else ""
    return {
        "leads_to": base if video.state == Video.State.READY else details,
        "details": details,
        "removal": f"{base}delete/",
        "poster": poster,
    }


@cache
def _workspace_of_nobody() -> str:
    return reverse("workspace", args=[NOBODY])
