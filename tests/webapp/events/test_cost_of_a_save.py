"""What one save asks of the database: a fixed number of statements, whatever the event and the video hold."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.webapp.factories import edit, make_person, make_proposal, make_video
from webapp.events.models import Event

pytestmark = pytest.mark.django_db

# session, user, video with the right to edit it, event with set and roles, the event's update, the edit with the counts
STATEMENTS = 6


def statements_of_a_save(client: Any, event: Event, **fields: Any) -> list[str]:
    event.refresh_from_db()
    body = {"id": uuid.uuid4(), "kind": "event.update", "object": event.id, "version": event.version, "fields": fields}
    with CaptureQueriesContext(connection) as asked:
        answer = client.post(f"/api/v1/videos/{event.video_id}/edits", body, content_type="application/json")
    assert answer.status_code == 200
    transaction = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    return [one["sql"] for one in asked.captured_queries if not one["sql"].startswith(transaction)]


@pytest.mark.parametrize("fields", [{"status": "confirmed"}, {"start": 20, "end": 50}, {"note": "seen twice"}])
def test_a_save_asks_six_times(people: Any, as_user: Any, fields: dict[str, Any]) -> None:
    video = make_video(people.one)
    crowd = [(make_person(video), "member") for _ in range(12)]
    few, many = (make_proposal(video, "joint_attention", 10, 60, crowd[:n]) for n in (2, 12))
    other = make_proposal(video, "joint_attention", 10, 60, crowd[:2])
    edit(video, people.bob, "event.update", other.id, 1, status="rejected")  # the working set is there now
    client = as_user(people.bob)
    counts = [len(statements_of_a_save(client, event, **fields)) for event in (few, many, few, many)]
    assert counts == [STATEMENTS] * 4


def test_a_site_admin_asks_no_more(people: Any, as_user: Any) -> None:
    video = make_video(people.one)
    event = make_proposal(video, "mutual_gaze", 10, 60, [(make_person(video), "member") for _ in range(2)])
    edit(video, people.bob, "event.update", event.id, 1, note="first")
    assert len(statements_of_a_save(as_user(people.root), event, end=40)) == STATEMENTS
