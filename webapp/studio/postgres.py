"""The embedded PostgreSQL of a data folder: no TCP port, one unix socket in a folder only its owner may enter.

PostgreSQL refuses to run as root. As root it therefore runs as user 65534 ("nobody"), who owns the cluster folder;
where that user cannot reach the folder or the programs (a home of mode 0700), it runs in a user namespace instead.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import psycopg

from webapp.lib.datafolder import socket_folder
from webapp.studio import binaries, processes
from webapp.studio.errors import StudioError
from webapp.studio.sockets import NOBODY, make_private

USER = DATABASE = "sightline"
SETTINGS = {
    "max_connections": "100",
    "shared_buffers": "64MB",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Postgres:
    """One embedded server. `settings` are added to its command line."""

    def __init__(self, *, cluster: Path, sockets: Path, log: Path, settings: dict[str, str] | None = None) -> None:
        self.cluster, self.sockets, self.log = cluster, sockets, log
        self.settings = SETTINGS | (settings or {})
        self.programs = binaries.postgres()
        self.process: subprocess.Popen[bytes] | None = None
        self._initdb: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Begin to make the cluster if there is none; `start` waits for it. Raises StudioError."""
        self.cluster.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(self.sockets)
        self._choose_identity()
        if not (self.cluster / "PG_VERSION").exists():
            self._begin_initdb()

    def start(self) -> None:
        """Make the cluster if there is none, start the server, wait for it, make the database. Raises StudioError."""
        if self._initdb is None:
            self.begin()
        if self._initdb is not None:
            self._finish_initdb(self._initdb)
        clear_leftovers(self.cluster, self.sockets)
        options = [word for key, value in self.settings.items() for word in ("-c", f"{key}={value}")]
        self.process = processes.start(
            [*self.prefix, self.programs / "postgres", "-D", self.cluster, "-h", "", "-k", self.sockets, *options],
            log=self.log,
            death=signal.SIGINT,  # "fast" shut-down: a clean one
            env=_environment(),
            cwd=self.cluster,
            user=self.user,
        )
        if not processes.wait_until(self._answers, limit_s=60):
            self.stop()
            raise StudioError(f"PostgreSQL did not start; its last words in {self.log}: {last_line(self.log)}")
        self._make_database()

    def stop(self) -> None:
        if self._initdb is not None:
            processes.stop(self._initdb, ask=signal.SIGINT)
        if self.process is not None:
            processes.stop(self.process, ask=signal.SIGINT, patience_s=8)

    def _choose_identity(self) -> None:
        """Which user runs the server, and the command prefix that goes with it."""
        self.user: int | None = None
        self.prefix: list[str] = []
        if os.geteuid() != 0:
            return
        if all(_open_to_all(path) for path in (self.cluster, self.sockets, self.programs / "postgres")):
            self.user = NOBODY
            _give(self.cluster, NOBODY)
            _give(self.sockets, NOBODY)
            return
        unshare, setpriv = shutil.which("unshare"), shutil.which("setpriv")
        if not unshare or not setpriv:
            raise StudioError(
                f"PostgreSQL may not run as root, and user {NOBODY} cannot reach {self.cluster}: start as an ordinary "
                "user, or put the checkout and the data folder where everybody may enter (mode 0755)."
            )
        _give(self.cluster, 0)
        _give(self.sockets, 0)
        self.prefix = [unshare, "--user", "--map-user=1000", "--map-group=1000", setpriv, "--pdeathsig", "INT", "--"]

    def _begin_initdb(self) -> None:
        """initdb works beside the cluster's place, so that one that is killed in the middle is not taken for whole."""
        fresh = self._fresh
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        _give(fresh, self.cluster.stat().st_uid)
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if self._version() >= 17 else []
        self._initdb = processes.start(
            [*self.prefix, self.programs / "initdb", "-D", fresh, "-U", USER, "-E", "UTF8", "--auth=trust",
             "--no-locale", *locale],
            log=self.log, env=_environment(), cwd=fresh, user=self.user,
        )  # fmt: skip

    def _finish_initdb(self, initdb: subprocess.Popen[bytes]) -> None:
        if initdb.wait() != 0:
            shutil.rmtree(self._fresh, ignore_errors=True)
            words = f"its last words in {self.log}: {complaint(self.log)}"
            raise StudioError(f"The database folder {self.cluster} could not be made; {words}")
        shutil.rmtree(self.cluster)  # nothing of use in it without PG_VERSION
        self._fresh.replace(self.cluster)
        self._initdb = None

    @property
    def _fresh(self) -> Path:
        return self.cluster.with_name(f"{self.cluster.name}.new")

    def _version(self) -> int:
        said = subprocess.run([self.programs / "postgres", "--version"], capture_output=True, text=True, check=True)
        number = re.search(r"(\d+)", said.stdout)
        return int(number.group(1)) if number else 0

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise StudioError(f"PostgreSQL stopped at once; its last words in {self.log}: {last_line(self.log)}")
        try:
            with psycopg.connect(host=str(self.sockets), user=USER, dbname="postgres", connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def _make_database(self) -> None:
        with psycopg.connect(host=str(self.sockets), user=USER, dbname="postgres", autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f"CREATE DATABASE {DATABASE}")


def embedded(data: Path) -> Postgres:
    """The server of a data folder."""
    return Postgres(cluster=data / "postgres", sockets=socket_folder(data), log=data / "logs" / "postgres.log")


def clear_leftovers(cluster: Path, sockets: Path) -> None:
    """Wait for a server that is still shutting down after a kill, and remove lock files of processes long gone.

    PostgreSQL itself removes a lock whose process number is free; after a restart of the machine the number may
    belong to somebody else, which it cannot tell.
    """
    for lock in (cluster / "postmaster.pid", sockets / ".s.PGSQL.5432.lock"):
        try:
            pid = int(lock.read_text().split()[0])
        except (FileNotFoundError, IndexError, ValueError):
            continue
        if serves(pid, cluster):
            if not processes.wait_until(lambda pid=pid: not processes.alive(pid), limit_s=5):  # type: ignore[misc]
                os.kill(pid, signal.SIGINT)
                processes.wait_until(lambda pid=pid: not processes.alive(pid), limit_s=10)  # type: ignore[misc]
        elif processes.alive(pid):
            lock.unlink(missing_ok=True)


def serves(pid: int, cluster: Path) -> bool:
    """Whether this process is a PostgreSQL server of this cluster folder."""
    try:
        process = psutil.Process(pid)
        return "postgres" in process.name() and Path(process.cwd()) == cluster.resolve()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "(nothing)"


def complaint(log: Path) -> str:
    """The last line that names a cause: after it initdb says only that it tidies up."""
    lines = log.read_text(errors="replace").splitlines()[-20:]
    found = [line.strip() for line in lines if re.search(r"FATAL|PANIC|ERROR|error:|could not", line)]
    full = [line for line in found if "No space left" in line]
    return (full or found or [last_line(log)])[-1]


def _environment() -> dict[str, str]:
    """The server needs none of our variables; PG* of the user would even mislead it."""
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}


def _give(folder: Path, owner: int) -> None:
    """Make one user the owner of a folder and all in it, where that is not so yet."""
    if folder.stat().st_uid != owner:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner, owner, follow_symlinks=False)


def _open_to_all(path: Path) -> bool:
    """Whether every folder above may be entered by anybody (and a file be read and run)."""
    target = path.resolve()
    above = all(parent.stat().st_mode & 0o001 for parent in target.parents)
    return above and (target.is_dir() or target.stat().st_mode & 0o005 == 0o005)
