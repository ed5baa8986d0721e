"""What every summariser fulfils: one reply in, one checked evidence package out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from ml.evidence.package import Package
from ml.evidence.vocabulary import Vocabulary


class BrokenOutput(ValueError):
    """A model's output was no evidence package, also after one repair. `raw`: what it wrote."""

    def __init__(self, sentence: str, raw: str) -> None:
        super().__init__(sentence)
        self.raw = raw


class Summariser(Protocol):
    """Made as `cls(**settings)`; it fails at once with one sentence (ValueError) when something is missing."""

    name: ClassVar[str]
    version: ClassVar[str]

    def describe(self) -> dict[str, Any]:
        """Name, version, weights and settings: all that decides a result."""

    def summarise(
        self,
        text: str,
        *,
        question: str = "",
        options: Sequence[str] = (),
        answer: str = "",
        duration_s: float | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Package:
        """The claims of a raw reply; spans count its characters. `duration_s`: seconds of the clip, without which "at
        the end" is no time. `vocabulary`: what the negatives are chosen from; without one there are none. Raises
        BrokenOutput where a model writes no package."""
