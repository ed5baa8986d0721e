"""The size of the whole of GRASP as rows: 46,158 videos and 245,000 events. Every list stays within its budget."""

from __future__ import annotations

import statistics
import time
from typing import Any

import pytest
from django.db import connection

from tests.bench.conftest import Browser, Server
from tests.figures import Record
from webapp.accounts.models import Membership, User
from webapp.library.models import Project

pytestmark = [pytest.mark.bench, pytest.mark.django_db(transaction=True)]
VIDEOS, EVENTS = 46_158, 245_000

FILL = """
INSERT INTO library_video (id, project_id, name, state, error, warnings, width, height, frames, duration_s, has_audio,
    has_pixels, shots, revision, next_person, proposed_count, reviewed_count, person_count, source_recording, licence,
    consent_note, created)
SELECT gen_random_uuid(), %(project)s, 'clip-' || n || '.mp4', 'ready', '', '[]', 1280, 720, 1450, 20 + n %% 100, false,
    true, '[0]', 0, 4, n %% 9, 0, 4, '', '', '', now() - n * interval '1 minute'
FROM generate_series(1, %(videos)s) n;
INSERT INTO events_annotationset (id, video_id, kind, name)
SELECT gen_random_uuid(), id, 'proposal', '' FROM library_video;
WITH numbered AS (SELECT s.id AS set_id, v.id AS video_id, row_number() OVER () AS n
    FROM library_video v JOIN events_annotationset s ON s.video_id = v.id)
INSERT INTO events_event (id, set_id, video_id, modality, type, start, "end", confidence, origin, status, details, note,
    version, created, changed)
SELECT gen_random_uuid(), set_id, video_id, 'gaze',
    (ARRAY['mutual_gaze','joint_attention','gaze_following','attention_capture','sudden_gaze_shift'])[1 + k %% 5],
    k * 10, k * 10 + 25, 0.3 + 0.7 * random(), 'rule', 'proposed', '{}', '', 1, now(), now()
FROM numbered, generate_series(1, 6) k ORDER BY n, k LIMIT %(events)s;
ANALYZE;
"""


def test_lists_at_the_size_of_grasp(server: Server, figure: Record) -> None:
    project = Project.objects.create(slug="grasp", name="GRASP")
    user = User.objects.create(username="cora")
    Membership.objects.create(project=project, user=user, role="curator")
    with connection.cursor() as cursor:
        for table in ("events_event", "events_participation"):
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")  # history of the made-up rows is not wanted
        cursor.execute(FILL, {"project": project.id, "videos": VIDEOS, "events": EVENTS})
        for table in ("events_event", "events_participation"):
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    browser = Browser(server, user)
    pages: dict[str, str] = {
        "videos, newest first": "/p/grasp/",
        "videos, most to review": "/p/grasp/?sort=-proposed",
        "videos, by name, filtered": "/p/grasp/?q=clip-77&sort=name",
        "triage page": "/p/grasp/triage/",
        "triage, next 20": "/api/v1/projects/grasp/triage?type=joint_attention",
        "jobs": "/p/grasp/jobs/",
        "projects": "/",
    }
    for name, path in pages.items():
        figure(f"{name}, {VIDEOS} videos, {EVENTS} events, p95", p95(browser, path), "ms", budget=100)


def p95(browser: Any, path: str) -> float:
    times = []
    for turn in range(23):
        start = time.perf_counter()
        status, _ = browser.ask("GET", path)
        assert status == 200, path
        if turn >= 3:
            times.append((time.perf_counter() - start) * 1000)
    return statistics.quantiles(times, n=20)[18]
