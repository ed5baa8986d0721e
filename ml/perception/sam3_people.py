"""SAM 3 with the prompt "people" as person tracker, as GRASP has it: masks, boxes and numbers, shot by shot.

GRASP keeps what scores 0.45 or more and looks at chunks of 125 frames that share 5. Not verified with the released
weights here (see `manage.py verify-backend`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ml import torchside
from ml.evidence.grounding import sam3_weights
from ml.evidence.grounding.engine import Engine
from ml.evidence.grounding.protocol import Footage, Masks
from ml.evidence.grounding.search import LONGEST, Search
from ml.evidence.grounding.stitching import LENGTH, OVERLAP, SAME_IOU
from ml.media.index import FrameIndex

PROMPT, THRESHOLD = "people", 0.45


class Sam3People:
    """`weights`: folder of the weights of the other backends; SAM 3's lie in its folder `sam3` where there is one, else
    where `sam3_weights` says. Raises MissingWeights or MissingPackages at once."""

    name: ClassVar[str] = "sam3-people"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ()  # none of the manifest: they are gated
    length, overlap = LENGTH, OVERLAP

    def __init__(self, weights: Path | None = None) -> None:
        absent = torchside.missing()
        if absent:
            raise torchside.MissingPackages(torchside.needs("SAM 3", absent))
        own = None if weights is None else weights / "sam3"
        self.folder = sam3_weights.folder(own if own is not None and own.is_dir() else None)

    @cached_property
    def engine(self) -> Engine:
        from ml.evidence.grounding.sam3_model import Limits, Transformers

        return Transformers(self.folder, Limits(detection=THRESHOLD))

    def describe(self) -> dict[str, Any]:
        """Name, version, sha256 by file, numbers. The model is not loaded for it."""
        from importlib.metadata import version

        return {
            "name": self.name,
            "version": self.version,
            "weights": sam3_weights.hashes(self.folder),
            "settings": {
                "prompt": PROMPT, "threshold": THRESHOLD, "longest": LONGEST,
                "chunks": {"length": self.length, "overlap": self.overlap, "same_iou": SAME_IOU},
                "packages": {name: version(name) for name in ("torch", "transformers")},
            },
        }  # fmt: skip

    def follow(
        self,
        video: Path,
        index: FrameIndex,
        size: tuple[int, int],
        frames: NDArray[np.int64],
        report: Callable[[int], None],
    ) -> tuple[Masks, list[str]]:
        """The people on consecutive analysed frames of one shot (ascending; one chunk), and notes. `size`: width and
        height of the picture. Numbers are the chunk's own. `report` is called with the frames that are done.

        Raises MediaError, and RuntimeError with a sentence where the model fails.
        """
        whole = [(int(frames[0]), int(frames[-1]) + 1)]
        search = Search(self.engine, Footage(video, index, *size, whole), len(frames), 0)
        masks = search.find([PROMPT], frames, lambda share: report(int(share * len(frames))))
        if search.errors:
            raise RuntimeError(search.errors[PROMPT])
        return masks, search.notes
