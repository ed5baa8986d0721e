"""The size of the whole of GRASP as rows: 46,158 videos, 245,000 events, 290,000 questions. Every list and queue stays
within its budget.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from ml.questions.taxonomy import CATEGORIES
from tests.bench.conftest import Browser, Server
from tests.figures import Record
from webapp.accounts.models import Membership, User
from webapp.bench import answering, services, views_judge
from webapp.library.models import Project, Video

pytestmark = [pytest.mark.bench, pytest.mark.django_db(transaction=True)]
VIDEOS, EVENTS, QUESTIONS = 46_158, 245_000, 290_000

FILL = """
INSERT INTO library_video (id, project_id, name, state, error, warnings, width, height, frames, duration_s, has_audio,
    has_questions, doubted, has_pixels, shots, revision, next_person, proposed_count, reviewed_count, person_count,
    source_recording, licence, consent_note, created)
SELECT gen_random_uuid(), %(project)s, 'clip-' || n || '.mp4', 'ready', '', '[]', 1280, 720, 1450, 20 + n %% 100, false,
    true, 0, true, '[0]', 0, 4, n %% 9, 0, 4, 'show ' || n %% 7, '', '', now() - n * interval '1 minute'
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

# of every twenty questions twelve are accepted, four answered once or twice, one disputed, two drafts, one rejected
FILL_QUESTIONS = """
WITH v AS (SELECT id, row_number() OVER (ORDER BY name) AS n FROM library_video)
INSERT INTO bench_question (id, project_id, video_id, number, category, difficulty, kind, text, options, key, letter,
    proof, reasoning, start, "end", origin, template, provenance, state, round, stale, stale_why, stood, shown,
    version, created, changed)
SELECT gen_random_uuid(), %(project)s, v.id, q, (%(categories)s::text[])[1 + q %% 16],
    (ARRAY['easy','medium','hard'])[1 + q %% 3], 'single', 'Who follows at {{t:' || q || '}}?',
    '[{"id": "a", "text": "One"}, {"id": "b", "text": "Two"}]', '["b"]', (ARRAY['A','B','C','D'])[1 + q %% 4],
    '{"v": 1}', '', 0, 100, 'template', '', '{}', CASE WHEN q %% 20 < 12 THEN 'accepted' WHEN q %% 20 < 16 THEN
    'answering' WHEN q %% 20 < 17 THEN 'disputed' WHEN q %% 20 < 19 THEN 'draft' ELSE 'rejected' END, 1, q %% 97 = 0,
    '', 0, 'Who follows at ' || q || '.0 s?', 1, now(), now()
FROM generate_series(1, %(questions)s) q JOIN v ON v.n = 1 + q %% %(videos)s;
INSERT INTO bench_clip (id, video_id, start, "end", rendering, blur_faces, person_map, recipe, ready, error, facts,
    created)
SELECT gen_random_uuid(), id, 0, 90, 'tags', false, '{}', md5(id::text), true, '', '{}', now() FROM library_video;
UPDATE bench_question q SET clip_id = c.id FROM bench_clip c WHERE c.video_id = q.video_id AND q.number %% 500 > 0;
INSERT INTO bench_answer (id, question_id, round, user_id, chosen, special, "order", seconds, created)
SELECT gen_random_uuid(), q.id, 1, u.id, '["b"]', '', '[]', 9, now()
FROM bench_question q JOIN accounts_user u ON
    (u.username = 'bob' AND (q.number %% 20 = 1 OR (q.number %% 20 BETWEEN 12 AND 15 AND q.number < %(seen)s)))
    OR (u.username = 'bea' AND q.number %% 20 = 2) OR (u.username = 'cas' AND q.number %% 20 < 12);
INSERT INTO bench_questioncount (project_id, state, category, difficulty, letter, n)
SELECT project_id, state, category, difficulty, letter, count(*) FROM bench_question GROUP BY 1, 2, 3, 4, 5;
ANALYZE;
"""


def make_grasp() -> tuple[Project, User]:
    """The project with its videos and events, and a curator."""
    project = Project.objects.create(slug="grasp", name="GRASP")
    user = User.objects.create(username="cora")
    Membership.objects.create(project=project, user=user, role="curator")
    fill(FILL, "events_event", "events_participation", project=project.id, videos=VIDEOS, events=EVENTS)
    return project, user


