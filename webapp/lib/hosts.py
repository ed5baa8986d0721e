"""Names of processes that can be checked later: machine, process number and start time.

A process number alone is reused sooner or later; with the start time it never names another process.
"""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

import psutil


@cache
def machine() -> str:
    """This machine's name and a mark of its current boot and process namespace, without dots."""
    marks = hashlib.sha256()
    for source in (Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")):
        if source.is_symlink():
            marks.update(str(source.readlink()).encode())
        elif source.exists():
            marks.update(source.read_bytes())
    return f"{host()}-{marks.hexdigest()[:8]}"


def host() -> str:
    """This machine's short name."""
    return socket.gethostname().partition(".")[0] or "host"


def process_name(node: str, pid: int | None = None) -> str:
    """`node/pid-starttime` of a process (default: this one); `node` is `what@machine` or `what@machine.studio`."""
    number = pid or os.getpid()
    return f"{node}/{number}-{_started(number)}"


def is_dead(name: str) -> bool:
    """Whether the process with this name ran on this machine and is gone. False when that cannot be known here."""
    node, _, process = name.rpartition("/")
    pid, _, started = process.partition("-")
    if not pid.isdigit() or node.partition("@")[2].partition(".")[0] != machine():
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return "gone" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return "gone"
