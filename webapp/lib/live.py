"""Server-sent events: a stream asks the database now and then, and holds no connection in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import StreamingHttpResponse

STEP_S = 1.0
KEEP_ALIVE_S = 15.0

Message = tuple[str, dict[str, Any]]  # event name, data


def stream(look: Callable[[], Iterable[Message]]) -> StreamingHttpResponse:
    """Send what `look` returns whenever it differs from before. It raises when access is gone: the stream ends."""
    response = StreamingHttpResponse(_messages(look), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


def _released(look: Callable[[], Iterable[Message]]) -> list[Message]:
    """Look, then give the connection back: many open streams must not drain the pool."""
    try:
        return list(look())
    finally:
        connection.close()


async def _messages(look: Callable[[], Iterable[Message]]) -> AsyncIterator[str]:
    told: dict[str, str] = {}
    quiet = 0.0
    while True:
        try:
            found = await sync_to_async(_released)(look)
        except Exception:  # the page reconnects and is told why
            return
        fresh = []
        for name, data in found:
            text = json.dumps(data)
            key = f"{name} {data.get('id', '')}"
            if told.get(key) != text:
                told[key] = text
                fresh.append(f"event: {name}\ndata: {text}\n\n")
        if fresh:
            yield "".join(fresh)
            quiet = 0.0
        elif quiet >= KEEP_ALIVE_S:
            yield ": still here\n\n"
            quiet = 0.0
        await asyncio.sleep(STEP_S)
        quiet += STEP_S
