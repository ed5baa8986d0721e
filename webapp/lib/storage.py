"""Files of the studio, in whatever store STORAGE_URL names; code that needs a path gets a local one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage, default_storage


def _real() -> Storage:
    return getattr(default_storage, "_wrapped", default_storage)  # the lazy object hides the class


def local_path(name: str) -> Path | None:
    """Where the file lies on this machine; None in an object store."""
    storage = default_storage
    storage.exists  # noqa: B018  the lazy storage is set up by any attribute
    return Path(storage.path(name)) if isinstance(_real(), FileSystemStorage) else None


@contextmanager
def local(name: str) -> Iterator[Path]:
    """A readable local path of a stored file: itself, or a temporary download."""
    here = local_path(name)
    if here is not None:
        yield here
        return
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        copy = Path(folder) / Path(name).name
        with default_storage.open(name) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        yield copy


@contextmanager
def local_if_there(name: str) -> Iterator[Path | None]:
    """As `local`; None where there is no such file."""
    if not default_storage.exists(name):
        yield None
        return
    with local(name) as path:
        yield path


def put(path: Path, name: str, *, link: bool = False) -> None:
    """Store a local file under a name, replacing what is there; on the same disk it appears in one step.

    With `link` the stored file may be the same file (a hard link): only for files nobody writes to any more.
    """
    here = local_path(name)
    if here is None:
        with path.open("rb") as file:
            default_storage.save(name, File(file))
        return
    here.parent.mkdir(parents=True, exist_ok=True)
    fresh = here.with_name(f".{here.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        if not (link and _linked(path, fresh)):
            shutil.copyfile(path, fresh)
        fresh.replace(here)
    finally:
        fresh.unlink(missing_ok=True)


def _linked(path: Path, fresh: Path) -> bool:
    try:
        fresh.hardlink_to(path)
    except OSError:  # another disk, or a file system without links
        return False
    return True


def put_folder(folder: Path, prefix: str) -> None:
    """Store every file of a folder below a prefix."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        put(path, f"{prefix}/{path.relative_to(folder).as_posix()}")


def delete_tree(prefix: str) -> None:
    """Remove a stored file, or everything below a prefix. Raises OSError when something stays."""
    here = local_path(prefix)
    if here is not None:
        if here.is_dir():
            shutil.rmtree(here)
        else:
            here.unlink(missing_ok=True)
        return
    if default_storage.exists(prefix):
        default_storage.delete(prefix)
    folders, files = default_storage.listdir(prefix)
    for name in files:
        default_storage.delete(f"{prefix}/{name}")
    for name in folders:
        delete_tree(f"{prefix}/{name}")
