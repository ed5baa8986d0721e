"""Questions that a model writes from a video's confirmed events: asked for here, written by a job, kept as drafts.

A draft with a proof can be opened like any other; one without waits for somebody's signature. The endpoint is the one
of this installation's configuration (`ml.endpoint`), never one that a user names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from ml.endpoint import Config, NotConfigured
from webapp.accounts.models import User
from webapp.bench import services
from webapp.bench.models import Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video


def is_offered() -> bool:
    """Whether an endpoint is set up, so that pages may offer it."""
    try:
        return bool(Config.from_environment())
    except NotConfigured:
        return False


def request_writing(*, project: Project, user: User | None, video: Video | None = None) -> Job:
    """Queue the writing of questions about a video, or about every video of the project. Raises Refused.

    It costs what the endpoint costs; asked for again while one waits or runs, the answer is the same job.
    """
    try:
        Config.from_environment()
    except NotConfigured as error:
        raise Refused(str(error), "endpoint") from error
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(id=project.id)  # of two requests the second sees the first
        live = Job.objects.filter(project=project, video=video, kind="write", state__in=jobs.LIVE).first()
        return live or jobs.create(project=project, kind="write", queue="cpu", video=video, parameters={}, user=user)


@dataclass
class Kept:
    """What became of written items: `proven` and `unsigned` ones were kept; `refused` by the reason's word, `known`:
    asked already, or no quota has room."""

    proven: int = 0
    unsigned: int = 0
    known: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def keep_written(
    *, video: Video, user: User | None, judged: Sequence[tuple[Any, Mapping[str, Any]]], kept: Kept
) -> None:
    """Keep the drafts of one reply, each with its own provenance; counts go to `kept`.

    `judged`: (`ml.questions.judging.Judged`, where it comes from). One transaction.
    """
    with transaction.atomic():
        for one, provenance in judged:
            if one.draft is None:
                kept.refused[one.code] += 1
                continue
            try:
                made = services.create_questions(
                    video=video,
                    drafts=[one.draft],
                    user=user,
                    origin=Question.Origin.MODEL,
                    provenance=dict(provenance),
                )
            except Refused as refused:
                kept.refused[refused.field or "shape"] += 1
                continue
            kept.known += not made
            for question in made:
                kept.proven += question.proof is not None
                kept.unsigned += question.proof is None
