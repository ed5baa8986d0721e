"""What every floor's tests share: a data folder of their own, and a real embedded PostgreSQL and Valkey on demand.

The settings are read from the environment, which `tests.environment` sets before anything else is imported.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import django
import hypothesis
import pytest

from tests.environment import DATA

django.setup()  # now, since the conftest of a folder below may import models

from django.conf import settings  # noqa: E402

hypothesis.settings.register_profile("shared", deadline=None)  # two cores may be busy with something else
hypothesis.settings.load_profile("shared")

# hashing that is slow on purpose would be most of the suite's time
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

UNSAFE_BUT_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def pytest_unconfigure(config: pytest.Config) -> None:
    from webapp.lib.datafolder import socket_folder

    shutil.rmtree(socket_folder(DATA), ignore_errors=True)
    shutil.rmtree(DATA, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The embedded PostgreSQL of the tests, started once; where it is measured, as durable as a user's."""
    from webapp.lib.datafolder import socket_folder
    from webapp.studio.postgres import Postgres

    server = Postgres(
        cluster=DATA / "postgres",
        sockets=socket_folder(DATA),
        log=DATA / "logs" / "postgres.log",
        settings={} if request.config.option.markexpr.startswith("bench") else UNSAFE_BUT_FAST,
    )
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres: Any, django_db_blocker: Any) -> None:
    """pytest-django asks for this before it makes the test database: a copy of one with today's tables."""
    from django.db import connection

    from webapp.studio import schema

    with django_db_blocker.unblock():
        schema.bring_up_to_date()
        connection.close()
    connection.settings_dict["TEST"]["TEMPLATE"] = connection.settings_dict["NAME"]


@pytest.fixture(scope="session")
def valkey() -> Iterator[Any]:
    """The embedded broker of the tests, started once."""
    from webapp.lib.datafolder import socket_folder
    from webapp.studio.valkey import Valkey

    server = Valkey(folder=DATA / "valkey", sockets=socket_folder(DATA), log=DATA / "logs" / "valkey.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def media_folder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stored files and scratch folders of one test are gone after it."""
    yield
    if "db" in request.fixturenames or "transactional_db" in request.fixturenames:
        shutil.rmtree(DATA / "media", ignore_errors=True)
        shutil.rmtree(DATA / "work", ignore_errors=True)
