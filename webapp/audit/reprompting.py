"""Another wording for a claim's phrase: kept beside the first, looked for by a job, judged by the same rules."""

from __future__ import annotations

from uuid import UUID

import pghistory
from django.db import transaction

from ml.evidence.package import MOST_WORDS
from webapp.accounts.models import User
from webapp.audit.models import Claim, Reprompt
from webapp.audit.rating import need_seat
from webapp.bench.checks import storable
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused

MOST_OF_CLAIM = 20


def request_reprompt(*, claim: Claim, user: User, id: UUID, text: str) -> tuple[Reprompt, Job | None]:
    """Have another phrase looked for on the claim's frames. The same id again is the same wording; its job is None once
    it is over. Raises Refused."""
    words = " ".join(text.split())
    if not words or len(words.split(" ")) > MOST_WORDS or len(words) > 200 or not storable(words):
        raise Refused(f"A phrase to look for has 1 to {MOST_WORDS} words.", "text")
    with transaction.atomic(), pghistory.context(user=user.pk, why="audit.reprompt"):
        need_seat(claim.response, user)
        known = Reprompt.objects.filter(id=id).first()
        if known is not None:
            if known.claim_id != claim.id or known.user_id != user.pk:
                raise Refused("This id is taken.", "id")
            return known, live(known)
        if Reprompt.objects.filter(claim=claim, user=user).count() >= MOST_OF_CLAIM:
            raise Refused(f"A claim has at most {MOST_OF_CLAIM} other wordings of one person.", "text")
        made = Reprompt.objects.create(id=id, claim=claim, video_id=claim.response.video_id, user=user, text=words)
        return made, jobs.create(
            project=claim.response.audit.project,
            kind="reprompt",
            queue="gpu",
            video=claim.response.video,
            parameters={"reprompt": str(id), "audit": str(claim.response.audit_id)},
            user=user,
        )


def live(reprompt: Reprompt) -> Job | None:
    found = Job.objects.filter(kind="reprompt", state__in=jobs.LIVE, parameters__reprompt=str(reprompt.id))
    return found.first()
