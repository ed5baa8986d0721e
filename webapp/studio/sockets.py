"""The folder of a studio's unix sockets: in the system's temporary folder, where anybody may make one of its name."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from webapp.studio.errors import StudioError

NOBODY = 65534  # who runs the database for root


def make_private(folder: Path) -> None:
    """Make the folder, or see that the one that is there is ours, and let nobody else in. Raises StudioError."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise StudioError(f"The sockets cannot be put into {folder}: it is no folder; remove it and start again.")
    try:
        if found.st_uid not in ({0, NOBODY} if os.geteuid() == 0 else {os.geteuid()}):
            raise PermissionError
        folder.chmod(0o700)
    except PermissionError:
        raise StudioError(
            f"The sockets cannot be put into {folder}: it is a folder of somebody else; remove it and start again."
        ) from None
