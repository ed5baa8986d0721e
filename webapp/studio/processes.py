"""Child processes that never outlive us: the kernel sends them a signal when their parent dies, however it died.

The death signal (PR_SET_PDEATHSIG) follows the *thread* that forked, so children are started from the main thread.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from webapp.lib.datafolder import HERE

PR_SET_PDEATHSIG = 1
LOG_LIMIT_BYTES = 5_000_000
_libc = ctypes.CDLL(None)


def die_with_parent(death: int = signal.SIGKILL, parent: int | None = None) -> None:
    """Ask the kernel for a signal when the parent goes; exit at once when it is gone already."""
    _libc.prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def start(
    command: Sequence[str | Path],
    *,
    log: Path,
    death: int = signal.SIGKILL,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: int | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own (so Ctrl-C reaches only us), its output appended to `log`.

    `user` is the user and group id to run as.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("Children are started from the main thread: their death signal follows the thread.")
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".old.log"))
    parent = os.getpid()
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=dict(env) if env is not None else None,
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
            pass_fds=pass_fds,
            start_new_session=True,
            preexec_fn=lambda: die_with_parent(death, parent),
        )


def start_python(
    data: Path, name: str, options: Sequence[str], pass_fds: Sequence[int] = (), **environment: str
) -> subprocess.Popen[bytes]:
    """Start a Python program of ours for a data folder; its log is DATA/logs/NAME.log."""
    env = os.environ | {"SIGHTLINE_DATA": str(data), "DJANGO_SETTINGS_MODULE": "webapp.settings"} | environment
    return start([sys.executable, *options], log=data / "logs" / f"{name}.log", env=env, cwd=HERE, pass_fds=pass_fds)


def stop(process: subprocess.Popen[bytes], *, ask: int = signal.SIGTERM, patience_s: float = 2.0) -> None:
    """Ask a child to stop, then kill it and everything below it."""
    if process.poll() is not None:
        return
    tree = family(process.pid)
    process.send_signal(ask)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for member in tree:
        if member.is_running():
            try:
                member.kill()
            except psutil.NoSuchProcess:
                continue


def family(pid: int) -> list[psutil.Process]:
    """Everything below a process."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def wait_until(ready: Callable[[], bool], *, limit_s: float, pause_s: float = 0.03) -> bool:
    """Whether `ready()` came true within the limit."""
    end = time.monotonic() + limit_s
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(pause_s)
    return True


def alive(pid: int) -> bool:
    """Whether a process of this number runs (a zombie does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