def fill(sql: str, *tables: str, **values: Any) -> None:
    """Run it without writing the history of these tables: that of made-up rows is not wanted."""
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(sql, values)
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def test_lists_at_the_size_of_grasp(server: Server, figure: Record) -> None:
    _, user = make_grasp()
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


@pytest.mark.timeout(900)
def test_the_bench_at_the_size_of_grasp(server: Server, figure: Record) -> None:
    """`bob` has answered half of what is open (29,000), `bea` nothing of it: the queue's hard and easy cases."""
    project, cora = make_grasp()
    bob, bea, _ = (User.objects.create(username=name) for name in ("bob", "bea", "cas"))
    Membership.objects.bulk_create(Membership(project=project, user=user, role="annotator") for user in (bob, bea))
    wanted = {"project": project.id, "videos": VIDEOS, "questions": QUESTIONS, "seen": QUESTIONS // 2}
    fill(FILL_QUESTIONS, "bench_question", "bench_answer", categories=list(CATEGORIES), **wanted)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as PostgreSQL does by itself after a while
    quotas = [{"category": slug, "letter": letter, "most": 5000} for slug in CATEGORIES for letter in "ABCD"]
    services.configure(project=project, user=cora, changes={"quotas": quotas})
    browser = Browser(server, cora)
    pages: dict[str, str] = {
        "bench page": "/p/grasp/bench/",
        "dashboard": "/api/v1/projects/grasp/bench",
        "questions, newest first": "/api/v1/projects/grasp/questions",
        "questions, disputed": "/api/v1/projects/grasp/questions?state=disputed",
        "questions, one category, stale": "/api/v1/projects/grasp/questions?category=mutual_gaze&stale=1",
        "questions, by words": "/api/v1/projects/grasp/questions?q=at+77123",
        "questions, words of none": "/api/v1/projects/grasp/questions?q=nobody+said+so",
        "questions, all stale": "/api/v1/projects/grasp/questions?stale=1",
        "questions, of one source": "/api/v1/projects/grasp/questions?source=show+3",
        "questions, of one video": "/api/v1/projects/grasp/questions?source=clip-46123",
        "questions, of one video by category": "/api/v1/projects/grasp/questions?source=clip-77.mp4&sort=category",
        "questions, of no source": "/api/v1/projects/grasp/questions?source=nowhere",
        "questions, stale of one source": "/api/v1/projects/grasp/questions?source=show+3&stale=1&state=draft",
        "questions, last page": "/api/v1/projects/grasp/questions?sort=-category&before=group_attention.9",
        "releases": "/p/grasp/bench/releases/",
        "bench page, one source": "/p/grasp/bench/?source=show+3",
    }
    Video.objects.filter(project=project, name__startswith="clip-77").update(doubted=1)  # 1,111 videos in doubt
    for name, path in pages.items():
        figure(f"{name}, {QUESTIONS} questions, p95", p95(browser, path), "ms", budget=100)
    judged = views_judge._disputed(project, cora)
    for name, read in (("next", lambda: judged.order_by("number").first()), ("count of", judged.count)):
        figure(f"{name} disputed, {QUESTIONS} questions, p95", p95_of(read), "ms", budget=100)
    for who, name in ((bob, "half of it answered"), (bea, "nothing answered")):
        times = []
        for _ in range(20):
            start = time.perf_counter()
            lease = answering.next_item(project=project, user=who)
            times.append((time.perf_counter() - start) * 1000)
            assert lease is not None
            answering.give_back(question_id=lease.question_id, user=who)
        figure(f"next item of 58,000 open, {name}, p95", statistics.quantiles(times, n=20)[18], "ms", budget=100)


def p95(browser: Any, path: str) -> float:
    def ask() -> None:
        status, _ = browser.ask("GET", path)
        assert status == 200, path

    return p95_of(ask)


def p95_of(act: Callable[[], Any]) -> float:
    times = []
    for turn in range(23):
        start = time.perf_counter()
        act()
        if turn >= 3:
            times.append((time.perf_counter() - start) * 1000)
    return statistics.quantiles(times, n=20)[18]
