"""Where fetched package files and converted weights live on this machine, and whether they are whole.

The user's cache folder is `$XDG_CACHE_HOME/sightline` (default `~/.cache/sightline`); `$SIGHTLINE_WEIGHTS` names
another folder for the converted weights alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ml.weights.manifest import MODELS, VERSION

CHUNK = 1 << 20


class MissingWeights(FileNotFoundError):
    """A weights file is not there or not whole; the message names the file and the command that fetches it."""


def root() -> Path:
    """The user's cache folder of this product; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sightline"


def folder() -> Path:
    """Folder of the converted weights; it need not exist."""
    chosen = os.environ.get("SIGHTLINE_WEIGHTS")
    return Path(chosen) if chosen else root() / f"weights-{VERSION}"


def packages() -> Path:
    """Folder of the fetched package files; it need not exist."""
    return root() / "packages"


def sha256(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def whole(path: Path, size: int, expected: str) -> bool:
    """Whether a file is there with this size in bytes and this sha256."""
    return path.is_file() and path.stat().st_size == size and sha256(path) == expected


def faulty(where: Path) -> list[str]:
    """Names of the models whose file in `where` is missing or not as the manifest says."""
    return [name for name, w in MODELS.items() if not whole(where / w.file, w.bytes, w.sha256)]


def find(name: str, where: Path | None = None) -> Path:
    """Path of one model's whole file.

    Raises MissingWeights when it is not there or differs from the manifest: damaged weights are never loaded.
    """
    weights = MODELS[name]
    path = (where or folder()) / weights.file
    if not path.is_file():
        raise MissingWeights(f"The model weights {path} are missing; fetch them with `make weights`.")
    if not whole(path, weights.bytes, weights.sha256):
        raise MissingWeights(f"The model weights {path} are damaged; fetch them again with `make weights`.")
    return path


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold an exclusive lock file, released by the system when the process dies; calls `waiting` until then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waiting()
                time.sleep(0.2)
        yield
