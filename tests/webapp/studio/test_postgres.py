from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from webapp.studio.errors import StudioError
from webapp.studio.postgres import complaint
from webapp.studio.sockets import make_private


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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "sightline-0-0123456789"


def test_the_folder_of_the_sockets_is_ours_alone(place: Path) -> None:
    for mode in (None, 0o777, 0o700):  # not there yet, too open, as it should be
        if mode is not None:
            place.chmod(mode)
        make_private(place)
        assert stat.S_IMODE(place.lstat().st_mode) == 0o700


def test_a_link_in_the_place_of_the_sockets_is_refused(place: Path, tmp_path: Path) -> None:
    aim = tmp_path / "elsewhere"
    for there in (False, True):
        if there:
            aim.mkdir(mode=0o755)
        place.unlink(missing_ok=True)
        place.symlink_to(aim)
        with pytest.raises(StudioError, match=f"into {place}: it is no folder; remove it"):
            make_private(place)
    assert stat.S_IMODE(aim.lstat().st_mode) == 0o755


def test_a_folder_of_somebody_else_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.mkdir(mode=0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)  # to whom the folder does not belong
    with pytest.raises(StudioError, match=f"into {place}: it is a folder of somebody else; remove it"):
        make_private(place)
    assert stat.S_IMODE(place.lstat().st_mode) == 0o755
