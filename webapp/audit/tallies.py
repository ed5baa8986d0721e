"""How many responses and claims an audit has, counted as they are written, so that lists need not read them all.

One row for each model's responses to one video in an audit: what a withdrawn video takes with it needs no counting.
Called by those who write responses, last in their transaction, after the locks of video and audit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from webapp.audit.models import Response, Tally

ADD = """
INSERT INTO audit_tally AS t (audit_id, video_id, model, responses, processed, failed, claims)
SELECT %(audit)s, n.video, n.model, n.responses, %(processed)s, %(failed)s, %(claims)s
FROM unnest(%(videos)s::uuid[], %(models)s::text[], %(responses)s::int[]) AS n (video, model, responses)
ON CONFLICT (audit_id, video_id, model) DO UPDATE SET responses = t.responses + excluded.responses,
    processed = t.processed + excluded.processed, failed = t.failed + excluded.failed,
    claims = t.claims + excluded.claims
"""
NONE = {"processed": 0, "failed": 0, "claims": 0}


Counted = Counter[tuple[str, str]]  # responses by video and model


def counted(rows: Iterable[Response]) -> Counted:
    return Counter((str(row.video_id), row.model) for row in rows)


def add_responses(audit_id: UUID, new: Mapping[tuple[str, str], int]) -> None:
    """Count new responses, which wait, as `counted` has them."""
    told = sorted(new)  # one order of locks
    _execute(audit_id, [video for video, _ in told], [model for _, model in told], [new[one] for one in told])


def add_claims(response: Response, count: int) -> None:
    _add(response, claims=count)


def change_state(response: Response, state: Response.State) -> None:
    """Give a response, whose row is locked, another state, and count it; the caller saves it."""
    before, response.state = response.state, state
    done, failed = Response.State.DONE, Response.State.FAILED
    _add(
        response,
        processed=(state == done) - (before == done),
        failed=(state == failed) - (before == failed),
    )


def none_failed(audit_id: UUID) -> None:
    """Count after all failed responses of an audit were set to wait again."""
    Tally.objects.filter(audit=audit_id).exclude(failed=0).update(failed=0)


def _add(response: Response, **counts: int) -> None:
    _execute(response.audit_id, [str(response.video_id)], [response.model], [0], **counts)


def _execute(audit: UUID, videos: list[str], models: list[str], responses: list[int], **counts: int) -> None:
    told: dict[str, Any] = {"audit": audit, "videos": videos, "models": models, "responses": responses}
    with connection.cursor() as cursor:
        cursor.execute(ADD, told | NONE | counts)
