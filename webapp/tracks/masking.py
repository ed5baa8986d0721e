"""Masks of a video's people are a stage of its accepted run, like gestures.

    request_masks   web: queue the job
    settle          worker: the run has masks now, with the job's end

The files lie with the run's: masks.parquet (packed, for grounders), masks.json (how they were made), and masks/ with
the blocks that pages ask for (`webapp.tracks.masks`). They name raw tracks: who is who may change, masks do not.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from webapp.accounts.models import User
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Run


class Outdated(Exception):
    """The video has another run meanwhile."""


def request_masks(*, video: Video, user: User | None) -> Job:
    """Queue the making of masks for the accepted run. Asked again while that job waits or runs, it is the same job."""
    if video.state != Video.State.READY or not video.has_pixels:
        raise Refused("Masks need a video with pictures whose import is done.", "video")
    if video.run is None:
        raise Refused("This video has no accepted run that says who is where; run perception first.", "video")
    with transaction.atomic():
        Video.objects.select_for_update(no_key=True).get(id=video.id)  # of two requests the second sees the first
        live = Job.objects.filter(video=video, kind="masks", state__in=jobs.LIVE)
        return live.first() or jobs.create(project=video.project, kind="masks", queue="gpu", video=video, user=user)


def settle(*, video: Video, run_id: UUID, about: dict[str, Any]) -> dict[str, int]:
    """Note that the files of a run's masks are there; their counts. `about` is masks.json.

    Raises Outdated when the video has another run meanwhile, and then nothing is written.
    """
    with transaction.atomic():
        locked = Video.objects.select_for_update(no_key=True).get(id=video.id)
        if locked.run_id != run_id:
            raise Outdated
        note_masks(run_id=run_id, about=about)
    return dict(about["counts"])


def note_masks(*, run_id: UUID, about: dict[str, Any]) -> None:
    """The files of a run's masks are there, made as `about` (masks.json) says."""
    Run.objects.filter(id=run_id).update(masks=about)
