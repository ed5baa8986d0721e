"""The history that database triggers keep, for the one case in which it must go: a video is erased."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

# history table -> which of its rows are the video's; roles, tracklets and answers know it through their parents
QUESTIONS = "question_id IN (SELECT pgh_obj_id FROM bench_questionevent WHERE video_id = %(video)s)"
TABLES = {
    "bench_answerevent": QUESTIONS,
    "bench_adjudicationevent": QUESTIONS,
    "bench_questionevent": "video_id = %(video)s",
    "events_participationevent": "event_id IN (SELECT pgh_obj_id FROM events_eventevent WHERE video_id = %(video)s)",
    "tracks_trackletevent": "run_id = ANY(%(runs)s)",
    "events_eventevent": "video_id = %(video)s",
    "events_gazecorrectionevent": "video_id = %(video)s",
    "events_coverageevent": "video_id = %(video)s",
    "tracks_personevent": "video_id = %(video)s",
    "tracks_identityproposalevent": "video_id = %(video)s",
    "audit_humanverdictevent": "video_id = %(video)s",
    "audit_maskeditevent": "video_id = %(video)s",
    "audit_repromptevent": "video_id = %(video)s",
    "audit_auditadjudicationevent": "video_id = %(video)s",
}

REASONS = "UPDATE pghistory_context SET metadata = metadata - 'reason' WHERE jsonb_exists(metadata, 'reason') AND id IN"


def erase(*, video: UUID, runs: list[UUID]) -> None:
    """Remove every history row of a video, after its own rows are gone (their removal is history, too), and the reasons
    people gave, which stand in the contexts of those rows."""
    told: dict[str, Any] = {"video": video, "runs": runs}
    with connection.cursor() as cursor:
        for table, condition in TABLES.items():
            cursor.execute(f"{REASONS} (SELECT pgh_context_id FROM {table} WHERE {condition})", told)
            cursor.execute(f"DELETE FROM {table} WHERE {condition}", told)
