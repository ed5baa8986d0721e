"""What a grounder lacks is told without loading it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ml.evidence.grounding import ready
from ml.evidence.grounding.looking import DETECTOR
from ml.perception import registry
from ml.perception.masks.masker import BACKENDS
from ml.weights.cache import MissingWeights


def test_the_embedded_grounder_needs_the_models_that_its_parts_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = (registry.backend_class(name).weights for name in (*BACKENDS, DETECTOR))
    assert set(ready.EMBEDDED) == {model for part in parts for model in part}
    monkeypatch.setenv("SIGHTLINE_WEIGHTS", str(tmp_path))
    with pytest.raises(MissingWeights, match="fetch them with `make weights`"):
        ready.need("embedded")
