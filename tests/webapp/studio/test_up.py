"""`manage.py up` as its users meet it: started, watched, killed, stopped. One data folder for the whole module."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg
import pytest

from tests.clips import make
from webapp.lib.datafolder import HERE, socket_folder
from webapp.studio import processes

START_S = 120  # a first start on a busy machine
STOP_S = 15  # under 5 on an idle machine


class Up:
    """A running `manage.py up`."""

    def __init__(self, data: Path, *options: str, prefix: tuple[str, ...] = (), **environment: str) -> None:
        self.data = data
        self.output = data.parent / f"{data.name}-{time.monotonic_ns()}.out"
        env = {k: v for k, v in os.environ.items() if k not in ("SIGHTLINE_DATA", "DJANGO_SETTINGS_MODULE")}
        env |= environment
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "manage.py", "up", "--data", str(data), *options],
                cwd=HERE, env=env, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run behind `&`
            )  # fmt: skip

    def wait(self) -> Up:
        ready = processes.wait_until(
            lambda: "Ctrl-C stops it" in self.said() or self.process.poll() is not None, limit_s=START_S
        )
        assert ready and self.process.poll() is None, self.said()
        return self

    def said(self) -> str:
        return self.output.read_text()

    def note(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.data / "studio.json").read_text())
        return found

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def get(self, path: str) -> int:
        line = http.client.HTTPConnection(self.note()["address"].removeprefix("http://"), timeout=30)
        line.request("GET", path)
        return line.getresponse().status

    def end(self, number: signal.Signals) -> float:
        """Seconds until the process was gone."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(60)
        return time.monotonic() - began


def living(family: list[psutil.Process]) -> list[str]:
    names = []
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                names.append(process.name())
    return names


def gone(family: list[psutil.Process], limit_s: float) -> bool:
    return processes.wait_until(lambda: not living(family), limit_s=limit_s)


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="sightline-up-"))
    root.chmod(0o755)
    yield root / "data"
    shutil.rmtree(root)
    shutil.rmtree(socket_folder(root / "data"), ignore_errors=True)


@pytest.fixture(scope="module")
def start(data: Path) -> Iterator[Callable[..., Up]]:
    """`start()`: the studio of a folder, the one that runs already if there is one."""
    started: dict[Path, Up] = {}

    def begin(*options: str, where: Path = data, prefix: tuple[str, ...] = (), **environment: str) -> Up:
        if where not in started or started[where].process.poll() is not None:
            started[where] = Up(where, *options, prefix=prefix, **environment)
        return started[where].wait()

    yield begin
    for up in started.values():
        if up.process.poll() is None:
            up.end(signal.SIGTERM)


def test_it_serves_pages_and_prints_a_login_link_for_a_user_without_password(start: Callable[..., Up]) -> None:
    up = start()
    link = re.search(r"once, within an hour: (http://127\.0\.0\.1:\d+/link/\S+/)", up.said())
    assert link is not None, up.said()
    path = "/" + link.group(1).split("/", 3)[3]
    assert up.get("/login/") == 200 and up.get(path) == 200
    assert set(up.note()["children"]) == {"postgres", "valkey", "web", "cpu", "gpu", "train"}
    assert (up.data / "secret-key").stat().st_mode & 0o777 == 0o600


def test_a_second_start_on_the_same_folder_says_who_is_there(start: Callable[..., Up], data: Path) -> None:
    up = start()
    second = Up(data)
    assert second.process.wait(START_S) == 2
    said = second.output.read_text().strip()
    assert f"process {up.process.pid}" in said and up.note()["address"] in said and len(said.splitlines()) == 1


def test_a_dead_part_is_started_again_on_the_same_address(start: Callable[..., Up]) -> None:
    up = start()
    before = up.note()
    for name in ("web", "cpu", "valkey", "postgres"):
        pid = before["children"][name]
        os.kill(pid, signal.SIGKILL)
        assert processes.wait_until(lambda: up.note()["children"][name] != pid, limit_s=60), name  # noqa: B023
    assert processes.wait_until(lambda: serves(up), limit_s=60)
    assert up.note()["address"] == before["address"]


