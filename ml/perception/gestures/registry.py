"""Gesture detectors by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ml.perception.gestures.protocol import GestureDetector
from ml.weights.manifest import MODELS

# name -> module and class; imported only when it is loaded, so that naming a detector costs nothing
DETECTORS = {
    "rules": ("ml.perception.gestures.detector", "Rules"),
    "mllm": ("ml.perception.gestures.mllm", "Mllm"),
}


def load(name: str, weights: Path | None = None) -> GestureDetector:
    """A ready detector. Raises ValueError for an unknown name or missing configuration, MissingWeights."""
    if name not in DETECTORS:
        raise ValueError(f"There is no gesture detector {name!r}; known are {', '.join(DETECTORS)}.")
    module, attribute = DETECTORS[name]
    detector: GestureDetector = getattr(import_module(module), attribute)(weights)
    return detector


def describe(detector: GestureDetector) -> dict[str, Any]:
    """What a result records of its detector: name, version, sha256 by weights file, settings."""
    hashes = {MODELS[model].file: MODELS[model].sha256 for model in detector.weights}
    return {
        "name": detector.name,
        "version": detector.version,
        "origin": detector.origin,
        "weights": hashes,
        "settings": detector.settings(),
    }
