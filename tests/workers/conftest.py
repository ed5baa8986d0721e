"""A real worker on the test database and a real broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
from django.conf import settings
from django.db import connection

from tests.workers.gates import Gates
from webapp.jobs import services
from webapp.jobs.models import Job
from webapp.lib.hosts import machine
from webapp.library.models import Project

NODE = f"test@{machine()}.tests"


class Worker:
    """One worker process for all queues, one task process; also knows the tasks of `tests.workers.pretend`."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        host = quote(str(settings.SOCKETS), safe="")
        name = connection.settings_dict["NAME"]
        env = os.environ | {"DATABASE_URL": f"postgres://sightline@{host}/{name}", "SIGHTLINE_DB_POOL": "0"}
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-m", "celery", "-A", "workers.app", "worker", "-Q", "cpu,gpu,train", "-n", NODE,
                    "-c", "1", "-I", "tests.workers.pretend", "--loglevel", "INFO",
                    "--without-gossip", "--without-mingle", "--without-heartbeat",
                ],
                env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        wait_for(lambda: " ready." in self.log.read_text(), 60, "the worker to be ready")

    def task_process(self) -> psutil.Process:
        assert self.process is not None
        return psutil.Process(self.process.pid).children()[0]

    def kill(self) -> None:
        """kill -9 of the worker itself."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.log.write_text("")

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            children = psutil.Process(self.process.pid).children(recursive=True)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(3)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            for child in children:
                if child.is_running():
                    child.kill()


@pytest.fixture(scope="module")
def shared_worker(django_db_setup: None, valkey: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    running = Worker(tmp_path_factory.mktemp("worker") / "worker.log")
    yield running
    running.stop()


@pytest.fixture
def worker(transactional_db: None, shared_worker: Worker) -> Worker:
    """The module's worker, started when it is not up; its log is printed when the test fails."""
    if shared_worker.process is None or shared_worker.process.poll() is not None:
        shared_worker.start()
    return shared_worker


@pytest.fixture(autouse=True)
def worker_log(shared_worker: Worker) -> Iterator[None]:
    shared_worker.log.touch()
    before = shared_worker.log.stat().st_size
    yield
    print(shared_worker.log.read_text()[before:])


@pytest.fixture
def project(transactional_db: None) -> Project:
    return Project.objects.create(slug="one", name="One")


@pytest.fixture
def gates(worker: Worker) -> Iterator[Gates]:
    made = Gates(Path(settings.DATA) / "gates")
    yield made
    made.remove()


@pytest.fixture
def pretend(project: Project) -> Callable[..., Job]:
    """`pretend(["faces", 2.0], ["silent", 3.0], ...)`: a queued job of stages that take so many seconds."""

    def make(*stages: list[Any], queue: str = "cpu") -> Job:
        return services.create(project=project, kind="pretend", queue=queue, parameters={"stages": list(stages)})

    return make


def wait_for(true: Callable[[], bool], limit_s: float, what: str) -> float:
    """Seconds until it came true."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < limit_s, f"waited {limit_s} s for {what}"
        time.sleep(0.05)
    return time.monotonic() - began


def state(job: Job) -> str:
    return str(Job.objects.values_list("state", flat=True).get(id=job.id))


def in_stage(job: Job, stage: str) -> Callable[[], bool]:
    return lambda: Job.objects.filter(id=job.id, state="running", stage=stage).exists()
