"""Where the files of snapshots, runs and evaluations lie on this machine: DATA/snapshots/, DATA/runs/ and
DATA/evaluations/, each by id. Web process and training workers must see the same DATA folder.

A run's folder is written by its training process alone (`ml.training.folder` has its layout), but for `asked.yaml`, the
settings it was started with, `stop`, by which it is asked to stop, and `process.json`, who runs it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from ml.training import folder as run_folder

ASKED = "asked.yaml"
STOP = "stop"
PROCESS = "process.json"
FINAL = "final"
KINDS = ("snapshots", "runs", "evaluations")


def snapshot(id: UUID | str) -> Path:
    return Path(settings.DATA) / "snapshots" / str(id)


def run(id: UUID | str) -> Path:
    return Path(settings.DATA) / "runs" / str(id)


def evaluation(id: UUID | str) -> Path:
    return Path(settings.DATA) / "evaluations" / str(id)


def remove(folder: Path) -> None:
    """Remove a folder with all it holds; what is not there is removed already."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def size(folder: Path) -> int:
    """Bytes of all files below a folder; those that go away meanwhile count nothing."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file; {} where there is none, or it is not whole."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write(path: Path, text: str) -> None:
    """Replace a file in one step."""
    run_folder.write_bytes(path, text.encode())


def drop_lines(path: Path, ids: Iterable[str], key: str) -> int:
    """Leave out the lines of a file of JSON objects whose `key` is among `ids`, or that cannot be read; how many."""
    gone, dropped = set(ids), 0
    if not path.exists():
        return 0

    def kept(lines: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal dropped
        for line in lines:
            try:
                keep = json.loads(line).get(key) not in gone
            except (ValueError, AttributeError):
                keep = False
            dropped += not keep
            if keep:
                yield line

    with path.open("rb") as source:
        run_folder.replace(path, kept(source))
    return dropped


def values_of(path: Path, *keys: str) -> Iterator[str]:
    """What stands under nested keys in each line of a file of JSON objects."""
    with path.open("rb") as source:
        for line in source:
            found = json.loads(line)
            for key in keys:
                found = found[key]
            yield str(found)
