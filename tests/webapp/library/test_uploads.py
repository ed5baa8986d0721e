"""Files that arrive in pieces."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import Storage
from django.db import connection
from django.test import Client

from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library import services
from webapp.library.models import Upload, Video
from workers.tasks import importing

DATA = bytes(range(256)) * 40  # 10,240 bytes


@pytest.fixture
def cora(people: SimpleNamespace, as_user: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Client:
    settings.UPLOAD_PIECE_BYTES = 4096
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    client: Client = as_user(people.cora)
    return client


def begin(client: Client, name: str = "clip.mp4", size: int = len(DATA)) -> Any:
    body = json.dumps({"name": name, "size": size})
    return client.post("/api/v1/projects/one/uploads", body, content_type="application/json")


def put(client: Client, upload: str, offset: int, piece: bytes) -> Any:
    return client.put(f"/api/v1/uploads/{upload}?offset={offset}", piece, content_type="application/octet-stream")


def finish(client: Client, upload: str) -> Any:
    return client.post(f"/api/v1/uploads/{upload}/finish", "{}", content_type="application/json")


def send_all(client: Client, upload: str) -> None:
    for offset in range(0, len(DATA), 4096):
        assert put(client, upload, offset, DATA[offset : offset + 4096]).status_code == 200


def test_a_file_arrives_and_becomes_a_video(cora: Client, people: SimpleNamespace) -> None:
    started = begin(cora).json()
    assert (started["received"], started["piece"]) == (0, 4096)
    send_all(cora, started["id"])
    path = services.upload_path(Upload.objects.get(id=started["id"]))
    assert path.read_bytes() == DATA
    body = json.dumps({"name": "Dinner", "licence": "CC BY 4.0", "source_recording": "session 4"})
    done = cora.post(f"/api/v1/uploads/{started['id']}/finish", body, content_type="application/json").json()
    video = Video.objects.get(id=done["video"])
    assert (video.name, video.state, video.licence, video.source_recording) == (
        "Dinner", "importing", "CC BY 4.0", "session 4",
    )  # fmt: skip
    assert video.project == people.one
    job = Job.objects.get(id=done["job"])
    assert (job.kind, job.queue, job.parameters["suffix"]) == ("import", "cpu", ".mp4")
    assert cora.get(f"/api/v1/uploads/{started['id']}").json()["video"] == done["video"]


def test_finishing_twice_is_finishing_once(cora: Client) -> None:
    upload = begin(cora).json()["id"]
    send_all(cora, upload)
    first = finish(cora, upload).json()
    assert finish(cora, upload).json() == first
    assert Video.objects.count() == Job.objects.count() == 1


def test_it_goes_on_where_it_stopped(cora: Client) -> None:
    first = begin(cora).json()
    put(cora, first["id"], 0, DATA[:4096])
    again = begin(cora).json()
    assert (again["id"], again["received"]) == (first["id"], 4096)
    assert begin(cora, size=999).json()["id"] != first["id"]  # another file of the same name


def test_a_piece_sent_twice_does_no_harm(cora: Client) -> None:
    upload = begin(cora).json()["id"]
    put(cora, upload, 0, DATA[:4096])
    twice = put(cora, upload, 0, DATA[:4096])
    assert twice.status_code == 409
    assert twice.json()["received"] == 4096
    gap = put(cora, upload, 8192, DATA[8192:])
    assert (gap.status_code, gap.json()["received"]) == (409, 4096)


def test_the_disk_decides_after_a_crash(cora: Client) -> None:
    upload = begin(cora).json()["id"]
    put(cora, upload, 0, DATA[:4096])
    path = services.upload_path(Upload.objects.get(id=upload))
    path.write_bytes(DATA[:1000])  # the rest of the piece never reached the disk
    assert begin(cora).json()["received"] == 1000
    assert put(cora, upload, 1000, DATA[1000:5000]).json() == {"received": 5000}


@pytest.mark.parametrize(
    ("offset", "piece", "words"),
    [
        (0, b"", "between 1 and 4096"),
        (0, b"x" * 4097, "between 1 and 4096"),
        (8192, b"x" * 2049, "it changed while it was sent"),
    ],
)
def test_it_refuses_pieces_of_a_wrong_size(cora: Client, offset: int, piece: bytes, words: str) -> None:
    upload = begin(cora).json()["id"]
    for start in range(0, offset, 4096):
        put(cora, upload, start, DATA[start : start + 4096])
    answer = put(cora, upload, offset, piece)
    assert answer.status_code == 422
    assert words in answer.json()["error"]


def test_an_incomplete_file_does_not_become_a_video(cora: Client) -> None:
    upload = begin(cora).json()["id"]
    put(cora, upload, 0, DATA[:4096])
    answer = finish(cora, upload)
    assert answer.status_code == 422
    assert "4096 of 10240 bytes arrived" in answer.json()["error"]
    assert not Video.objects.exists()


def test_cancelling_removes_the_bytes(cora: Client, django_capture_on_commit_callbacks: Any) -> None:
    upload = begin(cora).json()["id"]
    put(cora, upload, 0, DATA[:4096])
    path = services.upload_path(Upload.objects.get(id=upload))
    with django_capture_on_commit_callbacks(execute=True):
        assert cora.delete(f"/api/v1/uploads/{upload}").status_code == 204
    assert not path.exists()
    assert not Upload.objects.exists()


@pytest.mark.parametrize("size", [0, -1, 10**15])
def test_it_refuses_sizes_nobody_can_store(cora: Client, size: int) -> None:
    answer = begin(cora, size=size)
    assert answer.status_code == 422
    assert not Upload.objects.exists()


@pytest.mark.parametrize("body", ["", "{}", '{"name": "a"}', '{"name": "", "size": 4}', "[1]", "{"])
def test_it_refuses_a_body_without_sense(cora: Client, body: str) -> None:
    answer = cora.post("/api/v1/projects/one/uploads", body, content_type="application/json")
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


NAMES = ["../../etc/passwd", "/etc/passwd", "..\\..\\boot.ini", "a\x00b.mp4", ".", "..", "<script>.mp4", "x" * 900]


@pytest.mark.parametrize("name", NAMES, ids=lambda n: n[:14].encode("unicode_escape").decode())
def test_a_name_never_becomes_a_path(cora: Client, settings: Any, name: str) -> None:
    upload = Upload.objects.get(id=begin(cora, name=name).json()["id"])
    path = services.upload_path(upload)
    assert path.parent == settings.DATA / "uploads"
    assert path.name == str(upload.id)
    assert "/" not in upload.name and "\\" not in upload.name and "\x00" not in upload.name


def test_an_upload_belongs_to_one_person(cora: Client, people: SimpleNamespace, as_user: Any) -> None:
    upload = begin(cora).json()["id"]
    for other in (people.alice, people.root, people.charlie):
        assert as_user(other).get(f"/api/v1/uploads/{upload}").status_code == 404
        assert put(as_user(other), upload, 0, b"x").status_code == 404


def test_the_page_offers_unfinished_uploads(cora: Client) -> None:
    upload = begin(cora, name="</script><script>alert(1)</script>.mp4").json()["id"]
    page = cora.get("/p/one/upload/").content.decode()
    assert upload in page
    assert "<script>alert(1)" not in page


# ---------------------------------------------------------------------------------------------------------------------
# An object store


class Bucket(Storage):
    """Files by their whole names, as an object store has them: there are no folders."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        assert name is not None
        self.files[name] = content.read()
        return name

    def exists(self, name: str) -> bool:
        return name in self.files

    def delete(self, name: str) -> None:
        self.files.pop(name, None)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        below = [name.removeprefix(f"{path}/") for name in self.files if name.startswith(f"{path}/")]
        folders = {name.partition("/")[0] for name in below if "/" in name}
        return sorted(folders), [name for name in below if "/" not in name]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """The studio's files in an object store."""
    made = Bucket()
    monkeypatch.setattr(storage, "default_storage", made)
    return made


