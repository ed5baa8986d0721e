"""The training task: a process of its own, what it writes brought into rows, and its every ending. The test is the
worker, a double the training (`training_double`); real workers and a real training are in `test_training_kills`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction

from tests.webapp.training import made
from tests.workers import training_double as double
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Project
from webapp.runs import folders, queries, recording, services
from webapp.runs.models import Checkpoint, Metric, Rollout, TrainingRun
from workers import attempt
from workers.tasks import training

MOST = 80
SLOW = {"train.max_steps": MOST, "run.save_steps": 5}
SOON_S = 20.0


@pytest.fixture(autouse=True)
def doubled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The double trains, quickly; folders are gone afterwards."""
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    monkeypatch.setattr(training, "command", training.command)
    double.install()
    double.behave(step_s=0.01)
    yield
    double.note().unlink(missing_ok=True)
    for name in ("snapshots", "runs", "models"):
        folders.remove(Path(settings.DATA) / name)


def started(project: Project, **overrides: Any) -> TrainingRun:
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    run = made.run(made.snapshot(project), overrides=named)
    return services.start(run=run, user=None, version=run.version)


def do(run: TrainingRun) -> Job:
    """What a worker does with the run's job."""
    run.refresh_from_db()
    assert run.job is not None
    attempt.run(str(run.job_id), "here@elsewhere", training.work, training.tidy)
    run.refresh_from_db()
    return job_of(run)


def meanwhile(act: Callable[[], None], when: Callable[[], bool]) -> threading.Thread:
    """Do something as somebody else would, once something is true."""

    def wait() -> None:
        end = time.monotonic() + SOON_S
        try:
            while not when() and time.monotonic() < end:
                time.sleep(0.02)
            act()
        finally:
            connection.close()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def at_step(run: TrainingRun, step: int) -> Callable[[], bool]:
    return lambda: TrainingRun.objects.filter(id=run.id, step__gte=step).exists()


def job_of(run: TrainingRun) -> Job:
    job = TrainingRun.objects.get(id=run.id).job
    assert job is not None
    return job


def steps(run: TrainingRun) -> list[int]:
    return list(Metric.objects.filter(run=run).order_by("step").values_list("step", flat=True))


def newest(run: TrainingRun) -> int | None:
    return training.RunFolder(folders.run(run.id)).newest()


def training_processes() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if "tests.workers.training_double" in process.cmdline() and str(settings.DATA) in " ".join(
                process.cmdline()
            ):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_a_run_trains_and_everything_it_writes_is_in_rows(project: Project) -> None:
    run = started(project, train__max_steps=12, run__save_steps=4, run__keep_checkpoints=2)
    job = do(run)
    assert (job.state, job.error, run.state, run.error) == ("done", "", "done", "")
    assert (run.step, run.max_steps, run.attempt, run.resumed_from) == (12, 12, 1, None)
    assert steps(run) == list(range(1, 13))
    columns = queries.metric_columns(run)["columns"]
    assert columns["loss"] == [1 / n for n in range(1, 13)] and columns["kl"] == [None] * 12
    assert list(Checkpoint.objects.filter(run=run).values_list("step", "path", "bytes", "final")) == [
        (8, "checkpoints/checkpoint-8", 100 + size_of_mark(run, 8), False),
        (12, "checkpoints/checkpoint-12", 100 + size_of_mark(run, 12), False),
        (12, "final", 1002, True),
    ]
    assert Rollout.objects.filter(run=run).count() == 24
    assert run.log.splitlines()[-1] == "step 12 of attempt 1" and run.log_bytes == len(run.log)
    assert run.about["model"] == {"name": "tiny"} and run.started and run.ended
    assert job.result["state"] == "done" and [stage for stage, _ in job.stages][0] == "starting"


def size_of_mark(run: TrainingRun, step: int) -> int:
    return (folders.run(run.id) / f"checkpoints/checkpoint-{step}/COMPLETE").stat().st_size


def test_rollouts_say_how_far_the_answers_differ_and_what_rewards_need(project: Project) -> None:
    run = started(project, train__max_steps=2)
    do(run)
    rows, count = queries.rollout_page(run, sort="disagreement")
    assert count == 4 and [row.step for row in rows] == [1, 1, 2, 2]
    # at step 1 one of eight has every reward at 1: the weights of GRASP sum to 1.35, the deviation is 1.35 sqrt(7) / 8
    assert rows[0].disagreement == pytest.approx(1.35 * 7**0.5 / 8) and rows[2].disagreement == 0
    assert rows[0].row["gt_events"][0]["source"] == "gaze" and rows[0].row["visible_persons"] == [0, 1, 2, 3]
    only, count = queries.rollout_page(run, category="mutual_gaze")
    assert count == 2 and {row.category for row in only} == {"mutual_gaze"}


