"""Work of the bench in the background, asked for by name: generate, prove, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.models import User
from webapp.bench.models import Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video

MOST = 1000  # questions of one video and category


@transaction.atomic(savepoint=False)  # on the path of saves
def request_proofs(*, video: Video, user: User | None) -> Job:
    """Queue a run of all proofs of a video. Asked again while one waits, the answer is the same job."""
    waiting = Job.objects.filter(video_id=video.id, kind="prove", state=Job.State.QUEUED).first()
    return waiting or jobs.create(
        project=Project(id=video.project_id), kind="prove", queue="cpu", video=video, parameters={}, user=user
    )


@transaction.atomic
def request_proofs_of_project(*, project: Project, user: User | None) -> Job:
    """Queue a run of all proofs of a project, video after video."""
    Project.objects.select_for_update(no_key=True).get(id=project.id)  # of two requests the second sees the first
    waiting = Job.objects.filter(project=project, video=None, kind="prove", state=Job.State.QUEUED).first()
    return waiting or jobs.create(project=project, kind="prove", queue="cpu", user=user)


def request_generation(
    *,
    project: Project,
    user: User | None,
    video: Video | None = None,
    categories: Sequence[str] = (),
    most: int | None = None,
    seed: int = 0,
) -> Job:
    """Queue the making of questions from the confirmed events of a video, or of every video of the project.

    `categories`: slugs, all by default; `most`: of each video; the same seed on the same events gives the same drafts.
    """
    unknown = sorted(set(categories) - set(CATEGORIES))
    if unknown:
        raise Refused(f"There is no category {unknown[0]!r}; there is: {', '.join(CATEGORIES)}.", "categories")
    if most is not None and not 1 <= most <= MOST:
        raise Refused(f"Between 1 and {MOST} questions of each video.", "most")
    if not 0 <= seed < 2**31:
        raise Refused("The seed is a whole number from 0 to 2147483647.", "seed")
    parameters: dict[str, Any] = {"categories": sorted(set(categories)), "most": most, "seed": seed}
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(id=project.id)  # of two requests the second sees the first
        live = Job.objects.filter(project=project, video=video, kind="generate", state__in=jobs.LIVE)
        same = live.filter(parameters=parameters).first()
        return same or jobs.create(
            project=project, kind="generate", queue="cpu", video=video, parameters=parameters, user=user
        )


@transaction.atomic
def request_agreement(*, project: Project, user: User | None) -> Job:
    """Queue the computing of how far the raters of decided questions agree."""
    if not Question.objects.filter(project=project, answers__isnull=False).exists():
        raise Refused("Nobody has answered a question of this project yet.", "project")
    Project.objects.select_for_update(no_key=True).get(id=project.id)  # of two requests the second sees the first
    live = Job.objects.filter(project=project, kind="agreement", state=Job.State.QUEUED).first()
    return live or jobs.create(project=project, kind="agreement", queue="cpu", user=user)
