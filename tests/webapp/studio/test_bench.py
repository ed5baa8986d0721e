"""What a new user waits for: install, first page, later starts, the demo. Needs a quiet machine to mean something."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.figures import Record
from tests.webapp.studio.test_up import Up
from webapp.lib.datafolder import HERE, socket_folder

pytestmark = pytest.mark.bench


@pytest.fixture
def data() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="sightline-bench-"))
    root.chmod(0o755)
    yield root / "data"
    shutil.rmtree(root)
    shutil.rmtree(socket_folder(root / "data"), ignore_errors=True)


def test_starts_and_memory(data: Path, figure: Record) -> None:
    for what, budget in (("first page on a new data folder", 8.0), ("later start", 5.0)):
        began = time.monotonic()
        up = Up(data).wait()
        waited, used = time.monotonic() - began, processor_seconds(up)
        assert up.get("/login/") == 200
        figure(what, waited, "s", budget=budget, note=f"{used:.1f} s of processor time in all its processes")
        if what == "later start":
            for _ in range(20):
                assert up.get("/login/") == 200
            time.sleep(5)
            web = psutil.Process(up.note()["children"]["web"])
            figure("idle memory of the web process", web.memory_info().rss / 1e6, "MB", budget=250)
            everything = [psutil.Process(up.process.pid), *up.family()]
            shared_once = sum(p.memory_full_info().pss for p in everything) / 1e6
            figure("idle memory of everything", shared_once, "MB", note="proportional share, all processes")
        figure(f"stop after the {what}", up.end(signal.SIGINT), "s", budget=5)


def processor_seconds(up: Up) -> float:
    """What a studio has used so far: every process that runs, and those that have ended."""
    own = psutil.Process(up.process.pid)
    every = [own.cpu_times(), *(process.cpu_times() for process in up.family())]
    return sum(c.user + c.system for c in every) + every[0].children_user + every[0].children_system


@pytest.mark.parametrize(
    ("what", "modules"),
    [
        ("a web process", "uvicorn, webapp.asgi, webapp.urls"),
        ("a worker", "workers.app, celery.bin.worker, celery.concurrency.prefork"),
        ("the launcher", "webapp.asgi, webapp.studio.running"),
    ],
)
def test_loading(what: str, modules: str, data: Path, figure: Record) -> None:
    script = f"import time; began = time.process_time(); import {modules}; print(time.process_time() - began)"
    env = clean() | {"SIGHTLINE_DATA": str(data)}
    said = [subprocess.check_output([sys.executable, "-c", script], cwd=HERE, env=env, text=True) for _ in range(3)]
    figure(f"processor time to load {what}", min(map(float, said)), "s")


def test_the_demo_twice(data: Path, tmp_path: Path, figure: Record) -> None:
    for what in ("demo, weights and clip in the cache", "second demo"):
        began = time.monotonic()
        words = ["manage.py", "demo", "--exit", "--json", str(tmp_path / "demo.json"), "--data", str(data)]
        done = subprocess.run([sys.executable, *words], cwd=HERE, env=clean(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        figure(what, time.monotonic() - began, "s", budget=10 if what == "second demo" else None)
    found = json.loads((tmp_path / "demo.json").read_text())
    figure("perception of the demo clip", found["realtime_factor"], "x real time", budget=2.5, at_least=True)
    figure("its peak memory, all processes", found["peak_rss_mb"], "MB", budget=1500)


def test_install(tmp_path: Path, figure: Record) -> None:
    copy = tmp_path / "checkout"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=HERE, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        if (HERE / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HERE / name, copy / name)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        ["make", "setup"], cwd=copy, env=clean() | {"PIP_NO_CACHE_DIR": "1"}, check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    by = "pip" if "with pip" in done.stdout else "uv"
    figure("install, nothing cached", time.monotonic() - began, "s", budget=60, note=f"{by}; {used:.0f} s of processor")


def clean() -> dict[str, str]:
    """The environment without what the tests have set."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("SIGHTLINE_", "DJANGO_"))}
