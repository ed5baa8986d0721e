"""A request that would wait for a lock too long gives its thread back and says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection, transaction

from tests.webapp.factories import edit
from webapp.accounts.failures import BUSY_SENTENCE
from webapp.jobs import broker, services
from webapp.lib.datafolder import HERE
from webapp.library.models import Video

WAIT_S = 0.3


@contextmanager
def locked(video: Video) -> Iterator[None]:
    """Somebody else holds the video's row."""
    has, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Video.objects.select_for_update(no_key=True).get(id=video.id)
            has.set()
            may_go.wait(60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert has.wait(60)
    yield
    may_go.set()
    thread.join()


def wait_as_pages_do() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{int(WAIT_S * 1000)}ms'")


def an_edit(video: Video) -> dict[str, Any]:
    fields = {"persons": [], "start": 0, "end": 50, "modality": "gaze"}
    return {"id": str(uuid.uuid4()), "kind": "coverage.create", "object": str(uuid.uuid4()), "fields": fields}


@pytest.mark.django_db(transaction=True)
def test_a_save_and_a_form_say_that_they_could_not_wait(
    people: SimpleNamespace, video: Video, as_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "send", lambda **_: True)
    wait_as_pages_do()
    client = as_user(people.alice)
    wanted = json.dumps(an_edit(video))

    def save() -> Any:
        return client.post(f"/api/v1/videos/{video.id}/edits", wanted, content_type="application/json")

    perceive = f"/v/{video.id}/perceive/"
    with locked(video):
        began = time.monotonic()
        answers = [save(), client.post(perceive)]
        assert time.monotonic() - began < 60 * WAIT_S
    assert [(a.status_code, a["Retry-After"]) for a in answers] == [(503, "2")] * 2
    assert answers[0].json() == {"error": BUSY_SENTENCE}
    assert "Busy just now" in answers[1].content.decode() and "try again in a moment" in answers[1].content.decode()
    assert save().status_code == 200  # the same edit, later


@pytest.mark.django_db(transaction=True)
def test_a_row_that_refers_to_a_locked_video_is_added_at_once(people: SimpleNamespace, video: Video) -> None:
    """A save locks the video's row, not its key."""
    wait_as_pages_do()
    with locked(video):
        services.create(project=people.one, kind="derive", queue="cpu", video=video)
    assert video.jobs.count() == 1
    edit(video, people.alice, "coverage.create", uuid.uuid4(), persons=[], start=0, end=50, modality="gaze")
    assert services.Job.objects.get().state == "queued"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("module", "told"), [("webapp.asgi", "5s"), ("workers.app", "0")])
def test_pages_wait_for_locks_a_while_and_workers_for_ever(module: str, told: str, settings: Any) -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("SIGHTLINE_DB_POOL", "SIGHTLINE_LOCK_WAIT")}
    env["DATABASE_URL"] = (
        f"postgres://sightline@{quote(str(settings.SOCKETS), safe='')}/{connection.settings_dict['NAME']}"
    )
    words = f"""
import {module}
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SHOW lock_timeout")
    print(cursor.fetchone()[0])
connection.close()
"""
    done = subprocess.run([sys.executable, "-c", words], cwd=HERE, env=env, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == told, done.stderr
