"""The ASGI handler: one thread for all of a request, and streams that end when nobody listens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.signals import request_finished, request_started
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import override_settings
from django.urls import path

from webapp.lib.handler import OneHopHandler

seen: list[tuple[str, int]] = []


def note(what: str) -> None:
    seen.append((what, threading.get_ident()))


class Outer:
    """A middleware as most are: synchronous on both sides of the view."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        note("before")
        response = self.get_response(request)
        note("after")
        return response


def plain(request: HttpRequest) -> HttpResponse:
    note("view")
    return HttpResponse(request.body.upper())


async def endless(request: HttpRequest) -> StreamingHttpResponse:
    async def ticks() -> AsyncIterator[str]:
        try:
            while True:
                yield "tick "
                await asyncio.sleep(0.01)
        finally:
            note("stopped")

    return StreamingHttpResponse(ticks())


async def asking(request: HttpRequest) -> StreamingHttpResponse:
    """Asks the database, then streams whether its thread still holds the connection."""

    def ask() -> Any:
        connection.ensure_connection()
        return connections["default"]

    wrapper = await sync_to_async(ask)()
    held = wrapper.connection is not None

    async def words() -> AsyncIterator[str]:
        yield f"{held} {wrapper.connection is not None}"

    return StreamingHttpResponse(words())


urlpatterns = [path("plain/", plain), path("endless/", endless), path("asking/", asking)]


async def talk(address: str, body: bytes = b"", *, leave_after: int | None = None) -> list[Any]:
    """The messages the handler sends; the client leaves after `leave_after` of them."""
    sent: list[Any] = []
    enough = asyncio.Event()
    incoming = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop()
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)
        if leave_after is not None and len(sent) >= leave_after:
            enough.set()

    scope = {"type": "http", "method": "POST", "path": address, "query_string": b"", "headers": []}
    await asyncio.wait_for(OneHopHandler()(scope, receive, send), timeout=20)
    return sent


@pytest.fixture
def ours() -> Any:
    seen.clear()

    def started(**_: Any) -> None:
        note("started")

    def finished(**_: Any) -> None:
        note("finished")

    request_started.connect(started)
    request_finished.connect(finished)
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[f"{__name__}.Outer"]):
        yield
    request_started.disconnect(started)
    request_finished.disconnect(finished)


def test_a_request_stays_in_one_thread(ours: Any) -> None:
    sent = asyncio.run(talk("/plain/", b"hello"))
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"HELLO")
    assert [what for what, _ in seen] == ["started", "before", "view", "after", "finished"]
    threads = {thread for _, thread in seen}
    assert len(threads) == 1 and threads != {threading.get_ident()}


def test_a_stream_ends_when_its_listener_leaves(ours: Any) -> None:
    sent = asyncio.run(talk("/endless/", leave_after=4))
    assert b"".join(message.get("body", b"") for message in sent[1:4]) == b"tick tick tick "
    assert [what for what, _ in seen] == ["started", "before", "after", "stopped", "finished"]


@pytest.mark.django_db(transaction=True)
def test_an_open_stream_holds_no_connection(ours: Any) -> None:
    sent = asyncio.run(talk("/asking/", leave_after=2))
    assert sent[1]["body"] == b"True False"
