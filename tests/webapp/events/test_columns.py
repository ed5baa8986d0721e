"""Events as columns from PostgreSQL say the same as the rows that Python makes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from tests.webapp.factories import edit, make_person, make_proposal, make_run, make_video
from webapp.events import rows
from webapp.events.columns import COLUMNS, QUERY, events_json
from webapp.events.models import AnnotationSet, Event, Participation

pytestmark = pytest.mark.django_db


def told(video: Any) -> list[dict[str, Any]]:
    columns = json.loads(events_json(video.id))
    assert tuple(columns) == COLUMNS
    return [dict(zip(COLUMNS, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def test_columns_say_what_rows_say(people: SimpleNamespace) -> None:
    video = make_video(people.one)
    make_run(video)
    ada, ben, cleo = (make_person(video) for _ in range(3))
    plain = make_proposal(video, "mutual_gaze", 10, 30, [(ben, "member"), (ada, "member")], confidence=0.123456)
    moved = make_proposal(video, "gaze_following", 10, 20, [(ada, "leader"), (cleo, "follower")])
    swapped = make_proposal(video, "gaze_following", 40, 60, [(ada, "leader"), (cleo, "follower")])
    stale = make_proposal(video, "sudden_gaze_shift", 50, 60, [(cleo, "member")])
    gone = make_proposal(video, "sudden_gaze_shift", 70, 80, [(cleo, "member")])
    edit(video, people.bob, "event.update", moved.id, 1, start=12)
    pairs = [[str(cleo.id), "leader"], [str(ada.id), "follower"]]
    edit(video, people.bob, "event.update", swapped.id, 1, participants=pairs)
    made = edit(
        video,
        people.bob,
        "event.create",
        "00000000-0000-4000-8000-000000000001",
        type="mutual_gaze",
        modality="gaze",
        start=90,
        end=95,
        participants=[[str(ada.id), "member"], [str(ben.id), "member"]],
    )
    for event, mark in ((stale, "stale"), (gone, "gone")):
        event.machine = {**(event.machine or {}), mark: True}
        event.save()
    make_proposal(make_video(people.two), "sudden_gaze_shift", 1, 2, [])  # of another video
    expected = [rows.event_row(event) for event in Event.objects.filter(video=video).order_by("start", "id")]
    found = told(video)
    for one, row in zip(found, expected, strict=True):
        assert one == {name: round(row[name], 4) if name == "confidence" else row[name] for name in COLUMNS}
    by_id = {one["id"]: one for one in found}
    assert [by_id[str(e.id)]["edited"] for e in (plain, moved, swapped)] == [False, True, True]
    assert by_id[str(stale.id)]["stale"] and not by_id[str(plain.id)]["stale"]
    assert by_id[made.changes[0]["id"]]["origin"] == "human"


def test_a_video_without_events_has_empty_columns(people: SimpleNamespace) -> None:
    assert json.loads(events_json(make_video(people.one).id)) == {name: [] for name in COLUMNS}


@pytest.mark.parametrize("settings", ["", "SET LOCAL enable_hashjoin = off", "SET LOCAL enable_mergejoin = off"])
def test_the_work_grows_with_the_events_whatever_the_statistics(people: SimpleNamespace, settings: str) -> None:
    """Opened just after a bulk import, while the database still believes that a video has one event."""
    for _ in range(50):
        other = make_video(people.one)
        make_proposal(other, "sudden_gaze_shift", 1, 2, [(make_person(other), "member")])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE events_event, events_participation")
    video, events = make_video(people.one), 2000
    ada, ben = make_person(video), make_person(video)
    proposals, _ = AnnotationSet.objects.get_or_create(video=video, kind="proposal", user=None)
    made = Event.objects.bulk_create(
        Event(
            id=uuid4(),
            video=video,
            set=proposals,
            modality="gaze",
            type="mutual_gaze",
            start=n,
            end=n + 5,
            confidence=0.5,
        )
        for n in range(events)
    )
    Participation.objects.bulk_create(Participation(event=e, person=p, role="member") for e in made for p in (ada, ben))
    with connection.cursor() as cursor:
        if settings:
            cursor.execute(settings)
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {QUERY}", {"video": video.id})
        (plan,) = cursor.fetchone()[0]
    # a small table may be gone through for every event (the 51 sets here); what grows with the events may not
    assert max(rows_handled(plan["Plan"])) <= 60 * events


def rows_handled(node: dict[str, Any]) -> list[float]:
    """Per step of a plan: rows that come out or are thrown away, over all its repetitions."""
    thrown = sum(value for name, value in node.items() if name.startswith("Rows Removed"))
    here = (node["Actual Rows"] + thrown) * node["Actual Loops"]
    return [here, *(rows for part in node.get("Plans", []) for rows in rows_handled(part))]
