"""Whether a grounder could be loaded here, told without loading it: no torch, no pictures, nothing fetched.

What the grounders themselves refuse to start without is said in the same sentences.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from ml import torchside
from ml.evidence.grounding import sam3_weights
from ml.weights import cache
from ml.weights.manifest import MODELS

CHECKPOINT = "sam3.pt"
BPE, BPE_VARIABLE = "bpe_simple_vocab_16e6.txt.gz", "SIGHTLINE_SAM3_BPE"
NO_GPU = "The package sam3 runs on an NVIDIA GPU only, and none is to be seen here."
EMBEDDED = ("blazepose-full", "blazepose-detector", "selfie", "centerface", "nanodet")  # models of its masks and boxes


def need(name: str) -> None:
    """Raises MissingPackages (a ValueError) or MissingWeights with the sentence of what the grounder lacks.

    Weights that a hub is to be asked for are taken as there. Raises ValueError for an unknown name.
    """
    if name == "embedded":
        need_embedded()
    elif name == "sam3":
        need_transformers()
        if not sam3_weights.is_of_a_hub():
            sam3_weights.folder()
    elif name == "sam3-official":
        need_official()
        if not any(Path("/dev").glob("nvidia[0-9]*")):
            raise torchside.MissingPackages(NO_GPU)
        official_files()
    else:
        raise ValueError(f"There is no grounder {name!r}.")


def need_embedded() -> None:
    for model in EMBEDDED:
        path = cache.folder() / MODELS[model].file
        if not path.is_file():
            raise cache.MissingWeights(f"The model weights {path} are missing; fetch them with `make weights`.")


def need_transformers() -> None:
    absent = torchside.missing()
    if absent:
        raise torchside.MissingPackages(torchside.needs("SAM 3", absent))


def need_official() -> None:
    if importlib.util.find_spec("sam3") is None:
        raise torchside.MissingPackages(
            "The grounder sam3-official needs the package sam3, which is not installed; it is optional and stands "
            "in conflict with `make ml`, so give it an environment of its own, or use the grounder sam3."
        )


def official_files(weights: Path | None = None) -> tuple[Path, Path, Path]:
    """The folder, the checkpoint in it, and the package's vocabulary. Raises MissingWeights."""
    folder = Path(sam3_weights.chosen(weights)).expanduser()
    checkpoint, words = folder / CHECKPOINT, Path(os.environ.get(BPE_VARIABLE) or folder / BPE)
    for path in (checkpoint, words):
        if not path.is_file():
            raise cache.MissingWeights(
                f"The grounder sam3-official needs {path}, which is not there. {sam3_weights.HOW}"
            )
    return folder, checkpoint, words
