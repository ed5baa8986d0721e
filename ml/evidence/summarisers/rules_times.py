"""The time of a claim: its own words, else the nearest one before it in the sentence, else one that goes on.

See docs/claims.md, "What is noted of a claim". Seconds of the clip; "at the end" needs the clip's duration, without
which it is no time (basis unknown, the words' span is kept).
"""

from __future__ import annotations

import re
from dataclasses import replace

from ml.evidence.package import ClaimTime
from ml.evidence.summarisers import rules_claims as words
from ml.text import chinese, times

_NOTHING = ClaimTime()
_POINTED = re.compile(r"(?:[(\[@~≈]|\bby|\bin\s+second|\bat\s+second|\bmoment|：|:)\s*$", re.IGNORECASE)
_MARK = re.compile(r"^\s*(?:-?\s*mark\b|[)\]]|:(?!\d)|-\s|–|—|,?\s*when\b)", re.IGNORECASE)
_BY = re.compile(r"\bby\s*$", re.IGNORECASE)
_SECOND = re.compile(
    r"\b(?:at|around|about|near|from|in|by)\s+(?:the\s+)?second\s+(?P<value>[0-9]{1,5}(?:\.[0-9]{1,3})?)\b(?!\s*(?:person|people))",
    re.IGNORECASE,
)


class Times:
    """Times of one reply, sentence by sentence, in the order of the text."""

    def __init__(self, text: str, duration_s: float | None) -> None:
        self.text, self.duration_s = text, duration_s
        self.before = _NOTHING  # the last time of the sentence before
        self.here = _NOTHING  # the last one of this sentence
        self.goes_on = False
        self.found: list[ClaimTime] = []

    def sentence(self, start: int, end: int) -> None:
        """Begin a sentence."""
        last = self.found[-1] if self.found else self.here if self.goes_on or self.here.span else _NOTHING
        self.before = last
        self.goes_on = bool(words.GOES_ON.match(self.text, start, end))
        self.here = _NOTHING
        self.found = self.stated(start, end)
        if not self.found and self.goes_on:
            self.here = self.before

    def of(self, span: tuple[int, int], after_a_while: bool) -> ClaimTime:
        """The time of the claim at `span`; `after_a_while`: its joiner says that it comes before or after."""
        own = [one for one in self.found if one.span and span[0] <= one.span[0] and one.span[1] <= span[1]]
        if own:
            return own[0]
        earlier = [one for one in self.found if one.span and one.span[1] <= span[0]]
        if earlier:
            return (
                replace(earlier[-1], basis="aligned")
                if after_a_while and earlier[-1].basis == "stated"
                else earlier[-1]
            )
        if self.goes_on and self.before.basis != "unknown":
            return replace(self.before, basis="aligned")
        return _NOTHING

    def stated(self, start: int, end: int) -> list[ClaimTime]:
        """Every time that the words [start, end) state, in order."""
        text = self.text[start:end]
        found = [self._time(one.low, one.high, one.start + start, one.end + start) for one in _read(text)]
        for pattern, share in (
            (words.BEGINNING, (0.0, words.FIFTH)),
            (words.END, (1 - words.FIFTH, 1.0)),
            (words.THROUGHOUT, (0.0, 1.0)),
        ):
            for match in pattern.finditer(text):
                a, b = match.start() + start, match.end() + start
                if self.duration_s is None:
                    found.append(ClaimTime(None, None, "unknown", (a, b)))
                else:
                    low, high = (round(self.duration_s * part, 6) for part in share)
                    found.append(self._time(low, high, a, b))
        return sorted((one for one in found if one is not None), key=lambda one: one.span or (0, 0))

    def _time(self, low: float, high: float, start: int, end: int) -> ClaimTime:
        low, high = min(low, high), max(low, high)
        return (
            ClaimTime(low, high, "stated", (start, end)) if low >= 0 else ClaimTime(None, None, "unknown", (start, end))
        )


def _read(text: str) -> list[times.Mention]:
    """The points and spans of a sentence, in both languages; lengths and mere amounts are no times."""
    found = []
    for one in times.mentions(text):
        before = text[max(0, one.start - 24) : one.start]
        told = one.kind in ("point", "span")
        if one.kind == "length":
            told = bool(_BY.search(before)) and not text[one.end :].lstrip().startswith(("later", "long"))
        elif one.kind == "bare":
            told = bool(_POINTED.search(before) or _MARK.match(text[one.end : one.end + 12]))
        if told:
            found.append(one)
    found += [one for one in chinese.times_of(text) if one.kind != "length"]
    for match in _SECOND.finditer(text):
        value = float(match["value"])
        found.append(times.Mention(match.start(), match.end(), "point", value, value))
    return sorted(found, key=lambda one: one.start)
