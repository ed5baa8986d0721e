from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from webapp.studio import schema


def dump(postgres: Any, database: str) -> list[str]:
    """The database's schema as sorted statements: tables made in another order are the same tables."""
    said = subprocess.run(
        [postgres.programs / "pg_dump", "-h", postgres.sockets, "-U", "sightline", "-s", "--restrict-key=x", database],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = (line.strip().rstrip(",") for line in said.stdout.splitlines())
    return sorted(line for line in lines if line and not line.startswith("--"))


@pytest.fixture
def on_database(postgres: Any, django_db_setup: None, django_db_blocker: Any) -> Any:
    """`on_database(name, action)`: do something with Django connected to a new, empty database."""

    def work(name: str, action: Callable[[], None]) -> None:
        with psycopg.connect(host=str(postgres.sockets), user="sightline", dbname="postgres", autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {name}")
            admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        before = connection.settings_dict["NAME"]
        with django_db_blocker.unblock():
            connection.close()
            connection.settings_dict["NAME"] = name
            try:
                action()
            finally:
                connection.close()
                connection.settings_dict["NAME"] = before

    return work


def test_a_fresh_database_is_the_same_as_a_migrated_one(postgres: Any, on_database: Any) -> None:
    on_database("fresh", schema.bring_up_to_date)
    on_database("migrated", lambda: call_command("migrate", interactive=False, verbosity=0))
    fresh, migrated = (Counter(dump(postgres, name)) for name in ("fresh", "migrated"))
    assert fresh - migrated == Counter() and migrated - fresh == Counter()


def test_migrations_are_complete_and_a_second_start_has_nothing_to_do(on_database: Any) -> None:
    def twice() -> None:
        schema.bring_up_to_date()
        call_command("makemigrations", check=True, dry_run=True, verbosity=0)
        tables = connection.introspection.table_names()
        call_command("migrate", check_unapplied=True, verbosity=0)
        schema.bring_up_to_date()
        assert connection.introspection.table_names() == tables

    on_database("fresh", twice)


def test_an_interrupted_first_start_leaves_an_empty_database(on_database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    def broken_then_whole() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("pgtrigger.install", interrupt)
            with pytest.raises(KeyboardInterrupt):
                schema.bring_up_to_date()
        assert connection.introspection.table_names() == []
        schema.bring_up_to_date()
        assert "library_video" in connection.introspection.table_names()

    on_database("fresh", broken_then_whole)
