from __future__ import annotations

import os
import subprocess
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.db import connection
from django.utils import timezone

from webapp.jobs import broker, services
from webapp.jobs.models import DeviceLease, Job
from webapp.lib.hosts import machine, process_name
from webapp.library.models import Project, Video

HERE = f"cpu@{machine()}.test"
ELSEWHERE = "cpu@another-host-00000000.test/12-34.00"


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="one", name="One")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the jobs whose messages went out."""
    ids: list[str] = []

    def send(*, kind: str, job_id: str, queue: str) -> bool:
        ids.append(job_id)
        return True

    monkeypatch.setattr(broker, "send", send)
    return ids


def make(project: Project, **fields: Any) -> Job:
    return Job.objects.create(project=project, **{"kind": "derive", "queue": "cpu"} | fields)


def take(job: Job, worker: str = "", **options: Any) -> Job:
    claimed = services.claim(job_id=job.id, worker=worker or process_name(HERE), **options)
    assert claimed is not None
    return claimed


def dead_worker() -> str:
    """The name of a process of this machine that is gone."""
    process = subprocess.Popen(["sleep", "60"])
    name = process_name(HERE, process.pid)
    process.kill()
    process.wait()
    return name


def test_a_message_goes_out_only_when_the_row_is_committed(
    project: Project, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        job = services.create(project=project, kind="derive", queue="cpu")
        assert sent == []
    for callback in callbacks:
        callback()
    assert sent == [str(job.id)]


def test_a_claim_gives_token_attempt_and_heartbeat(project: Project) -> None:
    job = take(make(project))
    assert (job.state, job.attempts) == ("running", 1)
    assert job.claim is not None and job.heartbeat is not None and job.started is not None


def test_a_job_held_by_a_living_worker_cannot_be_claimed(project: Project) -> None:
    job = take(make(project))
    assert services.claim(job_id=job.id, worker=process_name(HERE)) is None
    Job.objects.filter(id=job.id).update(worker=ELSEWHERE)
    assert services.claim(job_id=job.id, worker=process_name(HERE)) is None


def test_a_job_whose_worker_died_on_this_machine_is_taken_over_at_once(project: Project) -> None:
    first = take(make(project), worker=dead_worker())
    second = take(first)
    assert second.attempts == 2 and second.claim != first.claim


def test_a_process_number_used_again_is_not_the_old_worker(project: Project) -> None:
    job = take(make(project), worker=f"{HERE}/{os.getpid()}-1.00")
    assert take(job).attempts == 2


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
def test_a_finished_job_cannot_be_claimed(project: Project, state: str) -> None:
    assert services.claim(job_id=make(project, state=state).id, worker=process_name(HERE)) is None


def test_a_job_that_is_gone_cannot_be_claimed(project: Project) -> None:
    job = make(project)
    job_id = job.id
    job.delete()
    assert services.claim(job_id=job_id, worker=process_name(HERE)) is None


@pytest.mark.django_db(transaction=True)
def test_of_many_claims_at_once_one_wins() -> None:
    job = make(Project.objects.create(slug="one", name="One"))
    start, won = threading.Barrier(6), []

    def claim() -> None:
        start.wait()
        if services.claim(job_id=job.id, worker=process_name(HERE)) is not None:
            won.append(1)
        connection.close()

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    job.refresh_from_db()
    assert len(won) == 1 and job.attempts == 1


def test_an_attempt_that_lost_its_claim_writes_nothing(project: Project) -> None:
    first = take(make(project), worker=dead_worker())
    second = take(first)
    for write in (
        lambda: services.beat(job=first, stage="late", share=0.5),
        lambda: services.log(job=first, line="late"),
        lambda: services.finish(job=first, result={"late": True}),
        lambda: services.fail(job=first, error="late"),
        lambda: services.cancelled(job=first),
    ):
        with pytest.raises(services.ClaimLost):
            write()
    second.refresh_from_db()
    assert (second.state, second.stage, second.result, second.error) == ("running", "", {}, "")
    assert "late" not in second.log


def test_a_heartbeat_writes_stage_share_and_seconds_in_order(project: Project) -> None:
    job = take(make(project))
    stages = {"zeta": 1.234, "a": 2.0}
    assert services.beat(job=job, stage="a", share=1.7, stages=stages, lines="hello") is False
    job.refresh_from_db()
    assert (job.stage, job.share, job.stages, job.log) == ("a", 1.0, [["zeta", 1.23], ["a", 2.0]], "hello\n")


def test_the_log_keeps_its_last_16_kb_in_whole_lines(project: Project) -> None:
    job = take(make(project))
    for number in range(40):
        services.log(job=job, line=f"{number} " + "ü" * 300)
    job.refresh_from_db()
    assert len(job.log.encode()) <= 16 * 1024
    lines = job.log.splitlines()
    assert lines[-1].startswith("39 ") and all(line.split()[1] == "ü" * 300 for line in lines)


def test_a_cancelled_queued_job_is_final_at_once(project: Project) -> None:
    job = services.cancel(job=make(project), user=None)
    assert job.state == "cancelled" and job.ended is not None
    assert services.claim(job_id=job.id, worker=process_name(HERE)) is None


def test_a_running_job_hears_of_its_cancel_with_its_next_heartbeat(project: Project) -> None:
    job = take(make(project))
    assert services.cancel(job=job, user=None).state == "running"
    assert services.beat(job=job, stage="faces", share=0.1) is True
    services.cancelled(job=job)
    job.refresh_from_db()
    assert job.state == "cancelled" and job.claim is None


def test_a_running_job_whose_worker_is_gone_is_cancelled_at_once(project: Project) -> None:
    job = take(make(project), worker=dead_worker())
    assert services.cancel(job=job, user=None).state == "cancelled"


def test_a_finished_job_cannot_be_cancelled_and_a_running_one_not_retried(project: Project) -> None:
    with pytest.raises(services.JobError, match="over already: done"):
        services.cancel(job=make(project, state="done"), user=None)
    with pytest.raises(services.JobError, match="this one is running"):
        services.retry(job=take(make(project)), user=None)


def test_a_retry_starts_with_all_attempts(project: Project) -> None:
    job = make(project, state="failed", attempts=3, error="no", cancel_requested=True)
    services.retry(job=job, user=None)
    assert take(job).attempts == 1


def test_a_job_is_given_up_after_three_attempts(project: Project) -> None:
    job = make(project)
    for _ in range(3):
        take(job, worker=dead_worker())
    assert services.claim(job_id=job.id, worker=process_name(HERE)) is None
    job.refresh_from_db()
    assert job.state == "failed" and "3 attempts" in job.error


def test_the_reaper_queues_silent_jobs_again_and_leaves_living_ones(project: Project, settings: Any) -> None:
    settings.HEARTBEAT_LIMIT_S = 40
    silent, living, ours = (take(make(project), worker=w) for w in (ELSEWHERE, ELSEWHERE, dead_worker()))
    Job.objects.filter(id=silent.id).update(heartbeat=timezone.now() - timedelta(seconds=41))
    Job.objects.filter(id=ours.id).update(heartbeat=timezone.now())
    assert services.requeue_lost() == 2
    states = [Job.objects.get(id=job.id).state for job in (silent, living, ours)]
    assert states == ["queued", "running", "queued"]


def test_an_orderly_stop_does_not_use_up_an_attempt(project: Project) -> None:
    job = take(make(project), worker=process_name(HERE))
    other = take(make(project), worker=ELSEWHERE)
    assert services.requeue_of(node=HERE, in_order=True) == 1
    job.refresh_from_db()
    other.refresh_from_db()
    assert (job.state, job.attempts, other.state) == ("queued", 0, "running")


def test_a_lost_job_that_was_to_be_cancelled_is_cancelled_instead_of_queued(project: Project) -> None:
    job = take(make(project), worker=ELSEWHERE)
    services.cancel(job=job, user=None)
    assert services.requeue_lost(older_than=timedelta(seconds=-1)) == 1
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_messages_are_sent_again_only_for_old_jobs_of_an_empty_queue(
    project: Project, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, backlog = make(project, queue="cpu"), make(project, queue="gpu")
    Job.objects.update(created=timezone.now() - timedelta(seconds=31))
    make(project, queue="cpu")
    monkeypatch.setattr(broker, "waiting", lambda queue: {"cpu": 0, "gpu": 5, "train": 0}[queue])
    assert services.resend_waiting() == 1
    assert sent == [str(old.id)] and str(backlog.id) not in sent


def test_two_jobs_never_hold_one_device(
    project: Project, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    devices = {"gpu": ["here/cuda:0"], "train": ["here/cuda:0"]}
    first, second = make(project, queue="gpu"), make(project, queue="train")
    held = take(first, devices=devices)
    assert services.claim(job_id=second.id, worker=process_name(HERE), devices=devices) is None
    second.refresh_from_db()
    assert (second.state, second.attempts) == ("queued", 0)
    with django_capture_on_commit_callbacks(execute=True):
        services.finish(job=held, result={})
    assert sent == [str(second.id)]  # whoever waits is told at once
    assert take(second, devices=devices).state == "running"
    assert DeviceLease.objects.get().job_id == second.id


def test_a_second_device_lets_a_second_job_run(project: Project) -> None:
    devices = {"gpu": ["here/cuda:0", "here/cuda:1"]}
    take(make(project, queue="gpu"), devices=devices)
    take(make(project, queue="gpu"), devices=devices)
    assert DeviceLease.objects.count() == 2


def test_a_job_without_a_broker_waits_for_the_reaper(
    project: Project, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "app", Celery("away", broker=f"redis+socket://{tmp_path}/nobody.sock"))
    job = make(project)
    assert broker.send(kind=job.kind, job_id=str(job.id), queue="cpu") is False
    assert "waits for the reaper" in caplog.text
    assert broker.waiting("cpu") is None
    assert services.resend_waiting(older_than=timedelta(seconds=-1)) == 0


def test_the_video_follows_its_import(project: Project) -> None:
    video = Video.objects.create(project=project, name="a.mp4")
    job = take(make(project, kind="import", video=video))
    services.fail(job=job, error="It is empty.")
    video.refresh_from_db()
    assert (video.state, video.error) == ("failed", "It is empty.")
    services.retry(job=job, user=None)
    video.refresh_from_db()
    assert (video.state, video.error) == ("importing", "")
    services.cancel(job=job, user=None)
    video.refresh_from_db()
    assert (video.state, video.error) == ("failed", "The import was cancelled.")
