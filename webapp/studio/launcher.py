"""Everything one data folder needs, started in order, watched, and stopped in order.

    PostgreSQL, Valkey, migrations, what a crash left behind, web process, workers, reaper

DATABASE_URL and BROKER_URL switch the first two off. Servers listen on unix sockets, the pages on 127.0.0.1. Every
child dies with this process (see `processes`); one that dies alone is started again, and the jobs of a dead worker are
queued again at once.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from django.db import DatabaseError, connection

from webapp.bench.services import fold_counts
from webapp.jobs import broker, services
from webapp.jobs.models import Job
from webapp.lib.datafolder import socket_folder
from webapp.lib.hosts import machine
from webapp.library import services as library
from webapp.runs import withdrawal as training
from webapp.studio import processes, schema
from webapp.studio.address import answers, listen
from webapp.studio.early import Early, start_web
from webapp.studio.errors import StudioError
from webapp.studio.lock import Lock
from webapp.studio.postgres import Postgres, embedded, last_line
from webapp.studio.valkey import Valkey
from webapp.tracks import services as tracks

log = logging.getLogger("webapp.studio")

PLACES = {"cpu": 2, "gpu": 1, "train": 1}  # jobs at once
LIVES = {"cpu": 50, "gpu": 1, "train": 1}  # jobs a task process does before a fresh one takes its place
WATCH_S = 0.2
REAP_S = 15.0
STEADY_S = 20.0  # a child that lived this long starts with a clean slate when it dies


@dataclass
class Part:
    """A child under watch."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]
    born: float = field(default_factory=time.monotonic)
    deaths: int = 0
    again: float = 0.0  # not to be started before this moment


