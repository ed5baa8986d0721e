from __future__ import annotations

from typing import Any

import pytest
from django.db import connection


@pytest.mark.django_db
def test_it_runs_on_a_real_postgresql(postgres: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT version(), current_setting('listen_addresses')")
        version, addresses = cursor.fetchone()
    assert version.startswith("PostgreSQL")
    assert addresses == ""
    assert postgres.sockets.stat().st_mode & 0o777 == 0o700
