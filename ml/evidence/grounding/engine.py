"""What SAM 3 is to the code around it, whichever package runs it: pictures and phrases in, objects by frame out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]  # height x width x 3, BGR, upright


@dataclass(frozen=True, eq=False)
class Seen:
    """The objects on one picture. `position`: which picture; `object`: ids within one call of `look`; `phrase`: whose
    phrase each is, by position; `score`: of the detection that began the object, the same on all its frames;
    `tracker_score`: of this picture, NaN where the package has none. `full`: the limit of objects is reached, there
    may be more."""

    position: int
    object: NDArray[np.int64]  # n
    phrase: NDArray[np.int64]  # n
    score: NDArray[np.float32]  # n
    tracker_score: NDArray[np.float32]  # n
    masks: NDArray[np.bool_]  # n x height x width
    full: bool = False


class Engine(Protocol):
    """A loaded model. `at_once`: how many phrases one pass can look for."""

    at_once: int

    def look(self, pictures: Iterator[Image], phrases: Sequence[str]) -> Iterator[Seen]:
        """Follow what the phrases (at most `at_once`) mean through consecutive pictures of one size.

        Yields each picture once, in order, also those without an object. Nothing of a call outlives its iterator.
        """

    def tokens(self, phrase: str) -> int:
        """How many tokens the model would read, its two special ones included."""

    def settings(self) -> dict[str, Any]:
        """All that decides the result besides the weights."""