class Studio:
    """The running parts of one data folder."""

    def __init__(self, data: Path, lock: Lock, what: str, early: Early | None = None) -> None:
        """`early`: what runs already; it is the studio's to stop."""
        self.early = early
        self.data, self.lock, self.what = data, lock, what
        self.logs = data / "logs"
        self.digest = hashlib.sha256(str(data).encode()).hexdigest()[:8]
        self.parts: dict[str, Part] = {}
        self.postgres: Postgres | None = early.postgres if early else None
        self.valkey: Valkey | None = None
        self.address = ""
        self.ready = False
        self._listening: socket.socket | None = None
        self._stopping = threading.Event()
        self._reaper: threading.Thread | None = None

    # -- start

    def start_services(self) -> None:
        """Database, broker, migrations; then whatever a crash left half done is queued again. Raises StudioError."""
        sockets = socket_folder(self.data)
        if not os.environ.get("DATABASE_URL"):
            self.postgres = self.postgres or embedded(self.data)
            self.postgres.start()
            self._watch("postgres", self._again(self.postgres), self.postgres.process)
        if not os.environ.get("BROKER_URL"):
            self.valkey = Valkey(folder=self.data / "valkey", sockets=sockets, log=self.logs / "valkey.log")
            self.valkey.start()
            self._watch("valkey", self._again(self.valkey), self.valkey.process)
        schema.bring_up_to_date()
        services.requeue_of(node=f".{self.digest}")
        self.sweep()
        if self.valkey is not None:  # nobody else's workers can be on our own broker
            broker.give_back_unacknowledged()

    def doubts(self) -> Iterator[str]:
        """Sentences on what may not work with servers of others."""
        if not os.environ.get("BROKER_URL"):
            return
        if broker.waiting("cpu") is None:
            yield "The broker of BROKER_URL does not answer: jobs wait until it does."
        if not os.environ.get("STORAGE_URL"):
            media = self.data / "media"
            yield f"STORAGE_URL is not set: workers on other machines find the files only if they share {media}."

    def sweep(self) -> None:
        """Remove what jobs that are over or gone left: their last worker was killed before it could.

        Only while no worker runs: what one stores is not registered before its job ends.
        """
        self.sweep_scratch()
        library.erase_unregistered()
        tracks.erase_unregistered()
        training.sweep()

    def sweep_scratch(self) -> None:
        folders = {folder.name: folder for folder in (self.data / "work").glob("*-*-*-*-*")}
        live = Job.objects.filter(id__in=list(folders), state__in=services.LIVE).values_list("id", flat=True)
        for name in folders.keys() - {str(job_id) for job_id in live}:
            shutil.rmtree(folders[name], ignore_errors=True)

    def _again(self, server: Postgres | Valkey) -> Callable[[], subprocess.Popen[bytes]]:
        def start() -> subprocess.Popen[bytes]:
            server.start()
            assert server.process is not None
            return server.process

        return start

    def start_web(self, port: int | None) -> None:
        """Serve the pages: on the port asked for, else the next free one from 8420, or as it was begun early."""
        early = self.early
        self._listening = listening = early.listening if early else listen(port)
        self.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._watch("web", lambda: start_web(self.data, listening), early.web if early else None)

    def start_workers(self, queues: tuple[str, ...] = ("cpu", "gpu", "train")) -> None:
        """One worker per queue."""
        for queue in queues:
            self._watch(queue, lambda queue=queue: self._worker(queue))  # type: ignore[misc]

    def _worker(self, queue: str) -> subprocess.Popen[bytes]:
        options = [
            "-m", "celery", "-A", "workers.app", "worker", "-Q", queue, "-n", self.node(queue),
            "-c", str(PLACES[queue]), "--max-tasks-per-child", str(LIVES[queue]), "--loglevel", "WARNING",
            "--without-gossip", "--without-mingle", "--without-heartbeat",
        ]  # fmt: skip
        # Celery would load all pages to check them
        return processes.start_python(self.data, queue, options, CELERY_SKIP_CHECKS="1")

    def node(self, queue: str) -> str:
        """The worker's name: unique for queue, machine and data folder."""
        return f"{queue}@{machine()}.{self.digest}"

    def start_reaper(self) -> None:
        self._reaper = threading.Thread(target=self._reap_on, name="reaper", daemon=True)
        self._reaper.start()

    def _watch(
        self,
        name: str,
        start: Callable[[], subprocess.Popen[bytes]],
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.parts[name] = Part(name, start, process or start())
        self.tell()

    def tell(self) -> None:
        """Write who runs where into DATA/studio.json."""
        children = {name: part.process.pid for name, part in self.parts.items()}
        self.lock.write(what=self.what, address=self.address, children=children, ready=self.ready)

    def wait_for_web(self, limit_s: float = 60) -> None:
        """Until the pages answer. Raises StudioError."""
        part = self.parts["web"]

        def ready() -> bool:
            if part.process.poll() is not None:
                words = last_line(self.logs / "web.log")
                raise StudioError(f"The web process stopped at once; its last words in {self.logs}/web.log: {words}")
            return answers(self.address)

        if not processes.wait_until(ready, limit_s=limit_s, pause_s=0.05):
            words = last_line(self.logs / "web.log")
            raise StudioError(
                f"The pages at {self.address} did not answer within {limit_s:.0f} s. "
                f"The last words in {self.logs}/web.log: {words}"
            )

    # -- watch

    def look_after(self) -> None:
        """One look at every child: start again what died. Call now and then from the main thread."""
        for part in list(self.parts.values()):
            if part.process.poll() is None:
                continue
            now = time.monotonic()
            if not part.again:
                self._mourn(part, now)
            if now >= part.again:
                try:
                    part.process, part.born, part.again = part.start(), time.monotonic(), 0.0
                except StudioError as error:
                    log.error("%s", error)
                    part.again = now + 5
                self.tell()

    def _mourn(self, part: Part, now: float) -> None:
        part.deaths = 1 if now - part.born > STEADY_S else part.deaths + 1
        part.again = now + (0 if part.deaths == 1 else min(30, 2.0**part.deaths))
        log.warning("%s died (%s); it is started again.", part.name, ending(part.process.returncode))
        if part.name in PLACES:
            try:
                services.requeue_of(node=self.node(part.name))
                self.sweep_scratch()
            except DatabaseError as error:  # the reaper does it later
                log.warning("The jobs of %s could not be queued again yet: %s", part.name, error)

    def watch_until(self, done: Callable[[], bool]) -> None:
        while not done():
            self.look_after()
            time.sleep(WATCH_S)

    def _reap_on(self) -> None:
        while not self._stopping.wait(REAP_S):
            reap()

    # -- stop

    def stop(self) -> None:
        """Stop everything, pages first, database last. Jobs that run are queued again without using up an attempt."""
        self._stopping.set()
        workers = [name for name in PLACES if name in self.parts]
        for name in ("web", *workers):
            if name in self.parts and self.parts[name].process.poll() is None:
                self.parts[name].process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 1.2
        for name in ("web", *workers):
            if name in self.parts:
                processes.stop(self.parts[name].process, patience_s=max(0.0, end - time.monotonic()))
        if self._reaper is not None:
            self._reaper.join(timeout=2)
        for name in workers:
            try:
                services.requeue_of(node=self.node(name), in_order=True)
            except DatabaseError:  # the next start does it
                break
        connection.close()
        for server, ask in ((self.valkey, signal.SIGTERM), (self.postgres, signal.SIGINT)):
            if server is not None and server.process is not None and server.process.poll() is None:
                server.process.send_signal(ask)  # both at once; waited for one after the other
        if self.valkey is not None:
            self.valkey.stop()
        if self.postgres is not None:
            self.postgres.stop()
        with suppress(OSError):  # not there, or not empty: a server that would not stop still has its socket there
            socket_folder(self.data).rmdir()
        if self._listening is not None:
            self._listening.close()
        self.parts.clear()


def reap() -> bool:
    """One round of the reaper, and whether it went well; what fails is tried again in the next one."""
    try:
        lost, sent = services.requeue_lost(), services.resend_waiting()
        fold_counts()
        if lost or sent:
            log.info("Reaper: %d jobs of dead workers queued again, %d messages sent again.", lost, sent)
    except DatabaseError as error:
        log.warning("Reaper: %s", str(error).strip().splitlines()[0])
        return False
    finally:
        connection.close()
    return True


def ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