def test_a_command_uses_the_running_studio_and_leaves_it_running(start: Callable[..., Up], tmp_path: Path) -> None:
    up = start()
    clip = make("bframes", tmp_path).path
    done = subprocess.run(
        [sys.executable, "manage.py", "ingest", str(clip), "--project", "one", "--json", "-", "--data", str(up.data)],
        cwd=HERE, capture_output=True, text=True, timeout=START_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["frames"] == 60
    assert up.process.poll() is None and up.get("/login/") == 200


def serves(up: Up) -> bool:
    try:
        return up.get("/login/") == 200
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_everything_in_order(start: Callable[..., Up], number: signal.Signals) -> None:
    up = start()
    family = up.family()
    assert len(family) >= 6
    assert up.end(number) < STOP_S
    assert up.process.returncode == 0
    assert living(family) == []
    assert not (up.data / "studio.json").exists()
    assert "database system is shut down" in (up.data / "logs" / "postgres.log").read_text()


def test_nothing_outlives_a_killed_launcher_and_the_next_start_is_clean(start: Callable[..., Up]) -> None:
    up = start()
    family = up.family()
    up.end(signal.SIGKILL)
    assert gone(family, 15), living(family)
    scratch = up.data / "work" / str(uuid.uuid4())  # of a job that is no more
    scratch.mkdir(parents=True)
    assert start().get("/login/") == 200
    assert not scratch.exists()


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, *(pytest.param(n, marks=pytest.mark.long) for n in (signal.SIGTERM, signal.SIGINT))]
)
def test_a_first_start_may_be_ended_at_any_moment(start: Callable[..., Up], data: Path, number: signal.Signals) -> None:
    where = data.parent / f"ended-{number.name}"
    for seconds in (0.3, 0.8, 1.3, 2.5):
        up = Up(where)
        time.sleep(seconds)
        family = up.family()
        up.end(number)
        assert gone(family, 30), living(family)
        assert "Traceback" not in up.said()
    whole = start(where=where)
    assert whole.get("/login/") == 200
    assert not (where / "postgres.new").exists()
    assert whole.end(signal.SIGTERM) < STOP_S


def test_lock_files_of_strangers_do_not_stop_the_next_start(start: Callable[..., Up], data: Path) -> None:
    start().end(signal.SIGTERM)
    # as after a power cut, when the process number belongs to somebody else by now
    (data / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{data / 'postgres'}\n")
    assert start().get("/login/") == 200


def test_a_port_that_is_taken_is_said_and_without_one_the_next_is_used(start: Callable[..., Up], data: Path) -> None:
    up = start()
    port = up.note()["address"].rpartition(":")[2]
    other = Up(data.parent / "other", "--port", port)
    assert other.process.wait(START_S) == 2
    assert f"Port {port} cannot be used" in other.output.read_text()
    beside = start(where=data.parent / "other")
    assert beside.get("/login/") == 200 and up.get("/login/") == 200
    assert beside.note()["address"] != up.note()["address"]
    assert beside.end(signal.SIGTERM) < STOP_S


def test_database_broker_and_store_can_be_elsewhere(start: Callable[..., Up], data: Path) -> None:
    start()
    sockets = socket_folder(data)
    with psycopg.connect(host=str(sockets), user="sightline", dbname="postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE elsewhere")
    store = data.parent / "store"
    up = start(
        where=data.parent / "guest",
        DATABASE_URL=f"postgres://sightline@{quote(str(sockets), safe='')}/elsewhere",
        BROKER_URL=f"redis+socket://{sockets}/valkey.sock?virtual_host=1",
        STORAGE_URL=store.as_uri(),
    )
    assert set(up.note()["children"]) == {"web", "cpu", "gpu", "train"} and up.get("/login/") == 200
    assert not (up.data / "postgres").exists() and not (up.data / "valkey").exists()
    assert up.end(signal.SIGTERM) < STOP_S
    with psycopg.connect(host=str(sockets), user="sightline", dbname="elsewhere") as connection:
        assert connection.execute("SELECT count(*) FROM accounts_user").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to look like somebody else")
def test_it_works_as_an_ordinary_user_in_a_home_nobody_else_may_enter(start: Callable[..., Up], data: Path) -> None:
    home = data.parent / "home"
    home.mkdir(mode=0o700)
    prefix = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
    if subprocess.run([*prefix, "true"]).returncode != 0:
        pytest.skip("user namespaces are not allowed here")
    up = start(where=home / "data", prefix=prefix)
    assert up.get("/login/") == 200
    family = up.family()
    assert up.end(signal.SIGTERM) < STOP_S and living(family) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user for PostgreSQL")
def test_root_may_keep_the_data_in_a_folder_nobody_else_may_enter(start: Callable[..., Up], data: Path) -> None:
    home = data.parent / "closed"
    home.mkdir(mode=0o700)
    up = start(where=home / "data")
    family = up.family()
    assert up.get("/login/") == 200
    up.end(signal.SIGKILL)
    assert gone(family, 15), living(family)
