"""An engine that knows what it sees: objects of a script, found by the number burnt into each picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding.engine import Image, Seen
from ml.evidence.grounding.phrases import PhraseGrounder
from ml.evidence.grounding.protocol import Footage
from ml.media.index import FrameIndex
from tests import clips

SIZE = (180, 320)  # height, width
Box = tuple[float, float, float, float]  # pixels: x1, y1, x2, y2


@dataclass(frozen=True)
class Thing:
    """Something a phrase means, on the frames [start, end); `where` gives its box by frame."""

    phrase: str
    start: int
    end: int
    where: Callable[[int], Box]
    score: float = 0.9

    def mask(self, frame: int) -> NDArray[np.bool_]:
        x1, y1, x2, y2 = (round(v) for v in self.where(frame))
        mask = np.zeros(SIZE, bool)
        mask[max(0, y1) : max(0, y2), max(0, x1) : max(0, x2)] = True
        return mask


@dataclass
class Script:
    """The engine. Ids are dealt out anew in each call, in another order and from another number; `fails` names a phrase
    on which it raises at the second picture. `passes`: frames and phrases of each call; `open`: calls not yet ended."""

    things: Sequence[Thing]
    at_once: int = 16
    fails: str = ""
    most: int = 99
    passes: list[tuple[list[int], tuple[str, ...]]] = field(default_factory=list)
    open: int = 0

    def tokens(self, phrase: str) -> int:
        return len(phrase.split()) + 2

    def settings(self) -> dict[str, Any]:
        return {"script": len(self.things)}

    def look(self, pictures: Iterator[Image], phrases: Sequence[str]) -> Iterator[Seen]:
        frames: list[int] = []
        self.passes.append((frames, tuple(phrases)))
        self.open += 1
        deal = np.random.default_rng(len(self.passes))
        ids = dict(enumerate((1000 * len(self.passes) + deal.permutation(len(self.things))).tolist()))
        try:
            for position, picture in enumerate(pictures):
                frames.append(clips.read_number(picture))
                if self.fails in phrases and position == 1:
                    raise RuntimeError("no kernel image is available\nfor execution")
                yield self._seen(position, frames[-1], phrases, ids)
        finally:
            self.open -= 1

    def _seen(self, position: int, frame: int, phrases: Sequence[str], ids: dict[int, int]) -> Seen:
        here = [k for k, t in enumerate(self.things) if t.phrase in phrases and t.start <= frame < t.end]
        here = sorted(here, key=lambda k: ids[k])[: self.most]
        things = [self.things[k] for k in here]
        return Seen(
            position,
            np.array([ids[k] for k in here], np.int64),
            np.array([phrases.index(t.phrase) for t in things], np.int64),
            np.array([t.score for t in things], np.float32),
            np.array([t.score - frame / 1e4 for t in things], np.float32),
            np.array([t.mask(frame) for t in things], bool).reshape(-1, *SIZE),
            len(here) >= self.most,
        )


class Scripted(PhraseGrounder):
    """The grounder around it."""

    name, version = "scripted", "1"

    def __init__(self, script: Script) -> None:
        super().__init__(None)
        self.script = script

    def make_engine(self) -> Script:
        return self.script

    def hashes(self) -> dict[str, str]:
        return {}


def footage(folder: Path, frames: int, shots: list[tuple[int, int]] | None = None) -> Footage:
    """A video of so many frames at 25 per second, each with its number in the picture."""
    path = folder / f"numbers-{frames}.mp4"
    if not path.exists():
        clips.write(path, clips.steady(frames, Fraction(25)))
    index = FrameIndex(np.arange(frames + 1), Fraction(1, 25))
    return Footage(path, index, SIZE[1], SIZE[0], shots or [(0, frames)])
