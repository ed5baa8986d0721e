"""Grounders by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ml.evidence.grounding.protocol import Grounder


@dataclass(frozen=True)
class About:
    """Where a grounder is, imported only when it is loaded, and what can be said of it before."""

    module: str
    attribute: str
    sentence: str


GROUNDERS = {
    "embedded": About(
        "ml.evidence.grounding.embedded", "Embedded", "Person masks and the 80 COCO classes; knows no other words."
    ),
    "sam3": About("ml.evidence.grounding.sam3", "Sam3", "SAM 3 in transformers: any short noun phrase."),
    "sam3-official": About(
        "ml.evidence.grounding.sam3_official", "Sam3Official", "SAM 3 in its own package, on an NVIDIA GPU only."
    ),
}


def grounder_class(name: str) -> Any:
    """The class of a grounder. Raises ValueError for an unknown name."""
    if name not in GROUNDERS:
        raise ValueError(f"There is no grounder {name!r}; known are {', '.join(GROUNDERS)}.")
    about = GROUNDERS[name]
    return getattr(import_module(about.module), about.attribute)


def load(name: str, weights: Path | None = None) -> Grounder:
    """A ready grounder. Raises ValueError for an unknown name or missing configuration, MissingWeights."""
    grounder: Grounder = grounder_class(name)(weights)
    return grounder


def describe(grounder: Grounder) -> dict[str, Any]:
    """What a result records of its grounder: name, version, and all else that decides the result."""
    return {"name": grounder.name, "version": grounder.version, **grounder.describe()}
