"""Training runs by a real worker: a tiny model that really trains, and kill -9 at any moment."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from ml import torchside
from ml.training.folder import RunFolder
from tests.figures import Record
from tests.ml.training import samples
from tests.webapp.training import made
from tests.workers import training_double as double
from tests.workers.conftest import NODE, Worker, wait_for
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import DeviceLease, Job
from webapp.library.models import Project
from webapp.runs import folders, recording, services
from webapp.runs.models import Checkpoint, Metric, Rollout, TrainingRun
from webapp.studio.launcher import reap

SEED = 15
BUSY_S = 240.0  # for what takes seconds on a machine that is not busy
RUNNING_S = 120.0  # a run that nobody runs may say that it runs for so long


@pytest.fixture(autouse=True)
def own_folders(worker: Worker) -> Iterator[None]:
    yield
    wait_for(lambda: not Job.objects.filter(state__in=jobs.LIVE).exists(), 30, "the last job to end")
    double.note().unlink(missing_ok=True)
    for name in ("snapshots", "runs", "models"):
        folders.remove(Path(settings.DATA) / name)


def fresh(run: TrainingRun) -> TrainingRun:
    return TrainingRun.objects.select_related("job").get(id=run.id)


def until(run: TrainingRun, *states: str, limit_s: float = BUSY_S) -> TrainingRun:
    wait_for(lambda: fresh(run).state in states, limit_s, f"the run to be {' or '.join(states)}: {fresh(run).state}")
    return fresh(run)


def ready(run: TrainingRun) -> TrainingRun:
    """After the preflight that making it asked for."""
    wait_for(lambda: fresh(run).preflight["state"] in ("done", "failed"), BUSY_S, "the preflight")
    found = fresh(run)
    assert found.preflight["state"] == "done" and found.preflight["errors"] == [], found.preflight
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Really


needs_torch = pytest.mark.skipif(bool(torchside.missing()), reason="torch is not installed")


@pytest.fixture
def drawn(project: Project, tmp_path: Path) -> TrainingRun:
    """A draft that trains a tiny Qwen3-VL by GRPO on a few clips, after its preflight."""
    from ml.training import tiny

    tiny.build("qwen3-vl", settings.BASE_MODELS[-1] / "tiny")
    snapshot = made.adopted(project, samples.made(tmp_path / "snapshot", 3, per_clip=3))
    run = services.create_run(
        project=project, user=None, stage="grpo", snapshot=snapshot, preset="tiny-cpu", base_model="tiny",
        overrides={"train.max_steps": 6, "run.save_steps": 2},
    )  # fmt: skip
    return ready(run)


@needs_torch
@pytest.mark.long  # the browser's walk of a run takes the same way in the default suite
@pytest.mark.timeout(600)
def test_a_tiny_model_trains_stops_and_goes_on(worker: Worker, drawn: TrainingRun) -> None:
    begun = time.monotonic()
    services.start(run=drawn, user=None, version=drawn.version)
    until(drawn, "running")
    assert time.monotonic() - begun < 5
    wait_for(lambda: Metric.objects.filter(run=drawn).exists(), BUSY_S, "the first metrics")
    running = fresh(drawn)
    services.stop(run=running, user=None, version=running.version)
    stopped = until(drawn, "stopped", "failed", "done")
    assert (stopped.state, stopped.job.state) == ("stopped", "done"), stopped.error  # type: ignore[union-attr]
    assert 1 <= stopped.step < 6 and Checkpoint.objects.filter(run=drawn, step=stopped.step).exists()
    services.resume(run=stopped, user=None, version=stopped.version)
    done = until(drawn, "done", "failed")
    assert (done.state, done.step, done.attempt, done.resumed_from) == ("done", 6, 2, stopped.step), done.error
    rows = list(Metric.objects.filter(run=drawn).order_by("step"))
    assert [row.step for row in rows] == [1, 2, 3, 4, 5, 6]
    assert all(isinstance(row.values["loss"], float) and "rewards/accuracy/mean" in row.values for row in rows)
    first = Rollout.objects.filter(run=drawn).first()
    assert first is not None and len(first.completions) == 8 and first.row["gt_events"]
    assert set(first.completions[0]["rewards"]) == set(recording.weights_of(drawn))  # no other, and none without a name
    assert (folders.run(drawn.id) / "final/model.safetensors").is_file()
    assert done.about["snapshot"]["hash"] == drawn.snapshot.hash and done.log
    assert not DeviceLease.objects.exists()


# ---------------------------------------------------------------------------------------------------------------------
# Kills


class Watch:
    """Kills a run's training or worker, and looks that it goes on and was never written by two."""

    def __init__(self, worker: Worker, run: TrainingRun, chance: random.Random) -> None:
        self.worker, self.run, self.chance = worker, run, chance
        self.folder = RunFolder(folders.run(run.id))
        self.took: list[float] = []

    def trainers(self) -> list[psutil.Process]:
        """Processes that train in the folder now."""
        found = []
        for process in psutil.process_iter():
            try:
                if str(self.folder.path) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        assert len(found) <= 1, f"two train in one folder: {found}"
        return found

    def kill(self, victim: str, within_s: float) -> None:
        """Kill at a random moment; then the run must be somebody's again within two minutes."""
        wait_for(lambda: bool(self.trainers()) or fresh(self.run).state not in services.LIVE, BUSY_S, "a training")
        time.sleep(self.chance.uniform(0, within_s))
        trainers = self.trainers()
        if not trainers:
            return
        before = trainers[0].pid
        if victim == "training":
            os.kill(before, signal.SIGKILL)
        elif victim == "task":
            self.worker.task_process().kill()
        else:
            assert self.worker.process is not None
            os.killpg(self.worker.process.pid, signal.SIGKILL)
            self.worker.process.wait()
        self._goes_on(before, victim)

    def _goes_on(self, before: int, victim: str) -> None:
        began = time.monotonic()
        wait_for(lambda: not psutil.pid_exists(before), 15, "the killed training to be gone")
        if victim == "worker":  # as the launcher does
            jobs.requeue_of(node=NODE)
            broker.give_back_unacknowledged()
            self.worker.log.write_text("")
            self.worker.start()

        def settled() -> bool:
            reap()  # as the studio's thread does
            now = fresh(self.run)
            return now.state not in ("running", "stopping") or any(p.pid != before for p in self.trainers())

        wait_for(settled, RUNNING_S, "the run to be somebody's again, or not to say that it runs")
        self.took.append(time.monotonic() - began)


