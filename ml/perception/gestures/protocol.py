"""What a gesture detector is given, what it finds, and the protocol all of them fulfil.

A detector sees one shot at a time and nothing else than the footage and who is where in it: neither gaze nor other
gestures. Frames are numbers of the source video, spans half-open; coordinates are normalised to [0, 1] of the upright
picture, y down. Persons are whole numbers that name one person of the video: the printed number of a Person in the
studio, the track number of a run folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ml.media.index import FrameIndex
from ml.social.event import GESTURES

if TYPE_CHECKING:
    from ml.perception.sightings import Sightings

TARGET_KINDS = ("person", "object", "location")
HANDS = ("left", "right", "unsure")  # the initiator's own left and right
Share = Callable[[float], None]  # share of the shot that is done, 0..1; may raise to stop (see ml.progress)
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Gesture:
    """One gesture, as it is proposed.

    `target_person` only with target_kind "person"; `target_description` is free text and context only, never an answer.
    `initiator_box`: where the initiator is in the middle of the span. `confidence` in [0, 1]. `details`: the numbers
    behind it, plain JSON; always `onset_after` and `offset_before`, frames of the nearest looks on which it was not
    seen (None at a shot's ends or where the detector cannot tell), and where it applies `hand` (one of `HANDS`) and
    `rounds` (refinement).
    """

    type: str
    start: int
    end: int
    initiator: int
    target_kind: str
    target_person: int | None = None
    target_description: str = ""
    initiator_box: Box | None = None
    confidence: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.type not in GESTURES:
            raise ValueError(f"{self.type!r} is no type of gesture; there are {', '.join(GESTURES)}.")
        if not 0 <= self.start < self.end:
            raise ValueError(f"The span [{self.start}, {self.end}) of a gesture is empty or inverted.")
        if self.target_kind not in TARGET_KINDS or (self.target_kind == "person") != (self.target_person is not None):
            raise ValueError(f"A target of kind {self.target_kind!r} with person {self.target_person} cannot be.")
        if self.target_person == self.initiator:
            raise ValueError(f"Person {self.initiator} cannot be the target of their own gesture.")
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"A confidence of {self.confidence} does not lie between 0 and 1.")

    @property
    def roles(self) -> tuple[tuple[int, str], ...]:
        """Person and role, as events have them."""
        own = ((self.initiator, "initiator"),)
        return own if self.target_person is None else (*own, (self.target_person, "target"))

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, row: dict[str, Any]) -> Gesture:
        """What `row` made."""
        box = row["initiator_box"]
        return cls(**{**row, "initiator_box": None if box is None else tuple(box)})


@dataclass(frozen=True, eq=False)
class People:
    """Who is where: one row per person and analysed frame, sorted by frame, then person; NaN where there is no face."""

    frame: NDArray[np.int64]  # N
    person: NDArray[np.int64]  # N
    body: NDArray[np.float32]  # N x 4, x1, y1, x2, y2
    face: NDArray[np.float32]  # N x 4

    def during(self, start: int, end: int) -> People:
        """The rows of the frames [start, end)."""
        low, high = np.searchsorted(self.frame, [start, end])
        return People(self.frame[low:high], self.person[low:high], self.body[low:high], self.face[low:high])

    @property
    def persons(self) -> list[int]:
        """Everybody, ascending."""
        return np.unique(self.person).tolist()

    def at(self, frame: int, reach: int) -> dict[int, tuple[NDArray[Any], NDArray[Any]]]:
        """Body and face box of everybody on a frame: a straight line between the nearest rows on either side, the
        nearer row where one side has none; left out are those without a row within `reach` frames."""
        near = self.during(frame - reach, frame + reach + 1)
        found = {}
        for person in near.persons:
            rows = np.flatnonzero(near.person == person)
            at, boxes = near.frame[rows], np.c_[near.body[rows], near.face[rows]]
            after = min(int(np.searchsorted(at, frame)), len(at) - 1)
            before = after if at[after] <= frame or after == 0 else after - 1
            gap = at[after] - at[before]
            share = 0.0 if gap == 0 else (frame - at[before]) / gap
            between = boxes[before] + share * (boxes[after] - boxes[before])
            nearer = boxes[after if share > 0.5 else before]
            box = np.where(np.isnan(between), nearer, between)  # a face that one side does not have
            found[person] = box[:4], box[4:]
        return found


@dataclass(frozen=True, eq=False)
class Footage:
    """One video with its people. `width` and `height`: of the upright picture; `shots`: half-open spans of frames;
    `known`: what was seen on its frames, to be asked first and added to."""

    video: Path
    index: FrameIndex
    width: int
    height: int
    shots: list[tuple[int, int]]
    people: People
    known: Sightings | None = None


@dataclass
class Found:
    """What a detector says of one shot. Plain JSON throughout.

    `seconds`: processor or waiting seconds by stage. `counts`: what was spent and seen (frames, calls, tokens, cost),
    added up over the shots. `notes`: sentences for people. `rounds`: every round of a refinement, as `mllm` kept it.
    """

    gestures: list[Gesture] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rounds: list[dict[str, Any]] = field(default_factory=list)


class GestureDetector(Protocol):
    """Every detector. Made as `cls(weights)`, with the folder of the weights (None: the user's cache); it fails at once
    with one sentence (MissingWeights, ValueError) when weights or configuration are missing."""

    name: ClassVar[str]
    version: ClassVar[str]
    weights: ClassVar[tuple[str, ...]]  # names in the manifest
    origin: ClassVar[str]  # "rule" or "model": the origin of the events that are made of its gestures

    def settings(self) -> dict[str, Any]:
        """All that decides the result besides version and weights, as JSON (thresholds; model and prompt version).
        Never a key or an address. Shots found with other settings are looked at again."""

    def detect(self, footage: Footage, shot: int, *, work: Path, progress: Share) -> Found:
        """The gestures that begin and end in `footage.shots[shot]`, sorted by start.

        `work` is a folder of this shot that survives an interruption; it is removed when the shot is done, but for
        files `*.sightings.npz`, which are for other stages. `progress` is called at least once per second of work.
        Raises MediaError when the video cannot be read.
        """
