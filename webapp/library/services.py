"""Writes of videos and the blobs below them.

A file's identity is its sha256. The same file in two projects is two videos on one blob; the blob goes with the last of
them. Whoever stores or erases a blob's files holds an advisory lock on its sha256 until the transaction ends, so that
an import and the erasure of the last other video cannot cross.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils.text import slugify

from webapp.accounts.models import User
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import history, storage
from webapp.lib.errors import Refused
from webapp.library.models import Blob, Project, Upload, Video

PROVENANCE = ("source_recording", "licence", "consent_note")
COPIED = ("width", "height", "frames", "duration_s", "has_audio")


class AlreadyHere(Refused):
    """The project has this file already; the sentence names the video."""

    def __init__(self, video: Video) -> None:
        super().__init__(f"This file is already in the project: it is the video {video.name!r}.", "file")
        self.video = video


@contextmanager
def project_to_fill(*, slug: str, **facts: str) -> Iterator[Project]:
    """The project with this slug, made when missing; one made here goes again if nothing has come into it.

    `facts`: what a new one is given of name, description and licence. Raises Refused when the slug is none.
    """
    there = Project.objects.filter(slug=slug).exists()
    project = ensure_project(slug=slug, **facts)
    try:
        yield project
    finally:
        if not there:
            _forget_empty(project)


@transaction.atomic
def _forget_empty(project: Project) -> None:
    row = Project.objects.select_for_update().filter(id=project.id).first()  # nothing new may refer to it
    if row is not None and not (row.videos.exists() or row.uploads.exists() or row.memberships.exists()):
        row.delete()


def ensure_project(*, slug: str, **facts: str) -> Project:
    """The project with this slug, made with these facts when missing. Raises Refused when the slug is none."""
    need_slug(slug)
    return Project.objects.get_or_create(slug=slug, defaults={"name": slug} | facts)[0]


def need_slug(slug: str) -> None:
    """Raises Refused when this cannot be a project's short name."""
    if slug != slugify(slug) or not slug or len(slug) > 60:
        raise Refused(f"{slug!r} cannot be a project's short name: use at most 60 of a-z, 0-9 and -.", "project")


def create_video(*, project: Project, name: str, user: User | None, **provenance: str) -> Video:
    """A video that waits for its file; `provenance`: source_recording, licence, consent_note."""
    unknown = set(provenance) - set(PROVENANCE)
    if unknown:
        raise TypeError(f"unknown provenance: {', '.join(sorted(unknown))}")
    kept = {key: value.strip() for key, value in provenance.items()}
    return Video.objects.create(project=project, name=clean_name(name), created_by=user, **kept)


def clean_name(name: str) -> str:
    """A file's name without folders and control characters, at most 255 characters."""
    plain = re.sub(r"[\x00-\x1f\x7f]", "", name.replace("\\", "/").rpartition("/")[2]).strip()
    return plain[:255] or "video"


def suffix_of(name: str) -> str:
    """The lower-case suffix a stored original gets: letters and digits only, or none."""
    found = re.fullmatch(r"\.[A-Za-z0-9]{1,8}", Path(name).suffix)
    return found.group().lower() if found else ""


def upload_path(upload: Upload) -> Path:
    """Where the pieces of an upload are put together on this machine."""
    return Path(settings.DATA) / "uploads" / str(upload.id)


def import_file(
    *,
    video: Video,
    path: Path | None = None,
    upload: Upload | None = None,
    user: User | None = None,
    stored: str | None = None,
) -> Job:
    """Queue the import of a file into its video: a path on this machine, or a finished upload.

    Workers of the embedded studio read the file where it is. Where workers may be elsewhere (files in an object
    store), it is first put into the store, which takes as long as the file is large; `stored`: the name of a file that
    was put there already. An upload's file is removed once it is imported.
    """
    if (path is None) == (upload is None):
        raise TypeError("give either a path or an upload")
    source = path if path is not None else upload_path(upload)  # type: ignore[arg-type]
    parameters: dict[str, Any] = {"suffix": suffix_of(upload.name if upload else source.name)}
    if not is_store_elsewhere():
        parameters["path"] = str(source.resolve())
    else:
        parameters["stored"] = stored or f"incoming/{video.id}"
        if stored is None:
            storage.put(source, parameters["stored"])
    with transaction.atomic():
        if upload is not None:
            parameters["upload"] = str(upload.id)
            upload.video = video
            upload.save(update_fields=["video"])
        return jobs.create(
            project=video.project, kind="import", queue="cpu", video=video, parameters=parameters, user=user
        )


def is_store_elsewhere() -> bool:
    """Files lie in an object store, so that workers may be on other machines."""
    return storage.local_path("incoming") is None


def arrival(upload: Upload) -> str:
    """Below this name of an object store lies what was brought there of an upload."""
    return f"incoming/{upload.id}"


def blob_lock(sha256: str) -> None:
    """Hold the blob's lock until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int(sha256[:15], 16)])


def twin_of(*, project: Project, sha256: str, but: Video | None = None) -> Video | None:
    """The project's video of this file, if it has one."""
    found = Video.objects.filter(project=project, blob_id=sha256)
    return (found.exclude(id=but.id) if but else found).first()


@transaction.atomic
def register_blob(*, sha256: str, size: int, suffix: str, facts: dict[str, Any], files: list[tuple[Path, str]]) -> Blob:
    """The blob of a file, its files stored: (local path, name below the blob's folder). `size` in bytes.

    The files may become hard links of the stored ones: the caller only removes them afterwards.
    A blob that is ready is left as it is. The lock is held until the caller's transaction ends.
    """
    blob_lock(sha256)
    blob, _ = Blob.objects.get_or_create(sha256=sha256, defaults={"bytes": size, "suffix": suffix})
    if not blob.ready:
        for path, name in files:
            storage.put(path, f"{blob.folder}/{name}", link=True)
        blob.facts, blob.ready = facts, True
        blob.save(update_fields=["facts", "ready"])
    return blob


