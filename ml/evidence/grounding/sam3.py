"""SAM 3 by transformers as a grounder: the default one where there is a GPU.

Not verified with the released weights here: they are gated. `manage.py verify-backend sam3` checks them for whoever has
them.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ml.evidence.grounding import ready, sam3_weights
from ml.evidence.grounding.engine import Engine
from ml.evidence.grounding.phrases import PhraseGrounder


class Sam3(PhraseGrounder):
    """`weights`: a folder or a hub's name (see `sam3_weights`). Raises MissingWeights or MissingPackages at once; the
    model itself is loaded when it is first used."""

    name: ClassVar[str] = "sam3"
    version: ClassVar[str] = "1"

    def __init__(self, weights: Path | None = None) -> None:
        super().__init__(weights)
        ready.need_transformers()
        self.folder = sam3_weights.folder(weights)

    def make_engine(self) -> Engine:
        from ml.evidence.grounding.sam3_model import Transformers

        return Transformers(self.folder)

    def hashes(self) -> dict[str, str]:
        return sam3_weights.hashes(self.folder)
