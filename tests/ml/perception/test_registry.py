"""Every backend of the profiles is what its kind promises."""

from __future__ import annotations

import inspect
from dataclasses import asdict

import pytest

from ml.perception import protocols, registry
from ml.weights.manifest import MODELS

KINDS = {
    "objects": protocols.ObjectDetector,
    "faces": protocols.FaceDetector,
    "mesh": protocols.FaceMesher,
    "identity": protocols.FaceEmbedder,
    "people": protocols.PersonTracker,
}


@pytest.mark.parametrize("profile", sorted(registry.PROFILES))
def test_backends_fulfil_the_protocol_of_their_kind(profile: str) -> None:
    chosen = asdict(registry.profile(profile))
    assert set(chosen) == set(KINDS)
    for kind, name in chosen.items():
        if name is None:
            assert kind == "people"
            continue
        backend = registry.backend_class(name)
        assert backend.name == name and backend.version
        assert set(backend.weights) <= set(MODELS)
        methods = [m for m, what in vars(KINDS[kind]).items() if not m.startswith("_") and callable(what)]
        assert methods
        for method in methods:
            promised = inspect.signature(getattr(KINDS[kind], method))
            assert inspect.signature(getattr(backend, method)) == promised, f"{name}.{method}"
