"""A completion, parsed once for all rewards: its answer, and who is named when inside its gaze and gesture blocks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import NamedTuple

from ml.text import persons, tags, times

MODALITIES = ("gaze", "gesture")

# a full stop within a number or before a small letter ends no sentence
_SENTENCE = re.compile(r"[^.!?;\n]+(?:[.!?](?=[0-9a-z])[^.!?;\n]*)*[.!?;]*")


class Stated(NamedTuple):
    """Seconds that a sentence states: as spans, inverted ones turned round, and as moments."""

    spans: tuple[tuple[float, float], ...] = ()
    points: tuple[float, ...] = ()


class Segment(NamedTuple):
    """One sentence of a closed gaze or gesture block, that names `persons`."""

    modality: str
    start: int
    text: str
    persons: frozenset[int]

    @property
    def stated(self) -> Stated:
        """The times it states."""
        return _times(self.text)


class Reply:
    """One completion. `blocks`: the closed ones of gaze and gesture, by their beginning. `answer`: what stands in the
    first closed answer tag, stripped; None without one."""

    __slots__ = ("_segments", "answer", "blocks")

    def __init__(self, text: str) -> None:
        self.blocks: list[tags.Block] = []
        self.answer: str | None = None
        self._segments: list[Segment] | None = None
        for block in tags.blocks(text):
            if block.closed and block.name in MODALITIES:
                self.blocks.append(block)
            elif block.closed and block.name == "answer" and self.answer is None:
                self.answer = block.content.strip()

    @property
    def segments(self) -> list[Segment]:
        """The sentences of those blocks; of a block inside another one, once, as part of the inner one."""
        if self._segments is None:
            self._segments = self._read()
        return self._segments

    def _read(self) -> list[Segment]:
        found = []
        starts = [block.start for block in self.blocks]
        for at, block in enumerate(self.blocks):
            ends = bisect_left(starts, block.end)
            inner, begins = self.blocks[at + 1 : ends], starts[at + 1 : ends]  # of the other modality: none overlap
            for match in _SENTENCE.finditer(block.content):
                named = _named(match[0])
                if not named:
                    continue
                start = block.start + match.start()
                nearest = bisect_right(begins, start) - 1
                if nearest >= 0 and start < inner[nearest].end:
                    continue
                found.append(Segment(block.name, start, match[0], named))
        return found


_named = lru_cache(8192)(persons.named)  # rollouts of one prompt repeat each other's sentences


@lru_cache(8192)
def _times(sentence: str) -> Stated:
    told = times.mentions(sentence)
    spans = [(min(m.low, m.high), max(m.low, m.high)) for m in told if m.kind == "span"]
    return Stated(tuple(spans), tuple([m.low for m in told if m.kind in ("point", "bare")]))
