"""How a command gets at the studio of its data folder: the running one, or one of its own for as long as it takes."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from webapp.studio.errors import StudioError
from webapp.studio.launcher import Studio
from webapp.studio.lock import Lock

START_LIMIT_S = 120


@contextmanager
def studio(data: Path, what: str, queues: tuple[str, ...] = (), begins: bool = False) -> Iterator[Callable[[], None]]:
    """Database, broker and workers for these queues, running or started here and stopped again.

    `begins`: the command may be the first on its data folder; any other has nothing to work on in a folder where no
    studio ever was, and makes none. Yields a function to call now and then while waiting: it looks after what was
    started here. Raises StudioError.
    """
    if not (begins or os.environ.get("DATABASE_URL") or (data / "postgres").is_dir()):
        raise StudioError(f"There is no studio in {data} yet: `manage.py up` begins one; --data names another folder.")
    lock = Lock(data)
    if not wait_for_turn(lock, what):
        yield lambda: None  # attached to the running one
        return
    own = Studio(data, lock, what)
    try:
        with orderly_signals():
            own.start_services()
            if not workers_elsewhere(queues):
                own.start_workers(queues)
            yield own.look_after
    finally:
        with deaf():
            own.stop()
            lock.free()


def wait_for_turn(lock: Lock, what: str) -> bool:
    """True when the folder is ours; False when a studio runs on it. Waits while another command uses it."""
    told = False
    end = time.monotonic() + START_LIMIT_S
    while not lock.take(what):
        note = lock.read()
        if note.get("what") in ("up", "demo"):
            if note.get("ready"):
                return False
            if time.monotonic() > end:
                raise StudioError(f"The studio of {lock.data} (process {note.get('pid')}) does not come up.")
        elif note and not told:
            print(f"Waiting for `{note['what']}` (process {note['pid']}) on the same data folder.", file=sys.stderr)
            told = True
        time.sleep(0.2)
    return True


def workers_elsewhere(queues: tuple[str, ...]) -> bool:
    """Whether workers on other machines serve these queues already (only possible with a broker of their own)."""
    if not queues or not os.environ.get("BROKER_URL"):
        return False
    from webapp.jobs.broker import app

    served = app.control.inspect(timeout=1.5).active_queues() or {}
    names = {queue["name"] for worker in served.values() for queue in worker}
    return set(queues) <= names


@contextmanager
def orderly_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command like Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deaf() -> Iterator[None]:
    """An impatient second Ctrl-C does not interrupt the stopping, which takes seconds at most."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
