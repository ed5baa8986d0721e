"""What the rules of one language make of a clause."""

from __future__ import annotations

from dataclasses import dataclass

from ml.evidence.package import ClaimType, Phrase, Polarity, Statement


@dataclass(frozen=True, slots=True)
class Piece:
    """A clause on its way to a claim: its span, the joiner before it, and what its language's rules say of it."""

    span: tuple[int, int]
    joiner: str
    type: ClaimType
    polarity: Polarity
    persons: tuple[int, ...]
    meant: tuple[int, ...]
    phrases: tuple[Phrase, ...]
    statement: Statement | None
    aligned: bool
    zh: bool
