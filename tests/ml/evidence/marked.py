"""Rationales with their claims marked: `⟦At 3.0 s, Person 1 turns⟧ and ⟦looks at Person 2⟧`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ml.evidence.package import Claim, Package

DEVELOPMENT = Path(__file__).parent / "development.json"


@dataclass(frozen=True)
class Labelled:
    """One rationale. `claims`: span -> what was noted of it (type, persons, time, negated)."""

    id: str
    text: str
    duration_s: float
    claims: dict[tuple[int, int], dict[str, Any]]


def unmarked(marked: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and the spans they stood around."""
    text, spans, opened = "", [], 0
    for character in marked:
        if character == "⟦":
            opened = len(text)
        elif character == "⟧":
            spans.append((opened, len(text)))
        else:
            text += character
    return text, spans


def read(path: Path) -> list[Labelled]:
    """The labelled rationales of a file."""
    found = []
    for item in json.loads(path.read_text(encoding="utf-8"))["items"]:
        text, spans = unmarked(item["marked"])
        claims = dict(zip(spans, item["claims"], strict=True))
        found.append(Labelled(item["id"], text, item["duration_s"], claims))
    return found


def marked(text: str, package: Package) -> str:
    """The text with the claims of a package marked."""
    pieces, at = [], 0
    for claim in package.claims:
        start, end = claim.span
        pieces += [text[at:start], "⟦", text[start:end], "⟧"]
        at = end
    return "".join([*pieces, text[at:]])


def time_of(claim: Claim) -> list[Any] | None:
    """The time of a claim as the labels write it."""
    time = claim.time
    return None if time.basis == "unknown" else [time.start_s, time.end_s, time.basis]
