"""What is understood and said on the command line, without a studio."""

from __future__ import annotations

import errno
import io
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from webapp.studio import early, report
from webapp.studio.command import StudioCommand, about_files
from webapp.studio.errors import StudioError
from webapp.studio.follow import bars
from webapp.studio.lock import Lock
from webapp.studio.management.commands.demo import local_time
from webapp.studio.output import check_new_folder, write_json


@pytest.mark.parametrize(
    ("words", "port"),
    [("up", None), ("up --port 9000", 9000), ("demo --exit --json - --port=9001", 9001)],
)
def test_words_of_up_and_demo_are_understood_before_django_is_there(words: str, port: int | None) -> None:
    options = early.understood(words.split())
    assert options is not None and options.port == port


@pytest.mark.parametrize("words", ["", "doctor", "up --help", "up --port x", "up --port", "up extra", "demo --jsno x"])
def test_what_is_not_understood_begins_nothing(words: str) -> None:
    assert early.understood(words.split()) is None


def test_without_a_terminal_each_stage_is_one_line_and_a_long_one_tells_its_tenths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    monkeypatch.setattr("webapp.studio.follow.time.monotonic", lambda: clock)
    paper = io.StringIO()
    with bars(Console(file=paper)) as show:
        show("", 0.0)
        show("copy", 0.0)
        show("copy", 1.0)
        for percent in range(100):  # two seconds for each
            show("faces", percent / 100)
            clock += 2.0
        show.fill()
    assert paper.getvalue().split("\n") == ["copy", "faces", *(f"faces {tenth}0 %" for tenth in range(1, 10)), ""]


def test_a_report_of_a_run_from_elsewhere_has_no_empty_tables() -> None:
    paper = io.StringIO()
    found = {"shots": [], "gaze_samples": 12, "events": {}, "seconds": {}, "realtime_factor": None, "peak_rss_mb": 0.0}
    report.show(found, Console(file=paper))
    assert paper.getvalue() == "12 gaze samples, 0 events\n"


def test_one_of_a_kind_is_counted_as_one() -> None:
    paper = io.StringIO()
    found = {
        "shots": [], "gaze_samples": 1, "events": {"mutual_gaze": 1}, "seconds": {}, "realtime_factor": None,
        "peak_rss_mb": 0.0,
    }  # fmt: skip
    report.show(found, Console(file=paper))
    assert paper.getvalue().startswith("1 gaze sample, 1 event\n")


def test_times_on_the_command_line_are_those_of_the_machine() -> None:
    moment = datetime(2026, 7, 30, 1, 11, tzinfo=UTC)
    words = ["date", "-d", f"@{int(moment.timestamp())}", "+%Y-%m-%d %H:%M %Z"]
    said = subprocess.run(words, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True)
    assert local_time(moment) == said.stdout.strip()


def test_a_full_disk_and_a_refused_file_are_sentences_and_other_faults_are_not(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    assert about_files(full, tmp_path) == f"The disk that holds {tmp_path} is full."
    closed = PermissionError(errno.EACCES, "Permission denied", "/data/secret-key")
    assert about_files(closed, tmp_path) == "/data/secret-key cannot be used: Permission denied."
    with pytest.raises(BrokenPipeError):
        about_files(BrokenPipeError(errno.EPIPE, "Broken pipe"), tmp_path)


def test_results_that_cannot_be_written_leave_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def full(self: Path, text: str) -> int:
        with self.open("w") as file:
            file.write(text[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(Exception, match=r"cannot be written to .*out\.json: No space left on device"):
        write_json(str(target), [{"a": 1}], several=False)
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_the_note_of_a_killed_holder_counts_for_nothing(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    assert lock.take("up") and Lock(tmp_path).read()["what"] == "up"
    lock.note.write_text('{"pid": 4194305, "what": "up", "address": "http://127.0.0.1:8420"}')  # above any pid
    assert Lock(tmp_path).read() == {}
    lock.free()


def test_brackets_in_a_name_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    class Lost(StudioCommand):
        def work(self, **options: Any) -> int:
            raise StudioError("There is no file [b]x[/b] [/y].json.")

    with pytest.raises(SystemExit):
        Lost().handle()
    assert capsys.readouterr().err == "There is no file [b]x[/b] [/y].json.\n"


def test_a_folder_for_a_release_is_looked_at_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    for good in ("empty", "new", "new/two words/deep"):
        check_new_folder(tmp_path / good)
    for bad in (".", "file", "lost"):
        with pytest.raises(StudioError, match="holds something; name a new folder"):
            check_new_folder(tmp_path / bad)
    for bad in ("file/new", "lost/new/er"):
        with pytest.raises(StudioError, match=f"cannot be made: {tmp_path / bad.split('/')[0]} is no folder"):
            check_new_folder(tmp_path / bad)
