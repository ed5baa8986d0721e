"""Write the pinned locks again from pyproject.toml: `python requirements/lock.py [run dev ml]`.

Each lock lists every package of its extras with the version pip resolves today on this platform. dev and ml build on
run: they are resolved together with it, so no version differs, and list only what they add.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTRAS = {"run": "embedded,perception", "dev": "dev", "ml": "ml"}
# needed by Python 3.11.0 to 3.11.2 only (redis), so a newer one does not resolve it
EXTRA_LINES = {"run": ['async-timeout==5.0.1; python_full_version < "3.11.3"']}
# deepspeed asks for the build tool of this name, whose Python package would overwrite that of django-ninja; only its
# program is needed, and only where an operator is compiled on a GPU machine: from the system (ninja-build)
LEFT_OUT = {"ninja"}
BUILD = ["setuptools==80.9.0", "pip==26.3"]  # setuptools builds the editable install without a second environment


def resolve(extras: str, pins: Path | None) -> dict[str, str]:
    """Name -> version of everything these extras need, as pip would install it into an empty environment."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    constraint = ["-c", str(pins)] if pins else []
    said = subprocess.run(
        [*command, *constraint, f"{HERE.parent}[{extras}]", *BUILD], check=True, capture_output=True, text=True
    )
    items = [item["metadata"] for item in json.loads(said.stdout)["install"]]
    # without a build's own mark (torch 2.13.0+cpu): each machine takes the build that fits it
    found = {item["name"]: item["version"].partition("+")[0] for item in items}
    return {name: version for name, version in found.items() if name not in {"sightline", *LEFT_OUT}}


def write(name: str, found: dict[str, str]) -> None:
    lines = sorted((f"{package}=={version}" for package, version in found.items()), key=str.lower)
    head = f"# Every package of the extras {EXTRAS[name]}, pinned; made by requirements/lock.py."
    (HERE / f"{name}.lock").write_text("\n".join([head, *lines, *EXTRA_LINES.get(name, [])]) + "\n")


def main() -> None:
    for name in sys.argv[1:] or EXTRAS:
        if name == "run":
            write("run", resolve(EXTRAS["run"], None))
        else:
            base = resolve(EXTRAS["run"], HERE / "run.lock")
            both = resolve(f"{EXTRAS['run']},{EXTRAS[name]}", HERE / "run.lock")
            write(name, {package: version for package, version in both.items() if package not in base})


if __name__ == "__main__":
    main()
