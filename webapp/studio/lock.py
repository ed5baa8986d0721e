"""One launcher per data folder: a lock the kernel frees when its holder dies, and a note saying who holds it.

DATA/studio.lock is the lock; DATA/studio.json the note: {"what": "up" or a command's name, "pid", "address" of the
pages, "children": {name: pid}, "ready": whether everything is up}.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any, TextIO

from webapp.studio import processes


class Lock:
    """The lock of a data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.note = data / "studio.json"
        self._file: TextIO | None = None

    def take(self, what: str) -> bool:
        """Whether the lock is ours now; then the note says so."""
        self.data.mkdir(parents=True, exist_ok=True)
        file = (self.data / "studio.lock").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        self.write(what=what)
        return True

    def write(self, **note: Any) -> None:
        """Replace the note in one step."""
        fresh = self.note.with_suffix(".new")
        fresh.write_text(json.dumps({"pid": os.getpid()} | note, indent=1) + "\n")
        fresh.replace(self.note)

    def read(self) -> dict[str, Any]:
        """The holder's note; empty while somebody just starts or stops, and when the writer was killed."""
        try:
            found: dict[str, Any] = json.loads(self.note.read_text())
        except (OSError, json.JSONDecodeError):
            return {}
        return found if processes.alive(found["pid"]) else {}

    def free(self) -> None:
        if self._file is not None:
            self.note.unlink(missing_ok=True)
            self._file.close()
            self._file = None
