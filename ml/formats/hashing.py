"""What content hashes are over: the one way a tree is written for its hash, and the bytes of a file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical(tree: Any) -> bytes:
    """One way to write a tree: sorted keys, no spaces, UTF-8. Raises ValueError for a number that is not finite."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(tree: Any) -> str:
    """sha256 of the tree as `canonical` writes it, in hexadecimal digits."""
    return hashlib.sha256(canonical(tree)).hexdigest()


def sha256_of(path: Path) -> str:
    """sha256 of a file's content, in hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
