"""What the installation makes of a user's pip settings; the installation itself is measured in test_bench.py."""

from __future__ import annotations

import importlib.metadata
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


@pytest.mark.parametrize("lock,extras", [("run", ("embedded", "perception")), ("dev", ("dev",))])
def test_nothing_that_a_pinned_package_needs_is_left_open(lock: str, extras: tuple[str, ...]) -> None:
    """From pyproject.toml on, whatever the installed packages say they need stands in run.lock or in the lock."""
    pinned = {name for each in {"run", lock} for name in names_in(HERE / "requirements" / f"{each}.lock")}
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    waiting, seen = [Requirement(line) for line in wanted], set[tuple[str, str]]()
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        assert name in pinned, f"{name} is not in {lock}.lock"
        for extra in ("", *need.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                found = [Requirement(line) for line in importlib.metadata.requires(name) or ()]
                waiting += [r for r in found if r.marker is None or r.marker.evaluate({"extra": extra})]
    assert len(seen) > 20


def names_in(lock: Path) -> list[str]:
    lines = [line.partition(";")[0].split("==") for line in lock.read_text().splitlines()]
    return [canonicalize_name(parts[0]) for parts in lines if len(parts) == 2]


def test_the_training_lock_leaves_nothing_to_run_lock_that_is_not_there() -> None:
    """transformers and datasets need these; they stood in run.lock as long as something of run needed them, too."""
    pinned = {name for lock in ("run", "ml") for name in names_in(HERE / "requirements" / f"{lock}.lock")}
    assert {"tqdm", "pyyaml", "packaging", "numpy", "filelock", "huggingface-hub"} <= pinned
