"""Where the weights of SAM 3 are, whether they can be used, and what they are.

`SIGHTLINE_SAM3_WEIGHTS` (or the argument of whoever loads a backend) is a folder like that of `facebook/sam3`, or the
name of such a repository on a model hub, which the user's own login and cache are asked for. Without it the folder
`sam3` of the user's cache is taken. The weights are gated and under the SAM License: everybody asks for their own copy.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from ml.weights import cache

VARIABLE = "SIGHTLINE_SAM3_WEIGHTS"
LICENCE = "SAM License"
SOURCE = "facebook/sam3"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
PROCESSOR = ("processor_config.json", "preprocessor_config.json")
FETCHED = ["*.json", "*.txt", "*.safetensors"]
HOW = f"Ask for access to {SOURCE}, download it, and name its folder in {VARIABLE}."


def chosen(weights: Path | str | None = None) -> str:
    """What is to be used: a folder or a hub's name, as text; neither need exist."""
    return str(weights or os.environ.get(VARIABLE) or cache.root() / "sam3")


def is_of_a_hub(weights: Path | str | None = None) -> bool:
    """Whether what is to be used is no folder here but may be a repository on a hub."""
    wanted = chosen(weights)
    there = Path(wanted).expanduser().is_dir()
    return not there and HUB_NAME.fullmatch(wanted) is not None and not wanted.startswith(".")


def folder(weights: Path | str | None = None) -> Path:
    """The folder with config, processor and safetensors. Raises MissingWeights with a sentence."""
    wanted = chosen(weights)
    path = Path(wanted).expanduser()
    if not path.is_dir():
        if not is_of_a_hub(weights):
            raise cache.MissingWeights(f"The weights of SAM 3 are not in {path}. {HOW}")
        path = from_hub(wanted)
    for names in (("config.json",), PROCESSOR):
        if not any((path / name).is_file() for name in names):
            raise cache.MissingWeights(f"There is no {' or '.join(names)} with the weights of SAM 3 in {path}. {HOW}")
    if not files(path):
        raise cache.MissingWeights(
            f"There is no .safetensors file in {path}; other kinds of weights are not opened. {HOW}"
        )
    return path


def from_hub(name: str) -> Path:
    """The folder of a repository in the hub client's cache, fetched where that is allowed."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise cache.MissingWeights(f"To fetch {name} from a hub the packages of `make ml` are needed.") from error
    try:
        return Path(snapshot_download(name, allow_patterns=FETCHED))
    except Exception as error:  # offline, no such repository, no access: each with a page of its own words
        reason = (" ".join(str(error).split()) or type(error).__name__)[:200]
        raise cache.MissingWeights(f"The weights of SAM 3 could not be had as {name}: {reason}") from error


def files(path: Path) -> list[Path]:
    """The weights files of a folder, by name."""
    return sorted(path.glob("*.safetensors"))


def hashes(path: Path) -> dict[str, str]:
    """sha256 by file name, of the weights and of the configuration, which decides as much."""
    deciding = [*files(path), path / "config.json"]
    return {file.name: _sha256(file, file.stat().st_size, file.stat().st_mtime_ns) for file in deciding}


@lru_cache(maxsize=32)
def _sha256(path: Path, size: int, changed_ns: int) -> str:
    return cache.sha256(path)
