"""The time of a claim: its own words, else the nearest one before it in the sentence, else one that goes on.

See docs/claims.md, "What is noted of a claim". Seconds of the clip; "at the end" needs the clip's duration, without
which it is no time (basis unknown, the words' span is kept).
"""

from __future__ import annotations

import re
from dataclasses import replace

from ml.evidence.package import ClaimTime
from ml.evidence.summarisers import rules_claims as words
from ml.evidence.summarisers.rules_piece import Read
from ml.text import chinese, times

_NOTHING = ClaimTime()
_SHARES = (
    (words.BEGINNING, (0.0, words.FIFTH)),
    (words.END, (1 - words.FIFTH, 1.0)),
    (words.THROUGHOUT, (0.0, 1.0)),
)
_MAY_SHARE = re.compile(r"end|begin|start|through|entire|whole|[\u3400-\u9fff]", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff]")
_POINTED = re.compile(r"(?:[(\[@~≈]|\bby|\bin\s+second|\bat\s+second|\bmoment|：|:)\s*$", re.IGNORECASE)
_MARK = re.compile(r"^\s*(?:-?\s*mark\b|[)\]]|:(?!\d)|-\s|–|—|,?\s*when\b)", re.IGNORECASE)
_BY = re.compile(r"\bby\s*$", re.IGNORECASE)
_SECOND = re.compile(
    r"\b(?:at|around|about|near|from|in|by)\s+(?:the\s+)?second\s+"
    r"(?P<value>[0-9]{1,5}(?:\.[0-9]{1,3})?)\b(?!\s*(?:person|people))",
    re.IGNORECASE,
)


class Times:
    """The time in force, sentence by sentence, in the order of the text."""

    def __init__(self) -> None:
        self.read: Read | None = None
        self.last = _NOTHING  # the one in force at the end of the sentence that is being read
        self.before = _NOTHING  # at the end of the one before

    def sentence(self, read: Read, by: int) -> None:
        """Begin a sentence; it begins at `by`."""
        self.before = self.last if read.goes_on else _NOTHING
        self.read = read
        self.last = _moved(read.times[-1], by) if read.times else self.before

    def of(self, span: tuple[int, int], after_a_while: bool, by: int) -> ClaimTime:
        """The time of the claim at `span` of the sentence, which begins at `by`; `after_a_while`: its joiner says that
        it comes before or after."""
        times = self.read.times if self.read else ()
        earlier = None
        for one in times:
            start, end = one.span or (0, 0)
            if span[0] <= start and end <= span[1]:
                return _moved(one, by)
            if end <= span[0]:
                earlier = one
        if earlier is not None:
            aligned = after_a_while and earlier.basis == "stated"
            return _moved(replace(earlier, basis="aligned") if aligned else earlier, by)
        if self.before.basis != "unknown":
            return replace(self.before, basis="aligned")
        return _NOTHING


def _moved(time: ClaimTime, by: int) -> ClaimTime:
    return replace(time, span=(time.span[0] + by, time.span[1] + by)) if time.span else time


def goes_on(sentence: str) -> bool:
    """Whether the time of the sentence before goes on into this one."""
    return bool(words.GOES_ON.match(sentence))


def stated(sentence: str, duration_s: float | None) -> list[ClaimTime]:
    """Every time that a sentence states, in order; spans count its characters."""
    found = [_time(one.low, one.high, one.start, one.end) for one in _read(sentence)]
    for pattern, share in _SHARES if _MAY_SHARE.search(sentence) else ():
        for match in pattern.finditer(sentence):
            a, b = match.span()
            if duration_s is None:
                found.append(ClaimTime(None, None, "unknown", (a, b)))
            else:
                low, high = (round(duration_s * part, 6) for part in share)
                found.append(_time(low, high, a, b))
    return sorted(found, key=lambda one: one.span or (0, 0))


def _time(low: float, high: float, start: int, end: int) -> ClaimTime:
    low, high = min(low, high), max(low, high)
    return ClaimTime(low, high, "stated", (start, end)) if low >= 0 else ClaimTime(None, None, "unknown", (start, end))


def _read(text: str) -> list[times.Mention]:
    """The points and spans of a sentence, in either language; lengths and mere amounts are no times."""
    if _HAN.search(text):
        return [one for one in chinese.times_of(text) if one.kind != "length"]
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
    for match in _SECOND.finditer(text):
        value = float(match["value"])
        found.append(times.Mention(match.start(), match.end(), "point", value, value))
    return sorted(found, key=lambda one: one.start)
