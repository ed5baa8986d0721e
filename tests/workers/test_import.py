"""The import task on a real worker: from a file to a video, and every way in which that can end."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.clips import Clip, make
from tests.workers.conftest import Worker, state, wait_for
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library import services
from webapp.library.models import Blob, Project, Upload, Video


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return make("variable", tmp_path_factory.mktemp("clip"))


def bring(project: Project, path: Path, name: str = "clip.mp4") -> tuple[Video, Job]:
    video = services.create_video(project=project, name=name, user=None)
    return video, services.import_file(video=video, path=path)


def test_a_file_becomes_a_video_with_all_its_pieces(worker: Worker, project: Project, clip: Clip) -> None:
    video, job = bring(project, clip.path)
    wait_for(lambda: state(job) in jobs.FINAL, 60, "the import")
    video.refresh_from_db()
    job.refresh_from_db()
    assert (job.state, job.error, video.state) == ("done", "", "ready")
    assert (video.frames, video.has_audio) == (len(clip.numbers), False)
    assert video.blob_id == hashlib.sha256(clip.path.read_bytes()).hexdigest()
    assert video.blob is not None and video.blob.ready
    folder = storage.local_path(video.blob.folder)
    assert folder is not None
    assert {p.name for p in folder.iterdir()} >= {"original.mp4", "frames.npz", "proxy.mp4", "poster.jpg", "strip.jpg"}
    assert (folder / "original.mp4").read_bytes() == clip.path.read_bytes()
    assert {"copy", "proxy", "store"} <= {stage for stage, _ in job.stages}


def test_the_same_file_in_two_projects_is_one_blob_that_goes_with_the_last_video(
    worker: Worker, project: Project, clip: Clip
) -> None:
    other = Project.objects.create(slug="two", name="Two")
    first, job = bring(project, clip.path)
    wait_for(lambda: state(job) == "done", 60, "the first import")
    second, again = bring(other, clip.path, "the same.mp4")
    wait_for(lambda: state(again) == "done", 60, "the second import")
    again.refresh_from_db()
    assert "proxy" not in {stage for stage, _ in again.stages}  # nothing is made twice
    assert Blob.objects.count() == 1 and Video.objects.filter(state="ready").count() == 2
    folder = storage.local_path(f"blobs/{Blob.objects.get().sha256}")
    assert folder is not None
    services.delete_video(video=first)
    assert folder.exists() and Blob.objects.count() == 1
    services.delete_video(video=second)
    assert not folder.exists() and Blob.objects.count() == 0


def test_the_same_file_twice_in_a_project_names_the_video_that_is_there(
    worker: Worker, project: Project, clip: Clip
) -> None:
    _, job = bring(project, clip.path, "first.mp4")
    wait_for(lambda: state(job) == "done", 60, "the first import")
    second, again = bring(project, clip.path, "second.mp4")
    wait_for(lambda: state(again) == "failed", 60, "the second import")
    again.refresh_from_db()
    second.refresh_from_db()
    assert again.error == second.error == "This file is already in the project: it is the video 'first.mp4'."
    assert second.state == "failed" and Video.objects.filter(state="ready").count() == 1


def test_two_imports_of_one_file_at_once_end_in_one_video(worker: Worker, project: Project, clip: Clip) -> None:
    _, first = bring(project, clip.path, "a.mp4")
    _, second = bring(project, clip.path, "b.mp4")
    wait_for(lambda: state(first) in jobs.FINAL and state(second) in jobs.FINAL, 60, "both imports")
    assert sorted([state(first), state(second)]) == ["done", "failed"]


@pytest.mark.parametrize(("content", "words"), [(b"", "empty"), (b"no video at all" * 100, "video")])
def test_a_bad_file_ends_in_one_sentence(
    worker: Worker, project: Project, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "bad.mp4"
    path.write_bytes(content)
    video, job = bring(project, path)
    wait_for(lambda: state(job) == "failed", 60, "the import")
    job.refresh_from_db()
    video.refresh_from_db()
    assert words in job.error and job.result["reason"] == "input" and len(job.error.splitlines()) == 1
    assert (video.state, video.error) == ("failed", job.error)


def test_a_file_that_went_away_is_named(worker: Worker, project: Project, tmp_path: Path) -> None:
    _, job = bring(project, tmp_path / "gone.mp4")
    wait_for(lambda: state(job) == "failed", 60, "the import")
    assert "gone.mp4 is not there" in Job.objects.get(id=job.id).error


def test_an_upload_is_removed_once_it_is_imported(
    worker: Worker, project: Project, clip: Clip, django_user_model: Any
) -> None:
    user = django_user_model.objects.create(username="alice")
    size = clip.path.stat().st_size
    upload = Upload.objects.create(project=project, user=user, name="Holiday.MP4", size=size, received=size)
    path = services.upload_path(upload)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(clip.path.read_bytes())
    video = services.create_video(project=project, name=upload.name, user=user)
    job = services.import_file(video=video, upload=upload, user=user)
    wait_for(lambda: state(job) == "done", 60, "the import")
    wait_for(lambda: not path.exists(), 15, "the upload to go")
    assert Video.objects.get(id=video.id).blob.original.endswith("/original.mp4")  # type: ignore[union-attr]
