"""Results as JSON: one object, or one a line when a command has several inputs."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ml.formats.plainfile import is_other
from webapp.studio.errors import StudioError


def check_target(where: str) -> None:
    """Raises StudioError when nothing can be written there, so that nobody works for minutes first."""
    path = Path(where)
    if where == "-":
        return
    if path.is_dir():
        raise StudioError(f"The results cannot be written to {where}: it is a folder.")
    if is_other(path):
        raise StudioError(f"The results cannot be written to {where}: it is no ordinary file.")
    if not path.parent.is_dir():
        raise StudioError(f"The results cannot be written to {where}: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise StudioError(f"The results cannot be written to {where}: the folder cannot be written.")


def check_new_folder(folder: Path) -> None:
    """Raises StudioError unless the folder is empty or can be made, so that nothing is released into nowhere."""
    _look_at(folder)
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise StudioError(f"{folder} is there already and holds something; name a new folder.")
    above = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not above.is_dir():
        raise StudioError(f"{folder} cannot be made: {above} is no folder.")
    if not os.access(above, os.W_OK | os.X_OK):
        raise StudioError(f"{folder} cannot be made: {above} cannot be written.")


def _look_at(path: Path) -> None:
    """Raises OSError where nothing can be called so: a name too long, a loop of links above it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


def write_json(where: str, objects: list[dict[str, Any]], *, several: bool) -> None:
    """Write to a file, or to standard output for `-`; the file appears when it is whole. Raises StudioError."""
    text = "".join(json.dumps(o) + "\n" for o in objects) if several else json.dumps(objects[0], indent=2) + "\n"
    if where == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = Path(where)
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_text(text)
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise StudioError(f"The results cannot be written to {where}: {error.strerror}.") from error
