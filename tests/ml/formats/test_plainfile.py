"""Files that commands are given: pipes and devices are refused, folders and names that cannot be are named."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ml.formats.plainfile import read_file, write_file
from ml.social.events.__main__ import main as events
from ml.social.graph.__main__ import main as graph


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_is_not_waited_for(pipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out.json")
    for command in (lambda: events([str(pipe), out]), lambda: graph([str(pipe), str(pipe), out])):
        assert command() == 2
        assert capsys.readouterr().err == f"{pipe}: It is no ordinary file.\n"


@pytest.mark.parametrize("work", [read_file, lambda path: write_file(path, b"x")])
def test_what_is_no_file_stays_as_it_is(work: Callable[[Path], object], pipe: Path) -> None:
    """A device or pipe that a file is renamed over is gone for everybody who uses it."""
    with pytest.raises(OSError, match="no ordinary file"):
        work(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_file(path, b"one")
    write_file(path, b"two")
    assert read_file(path) == b"two" and [one.name for one in tmp_path.iterdir()] == ["a.json"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_file(tmp_path / "folder", b"x")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.json", "folder"]


def test_a_full_disk_is_named_by_what_was_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_file(path, b"old")
    (tmp_path / f".a.json.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(OSError) as caught:
        write_file(path, b"new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_bytes() == b"old" and [one.name for one in tmp_path.iterdir()] == ["a.json"]
