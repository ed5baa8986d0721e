"""Serving stored files: ranges, validators, types, memory."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import AsyncClient, Client

from webapp.library import media
from webapp.tracks.models import Run

SIZE = 5 * 2**20 + 123
BYTES = (b"0123456789abcdef" * (SIZE // 16 + 1))[:SIZE]


@pytest.fixture
def proxy(people: SimpleNamespace, video: Any) -> str:
    default_storage.save(f"{video.blob.folder}/proxy.mp4", ContentFile(BYTES))
    return f"/v/{video.id}/media/proxy.mp4"


@pytest.fixture
def vera(people: SimpleNamespace, as_user: Any) -> Client:
    client: Client = as_user(people.vera)
    return client


def content(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_it_serves_the_whole_file(vera: Client, proxy: str) -> None:
    response = vera.get(proxy)
    assert response.status_code == 200
    assert content(response) == BYTES
    assert response["Content-Type"] == "video/mp4"
    assert response["Content-Length"] == str(SIZE)
    assert response["Accept-Ranges"] == "bytes"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "private" in response["Cache-Control"]


CAP = 2 * 2**20
RANGES = [
    ("bytes=0-0", 0, 1),
    ("bytes=0-99", 0, 100),
    ("bytes=100-199", 100, 200),
    (f"bytes={SIZE - 1}-", SIZE - 1, SIZE),
    (f"bytes={SIZE - 10}-{SIZE + 500}", SIZE - 10, SIZE),
    ("bytes=-16", SIZE - 16, SIZE),
    (f"bytes=-{SIZE * 2}", 0, CAP),
    ("bytes=0-", 0, CAP),
    ("bytes=1000000-", 1000000, 1000000 + CAP),
    (f"bytes=0-{SIZE - 1}", 0, CAP),
]


@pytest.mark.parametrize(("asked", "start", "end"), RANGES)
def test_it_serves_a_range(vera: Client, proxy: str, asked: str, start: int, end: int) -> None:
    response = vera.get(proxy, headers={"Range": asked})
    assert response.status_code == 206
    assert response["Content-Range"] == f"bytes {start}-{end - 1}/{SIZE}"
    assert response["Content-Length"] == str(end - start)
    assert content(response) == BYTES[start:end]


@pytest.mark.parametrize("asked", [f"bytes={SIZE}-", "bytes=9-5", "bytes=-0", "bytes=-", "bytes=a-b", "bytes=1" * 30])
def test_it_refuses_a_range_that_is_not_there(vera: Client, proxy: str, asked: str) -> None:
    response = vera.get(proxy, headers={"Range": asked})
    assert response.status_code == 416
    assert response["Content-Range"] == f"bytes */{SIZE}"
    assert response.content == b""


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "frames=0-1", ""])
def test_it_ignores_ranges_it_does_not_speak(vera: Client, proxy: str, asked: str) -> None:
    assert vera.get(proxy, headers={"Range": asked}).status_code == 200


def test_a_range_of_a_file_that_changed_is_the_whole_new_file(vera: Client, proxy: str) -> None:
    first = vera.get(proxy, headers={"Range": "bytes=0-9"})
    etag, changed = first["ETag"], first["Last-Modified"]
    part = vera.get(proxy, headers={"Range": "bytes=0-9", "If-Range": etag})
    assert part.status_code == 206
    assert vera.get(proxy, headers={"Range": "bytes=0-9", "If-Range": changed}).status_code == 206
    assert vera.get(proxy, headers={"Range": "bytes=0-9", "If-Range": '"other"'}).status_code == 200
    old = "Mon, 01 Jan 2024 00:00:00 GMT"
    assert vera.get(proxy, headers={"Range": "bytes=0-9", "If-Range": old}).status_code == 200


def test_it_answers_304_to_what_is_known(vera: Client, proxy: str) -> None:
    etag = vera.get(proxy, headers={"Range": "bytes=0-9"})["ETag"]
    again = vera.get(proxy, headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")


def test_head_has_the_headers_alone(vera: Client, proxy: str) -> None:
    response = vera.head(proxy)
    assert (response.status_code, response["Content-Length"], response.content) == (200, str(SIZE), b"")
    part = vera.head(proxy, headers={"Range": "bytes=5-9"})
    assert (part.status_code, part["Content-Length"], part.content) == (206, "5", b"")


def test_only_the_pieces_of_a_video_are_served(vera: Client, proxy: str, video: Any) -> None:
    default_storage.save(f"{video.blob.folder}/frames.npz", ContentFile(b"x"))
    for name in ("frames.npz", "original.mp4", "import.json", "../../secret-key", "%2e%2e/secret-key", "proxy.mp4/"):
        assert vera.get(f"/v/{video.id}/media/{name}").status_code == 404


def test_a_missing_piece_is_404(vera: Client, proxy: str, video: Any) -> None:
    assert vera.get(f"/v/{video.id}/media/waveform.bin").status_code == 404


def test_a_named_version_may_be_kept_for_ever(vera: Client, proxy: str, video: Any) -> None:
    assert "immutable" in vera.head(f"{proxy}?v={video.blob_id[:12]}")["Cache-Control"]
    assert "immutable" not in vera.head(f"{proxy}?v=other")["Cache-Control"]


def test_originals_leave_as_attachments_only(people: SimpleNamespace, as_user: Any, video: Any) -> None:
    video.name = 'evil "name"\r\nX: y.html'
    video.save()
    default_storage.save(video.blob.original, ContentFile(b"<script>alert(1)</script>"))
    response = as_user(people.cora).get(f"/v/{video.id}/original/")
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment;")
    assert "\n" not in response["Content-Disposition"]
    assert "sandbox" in response["Content-Security-Policy"]


def test_run_files_have_long_ranges_and_are_immutable(vera: Client, video: Any) -> None:
    run = Run.objects.create(video=video, profile="embedded")
    default_storage.save(f"{run.folder}/tracks.bin", ContentFile(BYTES))
    address = f"/v/{video.id}/runs/{run.id}/tracks.bin"
    response = vera.get(address, headers={"Range": f"bytes=0-{4 * 2**20 - 1}"})
    assert content(response) == BYTES[: 4 * 2**20]
    assert response["Cache-Control"] == "private, max-age=31536000, immutable"


def test_a_run_of_another_video_is_404(vera: Client, video: Any, people: SimpleNamespace) -> None:
    from webapp.library.models import Video

    other = Video.objects.create(project=people.two, name="other")
    run = Run.objects.create(video=other, profile="embedded")
    default_storage.save(f"{run.folder}/tracks.bin", ContentFile(b"x"))
    assert vera.get(f"/v/{video.id}/runs/{run.id}/tracks.bin").status_code == 404


def test_nginx_is_told_the_file(vera: Client, proxy: str, video: Any, settings: Any) -> None:
    settings.MEDIA_ACCEL = "/internal/"
    response = vera.get(proxy)
    assert response["X-Accel-Redirect"] == f"/internal/{video.blob.folder}/proxy.mp4"
    assert response.content == b""
    assert "ETag" not in response  # nginx makes its own


def test_an_object_store_is_asked_for_the_range_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Body:
        def read(self, n: int) -> bytes:
            return b"abc"[:n]

        def close(self) -> None:
            asked.append("closed")

    class Object:
        def get(self, Range: str) -> dict[str, Any]:
            asked.append(Range)
            return {"Body": Body()}

    def object_of(key: str) -> Object:
        asked.append(key)
        return Object()

    bucket = SimpleNamespace(Object=object_of)
    storage = SimpleNamespace(bucket=bucket, _normalize_name=lambda name: f"prefix/{name}")
    monkeypatch.setattr(media, "default_storage", storage)
    assert b"".join(media._chunks("runs/1/tracks.bin", 7, 10)) == b"abc"
    assert asked == ["prefix/runs/1/tracks.bin", "bytes=7-", "closed"]


@pytest.mark.django_db(transaction=True)
def test_under_asgi_it_streams_one_chunk_at_a_time(people: SimpleNamespace, video: Any, proxy: str) -> None:
    async def sizes() -> list[int]:
        client = AsyncClient()
        await client.aforce_login(people.vera)
        response: Any = await client.get(proxy)
        assert response.status_code == 200
        return [len(piece) async for piece in response.streaming_content]

    pieces = asyncio.run(sizes())
    assert sum(pieces) == SIZE
    assert max(pieces) == media.CHUNK
