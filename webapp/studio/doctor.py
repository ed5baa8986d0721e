"""What this machine and this data folder lack, one sentence each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection

from webapp.jobs import broker
from webapp.studio import binaries
from webapp.studio.errors import NO_WEIGHTS, StudioError

MODULES = {
    "av": "video decoding", "cv2": "pictures", "onnxruntime": "perception", "pyarrow": "samples",
    "lap": "matching",
}  # fmt: skip
DISK_GB = 5


@dataclass(frozen=True)
class Finding:
    """One sentence. `code` is 0 when all is well, else the exit code this alone would give."""

    sentence: str
    code: int = 0


Check = Callable[[Path], Iterator[Finding]]


def examine(data: Path) -> list[Finding]:
    """Every check, in the order in which things are needed."""
    checks: tuple[Check, ...] = (python, packages, folder, database, queue, store, weights, browser)
    return [finding for check in checks for finding in check(data)]


def python(data: Path) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding(f"Python {version} is recent enough.")  # an older one could not have come this far


def packages(data: Path) -> Iterator[Finding]:
    missing = [f"{name} ({use})" for name, use in MODULES.items() if find_spec(name) is None]
    if missing:
        yield Finding(f"Packages are missing: {', '.join(missing)}; install them with `make setup`.", 2)
    else:
        yield Finding("The packages for perception are installed.")


def folder(data: Path) -> Iterator[Finding]:
    there = next(path for path in (data, *data.parents) if path.exists())
    if not there.is_dir():
        yield Finding(f"The data folder {data} cannot be used: there is a file in its place.", 2)
        return
    if not os.access(there, os.W_OK):
        which = "be written" if there == data else f"be made: {there} cannot be written"
        yield Finding(f"The data folder {data} cannot {which}.", 2)
        return
    free = shutil.disk_usage(there).free / 1e9
    if free < DISK_GB:
        yield Finding(f"The disk of {data} has only {free:.1f} GB left; videos and proxies need more.", 2)
    elif there != data:
        yield Finding(f"The data folder {data} is not there yet; the first start makes it ({free:.0f} GB are free).")
    else:
        yield Finding(f"The data folder is {data}, with {free:.0f} GB left on its disk.")


def database(data: Path) -> Iterator[Finding]:
    if not os.environ.get("DATABASE_URL"):
        try:
            programs = binaries.postgres()
        except StudioError as error:
            yield Finding(str(error), 2)
            return
        said = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True)
        if said.returncode:
            yield Finding(f"The PostgreSQL in {programs} does not run: {said.stderr.strip()}.", 2)
        else:
            yield Finding(f"Embedded database: {said.stdout.strip()}.")
        return
    try:
        connection.ensure_connection()
        yield Finding(f"The database of DATABASE_URL answers (PostgreSQL {connection.pg_version // 10000}).")  # type: ignore[attr-defined]
    except DatabaseError as error:
        yield Finding(f"The database of DATABASE_URL does not answer: {str(error).strip().splitlines()[0]}.", 2)
    finally:
        connection.close()


def queue(data: Path) -> Iterator[Finding]:
    if not os.environ.get("BROKER_URL"):
        try:
            yield Finding(f"Embedded broker: {binaries.valkey().name}.")
        except StudioError as error:
            yield Finding(str(error), 2)
    elif broker.waiting("cpu") is None:
        yield Finding("The broker of BROKER_URL does not answer.", 2)
    else:
        yield Finding("The broker of BROKER_URL answers.")


def store(data: Path) -> Iterator[Finding]:
    if not os.environ.get("STORAGE_URL"):
        return
    if settings.STORAGES["default"]["BACKEND"].endswith("S3Storage") and find_spec("storages") is None:
        yield Finding("STORAGE_URL names a bucket, but the extra is missing: `pip install sightline[s3]`.", 2)
        return
    try:
        default_storage.exists("doctor")
        yield Finding("The store of STORAGE_URL answers.")
    except Exception as error:
        yield Finding(f"The store of STORAGE_URL does not answer: {error}.", 2)


def weights(data: Path) -> Iterator[Finding]:
    from ml.weights import cache

    faulty = cache.faulty(cache.folder())
    if faulty:
        which = f"Model weights are missing in {cache.folder()}: {', '.join(sorted(faulty))}"
        yield Finding(f"{which}; fetch them with `make weights`.", NO_WEIGHTS)
    else:
        yield Finding(f"The model weights in {cache.folder()} are whole.")


def browser(data: Path) -> Iterator[Finding]:
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        yield Finding("No Chromium was found: the browser tests would be skipped. Nothing else needs it.")
