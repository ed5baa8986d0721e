"""The models that training and evaluation may begin with: subfolders of the folders in `settings.BASE_MODELS`.

They are named, never typed: a name that is not listed here is no model. A model's folder holds a `config.json` and
weights as safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from webapp.lib.errors import Refused


def _folders() -> Iterator[Path]:
    """Each model once, the first folder that has its name first."""
    seen: set[str] = set()
    for place in settings.BASE_MODELS:
        if not place.is_dir():
            continue
        for folder in sorted(place.iterdir()):
            if folder.name in seen or folder.name.startswith(".") or len(folder.name) > 120:
                continue
            if is_model(folder):
                seen.add(folder.name)
                yield folder


def is_model(folder: Path) -> bool:
    """Whether the folder holds a model in safetensors."""
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def base_models() -> list[dict[str, Any]]:
    """[{"name", "about", "bytes"}] of the models there are; `about` is their architecture, as config.json names it."""
    return [
        {
            "name": folder.name,
            "about": about(folder),
            "bytes": sum(path.stat().st_size for path in folder.glob("*.safetensors")),
        }
        for folder in _folders()
    ]


def about(folder: Path) -> str:
    try:
        found = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError):
        return ""
    return str(found.get("model_type", ""))[:60] if isinstance(found, dict) else ""


def model_path(name: str) -> Path:
    """The folder of a model by its name. Raises Refused."""
    for folder in _folders():
        if folder.name == name:
            return folder
    places = " or ".join(str(place) for place in settings.BASE_MODELS)
    raise Refused(f"There is no model {name!r} in {places}.", "base_model")
