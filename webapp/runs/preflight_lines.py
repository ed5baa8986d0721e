"""What a preflight found (`ml.training.preflight`), as figures of the page: what it is, how much, and a note below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.accounts.templatetags.frame import clock, size

Told = Mapping[str, Any]
MOST_REWARDS = 3


@dataclass(frozen=True)
class Line:
    word: str
    value: str
    note: str = ""


def listed(told: Told) -> list[Line]:
    """The figures there are; what could not be known is left out."""
    found = [make(told) for make in (_items, _steps, _text, _vision, _longest, _memory, _time, _coverage, _clips)]
    return [line for line in found if line is not None]


def _items(told: Told) -> Line | None:
    if told.get("train") is None:
        return None
    recordings = told.get("recordings") or {}
    note = f"and {told.get('validation') or 0:,} for validation"
    if recordings.get("train"):
        note = f"from {_some(recordings['train'], 'recording')}, {note}"
    return Line("To learn from", _some(told["train"], "item"), note)


def _steps(told: Told) -> Line | None:
    batch = told.get("batch") or {}
    if not told.get("steps"):
        return None
    note = ""
    if batch.get("items"):
        note = f"of {_some(batch['items'], 'item')}"
        note += f" with {batch['generations']} answers each" if batch.get("generations") else ""
    return Line("Steps", f"{told['steps']:,}", note)


def _text(told: Told) -> Line | None:
    tokens = told.get("tokens") or {}
    if tokens.get("text") is None:
        return None
    guess = "; estimated, without the model's tokenizer" if tokens.get("estimated") else ""
    return Line(
        "Words of an item", _tokens(tokens["text"]), f"in the middle; at most {tokens.get('text_max', 0):,}{guess}"
    )


def _vision(told: Told) -> Line | None:
    tokens, frames = told.get("tokens") or {}, told.get("frames") or {}
    if tokens.get("vision") is None:
        return None
    note = f"for {frames['median']:,.0f} frames in the middle" if frames.get("median") is not None else "in the middle"
    if tokens.get("paper_vision"):
        note += f"; as the paper's video {tokens['paper_vision']:,.0f}"
    return Line("Pictures of an item", _tokens(tokens["vision"]), note)


def _longest(told: Told) -> Line | None:
    tokens = told.get("tokens") or {}
    if not tokens.get("longest"):
        return None
    limit = f"the model takes {tokens['limit']:,}" if tokens.get("limit") else "the model's limit is not known"
    beyond = f"; {_some(tokens['clipped'], 'item')} beyond it" if tokens.get("clipped") else ""
    return Line("Longest sequence", _tokens(tokens["longest"]), limit + beyond)


def _memory(told: Told) -> Line | None:
    if told.get("memory_gb_per_gpu") is None:
        return None
    where = "GPU" if told.get("gpus") else "process"
    parts = ", ".join(f"{part} {value:.1f}" for part, value in (told.get("memory") or {}).items() if value >= 0.05)
    count = f"{_some(told['gpus'], 'GPU')}. " if told.get("gpus") else ""
    return Line(f"Memory of a {where}", f"{told['memory_gb_per_gpu']:.1f} GB", f"{count}{parts}")


def _time(told: Told) -> Line | None:
    seconds = told.get("seconds")
    return None if not seconds else Line("Time", f"about {clock(seconds)}", "a guess from the sizes")


def _coverage(told: Told) -> Line | None:
    if told.get("sgr_coverage") is None:
        return None
    lacking = {name: share for name, share in (told.get("no_value") or {}).items() if share}
    told_of = list(lacking.items())[:MOST_REWARDS]
    note = ", ".join(f"{name} has no value for {_percent(share)}" for name, share in told_of)
    return Line("SGR coverage", _percent(told["sgr_coverage"]), note or "of the items have somebody to name")


def _clips(told: Told) -> Line | None:
    clips = told.get("clips") or {}
    if not clips.get("files"):
        return None
    missing = f"{clips['missing']:,} missing" if clips.get("missing") else "all there"
    return Line("Clips", size(clips.get("bytes")), f"{_some(clips['files'], 'file')}, {missing}")


def _tokens(count: float) -> str:
    return f"{count:,.0f} tokens"


def _some(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
