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
    ours = {0, NOBODY} if os.geteuid() == 0 else {os.geteuid()}
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours:
        what = "a folder of somebody else" if stat.S_ISDIR(found.st_mode) else "no folder"
        raise StudioError(f"The sockets cannot be put into {folder}: it is {what}; remove it and start again.")
    folder.chmod(0o700)
