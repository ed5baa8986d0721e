"""How a request runs under ASGI: once into a thread and back.

Django's own handler goes to a thread and back for each half of each middleware, for the view, for both signals and for
the end of the answer, and starts a new thread for every request: more than an average view costs. Here middleware, view
and all that belongs to a request run in one go in one of a few threads that stay. Answers that stream are sent by the
event loop, as always.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.signals import request_started
from django.db import close_old_connections
from django.http import FileResponse
from django.urls import set_script_prefix

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class OneHopHandler(ASGIHandler):
    """Django's handler with the synchronous chain of middleware."""

    def __init__(self) -> None:
        super().__init__()
        # as many as there are database connections: more would only wait for each other there
        self.threads = ThreadPoolExecutor(settings.POOL or 16, thread_name_prefix="request")

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Receive, send: Send) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        try:
            response = await sync_to_async(self.answer, thread_sensitive=False, executor=self.threads)(scope, body)
            if response.streaming:
                await self._stream(response, receive, send)
            else:
                await self.send_response(response, send)
        finally:
            body.close()

    def answer(self, scope: Any, body: IO[bytes]) -> Any:
        """Everything up to the finished answer; one that streams is left open, without a database connection."""
        set_script_prefix(get_script_prefix(scope))
        request_started.send(sender=type(self), scope=scope)
        request, unreadable = self.create_request(scope, body)
        response: Any = self.get_response(request) if request is not None else unreadable
        response._handler_class = type(self)
        if response.streaming:
            close_old_connections()
        else:
            response.close()
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        return response

    async def _stream(self, response: Any, receive: Receive, send: Send) -> None:
        """Send until the answer ends or nobody listens any more."""
        sending = asyncio.ensure_future(self.send_response(response, send))
        leaving = asyncio.ensure_future(_gone(receive))
        leaving.add_done_callback(lambda _: sending.cancel())
        try:
            await sending
        except asyncio.CancelledError:
            if not leaving.done():  # it is the server that stops
                raise
        finally:
            leaving.cancel()
            await sync_to_async(response.close)()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
