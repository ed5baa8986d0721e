"""What a grounder is given, what it finds, and the protocol all of them fulfil.

Frames are numbers of the source video, spans half-open; boxes are x1, y1, x2, y2 in [0, 1] of the upright picture, y
down. A mask is one object of one query on one frame, packed as COCO run lengths (`ml.media.masks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ml.media.index import FrameIndex
from ml.perception.gestures.protocol import People

Status = Literal["ok", "empty", "error", "skipped", "not_in_vocabulary"]
Role = Literal["phrase", "category", "negative", "person", "reprompt"]
Share = Callable[[float], None]  # share that is done, 0..1; may raise to stop (see ml.progress)


@dataclass(frozen=True)
class Query:
    """One phrase to look for. `id` is unique in a call. `role`: the claim's phrase, its bare category, its negative
    control, a person by number (`person` set, `text` empty: the mask of whoever bears it), or a human's other
    wording."""

    id: str
    text: str
    role: Role = "phrase"
    person: int | None = None


@dataclass(frozen=True, eq=False)
class Window:
    """Which frames to look at for one claim: int64[n], ascending; `inside` bool[n]: in the claimed span (± 1 s), the
    rest is the control outside it. `span`: the claimed span in source frames [start, end)."""

    frame: NDArray[np.int64]
    inside: NDArray[np.bool_]
    span: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Footage:
    """One video. `people`: who is where, by person number (see `ml.perception.gestures.protocol.People`); None where
    nobody knows. `person_masks`: the packed masks of the accepted run, where it has any (`ml.media.masks`)."""

    video: Path
    index: FrameIndex
    width: int
    height: int
    shots: list[tuple[int, int]]
    people: People | None = None
    person_masks: Path | None = None


@dataclass(frozen=True, eq=False)
class Masks:
    """Rows of masks, sorted by query, object, frame. `person`: number of the person it was linked to by overlap, -1 for
    none. `score`: of the detection; `tracker_score`: of this frame, NaN where the backend has none. `area`: pixels of
    the `size` (height, width) the run lengths count in. `kind`: "mask", or "box" where only a box is known."""

    size: tuple[int, int]
    query: NDArray[np.str_]
    object: NDArray[np.int64]
    frame: NDArray[np.int64]
    person: NDArray[np.int64]
    score: NDArray[np.float32]
    tracker_score: NDArray[np.float32]
    box: NDArray[np.float32]  # N x 4
    area: NDArray[np.int64]
    kind: NDArray[np.str_]
    counts: Sequence[bytes]


@dataclass
class Grounded:
    """What a grounder says of one claim's queries. `status` and `sentence` by query id. Plain but for `masks`.

    `looked`: int64[n], the frames that were really decoded and looked at. `seconds`: processor seconds by stage.
    `attributes_checked`: by query id, the attributes the backend could check (an open-vocabulary one: all of them).
    """

    masks: Masks
    status: dict[str, Status]
    sentence: dict[str, str] = field(default_factory=dict)
    looked: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    attributes_checked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Grounder(Protocol):
    """Every grounder. Made as `cls(weights)` with the folder of its weights (None: by configuration or the user's
    cache); it fails at once with one sentence (MissingWeights, ValueError) when something is missing."""

    name: ClassVar[str]
    version: ClassVar[str]

    def describe(self) -> dict[str, Any]:
        """Name, version, sha256 by weights file, settings (thresholds, sizes): all that decides a result."""

    def knows(self, phrase: str) -> bool:
        """Whether it can look for the phrase at all; an open-vocabulary grounder always says yes."""

    def refuses(self, phrase: str) -> str:
        """A sentence why it cannot take the phrase although it knows its words (too many tokens), else ""."""

    def ground(self, footage: Footage, queries: Sequence[Query], window: Window, *, progress: Share) -> Grounded:
        """Look for all queries on the window's frames. A query that fails is "error" with a sentence and never raises;
        raises MediaError when the video itself cannot be read."""
