"""Responses that a model gives here: the configured endpoint, or a local model, answers questions of the bench, clip by
clip. The local one is a folder of transformers' layout, named by `LOCAL_MODEL`; only workers open it.

Asked for here, produced by a job (`workers.tasks.responding`), kept one by one as they come, then audited like any
others. Only decided questions are asked, and nobody is shown a key before the audit is finished.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any
from uuid import UUID

from django.db import transaction

from ml.endpoint import Config
from webapp.accounts.models import User
from webapp.audit import services
from webapp.audit.models import Audit, Response
from webapp.bench.models import Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Project

ASKED = (Question.State.ACCEPTED, Question.State.RESERVE)
MOST = 10_000
LOCAL_MODEL = "SIGHTLINE_LOCAL_MODEL"
ASKED_AGAIN, MOST_PICTURES = 3, 12  # what the deletion test asks of each response: REQUESTS, MOST_FRAMES there
PROMPT = 1  # version of what is asked; see `ml.evidence.answering`


def offered() -> dict[str, str]:
    """Who can be asked here, by the name `request_responses` takes: the model's own name."""
    from webapp.bench.writing import is_offered

    found = {"endpoint": Config.from_environment().model} if is_offered() else {}
    folder = os.environ.get(LOCAL_MODEL, "").strip()
    return found | ({"local": PurePath(folder).name} if folder else {})


def request_responses(
    *,
    project: Project,
    user: User,
    name: str = "",
    questions: Sequence[UUID] | None = None,
    summariser: str = "rules",
    grounder: str = "embedded",
    raters: int = 2,
    deletion: bool = False,
    model: str = "endpoint",
) -> tuple[Audit, Job]:
    """Queue the asking of these accepted questions (None: all). `model`: "endpoint", at its price, or "local", on a GPU
    where workers have one. Raises Refused.

    Asked again with the same, it is the same audit, and only questions without a reply are asked.
    """
    name_of_model = need_model(model)
    services.need_set_up(summariser=summariser, grounder=grounder)
    found = Question.objects.filter(project=project, state__in=ASKED, video__has_pixels=True)
    if questions is not None:
        found = found.filter(id__in=list(questions))
    chosen = [str(id) for id in found.order_by("number").values_list("id", flat=True)[: MOST + 1]]
    if not chosen:
        raise Refused("There is no accepted question with pictures to ask.", "questions")
    if len(chosen) > MOST:
        raise Refused(f"At most {MOST:,} questions at once.", "questions")
    if questions is not None and len(chosen) < len(set(questions)):
        raise Refused("Only accepted questions of this project, with pictures, are asked.", "questions")
    asked = {"questions": chosen, "model": name_of_model, "prompt": PROMPT}
    asked |= {} if model == "endpoint" else {"by": model}
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    with transaction.atomic():
        made = services.create_audit(
            project=project,
            user=user,
            source=f"bench:{digest}",
            drafts=[],
            name=name or f"{name_of_model} on the bench"[: services.MOST_NAME],
            summariser=summariser,
            grounder=grounder,
            raters=raters,
            deletion=deletion,
            settings={"produce": asked},
        )
        audit = services.locked_audit(made.audit.id)
        services.need_open(audit)
        live = services.live_job(audit, ("respond",))
        parameters: dict[str, Any] = {"audit": str(audit.id)}
        return audit, live or jobs.create(
            project=project,
            kind="respond",
            queue="gpu" if model == "local" else "cpu",
            parameters=parameters,
            user=user,
        )


def need_model(model: str) -> str:
    """The name of the model that is asked. Raises Refused where there is none."""
    if model not in ("endpoint", "local"):
        raise Refused(f"There is no model {model!r} to ask; there is: endpoint, local.", "model")
    if model == "endpoint":
        services.need_endpoint("model")
    elif model not in offered():
        raise Refused(f"No local model is set up here: {LOCAL_MODEL} names the folder of one.", "model")
    return offered()[model]


def unanswered(audit: Audit) -> list[UUID]:
    """Questions the audit still has no response to, in order."""
    known = set(Response.objects.filter(audit=audit).values_list("question", flat=True))
    return [id for one in audit.settings["produce"]["questions"] if (id := UUID(one)) not in known]


def keep_spent(*, audit: Audit, spent: Mapping[str, float]) -> None:
    """Add what asking cost to what the audit's responses cost so far."""
    if not spent:
        return
    with transaction.atomic():
        locked = Audit.objects.select_for_update(no_key=True).get(id=audit.id)
        total = Counter(locked.settings.get("spent", {}))
        total.update(spent)
        locked.settings = {**locked.settings, "spent": dict(total)}
        locked.save(update_fields=["settings"])


def spent(audit: Audit) -> dict[str, float]:
    """What the audit's responses cost, in all attempts."""
    found: dict[str, float] = Audit.objects.get(id=audit.id).settings.get("spent", {})
    return found


def keep_response(*, audit: Audit, draft: services.Draft) -> None:
    """Keep one reply. Raises Refused when its video is gone."""
    services.create_audit(
        project=audit.project,
        user=None,
        source=audit.source,
        drafts=[draft],
        summariser=audit.summariser,
        grounder=audit.grounder,
        raters=audit.raters,
    )
