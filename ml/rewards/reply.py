"""A completion, parsed once for all rewards: its answer, and who is named when inside its gaze and gesture blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ml.text import persons, tags, times

# a full stop within a number or before a small letter ends no sentence
_SENTENCE = re.compile(r"[^.!?;\n]+(?:[.!?](?=[0-9a-z])[^.!?;\n]*)*[.!?;]*")


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence of a closed gaze or gesture block, that names `persons`. `named`: their places in the completion."""

    modality: str
    start: int
    text: str
    named: tuple[tuple[int, frozenset[int]], ...]
    persons: frozenset[int]

    @property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """The seconds it states as spans, inverted ones turned round."""
        return _times(self.text)[0]

    @property
    def points(self) -> tuple[float, ...]:
        """The seconds it states as moments."""
        return _times(self.text)[1]

    @property
    def timed(self) -> bool:
        return bool(self.spans or self.points)


class Reply:
    """One completion. Nothing is worked out before it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def every_block(self) -> list[tags.Block]:
        """The closed blocks, by their beginning."""
        return [block for block in tags.blocks(self.text) if block.closed]

    @cached_property
    def blocks(self) -> list[tags.Block]:
        """Those of gaze and gesture."""
        return [block for block in self.every_block if block.name in ("gaze", "gesture")]

    @cached_property
    def segments(self) -> list[Segment]:
        """The sentences of those blocks; of a block inside another one, once, as part of the inner one."""
        found = []
        for block in self.blocks:
            inner = [b for b in self.blocks if block.start < b.start < block.end]
            for match in _SENTENCE.finditer(block.content):
                start = block.start + match.start()
                if inner and any(b.start <= start < b.end for b in inner):
                    continue
                named = _named(match[0])
                if named:
                    placed = tuple((start + at, numbers) for at, numbers in named)
                    everybody = frozenset().union(*(numbers for _, numbers in named))
                    found.append(Segment(block.name, start, match[0], placed, everybody))
        return found

    @cached_property
    def answer(self) -> str | None:
        """What stands in the first closed answer tag, stripped; None without one."""
        return next((b.content.strip() for b in self.every_block if b.name == "answer"), None)


# rollouts of one prompt repeat each other's sentences
@lru_cache(8192)
def _named(sentence: str) -> tuple[tuple[int, frozenset[int]], ...]:
    return tuple((m.start, frozenset(m.numbers)) for m in persons.mentions(sentence))


@lru_cache(8192)
def _times(sentence: str) -> tuple[tuple[tuple[float, float], ...], tuple[float, ...]]:
    told = times.mentions(sentence)
    spans = tuple((min(m.low, m.high), max(m.low, m.high)) for m in told if m.kind == "span")
    return spans, tuple(m.low for m in told if m.kind in ("point", "bare"))
