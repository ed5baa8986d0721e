"""Times in text: "7.5 s", "0:07", "from 3 to 5 s", "between 3.0s and 5.0s", "for 2 seconds".

A mention is a *span* (two ends), a *point* ("at 7.5 s", any clock form), a *length* ("for 2 s", "2 s later", "a
3-second clip") or *bare* (a number of seconds without a word that tells, as in an option "2.5 s"). Which of the last
three it is comes from the words around it: a heuristic, in English. A number without a unit counts only inside a span
whose other end has one ("from 3 to 5 s").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["span", "point", "length", "bare"]

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDS = {word: float(at) for at, word in enumerate(_NUMBERS)}
_UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0}
_UNIT = r"(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?)"
_VALUE = rf"(?:[0-9]{{1,6}}(?:\.[0-9]{{1,9}})?|{'|'.join(_WORDS)})"
_CLOCK = r"(?:[0-9]{1,2}:)?[0-9]{1,3}:[0-9]{2}(?:\.[0-9]{1,6})?"
_START = r"(?<![\w.:])"
_STOP = r"(?!\w)(?!:[0-9])(?!\.[0-9])"


def _end(name: str) -> str:
    """One end of a span or a single time: a clock form, or a number with or without its unit."""
    return (
        rf"(?:(?P<{name}_clock>{_CLOCK}){_STOP}|"
        rf"(?P<{name}_value>(?:(?<![\w)\]])[-−])?{_VALUE})(?:[ \t]?-?(?P<{name}_unit>{_UNIT})(?:\b|(?=_)))?{_STOP})"
    )


_SPAN = re.compile(
    rf"(?:(?P<word>from|between)\s+)?(?P<open>[\[(])?{_START}{_end('a')}[\])]?"
    rf"\s*(?P<join>-|–|—|−|,|\bto\b|\band\b|\buntil\b|\btill\b|\bthrough\b)\s*[\[(]?{_end('b')}",
    re.IGNORECASE,
)
_SINGLE = re.compile(rf"{_START}{_end('a')}(?:\s+(?:and\s+)?{_end('b')})?", re.IGNORECASE)
_PERSON_BEFORE = re.compile(r"(?:\b(?:persons?|people)[ \t]*[#_]?[ \t]*|\bP[ \t]?)$", re.IGNORECASE)
_LENGTH_BEFORE = re.compile(
    r"(?:\bfor|\blast(?:s|ed|ing)?|\btakes?|\btook|\bspan(?:s|ned|ning)?|\bwithin|\bduration(?:\s+(?:of|is|was))?:?|"
    r"\blength(?:\s+(?:of|is))?:?|\btotal(?:\s+of)?:?|\bfirst|\bnext|\bfinal|\binitial|\bprevious|\bevery|\ban?|\bby)"
    r"(?:\s+(?:about|approximately|roughly|around|nearly|almost|exactly|only|just|at\s+least|at\s+most|more\s+than|"
    r"less\s+than|up\s+to|under|over|the|a|an|first|last|next))*\s*[~≈]?\s*$",
    re.IGNORECASE,
)
_LENGTH_AFTER = re.compile(
    r"^(?:\s*-?\s*)(?:later|long(?:er)?|short(?:er)?|apart|earlier|afterwards?|ago|gap|window|clip|interval|segment|"
    r"in\s+(?:length|duration|total)|of|before|after)\b",
    re.IGNORECASE,
)
_POINT_BEFORE = re.compile(
    r"(?:\bat|\baround|\bnear|\buntil|\btill|\bsince|\bfrom|\bbefore|\bafter|\btime|\btimestamp|\bmark|\bto|"
    r"\bt\s*[=≈]|@)\s*(?:about|approximately|roughly|around|exactly|the|time)?\s*[(\[~≈]?\s*$",
    re.IGNORECASE,
)

_UNITED = re.compile(  # in every time there is a number with its unit, or a clock
    rf"(?:[0-9]|{'|'.join(_WORDS)})[ \t]?-?{_UNIT}(?:\b|(?=_))|:[0-9]{{2}}", re.IGNORECASE
)
_LONGEST = 48  # characters from the beginning of a time to its first unit; a search from there on sees all of it
_LONGEST_SPAN = 200  # characters of a span, blanks included
_ALSO = re.compile(r"\s*(?:,\s*)?(?:and|or|,)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters [start, end) of the text name the seconds [`low`, `high`], equal unless it is a span.

    The ends of a span stand as they were written: `high` < `low` is an inverted one.
    """

    start: int
    end: int
    kind: Kind
    low: float
    high: float

    @property
    def values(self) -> tuple[float, ...]:
        return (self.low, self.high) if self.kind == "span" else (self.low,)


def mentions(text: str) -> list[Mention]:
    """Every time named in the text, in order, not overlapping."""
    found: list[Mention] = []
    at = 0
    while one := _next(text, at):
        if one.kind == "bare" and found and _ALSO.fullmatch(text, at, one.start):
            one = replace(one, kind=found[-1].kind if found[-1].kind != "span" else "bare")  # "at 3.0 s and 5.0 s"
        found.append(one)
        at = one.end
    return found


