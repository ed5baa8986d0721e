"""Backends by name, and the profiles that combine them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ml.weights import cache
from ml.weights.manifest import MODELS

# name -> module and class; imported only when it is loaded, so that naming a backend costs nothing
BACKENDS = {
    "nanodet": ("ml.perception.nanodet", "NanoDet"),
    "centerface": ("ml.perception.centerface", "CenterFace"),
    "facemesh": ("ml.perception.facemesh", "FaceMesh"),
    "faceres": ("ml.perception.faceres", "FaceRes"),
    "blazepose": ("ml.perception.pose", "BlazePose"),
    "hands": ("ml.perception.hands", "Hands"),
    "sam3-people": ("ml.perception.sam3_people", "Sam3People"),
    "selfie": ("ml.perception.masks.selfie", "Selfie"),
}


@dataclass(frozen=True)
class Profile:
    """The backend for each kind of work. `people`: who follows people; None: those that `objects` detects are joined
    from frame to frame by `ml.perception.tracker`."""

    objects: str
    faces: str
    mesh: str
    identity: str
    people: str | None = None


PROFILES = {
    "embedded": Profile("nanodet", "centerface", "facemesh", "faceres"),
    "gpu": Profile("nanodet", "centerface", "facemesh", "faceres", "sam3-people"),
}


def backend_class(name: str) -> Any:
    """The class of a backend. Raises ValueError for an unknown name."""
    if name not in BACKENDS:
        raise ValueError(f"There is no perception backend {name!r}; known are {', '.join(sorted(BACKENDS))}.")
    return attribute_of(*BACKENDS[name])


def attribute_of(module: str, attribute: str) -> Any:
    """What a registry names by its module and its name in it."""
    return getattr(import_module(module), attribute)


def load(name: str, folder: Path | None = None) -> Any:
    """A ready backend; `folder` holds the weights (default: the user's cache). Raises MissingWeights at once."""
    return backend_class(name)(folder)


def profile(name: str) -> Profile:
    """A profile by name. Raises ValueError for an unknown one."""
    if name not in PROFILES:
        raise ValueError(f"There is no perception profile {name!r}; known are {', '.join(sorted(PROFILES))}.")
    return PROFILES[name]


def describe(chosen: Profile, folder: Path | None, *, identity: bool) -> list[dict[str, Any]]:
    """What a run records of its backends: name, version, and sha256 by weights file.

    Checks every weights file on the way, so a run fails here, before any work: raises MissingWeights, or ValueError
    where a backend's packages are missing.
    """
    names = [name for kind, name in asdict(chosen).items() if name and (identity or kind != "identity")]
    described = []
    for name in names:
        backend = backend_class(name)
        if name == chosen.people:
            described.append(backend(folder).describe())
            continue
        hashes = {}
        for model in backend.weights:
            cache.find(model, folder)
            hashes[MODELS[model].file] = MODELS[model].sha256
        described.append({"name": name, "version": backend.version, "weights": hashes})
    return described