def endured(worker: Worker, run: TrainingRun, victims: list[str], within_s: float, figure: Record) -> TrainingRun:
    """Kill one victim after another, resume what failed, and let the run end."""
    watch = Watch(worker, run, random.Random(SEED))
    services.start(run=run, user=None, version=run.version)
    for victim in victims:
        watch.kill(victim, within_s)
        now = fresh(run)
        if now.state in ("failed", "stopped"):
            services.resume(run=now, user=None, version=now.version)
    while until(run, "done", "failed", "stopped", limit_s=2 * BUSY_S).state != "done":
        now = fresh(run)
        services.resume(run=now, user=None, version=now.version)
    assert not watch.trainers()
    figure("kill -9 of a training: somebody's again after", max(watch.took), "s", note=f"longest of {len(watch.took)}")
    return fresh(run)


@pytest.mark.timeout(300)
def test_a_run_survives_the_death_of_its_training_and_of_its_worker(
    worker: Worker, project: Project, figure: Record
) -> None:
    double.behave(step_s=0.05, child=True)
    run = made.run(made.snapshot(project), overrides={"train.max_steps": 60, "run.save_steps": 5})
    done = endured(worker, run, ["training", "worker"], 1.5, figure)
    steps = list(Metric.objects.filter(run=run).order_by("step").values_list("step", flat=True))
    assert steps == list(range(1, 61)) and 2 <= done.attempt <= 3  # one killed before its first word is no attempt


@pytest.mark.long
@needs_torch
@pytest.mark.timeout(3000)
def test_ten_kills_at_random_moments_of_a_real_training(worker: Worker, drawn: TrainingRun, figure: Record) -> None:
    draft = services.change_draft(
        run=drawn, user=None, version=drawn.version, changes={"overrides": {"train.max_steps": 60, "run.save_steps": 2}}
    )
    victims = ["training"] * 6 + ["task"] * 2 + ["worker"] * 2
    random.Random(SEED).shuffle(victims)
    endured(worker, ready(draft), victims, 12.0, figure)
    steps = list(Metric.objects.filter(run=drawn).order_by("step").values_list("step", flat=True))
    assert steps == list(range(1, 61))
    shutil.rmtree(folders.run(drawn.id))