@transaction.atomic
def erase_unclaimed(*, sha256: str) -> None:
    """Erase files that an import stored for a blob it did not get to register."""
    _erase([f"blobs/{sha256}"], sha256)


def erase_unregistered() -> None:
    """Erase blobs on this machine that killed imports began to store and nobody finished."""
    found = storage.local_path("blobs")
    names = {folder.name for folder in found.glob("*")} if found else set()
    for name in names - set(Blob.objects.filter(sha256__in=names).values_list("sha256", flat=True)):
        erase_unclaimed(sha256=name)


@transaction.atomic
def finish_import(*, video: Video, sha256: str, size: int, suffix: str, facts: dict[str, Any]) -> Video:
    """Give a video its stored file. `facts` is import.json. Raises AlreadyHere."""
    blob = Blob.objects.get(sha256=sha256)
    row = Video.objects.select_for_update(no_key=True).get(id=video.id)
    twin = twin_of(project=row.project, sha256=sha256, but=row)
    if twin is not None:
        raise AlreadyHere(twin)
    row.blob, row.state, row.error = blob, Video.State.READY, ""
    row.warnings = facts.get("warnings", [])
    for name in COPIED:
        setattr(row, name, facts[name])
    row.save(update_fields=["blob", "state", "error", "warnings", *COPIED])
    return row


def follow_import(job: Job) -> None:
    """Keep the video's state in step with its import job, however that one ended."""
    if job.video_id is None or job.state == Job.State.DONE:
        return
    if job.state == Job.State.QUEUED:
        _set_state(job.video_id, Video.State.IMPORTING, "")
    else:
        _set_state(job.video_id, Video.State.FAILED, job.error or "The import was cancelled.")


def _set_state(video_id: UUID, state: Video.State, error: str) -> None:
    Video.objects.filter(id=video_id).exclude(state=Video.State.READY).update(state=state, error=error)


Eraser = Callable[[Video], list[str]]
_erasers: list[Eraser] = []


def before_erasing(eraser: Eraser) -> None:
    """Have a function called with each video that is about to be erased, in the same transaction; its row is locked.

    It returns the storage folders that go with the video.
    """
    _erasers.append(eraser)


def delete_video(*, video: Video) -> None:
    """Remove a video with all that was made of it, and its file when no other video uses it. Running jobs stop."""
    while not _delete(video.id, Video.objects.filter(id=video.id).values_list("blob_id", flat=True).first()):
        pass  # an import finished between the look and the lock


@transaction.atomic
def _delete(video_id: UUID, sha256: str | None) -> bool:
    """Delete the video if its blob is still this one. The blob is locked before the video, as imports do."""
    if sha256 is not None:
        blob_lock(sha256)
    row = Video.objects.select_for_update().filter(id=video_id).first()  # nothing new may refer to it
    if row is None:
        return True
    if row.blob_id != sha256:
        return False
    begun = row.jobs.filter(parameters__has_key="run").values_list("parameters__run", flat=True)
    runs = list(row.runs.values_list("id", flat=True))
    folders = [f"runs/{run_id}" for run_id in {*map(str, runs), *begun}]
    folders.append(f"incoming/{video_id}")
    folders += [f"clips/{recipe}" for recipe in row.clips.values_list("recipe", flat=True)]
    arrived = list(Upload.objects.filter(video=row))
    folders += [arrival(upload) for upload in arrived]
    Upload.objects.filter(video=row).delete()
    for eraser in _erasers:
        folders += eraser(row)
    row.delete()
    history.erase(video=video_id, runs=runs)
    transaction.on_commit(lambda: _forget(arrived))
    if sha256 is not None and not Video.objects.filter(blob_id=sha256).exists():
        Blob.objects.filter(sha256=sha256).delete()
        folders.append(f"blobs/{sha256}")
    transaction.on_commit(lambda: _erase(folders, sha256))
    return True


def _forget(uploads: list[Upload]) -> None:
    for upload in uploads:
        upload_path(upload).unlink(missing_ok=True)


def _erase(folders: list[str], sha256: str | None) -> None:
    """Erase files after the commit, unless an import brought the same file back in between."""
    with transaction.atomic():
        if sha256 is not None:
            with connection.cursor() as cursor:  # the rows are gone: giving up now would leave the files
                cursor.execute("SET LOCAL lock_timeout = 0")
            blob_lock(sha256)
            if Blob.objects.filter(sha256=sha256).exists():
                folders = [name for name in folders if name != f"blobs/{sha256}"]
        for folder in folders:
            storage.delete_tree(folder)


def find_video(word: str, *, project: Project | None = None) -> Video:
    """The video named by its id, its file's sha256 (or the first 8 or more characters), or its name. Raises Refused."""
    found = Video.objects.select_related("project", "blob", "run")
    if project is not None:
        found = found.filter(project=project)
    if re.fullmatch(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", word):
        matching = list(found.filter(id=word))
    elif re.fullmatch(r"[0-9a-f]{8,64}", word):
        matching = list(found.filter(blob__sha256__startswith=word)[:2])
    else:
        matching = list(found.filter(name=clean_name(word))[:2])
    if not matching:
        raise Refused(f"There is no video {word!r}.", "video")
    if len(matching) > 1:
        raise Refused(f"{word!r} names more than one video; name it by its id.", "video")
    return matching[0]
