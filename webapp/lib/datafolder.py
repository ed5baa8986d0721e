"""The data folder of one studio: where it is, and the names of what lies in it.

    DATA/postgres/     the embedded database cluster
    DATA/valkey/       the embedded broker's append-only file
    DATA/media/        originals, proxies, run folders (unless STORAGE_URL names another store)
    DATA/secret-key    signing key of this studio, made at the first start, readable by its owner only
    DATA/studio.json   address and process ids while `manage.py up` runs

Sockets lie in a short folder below the system's temporary folder, since a unix socket's path ends at about 107 bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]


def data_folder() -> Path:
    """The folder named by SIGHTLINE_DATA, else `var` in the checkout."""
    return Path(os.environ.get("SIGHTLINE_DATA") or HERE / "var").expanduser().resolve()


def take_data_option(arguments: list[str]) -> list[str]:
    """Move `--data DIR` from a command line into SIGHTLINE_DATA, which the settings read; returns the rest."""
    rest, words = [], iter(arguments)
    for word in words:
        if word == "--data":
            folder = next(words, None)
            if folder is None:
                print("--data needs a folder.", file=sys.stderr)
                raise SystemExit(2)
            os.environ["SIGHTLINE_DATA"] = folder
        elif word.startswith("--data="):
            os.environ["SIGHTLINE_DATA"] = word.removeprefix("--data=")
        else:
            rest.append(word)
    try:
        os.environ.get("SIGHTLINE_DATA", "").encode()
    except UnicodeEncodeError:
        print(f"The data folder {os.environ['SIGHTLINE_DATA']!a} has a name that is no text in UTF-8.", file=sys.stderr)
        raise SystemExit(2) from None
    return rest


def socket_folder(data: Path) -> Path:
    """Short folder for this studio's sockets: one for each data folder and user."""
    digest = hashlib.sha256(str(data).encode()).hexdigest()[:10]
    return Path(tempfile.gettempdir()) / f"sightline-{os.getuid()}-{digest}"


makes_key = True  # False in commands: they sign nothing, so one that fails at its first word leaves no folder behind


def secret_key(data: Path) -> str:
    """The studio's own signing key; made once, mode 0600, by the first process that signs.

    Where there is none and `makes_key` is False, it is one for this process alone. Raises OSError.
    """
    path = data / "secret-key"
    if not path.exists():
        if not makes_key:
            there = next(place for place in (data, *data.parents) if place.exists())
            if not there.is_dir():
                raise NotADirectoryError(there)
            return secrets.token_urlsafe(64)
        data.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"secret-key.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(64))
        with contextlib.suppress(FileExistsError):  # the first of two starts at once wins
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text()
