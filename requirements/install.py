"""Install pinned packages into the virtual environment this runs in: `python requirements/install.py LOCK... [FOLDER]`.

A folder's own package is installed as an editable one.

uv does it where it can: it downloads, unpacks and links in parallel and takes a fraction of pip's time. pip does the
rest: it fetches uv (so that an index, a proxy or a certificate of the user's pip settings is used), and it installs
everything where uv does not run or the user's pip settings say something that uv has no word for.
Byte code is left to warm.py.
"""

from __future__ import annotations

import ast
import ensurepip
import os
import subprocess
import sys
import sysconfig
import time
from importlib.util import find_spec
from pathlib import Path

UV = "uv==0.13.9"
QUIET = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location", "--no-deps", "--no-compile"]
# pip settings that change nothing in what is installed
NEUTRAL = {
    "break-system-packages", "cache-dir", "compile", "disable-pip-version-check", "exists-action", "no-color",
    "no-compile", "no-input", "no-warn-script-location", "prefer-binary", "progress-bar", "quiet",
    "require-virtualenv", "retries", "root-user-action", "upgrade-strategy", "verbose",
}  # fmt: skip
OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "constraint": "--constraint",
}
SWITCHES = {"no-index": "--no-index", "no-cache-dir": "--no-cache"}
VARIABLES = {"cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY", "timeout": "UV_HTTP_TIMEOUT"}


class NotWithUv(Exception):
    """Why uv cannot do it, as the end of a sentence."""


def main(arguments: list[str]) -> int:
    began = time.monotonic()
    locks = [word for word in arguments if word.endswith(".lock")]
    steps = [[word for lock in locks for word in ("--requirement", lock)]]
    if len(arguments) > len(locks):
        own = [word for folder in arguments if folder not in locks for word in ("--editable", folder)]
        steps.append(["--no-build-isolation", *own])  # the lock has what builds it
    pip = pip_command()
    print(f"Installing the packages of {' and '.join(locks)}", flush=True)
    try:
        with_uv(pip, steps)
    except NotWithUv as reason:
        print(f"Installing with pip, which takes minutes: {reason}.", flush=True)
        for step in steps:
            done = subprocess.run([*pip, "install", *QUIET, *step])
            if done.returncode:
                return done.returncode
    print(f"Installed in {time.monotonic() - began:.0f} s", flush=True)
    return 0


def with_uv(pip: list[str], steps: list[list[str]]) -> None:
    """Raises NotWithUv."""
    options, variables = uv_words(pip_settings(pip))
    uv = Path(sys.executable).with_name("uv")
    if run([*pip, "install", *QUIET, UV]).returncode or not uv.exists():
        raise NotWithUv(f"{UV} could not be had for this machine")
    for step in steps:
        command = [str(uv), "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, *options, *step]
        done = run(command, variables)
        if done.returncode:
            raise NotWithUv(f"uv said: {' '.join(done.stderr.split())[:300] or 'nothing'}")


def run(command: list[str], variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`variables` are for what the environment does not set itself."""
    try:
        return subprocess.run(command, env=(variables or {}) | os.environ, capture_output=True, text=True)
    except OSError as error:  # a program for another machine
        return subprocess.CompletedProcess(command, 1, "", str(error))


def pip_command() -> list[str]:
    """pip of this environment, else the wheel Python carries, which runs as it is: unpacking it takes seconds."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    folder = sysconfig.get_config_var("WHEEL_PKG_DIR") or Path(ensurepip.__file__).parent / "_bundled"
    wheel = max(Path(folder).glob("pip-*.whl"), default=None)
    if wheel is None:
        subprocess.run([sys.executable, "-m", "ensurepip", "--default-pip"], check=True, stdout=subprocess.DEVNULL)
        return [sys.executable, "-m", "pip"]
    return [sys.executable, str(wheel / "pip")]


def pip_settings(pip: list[str]) -> dict[str, str]:
    """What pip's files and PIP_* variables set for an installation. Raises NotWithUv."""
    said = run([*pip, "config", "list"])
    if said.returncode:
        raise NotWithUv("pip's settings cannot be read")
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}  # a later one wins
    for line in said.stdout.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in found:
            found[section][key.removeprefix("default-")] = str(ast.literal_eval(value))
    return found["global"] | found["install"] | found[":env:"]


def uv_words(settings: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """uv's options and environment variables for these pip settings. Raises NotWithUv for one it has no word for."""
    options = ["--index-strategy", "unsafe-best-match"]  # all indexes are asked, as pip does
    variables = {}
    for key, value in settings.items():
        if key in OPTIONS:
            options += [word for item in value.split() for word in (OPTIONS[key], item)]
        elif key in SWITCHES:
            options += [SWITCHES[key]] if value.lower() in ("1", "true", "yes", "on", "t", "y") else []
        elif key in VARIABLES:
            variables[VARIABLES[key]] = value
        elif key not in NEUTRAL:
            raise NotWithUv(f"pip's setting {key!r} has no equal in uv")
    return options, variables


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
