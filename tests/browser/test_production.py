"""The pages as production serves them: no debug, collected files with hashed names, uvicorn's workers as in deploy/."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.browser.conftest import cookie_of
from tests.browser.workspace import seed
from webapp.lib.datafolder import HERE

HASHED = re.compile(r"/static/.+\.[0-9a-f]{12}\.\w+$")


@pytest.fixture
def production(transactional_db: None, tmp_path: Path) -> Iterator[SimpleNamespace]:
    """`address` of a production form of the studio on the tests' database and media folder."""
    from django.conf import settings
    from django.db import connection

    database = f"postgres://sightline@{quote(str(settings.SOCKETS), safe='')}/{connection.settings_dict['NAME']}"
    env = os.environ | {
        "DATABASE_URL": database,
        "SIGHTLINE_PRODUCTION": "1",
        "SIGHTLINE_HOSTS": "127.0.0.1",
        "SIGHTLINE_SECRET_KEY": settings.SECRET_KEY,  # the session below is signed with it
        "SIGHTLINE_STATIC": str(tmp_path / "static"),
    }
    collect = [sys.executable, "manage.py", "collectstatic", "--no-input", "-v0"]
    subprocess.run(collect, cwd=HERE, env=env, check=True, timeout=120)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--workers", "2", "--proxy-headers", "--log-level", "error"], cwd=HERE, env=env
    )
    limit = time.monotonic() + 90
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert time.monotonic() < limit and process.poll() is None, "uvicorn did not start"
            time.sleep(0.1)
    yield SimpleNamespace(address=f"http://127.0.0.1:{port}")
    process.terminate()
    process.wait(30)
    time.sleep(0.5)  # PostgreSQL notices that the pools are gone


def test_the_workspace_loads_every_file_once_and_by_its_hashed_name(
    chromium: Any, production: Any, crew: SimpleNamespace
) -> None:
    made = seed.Scene(people=3, seconds=seed.uniform(500))
    video = seed.bare_video(crew.project, made)
    seed.add_scene(video, made)
    # nginx ends TLS and says so
    context = chromium.new_context(extra_http_headers={"X-Forwarded-Proto": "https"})
    context.add_cookies([cookie_of(crew.alice, production)])
    page = context.new_page()
    answers: list[tuple[int, str]] = []
    complaints: list[str] = []
    page.on("response", lambda answer: answers.append((answer.status, answer.url)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(f"{production.address}/v/{video.id}/")
    page.wait_for_selector("#workspace[data-ready=all]", state="attached", timeout=60_000)
    workspace = list(answers)
    page.goto(f"{production.address}/p/one/upload/")
    page.wait_for_load_state("networkidle")
    context.close()
    assert complaints == []
    assert [answer for answer in answers if answer[0] >= 400] == []
    paths = [urlsplit(address).path for _, address in answers]
    files = [path for path in paths if path.startswith("/static/")]
    assert [path for path in files if not HASHED.match(path)] == []
    scripts = Counter(urlsplit(address).path for _, address in workspace if address.endswith(".js"))
    assert len(scripts) > 20 and set(scripts.values()) == {1}
