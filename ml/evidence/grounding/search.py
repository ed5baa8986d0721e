"""Looking for phrases on some frames of a video, in bounded memory: shot by shot, chunk by chunk.

A failure of the model costs only the phrases it fails on: when a pass with several fails, each is looked for alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding.engine import Engine, Image, Seen
from ml.evidence.grounding.protocol import Footage, Masks, Share
from ml.evidence.grounding.stitching import LENGTH, OVERLAP, chunks, stitched
from ml.evidence.grounding.suppression import cleaned
from ml.evidence.grounding.windows import parts
from ml.media import masks as packed
from ml.media.decode import read_frames
from ml.media.errors import MediaError

LONGEST = 1280  # pixels of the longer side of the pictures and masks


@dataclass
class Search:
    """How frames are looked at; then what was found. `errors`: a sentence by phrase; `looked`: the frames decoded."""

    engine: Engine
    footage: Footage
    length: int = LENGTH
    overlap: int = OVERLAP
    errors: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"decode": 0.0, "model": 0.0})
    looked: set[int] = field(default_factory=set)
    decoded: tuple[int, int] | None = None

    def find(self, phrases: Sequence[str], frames: NDArray[np.int64], progress: Share) -> Masks:
        """The masks of all phrases (the column `query` has the phrase) on these frames, ascending.

        Raises MediaError, OSError, and what `progress` raises; any other failure ends in `errors`.
        """
        wanted = list(dict.fromkeys(phrases))
        groups = [wanted[k : k + self.engine.at_once] for k in range(0, len(wanted), self.engine.at_once)]
        found: list[Masks] = []
        reached = 0.0
        for k, group in enumerate(groups):

            def share(done: float, before: float = k / len(groups)) -> None:
                nonlocal reached  # chunks overlap, and a pass may be done again
                reached = max(reached, before + done / len(groups))
                progress(reached)

            found += self._group(group, frames, share, first_id=sum(len(np.unique(m.object)) for m in found))
        progress(1.0)
        return packed.joined(found) if found else packed.empty(self.size)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the masks: those of the pictures, as soon as one was decoded."""
        if self.decoded is not None:
            return self.decoded
        scale = min(1, LONGEST / max(self.footage.width, self.footage.height))
        return max(1, round(self.footage.height * scale)), max(1, round(self.footage.width * scale))

    def _group(self, phrases: list[str], frames: NDArray[np.int64], progress: Share, first_id: int) -> list[Masks]:
        """What one pass finds; where it fails, what a pass for each phrase finds."""
        try:
            return self._pass(phrases, frames, progress, first_id)
        except ModelFailed as failure:
            if len(phrases) == 1:
                self.errors[phrases[0]] = failure.sentence(phrases)
                return []
            self.notes.append(f"{failure.sentence(phrases)} Each was looked for alone.")
        found: list[Masks] = []
        for phrase in phrases:
            taken = first_id + sum(len(np.unique(m.object)) for m in found)
            found += self._group([phrase], frames, progress, taken)
        return found

    def _pass(self, phrases: list[str], frames: NDArray[np.int64], progress: Share, first_id: int) -> list[Masks]:
        done, shots = 0, []
        for shot in parts(frames, self.footage.shots):
            pieces = []
            for start, end in chunks(len(shot), self.length, self.overlap):
                here = shot[start:end]
                rows = Rows(phrases)
                for seen in self._look(here, phrases):
                    rows.add(int(here[seen.position]), seen)
                    progress((done + start + seen.position) / len(frames))
                if rows.full:
                    self._note_full(here)
                pieces.append((here, rows.masks(self.size)))
            shots.append(stitched(pieces, first_id))
            first_id += len(np.unique(shots[-1].object))
            done += len(shot)
        return shots

    def _look(self, frames: NDArray[np.int64], phrases: list[str]) -> Iterator[Seen]:
        """The engine's words on one chunk; whatever it raises but MediaError and OSError becomes ModelFailed."""
        before, decoding = time.process_time(), self.seconds["decode"]
        words = self.engine.look(self._pictures(frames), phrases)
        try:
            for seen in words:
                if len(seen.masks) and seen.masks.shape[1:] != self.size:
                    raise ValueError(f"the masks are {seen.masks.shape[1:]} pixels large, the pictures {self.size}")
                yield seen
        except (MediaError, OSError, GeneratorExit):
            raise
        except Exception as error:
            raise ModelFailed(error) from error
        finally:
            words.close()  # type: ignore[attr-defined]
            self.seconds["model"] += time.process_time() - before - (self.seconds["decode"] - decoding)

    def _pictures(self, frames: NDArray[np.int64]) -> Iterator[Image]:
        reader = read_frames(self.footage.video, self.footage.index, frames, longest=LONGEST)
        while True:
            before = time.process_time()
            number, picture = next(reader, (-1, None))
            self.seconds["decode"] += time.process_time() - before
            if picture is None:
                return
            self.looked.add(number)
            self.decoded = picture.shape[0], picture.shape[1]
            yield picture

    def _note_full(self, frames: NDArray[np.int64]) -> None:
        self.notes.append(
            f"The limit of objects was reached within frames {frames[0]} to {frames[-1]}: there may be more than were "
            "followed."
        )


class ModelFailed(Exception):
    """The model raised something."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error

    def sentence(self, phrases: Sequence[str]) -> str:
        words = " ".join(str(self.error).split())[:300]
        named = " and ".join(f'"{phrase}"' for phrase in phrases)
        return f"SAM 3 failed on {named}: {type(self.error).__name__}{': ' + words if words else ''}."


class Rows:
    """Collects one chunk's masks, packed at once."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self.phrases = phrases
        self.full = False
        self._rows: list[tuple[str, int, int, float, float, bytes]] = []

    def add(self, frame: int, seen: Seen) -> None:
        self.full = self.full or seen.full
        for k, mask in enumerate(seen.masks):
            clean = cleaned(mask)
            if clean.any():
                about = self.phrases[int(seen.phrase[k])], int(seen.object[k]), frame
                self._rows.append((*about, float(seen.score[k]), float(seen.tracker_score[k]), packed.encode(clean)))

    def masks(self, size: tuple[int, int]) -> Masks:
        if not self._rows:
            return packed.empty(size)
        query, number, frame, score, tracker, counts = zip(*self._rows, strict=True)
        return packed.joined([
            Masks(
                size, np.array(query, np.str_), np.array(number, np.int64), np.array(frame, np.int64),
                np.full(len(frame), -1, np.int64), np.array(score, np.float32), np.array(tracker, np.float32),
                packed.boxes(counts, size), packed.area(counts, size), np.full(len(frame), "mask"),
                list(counts),
            )
        ])  # fmt: skip
