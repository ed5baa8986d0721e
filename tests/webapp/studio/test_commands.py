"""The command line as its users meet it, without a running studio: each command starts what it needs and stops it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.clips import make
from webapp.lib.datafolder import HERE, socket_folder


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sightline-cli-"))
    folder.chmod(0o755)
    make("bframes", folder)
    yield folder
    shutil.rmtree(folder)
    shutil.rmtree(socket_folder(folder / "data"), ignore_errors=True)


@pytest.fixture
def manage(root: Path) -> Any:
    """`manage("ingest", ...)`: the finished process; nothing it started is left."""

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if k not in ("SIGHTLINE_DATA", "DJANGO_SETTINGS_MODULE")}
        done = subprocess.run(
            [sys.executable, "manage.py", *words, "--data", str(root / "data")],
            cwd=HERE, env=env | environment, capture_output=True, text=True, timeout=280,
        )  # fmt: skip
        left = [p for p in psutil.process_iter(["cmdline"]) if str(root / "data") in " ".join(p.info["cmdline"] or [])]
        assert left == [], done.stderr
        return done

    return run


def clip(root: Path) -> str:
    return str(next(root.glob("*.mp4")))


def test_ingest_writes_what_it_made_and_names_what_is_there_already(manage: Any, root: Path) -> None:
    bad = root / "bad.mp4"
    bad.write_bytes(b"nothing")
    done = manage("ingest", clip(root), str(bad), "--project", "new", "--json", "-")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 2  # one of two failed
    assert set(first) == {"video", "sha256", "frames", "warnings"} and first["frames"] == 60
    assert second["path"] == str(bad) and second["error"] in done.stderr
    again = manage("ingest", clip(root), "--project", "new", "--json", str(root / "again.json"))
    assert again.returncode == 2
    assert "already in the project" in json.loads((root / "again.json").read_text())["error"]
    assert "Traceback" not in done.stderr + again.stderr


def test_a_project_that_nothing_came_into_is_not_left(manage: Any, root: Path) -> None:
    bad = root / "bad.mp4"
    bad.write_bytes(b"nothing")
    manage("ingest", str(bad), "none.mp4", "--project", "nosuch")
    done = manage("perceive", "bad.mp4", "--project", "nosuch")
    assert "There is no project 'nosuch'" in done.stderr
    assert not socket_folder(root / "data").exists()


def test_perceive_says_what_it_cannot_find(manage: Any, root: Path) -> None:
    manage("ingest", clip(root), "--project", "new")  # there already, when the test above ran
    done = manage("perceive", "nowhere.mp4", clip(root), SIGHTLINE_WEIGHTS=str(root / "no-weights"))
    assert "There is no video 'nowhere.mp4'" in done.stderr
    assert "weights" in done.stderr and "make weights" in done.stderr
    assert done.returncode == 3  # found by its file, but the model weights are missing


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("ingest", "--project", "new"), "Name at least one file"),
        (("ingest", "none.mp4", "--project", "Not A Slug"), "cannot be a project's short name"),
        (("ingest", "--project", "new", "--manifest", "none.csv"), "cannot be read"),
        (("import-run", "none"), "There is no file or folder none"),
        (("login-link", "--user", "nobody-here"), "There is no user 'nobody-here'"),
        (("login-link", "--hours", "0"), "between 1 and 72 hours"),
        (("up", "--port", "70000"), "Port 70000 cannot be used: ports go from 1 to 65535."),
        (("demo", "--json", "/nowhere/x.json"), "cannot be written to /nowhere/x.json: there is no folder /nowhere."),
        (("ingest", "none.mp4", "--project", "new", "--json", "/"), "cannot be written to /: it is a folder."),
        (("reaper", "--once"), "Reaper: "),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(manage: Any, words: tuple[str, ...], sentence: str) -> None:
    done = manage(*words)
    assert done.returncode == 2 and sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and done.stdout == ""


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("SIGHTLINE_SECRET_KEY", "weak", "SIGHTLINE_SECRET_KEY is too weak"),
        ("STORAGE_URL", "ftp://x", "neither file:///folder nor s3://"),
        ("DATABASE_URL", "nonsense", "DATABASE_URL is not of the form postgres://"),
        (
            "DATABASE_URL",
            "postgres://me:hush/word@127.0.0.1/x",
            "write special characters of the user and the password",
        ),
        ("DATABASE_URL", "postgres://x@127.0.0.1:1/x", "The database cannot be used: "),
        ("BROKER_URL", "nonsense", "BROKER_URL does not begin with redis://"),
        ("SIGHTLINE_DB_POOL", "many", "SIGHTLINE_DB_POOL must be a whole number, not 'many'."),
        ("SIGHTLINE_HEARTBEAT_LIMIT", "-1", "SIGHTLINE_HEARTBEAT_LIMIT must be a whole number, not '-1'."),
    ],
)
def test_a_wrong_variable_is_one_sentence(manage: Any, variable: str, value: str, sentence: str) -> None:
    done = manage("login-link", **{variable: value})
    assert done.returncode == 2 and sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and done.stdout == ""
    assert "hush" not in done.stderr  # the first half of a password


def test_a_file_in_the_place_of_the_data_folder_is_said(root: Path) -> None:
    file = root / "file"
    file.write_text("not a folder")
    for command, place in (("up", file), ("login-link", file / "below")):
        done = bare(command, "--data", str(place))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"The data folder {place} cannot be used: there is a file in its place.\n"
    assert file.read_text() == "not a folder"


def test_doctor_makes_nothing_and_knows_a_folder_that_is_not_there_yet(root: Path) -> None:
    place = root / "not" / "yet"
    done = bare("doctor", "--data", str(place))
    assert f"The data folder {place} is not there yet; the first start makes it" in done.stderr
    assert not place.parent.exists()


def bare(*words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("SIGHTLINE_DATA", "DJANGO_SETTINGS_MODULE")}
    return subprocess.run(
        [sys.executable, "manage.py", *words], cwd=HERE, env=env, capture_output=True, text=True, timeout=100
    )


def test_doctor_tells_what_is_missing(manage: Any, root: Path) -> None:
    done = manage("doctor", SIGHTLINE_WEIGHTS=str(root / "no-weights"), SIGHTLINE_VALKEY=str(root / "no-valkey"))
    assert done.returncode == 2
    assert "SIGHTLINE_VALKEY names" in done.stderr and "Model weights are missing" in done.stderr
    only_weights = manage("doctor", SIGHTLINE_WEIGHTS=str(root / "no-weights"))
    assert only_weights.returncode == 3


def test_a_login_link_is_printed_for_the_first_admin(manage: Any) -> None:
    done = manage("login-link")
    assert done.returncode == 0 and done.stdout.startswith("/link/") and "No studio runs" in done.stderr


def test_two_commands_at_once_take_turns(root: Path) -> None:
    words = [sys.executable, "manage.py", "login-link", "--data", str(root / "data")]
    env = {k: v for k, v in os.environ.items() if k not in ("SIGHTLINE_DATA", "DJANGO_SETTINGS_MODULE")}
    both = [
        subprocess.Popen(words, cwd=HERE, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=200) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert len({link for link, _ in said}) == 2
    assert sum("Waiting for `login-link`" in words for _, words in said) == 1


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--help",), 0, ""),
        (("audit", "--help"), 0, ""),
        (("audit",), 2, "required"),
        (("lint-bench", "demo"), 2, "There is no studio in"),
        (("ingest", "nosuch.mp4", "--project", "one"), 2, "There is no file nosuch.mp4."),
        (("import-run", "nosuch", "--project", "one"), 2, "There is no file or folder nosuch."),
    ],
)
def test_what_begins_nothing_makes_no_data_folder(
    tmp_path: Path, words: tuple[str, ...], code: int, sentence: str
) -> None:
    done = bare(*words, "--data", str(tmp_path / "data"))
    assert done.returncode == code and sentence in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
