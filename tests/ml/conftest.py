"""SAM 3 with tiny random weights, written once for a run of the tests; without `make ml` its tests are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ml import torchside


@pytest.fixture(scope="session")
def tiny_sam3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the weights. Nothing may be fetched while it is used."""
    if torchside.missing():
        pytest.skip(f"{', '.join(torchside.missing())} is not installed; `make ml` installs it.")
    from tests.ml.evidence.grounding import tiny

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        torch, _ = torchside.load()
        torch.set_num_threads(1)  # on a busy machine several spin for each other
        yield tiny.write(tmp_path_factory.mktemp("sam3"))
