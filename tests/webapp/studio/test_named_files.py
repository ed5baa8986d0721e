"""What commands say of words and targets that cannot be used, before they start anything."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webapp.studio.command import check_words
from webapp.studio.errors import StudioError
from webapp.studio.management.commands.release import shares_of
from webapp.studio.output import check_new_folder, check_target

COMMANDS = "webapp.studio.management.commands"
NOT_UTF8 = os.fsdecode(b"caf\xe9")


def test_a_pipe_or_a_device_is_no_target(tmp_path: Path) -> None:
    """It would be replaced by a file."""
    os.mkfifo(tmp_path / "pipe")
    for where in (str(tmp_path / "pipe"), "/dev/null"):
        with pytest.raises(StudioError, match=f"cannot be written to {where}: it is no ordinary file"):
            check_target(where)


def test_a_name_that_cannot_be_is_said_before_a_release_is_cut(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long"):
        check_new_folder(tmp_path / ("a" * 300))


def test_a_word_that_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    for options in ({"project": NOT_UTF8}, {"video": ["fine", NOT_UTF8]}):
        with pytest.raises(StudioError, match=r"'caf\\udce9' is no text in UTF-8"):
            check_words(options)
    there = tmp_path / NOT_UTF8  # the file itself may be called so
    there.write_bytes(b"")
    check_words({"video": [str(there)], "file": [Path(NOT_UTF8)], "json": "-", "number": 3})


def test_the_data_folder_has_a_name_in_utf8(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from webapp.lib.datafolder import take_data_option

    monkeypatch.setenv("SIGHTLINE_DATA", "")
    with pytest.raises(SystemExit) as ended:
        take_data_option(["prove", "--data", NOT_UTF8])
    assert ended.value.code == 2 and "no text in UTF-8" in capsys.readouterr().err


def test_a_split_has_one_share() -> None:
    assert shares_of("test=8,validation=2") == {"test": 8.0, "validation": 2.0}
    with pytest.raises(StudioError, match="'test' twice"):
        shares_of("test=1,test=2")


@pytest.mark.parametrize(
    "command, options, sentence",
    [
        ("lint-bench", {"source": "{items}", "ask": 2}, "No multimodal endpoint is set up here"),
        ("export", {"video": "v", "out": "-", "format": "graphml"}, "--out is a file"),
        ("export", {"video": "v", "out": "/dev/null", "format": "graphml"}, "it is no ordinary file"),
    ],
)
def test_commands_end_with_a_sentence(
    command: str, options: dict[str, Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name in [name for name in os.environ if name.startswith("SIGHTLINE_ENDPOINT")]:
        monkeypatch.delenv(name)
    (tmp_path / "items.json").write_text('[{"question": "Who?"}]')
    if "source" in options:
        options = options | {"source": str(tmp_path / "items.json")}
    defaults: dict[str, Any] = {"json": None, "scheme": None, "train": None, "events": [], "embedding": None}
    with pytest.raises(SystemExit) as ended:
        import_module(f"{COMMANDS}.{command}").Command().handle(**(defaults | options))
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
