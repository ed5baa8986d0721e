"""What the installation makes of a user's pip settings; the installation itself is measured in test_bench.py."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from webapp.lib.datafolder import HERE

SCRIPT = HERE / "requirements" / "install.py"


@pytest.fixture(scope="module")
def install() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_pips_settings_are_said_in_uvs_words(install: dict[str, Any]) -> None:
    options, variables = install["uv_words"](
        {
            "index-url": "https://one.example/simple",
            "extra-index-url": "https://two.example/simple\nfile:///three",
            "no-cache-dir": "1",
            "no-index": "false",
            "cert": "/etc/own.pem",
            "timeout": "60",
            "progress-bar": "off",
        }
    )
    assert options[2:] == [
        *("--default-index", "https://one.example/simple"),
        *("--index", "https://two.example/simple", "--index", "file:///three"),
        "--no-cache",
    ]
    assert variables == {"SSL_CERT_FILE": "/etc/own.pem", "UV_HTTP_TIMEOUT": "60"}


def test_a_setting_uv_has_no_word_for_leaves_the_work_to_pip(install: dict[str, Any]) -> None:
    with pytest.raises(install["NotWithUv"], match="pip's setting 'client-cert' has no equal in uv"):
        install["uv_words"]({"client-cert": "/etc/me.pem"})


def test_a_variable_wins_over_pips_files(install: dict[str, Any], tmp_path: Path, monkeypatch: Any) -> None:
    own = tmp_path / "pip.conf"
    own.write_text(
        "[global]\nindex-url = https://one.example/simple\nno-index = true\n"
        "[install]\nfind-links =\n  /a\n  /b\n[download]\npre = 1\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(own))
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://two.example/simple")
    found = install["pip_settings"]([sys.executable, "-m", "pip"])
    assert found["index-url"] == "https://two.example/simple" and found["no-index"] == "true"
    assert "pre" not in found
    assert found["find-links"].split() == ["/a", "/b"]


def test_pip_takes_over_in_one_plain_line(tmp_path: Path) -> None:
    """An environment without anything, a pip setting that uv does not know, and a lock with nothing to fetch."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    lock = tmp_path / "none.lock"
    lock.write_text("# nothing\n")
    done = subprocess.run(
        [venv / "bin" / "python", SCRIPT, lock],
        env={"PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": "/dev/null", "PIP_CLIENT_CERT": "/etc/me.pem"},
        capture_output=True, text=True,
    )  # fmt: skip
    said = done.stdout.splitlines()
    assert said[1] == "Installing with pip, which takes minutes: pip's setting 'client-cert' has no equal in uv."
    assert done.returncode == 0 and len(said) == 3, done.stderr


def test_every_lock_pins_every_package() -> None:
    for lock in (HERE / "requirements").glob("*.lock"):
        lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
        assert lines and all(line.count("==") == 1 for line in lines if ";" not in line), lock
