from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from webapp.studio.postgres import complaint


@pytest.mark.django_db
def test_it_runs_on_a_real_postgresql(postgres: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT version(), current_setting('listen_addresses')")
        version, addresses = cursor.fetchone()
    assert version.startswith("PostgreSQL")
    assert addresses == ""
    assert postgres.sockets.stat().st_mode & 0o777 == 0o700


def test_the_cause_is_told_and_not_what_comes_after_it(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    log.write_text(
        "creating configuration files ... ok\n"
        'FATAL:  could not write to file "pg_wal/xlogtemp.7": No space left on device\n'
        "child process exited with exit code 1\n"
        'initdb: removing contents of data directory "/x/postgres.new"\n'
    )
    assert complaint(log) == 'FATAL:  could not write to file "pg_wal/xlogtemp.7": No space left on device'
    log.write_text("one\ntwo\n")
    assert complaint(log) == "two"
