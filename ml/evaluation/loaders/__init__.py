"""Loaders by the kind of benchmark, and telling the kind by what the files look like."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ml.evaluation.bench import Loader
from ml.evaluation.loaders import dialogue, grasp, omni, release
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries

KINDS: dict[str, Loader] = {
    "release": release.load,
    "grasp": grasp.load,
    "mmsi": dialogue.load_mmsi,
    "online-mmsi": dialogue.load_mmsi,
    "tvqa+": dialogue.load_tvqa,
    "intentbench": omni.load_intentbench,
    "daily-omni": omni.load_daily_omni,
    "worldsense": omni.load_worldsense,
}


def detect(path: Path) -> str:
    """The kind, by the fields of the first item. Raises FormatError where no kind fits."""
    if path.is_dir() and (path / "release.json").is_file():
        return "release"
    first = next(islice(entries(path), 1), None)
    kind = _kind(first.tree, path) if first is not None else None
    if kind is None:
        raise FormatError(f"{path} is none of the benchmarks read here ({', '.join(KINDS)}); name it with --kind.")
    return kind


def _kind(tree: Any, path: Path) -> str | None:
    if not isinstance(tree, Mapping):
        return None
    for wrapped in ("data", "items", "questions"):
        if isinstance(tree.get(wrapped), list) and tree[wrapped] and "question" not in tree:
            return _kind(tree[wrapped][0], path)
    if "a0" in tree and "q" in tree:
        return "tvqa+"
    if "problem" in tree and "problem_type" in tree:
        return "intentbench"
    if "Question" in tree and "Choice" in tree:
        return "daily-omni"
    if "choices" in tree and ("utterance" in tree or "answer_idx" in tree):
        return "online-mmsi" if "online" in f"{path.parent.name}/{path.name}".lower() else "mmsi"
    if "qa" in tree or ("question" in tree and {"category", "clip_file", "format", "options"} & set(tree)):
        return "grasp"
    if tree and all(isinstance(one, Mapping) and omni.tasks_of(one) for one in islice(tree.values(), 3)):
        return "worldsense"
    return None