def test_a_stop_waits_for_a_checkpoint_and_a_resume_goes_on_from_it(project: Project) -> None:
    double.behave(step_s=0.04)
    run = started(project, **SLOW, run__keep_checkpoints=0)

    def ask() -> None:
        fresh = TrainingRun.objects.get(id=run.id)
        assert services.stop(run=fresh, user=None, version=fresh.version).state == "stopping"

    thread = meanwhile(ask, at_step(run, 7))
    job = do(run)
    thread.join()
    assert (job.state, run.state) == ("done", "stopped") and run.step < MOST
    last = run.step
    assert Checkpoint.objects.filter(run=run).last().step == last  # type: ignore[union-attr]
    double.behave(step_s=0.0)
    resumed = services.resume(run=run, user=None, version=run.version)
    assert (resumed.state, resumed.job_id != job.id) == ("queued", True)
    assert do(run).state == "done"
    assert (run.state, run.step, run.attempt, run.resumed_from) == ("done", MOST, 2, last)
    assert steps(run) == list(range(1, MOST + 1))
    values = dict(Metric.objects.filter(run=run).values_list("step", "values"))
    assert [values[n]["attempt"] for n in (1, last, last + 1, MOST)] == [1, 1, 2, 2]


def test_a_killed_training_goes_on_from_its_checkpoint(project: Project) -> None:
    double.behave(step_s=0.01, die_at=[[1, 8], [2, 13]])
    run = started(project, train__max_steps=15, run__save_steps=5, run__keep_checkpoints=0)
    job = do(run)
    assert (job.state, run.state, run.attempt, run.resumed_from) == ("done", "done", 3, 10)
    assert steps(run) == list(range(1, 16))
    values = dict(Metric.objects.filter(run=run).values_list("step", "values"))
    # what came after a checkpoint was trained again, and rows say so
    assert [values[n]["attempt"] for n in (5, 6, 7, 10, 11, 12)] == [1, 2, 2, 2, 3, 3]
    assert "SIGKILL" in job.log and "step 5" in job.log


def test_lines_that_a_killed_attempt_left_after_its_checkpoint_are_taken_back(project: Project) -> None:
    """Between the new attempt's first word and the cut of its files, the old lines are still there to be read."""
    double.behave(step_s=0.01, die_at=[[1, 9]], between_s=1.5)
    run = started(project, train__max_steps=7, run__save_steps=5)
    TrainingRun.objects.filter(id=run.id).update(config=run.config | {"train": run.config["train"] | {"max_steps": 20}})
    thread = meanwhile(lambda: seen.extend(steps(run)), lambda: _attempt_in_folder(run) == 2 and at_step(run, 5)())
    seen: list[int] = []
    do(run)
    thread.join()
    assert run.attempt == 2 and steps(run) == list(range(1, 21))


def _attempt_in_folder(run: TrainingRun) -> int:
    return int(folders.read_json(folders.run(run.id) / "state.json").get("attempt", 0))


def test_a_training_that_is_killed_again_and_again_fails_with_a_sentence(project: Project) -> None:
    double.behave(step_s=0.0, die_at=[[n, step] for n in range(1, 9) for step in (3, 8)])
    run = started(project, train__max_steps=15, run__save_steps=5)
    job = do(run)
    assert (job.state, run.state) == ("failed", "failed")
    assert run.error == job.error and "SIGKILL" in run.error and "its beginning" in run.error
    assert run.attempt == 1 + training.DEATHS
    double.behave(step_s=0.0)
    services.resume(run=run, user=None, version=run.version)
    assert do(run).state == "done" and (run.state, run.error, steps(run)) == ("done", "", list(range(1, 16)))


def test_what_the_training_refuses_or_breaks_at_is_the_runs_sentence(project: Project) -> None:
    double.behave(refuse="rollouts.use_vllm is true, and vLLM is not installed here.")
    run = started(project)
    job = do(run)
    assert (job.state, run.state, run.error) == (
        "failed",
        "failed",
        "rollouts.use_vllm is true, and vLLM is not installed here.",
    )
    double.behave(crash_at=3)
    services.resume(run=run, user=None, version=run.version)
    do(run)
    assert run.error == "The training ended with an error: ValueError: on purpose." and steps(run) == [1, 2]


def test_a_cancelled_job_ends_the_training_at_once_and_the_run_can_go_on(project: Project) -> None:
    double.behave(step_s=0.05, child=True)
    run = started(project, **SLOW)
    asked: list[float] = []

    def cancel() -> None:
        asked.append(time.monotonic())
        jobs.cancel(job=job_of(run), user=None)

    thread = meanwhile(cancel, at_step(run, 7))
    job = do(run)
    took = time.monotonic() - asked[0]
    thread.join()
    assert took < 10 and job.state == "cancelled" and run.state == "stopped"
    assert f"goes on from step {newest(run)}." in run.error
    assert not training_processes()
    double.behave(step_s=0.0)
    services.resume(run=run, user=None, version=run.version)
    assert do(run).state == "done" and steps(run) == list(range(1, MOST + 1))


def test_a_deaf_training_is_ended_after_a_while(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "STOP_LIMIT_S", 1.0)
    double.behave(step_s=0.05, deaf=True)
    run = started(project, **SLOW)

    def ask() -> None:
        services.stop(run=TrainingRun.objects.get(id=run.id), user=None, version=run.version)

    thread = meanwhile(ask, at_step(run, 7))
    job = do(run)
    thread.join()
    assert (job.state, run.state) == ("done", "stopped") and "step" in run.error


