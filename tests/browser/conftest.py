"""A real studio for the browser: Django under uvicorn in a thread, on the tests' database, and Debian's Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PASSWORD = "correct horse battery"


class Studio:
    """uvicorn on a port of its own; it can be stopped and started again on the same one."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self.server: Any = None

    def start(self) -> None:
        import uvicorn

        config = uvicorn.Config(
            "webapp.asgi:application",
            port=self.port,
            lifespan="off",
            log_level="error",
            timeout_graceful_shutdown=1,
            ws="none",
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        limit = time.monotonic() + 20
        while not self.server.started:
            assert time.monotonic() < limit and self.thread.is_alive(), "uvicorn did not start"
            time.sleep(0.02)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        assert not self.thread.is_alive(), "uvicorn did not stop"


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The browser, started once, and gone after this folder: its event loop would hinder other tests' asyncio."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("Chromium is missing: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def studio(transactional_db: None) -> Iterator[Studio]:
    running = Studio()
    running.start()
    yield running
    running.stop()


@pytest.fixture
def crew(transactional_db: None) -> SimpleNamespace:
    """Project `one` with alice (admin), bob (annotator), rita (reviewer) and vera (viewer)."""
    from django.contrib.auth.hashers import make_password

    from webapp.accounts.models import Membership, User
    from webapp.library.models import Project

    hashed = make_password(PASSWORD)
    project = Project.objects.create(slug="one", name="One")
    found: dict[str, Any] = {"project": project}
    for name, role in {"alice": "admin", "bob": "annotator", "rita": "reviewer", "vera": "viewer"}.items():
        found[name] = User.objects.create(username=name, password=hashed)
        Membership.objects.create(project=project, user=found[name], role=role)
    return SimpleNamespace(**found)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where CI's two cores are shared, a test of the browser is given a second try; the summary names every one."""
    if os.environ.get("CI"):
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.flaky(reruns=1))


class Visitor:
    """One person at one browser window, with every complaint of the page collected."""

    def __init__(self, chromium: Any, studio: Studio, user: Any, **options: Any) -> None:
        self.studio, self.user, self.complaints = studio, user, list[str]()
        self.context = chromium.new_context(**{"viewport": {"width": 1440, "height": 900}} | options)
        self.context.add_cookies([cookie_of(user, studio)])
        self.page = self.new_page()

    def new_page(self) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error} {error.stack}"))
        page.on("console", self._heard)
        return page

    def _heard(self, message: Any) -> None:
        policy = "Content Security Policy" in message.text or "Refused to" in message.text
        if policy:
            self.complaints.append(f"policy: {message.text}")

    def open(self, video: Any, query: str = "", page: Any = None) -> Any:
        """Open the workspace and wait until everything is there."""
        page = page or self.page
        page.goto(f"{self.studio.address}/v/{video.id}/{query}")
        page.wait_for_selector("#workspace:is([data-ready=all], [data-ready=failed])", state="attached")
        assert page.get_attribute("#workspace", "data-ready") == "all", page.inner_text("#failure")
        settle(page)
        return page


def cookie_of(user: Any, studio: Studio) -> dict[str, Any]:
    """A session of the user, as the browser keeps it."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(user)
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    return {"name": settings.SESSION_COOKIE_NAME, "value": value, "url": studio.address}


def settle(page: Any) -> None:
    """Wait until the player stands on the frame it names."""
    page.wait_for_function(
        "() => { const { frame, shown, state } = document.querySelector('#player').dataset;"
        " return frame === shown && (state === 'paused' || state === 'ready'); }"
    )


def wait_saved(page: Any) -> None:
    """Wait until every edit is acknowledged; fails with what the page says about those that are not."""
    from playwright.sync_api import TimeoutError as TooLong

    try:
        page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '0'", timeout=60_000)
    except TooLong:
        page.evaluate("document.querySelector('#save-state').click()")
        words = page.evaluate(
            "[...document.querySelectorAll('dialog[open]')].map((open) => open.innerText).join(' | ')"
        )
        raise AssertionError(f"not saved: {words}") from None


@pytest.fixture
def visit(chromium: Any, studio: Studio) -> Iterator[Callable[..., Visitor]]:
    """`visit(user)`: that person at a window of their own; the page must not have complained in the end."""
    visitors: list[Visitor] = []

    def come(user: Any, **options: Any) -> Visitor:
        visitors.append(Visitor(chromium, studio, user, **options))
        return visitors[-1]

    yield come
    complaints = [words for visitor in visitors for words in visitor.complaints]
    for visitor in visitors:
        visitor.context.close()
    assert not complaints
