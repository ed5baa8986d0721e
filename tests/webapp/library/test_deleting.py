"""A video that is deleted while its import ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.hosts import machine, process_name
from webapp.library import services
from webapp.library.models import Project, Video

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_S = 30.0


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def taken_over(job: Job) -> None:
    jobs.claim(job_id=job.id, worker=process_name(f"cpu@{machine()}.test"))


ENDINGS: dict[str, Callable[[Job], Any]] = {
    "fails": lambda job: jobs.fail(job=job, error="It cannot be read."),
    "is cancelled": lambda job: jobs.cancelled(job=job),
    "is to be cancelled": lambda job: jobs.cancel(job=job, user=None),
    "is taken over": taken_over,
    "is queued again": lambda job: jobs.requeue_of(node="gone"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_deletion_and_an_import_that_ends_do_not_lock_each_other_out(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion has the video; the import's end comes; the deletion goes on to the jobs."""
    monkeypatch.setattr(broker, "send", lambda **_: True)
    project = Project.objects.create(slug="one", name="One")
    video = services.create_video(project=project, name="clip.mp4", user=None)
    job = Job.objects.create(project=project, video=video, kind="import", queue="cpu", attempts=jobs.ATTEMPTS - 1)
    claimed = jobs.claim(job_id=job.id, worker=process_name(f"cpu@{machine()}.test"))
    assert claimed is not None
    # its worker is dead: whoever looks at it ends it
    Job.objects.filter(id=job.id).update(worker=f"cpu@gone/{2**22 + 1}-1.00")
    monkeypatch.setattr(jobs, "is_dead", lambda worker: "gone" in worker)
    raised: list[Exception] = []

    def end() -> None:
        try:
            ENDINGS[ending](claimed)
        except Exception as error:
            raised.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=end)
    with transaction.atomic():
        Video.objects.select_for_update().get(id=video.id)
        thread.start()
        began = time.monotonic()
        while not waits_for_a_lock():
            assert time.monotonic() - began < PATIENCE_S
            time.sleep(0.02)
        services.delete_video(video=video)
    thread.join()
    assert not Job.objects.exists() and not Video.objects.exists()
    assert not raised or isinstance(raised[0], jobs.ClaimLost | Job.DoesNotExist)
