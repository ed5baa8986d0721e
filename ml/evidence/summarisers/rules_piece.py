"""What the rules of one language make of a clause, before it is put in its place in the reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ml.evidence.package import ClaimTime, ClaimType, Phrase, Polarity, Statement

Pronoun = Literal["", "one", "several"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A claim of a sentence; spans count the sentence's characters.

    `aligned`: its joiner says that it comes before or after. `own`: the tags that are its subject. `taken`: those it
    takes over from the clause before. `pronoun`: whether it speaks of one person or several without naming them.
    """

    span: tuple[int, int]
    type: ClaimType
    polarity: Polarity
    persons: tuple[int, ...]
    phrases: tuple[Phrase, ...] = ()
    statement: Statement | None = None
    aligned: bool = False
    own: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    pronoun: Pronoun = ""


@dataclass(frozen=True, slots=True)
class Read:
    """A sentence: its claims, the times it states, whether a time goes on into it, and whether it is Chinese."""

    pieces: tuple[Piece, ...]
    times: tuple[ClaimTime, ...]
    goes_on: bool
    zh: bool