def _next(text: str, at: int) -> Mention | None:
    united = _UNITED.search(text, at)
    if united is None:
        return None
    at = max(at, united.start() - _LONGEST)
    span = _span(text, at, until=united.start())
    if span:
        return span
    single = _single(text, at)
    span = _span(text, at, until=single.start if single else len(text))
    if span or not single:
        return span
    return single if single.kind == "point" else replace(single, kind=_kind(text, single.start, single.end))


def _span(text: str, at: int, until: int) -> Mention | None:
    """The first span from `at` that begins no later than `until`."""
    while match := _SPAN.search(text, at, until + _LONGEST_SPAN):  # beyond it there is none that begins in time
        if _first(match) > until:
            return None
        if _is_span(text, match):
            shared = None if match["a_clock"] or match["b_clock"] else match["b_unit"]
            low = _seconds(match, "a", match["a_unit"] or shared)
            high = _seconds(match, "b", match["b_unit"])
            return Mention(match.start(), match.end(), "span", low, high)
        at = _first(match) + 1
    return None


def _first(match: re.Match[str]) -> int:
    return match.start("a_clock") if match["a_clock"] else match.start("a_value")


def _is_span(text: str, match: re.Match[str]) -> bool:
    join, word = match["join"].lower(), (match["word"] or "").lower()
    if not match["b_clock"] and not match["b_unit"]:
        return False
    if match["a_clock"] and not match["b_clock"]:
        return False
    if join == "and" and word != "between":
        return False
    if join == "," and not match["open"]:
        return False
    return not _PERSON_BEFORE.search(text[max(0, _first(match) - 12) : _first(match)])


def _single(text: str, at: int) -> Mention | None:
    """The first time from `at` that stands by itself; one that is no clock is "bare" until it is read in its place."""
    while match := _SINGLE.search(text, at):
        start = _first(match)
        if match["a_clock"]:
            return Mention(start, match.end("a_clock"), "point", *[_seconds(match, "a", None)] * 2)
        if match["a_unit"] and not _PERSON_BEFORE.search(text[max(0, start - 12) : start]):
            value, end = _seconds(match, "a", match["a_unit"]), match.end("a_unit")
            if _scale(match["a_unit"]) == 60.0 and match["b_unit"] and _scale(match["b_unit"]) == 1.0:
                value, end = value + _seconds(match, "b", match["b_unit"]), match.end("b_unit")
            return Mention(start, end, "bare", value, value)
        at = start + 1
    return None


def _kind(text: str, start: int, end: int) -> Kind:
    before, after = text[max(0, start - 60) : start], text[end : end + 30]
    if _POINT_BEFORE.search(before) and not _LENGTH_BEFORE.search(before):
        return "point"
    if _LENGTH_BEFORE.search(before) or _LENGTH_AFTER.search(after):
        return "length"
    return "bare"


def _seconds(match: re.Match[str], name: str, unit: str | None) -> float:
    clock = match[f"{name}_clock"]
    if clock:
        total = 0.0
        for part in clock.split(":"):
            total = total * 60 + float(part)
        return total
    value = match[f"{name}_value"].lower().replace("−", "-")
    number = _WORDS[value.lstrip("-")] if value.lstrip("-") in _WORDS else float(value)
    return number * _scale(unit or "s")


def _scale(unit: str) -> float:
    word = unit.lower()
    return _UNITS[word] if word in _UNITS else _UNITS[word.rstrip("s")]


def moments(text: str) -> list[float]:
    """All seconds that name a moment: points and both ends of spans, in order."""
    return [value for one in mentions(text) if one.kind in ("point", "span") for value in one.values]


def duration(text: str) -> float | None:
    """The seconds of a text that names exactly one time and no span, such as an option "about 2.5 seconds"."""
    found = mentions(text)
    return found[0].low if len(found) == 1 and found[0].kind != "span" else None


def without(text: str, mark: str = "TIME") -> str:
    """The text with every time replaced by `mark`, to compare wordings."""
    pieces, at = [], 0
    for mention in mentions(text):
        pieces += [text[at : mention.start], mark]
        at = mention.end
    return "".join([*pieces, text[at:]])


def shifted(text: str, by: float) -> str:
    """The text with every point and span moved by seconds, written "7.5 s" and "3.0-5.0 s"; lengths stay."""
    pieces, at = [], 0
    for mention in mentions(text):
        if mention.kind in ("point", "span"):
            pieces += [text[at : mention.start], _moved(text[mention.start : mention.end], mention, by)]
            at = mention.end
    return "".join([*pieces, text[at:]])


def _moved(words: str, mention: Mention, by: float) -> str:
    if mention.kind == "point":
        return f"{mention.low + by + 0.0:.1f} s"
    low, high = f"{mention.low + by + 0.0:.1f}", f"{mention.high + by + 0.0:.1f}"
    lead = re.match(r"(from|between)\s", words, re.IGNORECASE)
    if lead:
        return f"{lead[1]} {low} {'to' if lead[1].lower() == 'from' else 'and'} {high} s"
    return f"{'(' if words.startswith('(') else '[' if words.startswith('[') else ''}{low}-{high} s"
