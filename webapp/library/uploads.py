"""Files that arrive in pieces.

The bytes of an upload lie in one file on the disk of the web host (`services.upload_path`), so a piece costs one write
and the order is the only rule: each piece starts where the file ends. The row's `received` is what the page is told;
the file's own length decides after a crash.
"""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from webapp.accounts.models import User
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library import services
from webapp.library.models import Project, Upload, Video

OPEN_UPLOADS = 50  # of one person in one project
FORGOTTEN = timedelta(days=7)


class WrongOffset(Exception):
    """The piece does not start where the file ends; `received` says where that is."""

    def __init__(self, received: int) -> None:
        super().__init__(f"the next piece starts at {received}")
        self.received = received


def start_upload(*, project: Project, user: User, name: str, size: int) -> Upload:
    """A new upload, or the person's unfinished one of the same name and size, which goes on where it stopped."""
    if size <= 0:
        raise Refused(f"{services.clean_name(name)} is empty: it has 0 bytes.", "size")
    if size > settings.UPLOAD_LIMIT_BYTES:
        limit = settings.UPLOAD_LIMIT_BYTES / 1e9
        raise Refused(f"{services.clean_name(name)} is larger than this studio accepts ({limit:g} GB).", "size")
    forget_old(project=project)
    mine = Upload.objects.filter(project=project, user=user, video__isnull=True)
    again = mine.filter(name=services.clean_name(name), size=size).order_by("-created").first()
    if again is not None:
        return _settled(again)
    if mine.count() >= OPEN_UPLOADS:
        raise Refused(f"You have {OPEN_UPLOADS} unfinished uploads here; finish or cancel some of them first.", "name")
    path = Path(settings.DATA) / "uploads"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if shutil.disk_usage(path).free < size + 2**30:
        raise Refused("The studio's disk has not enough room for this file.", "size")
    return Upload.objects.create(project=project, user=user, name=services.clean_name(name), size=size)


def _settled(upload: Upload) -> Upload:
    """The row with `received` as the file on disk has it."""
    path = services.upload_path(upload)
    there = path.stat().st_size if path.exists() else 0
    if there != upload.received:
        upload.received = min(there, upload.size)
        upload.save(update_fields=["received"])
    return upload


@transaction.atomic
def add_piece(*, upload: Upload, offset: int, piece: bytes) -> int:
    """Append a piece; returns the bytes received so far. Raises WrongOffset and Refused."""
    row = Upload.objects.select_for_update().get(id=upload.id)
    if row.video_id is not None:
        raise Refused("This upload is finished already.")
    _settled(row)
    if offset != row.received:
        raise WrongOffset(row.received)
    if not piece or len(piece) > settings.UPLOAD_PIECE_BYTES:
        raise Refused(f"A piece has between 1 and {settings.UPLOAD_PIECE_BYTES} bytes.")
    if offset + len(piece) > row.size:
        raise Refused(f"The file was announced with {row.size} bytes and is longer: it changed while it was sent.")
    path = services.upload_path(row)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        file.truncate(offset)
        file.seek(offset)
        file.write(piece)
    row.received = offset + len(piece)
    row.save(update_fields=["received"])
    return row.received


def finish_upload(*, upload: Upload, user: User, name: str = "", **provenance: str) -> tuple[Video, Job]:
    """The whole file is here: make its video and queue the import. Asked again, the answer is the same.

    `name`: the video's, when it is not to be called like its file.

    Into an object store the file is copied first, while nothing is locked: each call makes a copy of its own there, the
    one that comes first keeps its copy. What a killed call leaves goes with the upload.
    """
    stored = None
    if services.is_store_elsewhere() and _made_of(upload) is None:
        _refuse_incomplete(upload)
        stored = f"{services.arrival(upload)}/{uuid4()}"
        storage.put(services.upload_path(upload), stored)
    video, job = _make_video(upload, user, stored, name, provenance)
    if stored is not None and job.parameters.get("stored") != stored:
        storage.delete_tree(stored)
    return video, job


@transaction.atomic
def _make_video(
    upload: Upload, user: User, stored: str | None, name: str, provenance: dict[str, str]
) -> tuple[Video, Job]:
    row = Upload.objects.select_for_update().select_related("project").get(id=upload.id)
    made = _made_of(row)
    if made is not None:
        return made
    _refuse_incomplete(_settled(row))
    video = services.create_video(project=row.project, name=name or row.name, user=user, **provenance)
    return video, services.import_file(video=video, upload=row, user=user, stored=stored)


def _made_of(upload: Upload) -> tuple[Video, Job] | None:
    """The video that an upload has become, and its import."""
    if upload.video is None:
        return None
    job = Job.objects.filter(video=upload.video, kind="import").order_by("created").first()
    return (upload.video, job) if job is not None else None


def _refuse_incomplete(upload: Upload) -> None:
    if upload.received != upload.size:
        raise Refused(f"{upload.name} is not complete: {upload.received} of {upload.size} bytes arrived.")


@transaction.atomic
def cancel_upload(*, upload: Upload) -> None:
    """Forget an upload and its bytes; one that has become a video stays."""
    row = Upload.objects.select_for_update().get(id=upload.id)
    if row.video_id is not None:
        raise Refused("This upload has become a video; delete the video instead.")
    path, brought = services.upload_path(row), services.arrival(row)
    row.delete()
    transaction.on_commit(lambda: path.unlink(missing_ok=True))
    if services.is_store_elsewhere():
        transaction.on_commit(lambda: storage.delete_tree(brought))


def forget_old(*, project: Project) -> None:
    """Remove uploads nobody went on with for a week."""
    for old in Upload.objects.filter(project=project, video__isnull=True, created__lt=timezone.now() - FORGOTTEN):
        cancel_upload(upload=old)
