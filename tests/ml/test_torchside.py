from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ml import torchside


def test_what_names_sam3_loads_no_torch() -> None:
    """In a fresh interpreter: registries, grounders and the person tracker."""
    script = (
        "import sys; import ml.social, ml.torchside, ml.evidence.grounding.registry, ml.evidence.grounding.sam3, "
        "ml.evidence.grounding.sam3_official, ml.perception.registry, ml.perception.sam3_people; "
        "print({'torch', 'torchvision', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_missing_packages_are_named_with_the_way_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchside, "missing", lambda: ["torch", "transformers"])
    with pytest.raises(
        torchside.MissingPackages, match="SAM 3 needs torch and transformers; install them with `make ml`"
    ):
        torchside.load("SAM 3")
    assert not torchside.declare_operators()
    assert torchside.needs("Training", ["a", "b", "c"], " here").startswith("Training needs a, b and c here; install")
    assert torchside.needs("Training", ["a"]).startswith("Training needs a; install")


@pytest.mark.xdist_group("torch")
def test_what_needs_torchvision_can_be_imported(tiny_sam3: Path) -> None:
    torch, hf = torchside.load()
    if torch.version.cuda is None:
        assert torchside._declared is not None or torchside.own_operators(torch)
    assert not torchside.declare_operators()  # once is enough, twice would be an error
    for name in ("AutoProcessor", "Qwen3VLVideoProcessor", "Sam3VideoProcessor", "Sam3ImageProcessor"):
        assert getattr(hf, name).__name__ == name
    assert type(hf.AutoProcessor.from_pretrained(tiny_sam3)).__name__ == "Sam3VideoProcessor"
