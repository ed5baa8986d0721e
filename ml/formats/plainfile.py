"""Files that the user of a command names: read whole, written whole or not at all.

A pipe would be waited for without end, and a device that is renamed over is gone for everybody: both are refused.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)


def read_file(path: Path) -> bytes:
    """All of an ordinary file. Raises OSError that names it."""
    _refuse_others(path)
    return path.read_bytes()


def write_file(path: Path, data: bytes) -> None:
    """Write an ordinary file, which appears when it is whole. Raises OSError that names it."""
    _refuse_others(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with naming(path):
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Around the writing of `path`: a full disk is said to be its disk, and so is what the system refuses unnamed.

    The system names nothing where a write fails, and the source where a copy does.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL or (error.filename is None and error.errno is not None):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def is_other(path: Path) -> bool:
    """Whether there is something that is neither a file nor a folder: a pipe, a socket, a device."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _refuse_others(path: Path) -> None:
    if is_other(path):
        raise OSError(errno.EINVAL, "It is no ordinary file", str(path))