def test_a_file_is_copied_to_the_store_while_nothing_is_locked(
    cora: Client, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths = [len(connection.savepoint_ids)]  # the test itself is in a transaction
    real = storage.put

    def put_and_look(path: Path, name: str) -> None:
        depths.append(len(connection.savepoint_ids))
        real(path, name)

    monkeypatch.setattr(storage, "put", put_and_look)
    upload = begin(cora).json()["id"]
    send_all(cora, upload)
    done = finish(cora, upload).json()
    stored = Job.objects.get(id=done["job"]).parameters["stored"]
    assert depths == [depths[0]] * 2
    assert bucket.files == {stored: DATA}
    assert finish(cora, upload).json() == done and len(depths) == 2


def test_of_two_that_finish_at_once_one_copy_stays(
    cora: Client, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = storage.put
    answers: list[Any] = []

    def put_with_company(path: Path, name: str) -> None:
        real(path, name)
        if not answers:
            answers.append({})
            answers[0] = finish(cora, upload).json()  # another request, which is faster

    monkeypatch.setattr(storage, "put", put_with_company)
    upload = begin(cora).json()["id"]
    send_all(cora, upload)
    assert finish(cora, upload).json() == answers[0]
    assert bucket.files == {Job.objects.get().parameters["stored"]: DATA}
    assert Video.objects.count() == 1


@pytest.mark.parametrize("then", ["cancel", "finish", "delete"])
def test_what_a_killed_request_brought_to_the_store_goes(
    cora: Client, bucket: Bucket, then: str, django_capture_on_commit_callbacks: Any
) -> None:
    upload = begin(cora).json()["id"]
    send_all(cora, upload)
    storage.put(services.upload_path(Upload.objects.get()), f"{services.arrival(Upload.objects.get())}/killed")
    with django_capture_on_commit_callbacks(execute=True):
        if then == "cancel":
            cora.delete(f"/api/v1/uploads/{upload}")
        else:
            job = Job.objects.get(id=finish(cora, upload).json()["job"])
            assert len(bucket.files) == 2
            if then == "finish":
                importing.clear_source(job.parameters)
            else:
                services.delete_video(video=Video.objects.get())
    assert not bucket.files
