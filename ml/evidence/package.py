"""The minimal evidence package: a rationale split into claims that a picture can bear out or refute.

What counts as one claim, where it begins and what is noted of it: `docs/claims.md`. Persons are the numbers of printed
tags ("Person 2" -> 2), times are seconds on the clip's clock, spans are characters of the raw reply, half-open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

ClaimType = Literal["person", "action", "expression", "gesture", "gaze", "object", "scene", "audio", "inference"]
Basis = Literal["stated", "aligned", "unknown"]
Polarity = Literal["affirmed", "negated"]

CLAIM_TYPES: tuple[ClaimType, ...] = (
    "gaze", "gesture", "audio", "expression", "inference", "action", "scene", "person", "object",
)  # fmt: skip
UNSEEN: tuple[ClaimType, ...] = ("audio", "inference")  # no picture shows these, whatever the grounder
MOST_WORDS = 6  # of a phrase
MOST_TOKENS = 32  # of a phrase, in the grounder's own tokens, its two special ones included


@dataclass(frozen=True)
class Phrase:
    """A short noun phrase to look for.

    `text`: at most `MOST_WORDS` words, never collapsed to its head. `head`: the bare category, asked for second and
    recorded as such. `attributes`: the visible ones that `text` holds. `person`: the printed tag the text gives this
    thing, if any. `singular`: the text means exactly one. `span`: where in the reply it stands. `negative`: a phrase
    of the same kind that should not be found, which the same grounder can look for; None where there is none.
    """

    text: str
    head: str
    attributes: tuple[str, ...] = ()
    person: int | None = None
    singular: bool = True
    span: tuple[int, int] | None = None
    negative: str | None = None


@dataclass(frozen=True)
class ClaimTime:
    """Seconds of the clip [start_s, end_s]; a point has both the same. Both None with basis "unknown"."""

    start_s: float | None = None
    end_s: float | None = None
    basis: Basis = "unknown"
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class Statement:
    """What a gaze or gesture claim says in the proof evaluator's terms, in printed tags.

    `modality` gaze or gesture; `types`: event types, one of which must hold (empty: any of the modality); `roles`
    pairs a role of `ml.questions.grammar.ROLES` with a tag. "Person 1 looks at Person 2" is no event by itself: it has
    modality "gaze", `types` () and roles (("looker", 1), ("looked_at", 2)), and is held against the gaze samples.
    """

    modality: Literal["gaze", "gesture"]
    types: tuple[str, ...]
    roles: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Claim:
    """One claim. `id` is "c1", "c2", ... in the order of the text.

    `persons`: tags named in the span, by first mention. `meant`: whom a pronoun or description may mean, a heuristic.
    `groundable`: a mask can say something about it; `why_not` is a sentence where it cannot. `load_bearing`: the
    answer rests on it (as the summariser sees it; `rules` counts shared persons and words with the answer).
    """

    id: str
    span: tuple[int, int]
    text: str
    type: ClaimType
    polarity: Polarity = "affirmed"
    persons: tuple[int, ...] = ()
    meant: tuple[int, ...] = ()
    time: ClaimTime = ClaimTime()
    phrases: tuple[Phrase, ...] = ()
    statement: Statement | None = None
    load_bearing: bool = False
    groundable: bool = True
    why_not: str = ""


@dataclass(frozen=True)
class Package:
    """What a summariser makes of one reply.

    `summariser`: name, version, weights, settings (`ml.evidence.summarisers.describe`). `language`: "en", "zh" or
    "other". `repairs`: what was mended in the reply or in the summariser's own output, in sentences. `raw`: the
    summariser's output as it came, where it is a model's.
    """

    rationale_sha256: str
    claims: tuple[Claim, ...]
    summariser: dict[str, Any]
    language: str = "en"
    repairs: tuple[str, ...] = ()
    raw: str = ""
    v: int = field(default=1)
