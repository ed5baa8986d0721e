"""Results as JSON: one object, or one a line when a command has several inputs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def write_json(where: str, objects: list[dict[str, Any]], *, several: bool) -> None:
    """Write to a file, or to standard output for `-`; the file appears when it is whole."""
    text = "".join(json.dumps(o) + "\n" for o in objects) if several else json.dumps(objects[0], indent=2) + "\n"
    if where == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = Path(where)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)