def test_the_next_attempt_of_a_dead_worker_goes_on_and_uses_up_no_attempts(project: Project) -> None:
    run = started(project, train__max_steps=200, run__save_steps=2)
    double.behave(step_s=0.03)
    for _ in range(jobs.ATTEMPTS + 1):  # each time after a new checkpoint
        job = die_after(run, 3)
        assert job.attempts == 1
        with transaction.atomic():
            jobs.release(job=Job.objects.select_for_update().get(id=job.id), reason="The worker died.")
        run.refresh_from_db()
        assert run.state == "queued"  # not "running" while nobody runs it
    double.behave(step_s=0.0)
    assert do(run).state == "done"
    assert run.attempt == jobs.ATTEMPTS + 2 and steps(run) == list(range(1, 201))


def die_after(run: TrainingRun, more: int) -> Job:
    """An attempt whose worker dies after some steps: it writes nothing more, and its training dies with it."""
    run.refresh_from_db()
    real, newest_before = training.Training._forward_stop, newest(run)

    def die(self: training.Training) -> None:
        real(self)
        if self.known.get("state") == "running" and self.known["step"] >= (newest_before or 0) + more:
            raise attempt.ClaimLost("as a killed worker's would be")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training.Training, "_forward_stop", die)
        return do(run)


def test_a_worker_that_dies_without_a_new_checkpoint_uses_up_attempts(project: Project) -> None:
    double.behave(step_s=0.03)
    run = started(project, train__max_steps=MOST, run__save_steps=MOST)
    for _ in range(jobs.ATTEMPTS):
        job = die_after(run, 2)
        with transaction.atomic():
            jobs.release(job=Job.objects.select_for_update().get(id=job.id), reason="The worker died.")
    run.refresh_from_db()
    assert run.state == "failed" and run.error.startswith("Given up after 3 attempts")


def test_a_run_that_was_to_stop_when_its_worker_died_is_stopped_by_the_next(project: Project) -> None:
    double.behave(step_s=0.03)
    run = started(project, **SLOW)
    job = die_after(run, 6)
    services.stop(run=run, user=None, version=run.version)
    with transaction.atomic():
        jobs.release(job=Job.objects.select_for_update().get(id=job.id), reason="The worker died.")
    assert do(run).state == "done" and run.state == "stopped" and run.attempt == 1
    assert f"goes on from step {newest(run)}." in run.error


def test_a_training_that_outlived_its_worker_is_ended_first(project: Project) -> None:
    """As where the kernel's word to die did not reach it: there is never a second writer."""
    run = started(project, train__max_steps=4, run__save_steps=2)
    folder = training.RunFolder(folders.run(run.id))
    folder.path.mkdir(parents=True)
    double.behave(step_s=30.0)
    with (folder.path / "console.txt").open("wb") as console:
        orphan = training.start(training.command(run, folder), console, {"PYTHONPATH": ".", "PATH": "/usr/bin"})
    training.note_process(folder.path, orphan.pid)
    end = time.monotonic() + SOON_S
    while not (folder.path / "writers.txt").exists() and time.monotonic() < end:
        time.sleep(0.05)
    double.behave(step_s=0.0)
    assert do(run).state == "done"
    assert not psutil.pid_exists(orphan.pid)
    assert (folder.path / "writers.txt").read_text().count("begin") == 2


def test_the_training_goes_on_while_the_database_is_away(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    double.behave(step_s=0.02)
    run = started(project, train__max_steps=60, run__save_steps=20)
    real, away = recording.keep_news, iter([*[False] * 3, *[True] * 4, *[False] * 10_000])

    def keep(**told: Any) -> str:
        if next(away):
            raise OperationalError("the connection is closed")
        return real(**told)

    monkeypatch.setattr(recording, "keep_news", keep)
    assert do(run).state == "done"
    assert run.attempt == 1 and steps(run) == list(range(1, 61))


def test_an_old_job_does_not_train(project: Project) -> None:
    run = started(project, train__max_steps=4)
    old = run.job
    assert old is not None
    jobs.cancel(job=old, user=None)
    run.refresh_from_db()
    assert run.state == "draft"
    services.start(run=run, user=None, version=run.version)
    jobs.retry(job=old, user=None)
    attempt.run(str(old.id), "here@elsewhere", training.work, training.tidy)
    old.refresh_from_db()
    run.refresh_from_db()
    assert (old.state, old.error) == (
        "failed",
        "This run does not wait for this job any more.",
    ) and run.state == "queued"
    assert do(run).state == "done"


def test_a_run_deleted_while_its_worker_ends_leaves_nothing(project: Project) -> None:
    run = started(project, train__max_steps=2)
    do(run)
    services.delete(run=run, version=run.version)
    assert not folders.run(run.id).exists() and not TrainingRun.objects.filter(id=run.id).exists()
