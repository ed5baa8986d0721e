"""A release by a real worker: killed and cancelled at its stages it is there whole, or not at all."""

from __future__ import annotations

import random
import zipfile
from io import BytesIO

import pytest
from django.core.files.storage import default_storage

from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import make_scene
from tests.workers.conftest import Worker, state, wait_for
from tests.workers.gates import WRITTEN, Gates
from tests.workers.killing import Kill, Killer, cancel_in, endure, finish
from webapp.accounts.models import User
from webapp.bench import releases
from webapp.bench.models import Release, ReleaseItem
from webapp.exchange import release_folder
from webapp.jobs.models import Job
from webapp.library.models import Project, Video
from webapp.library.services import delete_video

STAGES = ("freeze", "store")


@pytest.fixture
def bob(project: Project) -> User:
    return User.objects.create(username="bob", is_superuser=True)


@pytest.fixture
def killer(worker: Worker, gates: Gates) -> Killer:
    return Killer(worker, gates, dict.fromkeys(STAGES, 0.0), random.Random(5))


def make_bench(project: Project, bob: User) -> None:
    people = [bob, *(User.objects.create(username=name) for name in ("ann", "cid"))]
    for n in range(2):
        accept(make_scene(project, bob, source_recording=f"tape {n}"), 3, raters=tuple(people))


def stored() -> list[str]:
    """Folders of releases in the store."""
    return sorted(default_storage.listdir("releases")[0]) if default_storage.exists("releases") else []


def assert_whole(release: Release, sha256: str) -> None:
    assert release.sha256 == sha256
    assert Release.objects.count() == 1 and ReleaseItem.objects.count() == 6
    assert stored() == [str(release.id)]
    with default_storage.open(f"{release.folder}/metadata.zip") as file:
        data = file.read()
    assert data == release_folder.pack(release_folder.metadata(release_folder.content_of(release)))
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None


@pytest.mark.long
def test_killed_twice_it_is_there_once_and_whole(project: Project, bob: User, killer: Killer) -> None:
    make_bench(project, bob)
    expected = releases.draft(project=project, notes="as ever").sha256
    kills = [Kill("freeze", "task"), Kill("store", "task")]
    killer.close(kills[0])
    job = releases.cut(project=project, user=bob, notes="as ever")
    endure(killer, job, kills)
    assert_whole(Release.objects.get(id=job.result["release"]), expected)


@pytest.mark.long
def test_cancelled_when_all_is_stored_it_leaves_nothing(
    project: Project, bob: User, worker: Worker, gates: Gates
) -> None:
    make_bench(project, bob)

    def start() -> Job:
        return releases.cut(project=project, user=bob)

    cancel_in(start, "store", gates, share=WRITTEN, deaf=True)
    wait_for(lambda: not stored(), 30, "the release's files to go")
    assert not Release.objects.exists()
    job = finish(start())
    assert_whole(Release.objects.get(id=job.result["release"]), job.result["sha256"])


def test_nothing_new_fails_with_a_sentence_or_gives_the_last(project: Project, bob: User, worker: Worker) -> None:
    make_bench(project, bob)
    first = finish(releases.cut(project=project, user=bob))
    again = releases.cut(project=project, user=bob)
    wait_for(lambda: state(again) == "failed", 60, "the refusal")
    again.refresh_from_db()
    assert again.error == "Nothing changed since release 1." and len(stored()) == 1
    last = finish(releases.cut(project=project, user=bob, or_last=True))
    assert last.result["release"] == first.result["release"] and last.result["new"] is False


def test_the_archive_follows_a_retirement_and_a_withdrawal(project: Project, bob: User, worker: Worker) -> None:
    make_bench(project, bob)
    job = finish(releases.cut(project=project, user=bob))
    release = Release.objects.get(id=job.result["release"])
    releases.retire(item=release.items.get(position=1), user=bob, reason="A mirror.")
    finish(Job.objects.get(parameters__rewrite=str(release.id)))
    assert "retired.json" in names_in(release)
    delete_video(video=Video.objects.get(source_recording="tape 1"))
    finish(Job.objects.get(parameters__erased=True))
    names = names_in(release)
    assert len([name for name in names if name.startswith("json/")]) == 3 and "retired.json" in names


def names_in(release: Release) -> list[str]:
    with default_storage.open(f"{release.folder}/metadata.zip") as file, zipfile.ZipFile(file) as archive:
        return archive.namelist()
