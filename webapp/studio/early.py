"""What `up` and `demo` begin before Django is loaded, which takes them a second: the web process and the database.

Nothing is said here. Whatever is in the way (the folder in use, a port taken, an unknown option) is left to the command
itself, which meets it again and has the words for it.
"""

from __future__ import annotations

import argparse
import atexit
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from webapp.lib.datafolder import data_folder
from webapp.studio import processes
from webapp.studio.address import listen
from webapp.studio.errors import StudioError
from webapp.studio.lock import Lock
from webapp.studio.postgres import Postgres, embedded

COMMANDS = ("up", "demo")


@dataclass
class Early:
    """What runs already; the lock of the data folder is held."""

    lock: Lock
    listening: socket.socket
    web: subprocess.Popen[bytes]
    postgres: Postgres | None


_begun: Early | None = None


def begin(arguments: list[str]) -> None:
    """Begin with what these words of the command line ask for, if they are those of `up` or `demo`."""
    global _begun
    options = understood(arguments)
    if options is None:
        return
    data = data_folder()
    lock = Lock(data)
    listening: socket.socket | None = None
    postgres: Postgres | None = None
    try:
        if not lock.take(arguments[0]):
            return
        listening = listen(options.port)
        postgres = None if os.environ.get("DATABASE_URL") else embedded(data)
        if postgres is not None:
            postgres.begin()
        _begun = Early(lock, listening, start_web(data, listening), postgres)
        atexit.register(_drop)
    except (StudioError, OSError):
        if postgres is not None:
            postgres.stop()
        if listening is not None:
            listening.close()
        lock.free()


def understood(arguments: list[str]) -> argparse.Namespace | None:
    """The options of an `up` or `demo`; None for any other command and for words not known here."""
    if not arguments or arguments[0] not in COMMANDS:
        return None
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--port", type=int)
    if arguments[0] == "demo":
        parser.add_argument("--exit", action="store_true")
        parser.add_argument("--json")
    try:
        known, unknown = parser.parse_known_args(arguments[1:])
    except argparse.ArgumentError:
        return None
    return None if unknown else known


def take() -> Early | None:
    """What has begun; from now on it is the caller's to stop."""
    global _begun
    found, _begun = _begun, None
    return found


def start_web(data: Path, listening: socket.socket) -> subprocess.Popen[bytes]:
    descriptor = listening.fileno()
    return processes.start_python(data, "web", ["-m", "webapp.studio.web", str(descriptor)], pass_fds=(descriptor,))


def _drop() -> None:
    """Stop it again when the command ended before it took it."""
    early = take()
    if early is None:
        return
    processes.stop(early.web)
    if early.postgres is not None:
        early.postgres.stop()
    early.listening.close()
    early.lock.free()
