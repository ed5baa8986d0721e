"""Serving stored files to the page: ranges, validators, small memory.

A player asks for `bytes=N-` and takes what it gets, so such an answer ends after `OPEN_RANGE` bytes: seeking stays
quick and no answer holds a whole film in memory. Only names of `TYPES` are served inline, with the type written there;
originals are what users sent, so they leave only as attachments. Behind nginx (`MEDIA_ACCEL`) the file is named in
X-Accel-Redirect after the check of access, and nginx does the rest.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, cast
from urllib.parse import quote
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.files.storage import default_storage
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header, http_date, parse_http_date_safe
from django.views.decorators.http import require_safe

from webapp.accounts.access import video_for
from webapp.lib.storage import local_path
from webapp.tracks.models import Run

TYPES = {
    "proxy.mp4": "video/mp4",
    "poster.jpg": "image/jpeg",
    "strip.jpg": "image/jpeg",
    "strip.json": "application/json",
    "waveform.bin": "application/octet-stream",
    "tracks.bin": "application/octet-stream",
    "ribbon.bin": "application/octet-stream",
}
OPEN_RANGE = 2 * 2**20
LARGEST_RANGE = 16 * 2**20
CHUNK = 256 * 2**10
RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))")
PRIVATE_YEAR = "private, max-age=31536000, immutable"


@login_required
@require_safe
def video_piece(request: HttpRequest, video_id: UUID, piece: str) -> HttpResponseBase:
    """A derived file of a video. It never changes under one sha256, so `?v=<sha>` may be kept for ever."""
    video = video_for(request.user, video_id, "view")
    if video.blob is None or not video.blob.ready:
        raise Http404("This video has no pictures yet.")
    cache = PRIVATE_YEAR if request.GET.get("v") == video.blob.sha256[:12] else "private, max-age=3600"
    return serve(request, f"{video.blob.folder}/{piece}", TYPES[piece], cache=cache, cap=OPEN_RANGE)


@login_required
@require_safe
def run_piece(request: HttpRequest, video_id: UUID, run_id: UUID, piece: str) -> HttpResponseBase:
    """A display file of a run; runs never change."""
    video = video_for(request.user, video_id, "view")
    run = Run.objects.filter(id=run_id, video=video).first()
    if run is None:
        raise Http404("This video has no such run.")
    return serve(request, f"{run.folder}/{piece}", TYPES[piece], cache=PRIVATE_YEAR, cap=LARGEST_RANGE)


@login_required
@require_safe
def original(request: HttpRequest, video_id: UUID) -> HttpResponseBase:
    """The file as it came in, to keep, never to show: somebody else wrote it."""
    video = video_for(request.user, video_id, "export")
    if video.blob is None or not video.blob.ready:
        raise Http404("The file of this video is not here.")
    answer = serve(
        request, video.blob.original, "application/octet-stream", cache="private, no-cache", cap=LARGEST_RANGE
    )
    answer["Content-Disposition"] = content_disposition_header(True, video.name)
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return answer


# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """A stored file: its name, length in bytes, and when it was written."""

    name: str
    size: int
    changed: datetime

    @property
    def etag(self) -> str:
        return f'"{self.size:x}-{int(self.changed.timestamp() * 1e6):x}"'

    @classmethod
    def find(cls, name: str) -> Stored:
        """Raises Http404."""
        try:
            return cls(name, default_storage.size(name), default_storage.get_modified_time(name))
        except FileNotFoundError as error:
            raise Http404("This file is not here.") from error


def serve(request: HttpRequest, name: str, content_type: str, *, cache: str, cap: int) -> HttpResponseBase:
    """Answer GET or HEAD for a stored file: 200, 206, 304 or 416."""
    stored = Stored.find(name)
    if request.headers.get("If-None-Match") in (stored.etag, "*"):
        return _with_headers(HttpResponse(status=304), stored, cache)
    if settings.MEDIA_ACCEL and local_path(name) is not None:
        answer: HttpResponseBase = HttpResponse(content_type=content_type)
        answer["X-Accel-Redirect"] = f"{settings.MEDIA_ACCEL.rstrip('/')}/{quote(name)}"
        return _with_headers(answer, None, cache)
    start, end, status = 0, stored.size, 200
    wanted = _asked_range(request, stored)
    if wanted is not None:
        found = resolve(wanted, stored.size, cap)
        if found is None:
            answer = HttpResponse(status=416)
            answer["Content-Range"] = f"bytes */{stored.size}"
            return _with_headers(answer, stored, "no-store")
        start, end, status = *found, 206
    answer = _body(request, stored, start, end, content_type, status)
    if status == 206:
        answer["Content-Range"] = f"bytes {start}-{end - 1}/{stored.size}"
    answer["Content-Length"] = str(end - start)
    return _with_headers(answer, stored, cache)


def _with_headers(answer: HttpResponseBase, stored: Stored | None, cache: str) -> HttpResponseBase:
    if stored is not None:
        answer["ETag"] = stored.etag
        answer["Last-Modified"] = http_date(stored.changed.timestamp())
        answer["Accept-Ranges"] = "bytes"
    answer["Cache-Control"] = cache
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cross-Origin-Resource-Policy"] = "same-origin"
    return answer


def _asked_range(request: HttpRequest, stored: Stored) -> str | None:
    """The Range header when it holds for the file as it is now (If-Range), else None.

    Other units and several ranges at once are ignored, as RFC 9110 (14.2) allows: the answer is the whole file.
    """
    wanted = request.headers.get("Range", "").replace(" ", "")
    if not wanted.startswith("bytes=") or "," in wanted:
        return None
    condition = request.headers.get("If-Range")
    if not condition or condition == stored.etag:
        return wanted
    since = parse_http_date_safe(condition)
    return wanted if since is not None and since == int(stored.changed.timestamp()) else None


def resolve(header: str, size: int, cap: int) -> tuple[int, int] | None:
    """[start, end) of a single byte range of a file of `size` bytes; None when it cannot be satisfied.

    At most `cap` bytes long, and at most OPEN_RANGE where no end is named.
    """
    match = RANGE.fullmatch(header)
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start = size - min(int(suffix), size)
        end = min(size, start + cap)
    else:
        start = int(first)
        end = min(int(last) + 1, size, start + cap) if last else min(size, start + OPEN_RANGE)
    return (start, end) if start < end else None


def _body(
    request: HttpRequest, stored: Stored, start: int, end: int, content_type: str, status: int
) -> HttpResponseBase:
    if request.method == "HEAD":
        return HttpResponse(content_type=content_type, status=status)
    if end - start <= CHUNK:
        with closing(_opened(stored.name, start)) as file:
            return HttpResponse(file.read(end - start), content_type=content_type, status=status)
    chunks: Any = _async_chunks if isinstance(request, ASGIRequest) else _chunks
    return StreamingHttpResponse(chunks(stored.name, start, end), content_type=content_type, status=status)


def _opened(name: str, start: int) -> IO[bytes]:
    """The file from byte `start` on; from an object store only what is read is transferred."""
    bucket = getattr(default_storage, "bucket", None)
    if bucket is not None:
        key = default_storage._normalize_name(name)  # type: ignore[attr-defined]
        return cast(IO[bytes], bucket.Object(key).get(Range=f"bytes={start}-")["Body"])
    file = cast(IO[bytes], default_storage.open(name))
    file.seek(start)
    return file


def _chunks(name: str, start: int, end: int) -> Iterator[bytes]:
    with closing(_opened(name, start)) as file:
        left = end - start
        while left > 0 and (piece := file.read(min(CHUNK, left))):
            left -= len(piece)
            yield piece


async def _async_chunks(name: str, start: int, end: int) -> AsyncIterator[bytes]:
    """One chunk in memory at a time; reading leaves the event loop free."""
    file = await asyncio.to_thread(_opened, name, start)
    try:
        left = end - start
        while left > 0 and (piece := await asyncio.to_thread(file.read, min(CHUNK, left))):
            left -= len(piece)
            yield piece
    finally:
        file.close()
