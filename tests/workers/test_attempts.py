"""Real worker, real broker, real database: what happens to a job when things go well, badly, or are cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.workers.conftest import NODE, Worker, in_stage, state, wait_for
from webapp.jobs import broker, services
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Project
from workers.attempt import TICK_S, Attempt, attempt_at

Pretend = Callable[..., Job]


def test_a_job_runs_once_however_often_its_message_arrives(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["faces", 1.0], ["gaze", 0.5])
    for _ in range(4):
        broker.send(kind=job.kind, job_id=str(job.id), queue=job.queue)
    wait_for(lambda: state(job) == "done", 20, "the job")
    following = pretend(["faces", 0.1])  # done after the four others were looked at
    wait_for(lambda: state(following) == "done", 20, "the next job")
    job.refresh_from_db()
    assert job.attempts == 1 and job.result["done"] and job.result["peak_rss_mb"] > 30
    assert [stage for stage, _ in job.stages] == ["faces", "gaze"]
    faces, gaze = (seconds for _, seconds in job.stages)
    assert 0.9 < faces < 7.5 and 0.4 < gaze < 6  # 1.0 and 0.5 on an idle machine


def test_a_fault_of_ours_is_named_and_its_traceback_kept(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["fault", 0])
    wait_for(lambda: state(job) == "failed", 20, "the job")
    job.refresh_from_db()
    assert job.error == "Something went wrong in this program: RuntimeError: on purpose"
    assert "Traceback" in job.log and job.result["reason"] == "fault"


def test_cancel_takes_effect_in_a_reporting_and_in_a_silent_stage(worker: Worker, pretend: Pretend) -> None:
    for stage in ("faces", "silent"):
        job = pretend([stage, 60.0])
        wait_for(in_stage(job, stage), 20, f"stage {stage}")
        services.cancel(job=job, user=None)
        wait_for(lambda: state(job) == "cancelled", 30, "the cancel")  # noqa: B023  within 10 on an idle machine
    job = pretend(["faces", 0.1])  # and the worker goes on
    wait_for(lambda: state(job) == "done", 20, "the next job")


def test_a_silent_stage_still_shows_signs_of_life(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["silent", 40.0])
    wait_for(in_stage(job, "silent"), 20, "the silent stage")
    job.refresh_from_db()
    first = job.heartbeat
    assert first is not None
    wait_for(lambda: Job.objects.get(id=job.id).heartbeat != first, 20, "a heartbeat")
    assert state(job) == "running"
    services.cancel(job=job, user=None)
    wait_for(lambda: state(job) == "cancelled", 30, "the cancel")


def test_a_killed_task_process_is_replaced_and_the_job_finishes(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["faces", 2.0])
    wait_for(in_stage(job, "faces"), 20, "the stage")
    worker.task_process().kill()
    wait_for(lambda: state(job) == "done", 30, "the second attempt")
    job.refresh_from_db()
    assert job.attempts == 2


def test_a_job_that_kills_its_process_each_time_is_given_up(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["faces", 30.0])
    for attempt in (1, 2, 3):
        wait_for(
            lambda: Job.objects.filter(id=job.id, attempts=attempt, stage="faces", state="running").exists(),  # noqa: B023
            30,
            f"attempt {attempt}",
        )
        worker.task_process().kill()
    wait_for(lambda: state(job) == "failed", 30, "the end")
    job.refresh_from_db()
    assert "3 attempts" in job.error


def test_a_killed_worker_takes_its_task_process_along_and_the_job_finishes(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["faces", 3.0])
    wait_for(in_stage(job, "faces"), 20, "the stage")
    task_process = worker.task_process()
    worker.kill()
    wait_for(lambda: not task_process.is_running() or task_process.status() == "zombie", 15, "the task process to go")
    assert services.requeue_of(node=NODE) == 1
    worker.start()
    wait_for(lambda: state(job) == "done", 30, "the second attempt")
    job.refresh_from_db()
    assert job.attempts == 2


@pytest.mark.parametrize("fails", [False, True])
def test_the_last_words_of_an_attempt_are_in_the_log_once(project: Project, fails: bool) -> None:
    """No heartbeat falls between the last line and the end."""
    job = services.create(project=project, kind="work", queue="cpu")
    claimed = services.claim(job_id=job.id, worker="here")
    assert claimed is not None

    def work(attempt: Attempt) -> None:
        attempt.say("begun")
        time.sleep(3 * TICK_S)  # written by the heartbeat
        attempt.say("done, but for a file")
        if fails:
            raise Refused("No such file.", "file")
        attempt.finish({})

    attempt_at(claimed, work)
    job.refresh_from_db()
    assert job.state == ("failed" if fails else "done")
    assert job.log == "begun\ndone, but for a file\n"


def test_an_attempt_whose_job_was_taken_away_stops_without_writing(worker: Worker, pretend: Pretend) -> None:
    job = pretend(["faces", 60.0])
    wait_for(in_stage(job, "faces"), 20, "the stage")
    Job.objects.filter(id=job.id).update(state="queued", claim=None, worker="", stage="", cancel_requested=False)
    time.sleep(1)
    services.cancel(job=job, user=None)
    following = pretend(["faces", 0.1])
    wait_for(lambda: state(following) == "done", 20, "the worker to be free again")
    job.refresh_from_db()
    assert (job.state, job.stage, job.result) == ("cancelled", "", {})


def test_a_finished_job_leaves_no_scratch_folder(worker: Worker, pretend: Pretend, settings: Any) -> None:
    job = pretend(["faces", 0.2])
    wait_for(lambda: state(job) == "done", 20, "the job")
    folder = Path(settings.DATA) / "work" / str(job.id)
    wait_for(lambda: not folder.exists(), 15, "the scratch folder to go")
