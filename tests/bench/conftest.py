"""A web process of its own on the tests' database, and clients that speak plain HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest


@dataclass
class Server:
    port: int
    process: subprocess.Popen[bytes]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def server(transactional_db: None) -> Iterator[Server]:
    """uvicorn in a process of its own: the clients' work does not slow it down."""
    from django.conf import settings
    from django.db import connection

    host = quote(str(settings.SOCKETS), safe="")
    env = os.environ | {"DATABASE_URL": f"postgres://sightline@{host}/{connection.settings_dict['NAME']}"}
    env.pop("SIGHTLINE_DB_POOL", None)
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--port", str(port)]
    command += ["--log-level", "error", "--timeout-keep-alive", "75"]
    process = subprocess.Popen(command, env=env)
    limit = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert time.monotonic() < limit and process.poll() is None, "the web process did not start"
            time.sleep(0.1)
    yield Server(port, process)
    process.terminate()
    process.wait(20)
    time.sleep(0.5)  # PostgreSQL notices that the pool is gone


class Browser:
    """One logged-in user with a kept connection, as a page has."""

    def __init__(self, server: Server, user: Any) -> None:
        from django.conf import settings
        from django.test import Client

        client = Client()
        client.force_login(user)
        self.server, self.token = server, "t" * 32
        cookies = {
            settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value,
            settings.CSRF_COOKIE_NAME: self.token,
        }
        self.headers = {
            "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
            "X-CSRFToken": self.token,
            "Content-Type": "application/json",
        }
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, self.headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def edit(self, video: Any, kind: str, object: Any, version: int | None, /, **fields: Any) -> tuple[int, Any]:
        body = {"id": str(uuid.uuid4()), "kind": kind, "object": str(object), "version": version, "fields": fields}
        status, text = self.ask("POST", f"/api/v1/videos/{video.id}/edits", body)
        return status, json.loads(text)
