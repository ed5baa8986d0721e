"""Files that are complete or not there at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import Any

PART = ".part"


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; renamed to it when the block ends, removed when it raises."""
    handle, name = mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=PART)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o644)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write all of a file or nothing."""
    with whole(path) as part:
        part.write_bytes(data)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, all or nothing."""
    write_whole(path, json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n")


def sweep(folder: Path) -> None:
    """Remove what a killed run left half-written."""
    for part in folder.glob(f"*{PART}"):
        part.unlink(missing_ok=True)
