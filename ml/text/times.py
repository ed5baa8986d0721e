"""Times in text: "7.5 s", "0:07", "from 3 to 5 s", "between 3.0s and 5.0s", "for 2 seconds".

A mention is a *span* (two ends), a *point* ("at 7.5 s", any clock form), a *length* ("for 2 s", "2 s later", "a
3-second clip") or *bare* (a number of seconds without a word that tells, as in an option "2.5 s"). Which of the last
three it is comes from the words around it: a heuristic, in English. A number without a unit counts only inside a span
whose other end has one ("from 3 to 5 s").
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["span", "point", "length", "bare"]
_Found = re.Match[str] | None

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDS = {word: float(at) for at, word in enumerate(_NUMBERS)}
_UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0}
_UNITS |= {f"{unit}s": scale for unit, scale in _UNITS.items() if len(unit) > 2}
_UNIT = r"(?ai:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?)"  # "a": no "ſ" for an s
_WORD = rf"(?ai:{'|'.join(_WORDS)})"
_VALUE = rf"(?:[0-9]{{1,6}}(?:\.[0-9]{{1,9}})?|{_WORD})"
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
    rf"(?:[0-9]|{_WORD})[ \t]?-?{_UNIT}(?:\b|(?=_))|:[0-9]{{2}}"
)
# Most texts have no number in words. In these, whatever is looked for begins with one of a few characters, for which
# the engine skips through the text; the patterns above are tried only where one of them stands.
_WORDED = re.compile(rf"{_START}{_WORD}")
_UNITED_FIGURES = re.compile(rf"[0-9:](?:(?<=[0-9])[ \t]?-?{_UNIT}(?:\b|(?=_))|(?<=:)[0-9]{{2}})")
_SINGLE_BEGINS = re.compile(r"[0-9\-−](?:(?<=[0-9])(?<![\w.:][0-9])|(?<=[\-−])(?=[0-9]))")
_SPAN_BEGINS = re.compile(  # the number of a person begins none
    r"[fFbB\[(0-9\-−](?i:(?<=[0-9])(?<![\w.:][0-9])(?<!\bperson [0-9])(?<!\bpersons [0-9])|"
    r"(?<=[\[(\-−])(?=[0-9\-−])|(?<=f)rom\s|(?<=b)etween\s)"
)
_LONGEST = 48  # characters from the beginning of a time to its first unit; a search from there on sees all of it
_LONGEST_SPAN = 200  # characters of a span, blanks included
_ALSO = re.compile(r"\s*(?:,\s*)?(?:and|or|,)\s*", re.IGNORECASE)


class Mention(NamedTuple):
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
    worded = _is_worded(text)
    while one := _next(text, at, worded):
        if one.kind == "bare" and found and _ALSO.fullmatch(text, at, one.start):
            one = one._replace(kind=found[-1].kind if found[-1].kind != "span" else "bare")  # "at 3.0 s and 5.0 s"
        found.append(one)
        at = one.end
    return found


def _is_worded(text: str) -> bool:
    """Whether a number word may be part of a time; to look for plain letters first is far cheaper than the pattern."""
    small = text.lower()
    for word in _WORDS:
        if word in small:
            return _WORDED.search(text) is not None
    return False


def _next(text: str, at: int, worded: bool) -> Mention | None:
    united = (_UNITED if worded else _UNITED_FIGURES).search(text, at)
    if united is None:
        return None
    at = max(at, united.start() - _LONGEST)
    span = _span(text, at, united.start(), worded)
    if span:
        return span
    single = _single(text, at, worded)
    span = _span(text, at, single.start if single else len(text), worded)
    if span or not single:
        return span
    return single if single.kind == "point" else single._replace(kind=_kind(text, single.start, single.end))


def _search(pattern: re.Pattern[str], begins: re.Pattern[str] | None, text: str, at: int, end: int) -> _Found:
    """The pattern's first match in [at, end), tried where it may begin."""
    if begins is None:
        return pattern.search(text, at, end)
    for begin in begins.finditer(text, at, end):
        if match := pattern.match(text, begin.start(), end):
            return match
    return None


def _span(text: str, at: int, until: int, worded: bool) -> Mention | None:
    """The first span from `at` that begins no later than `until`."""
    begins, end = None if worded else _SPAN_BEGINS, until + _LONGEST_SPAN  # beyond it there is none that begins in time
    while match := _search(_SPAN, begins, text, at, end):
        first = _first(match)
        if first > until:
            return None
        word, opens, a_clock, a, a_unit, join, b_clock, b, b_unit = match.groups()
        if _is_span(word, opens, a_clock, join, b_clock, b_unit) and (word or not _is_person(text, first)):
            shared = None if a_clock or b_clock else b_unit
            low, high = _seconds(a_clock, a, a_unit or shared), _seconds(b_clock, b, b_unit)
            return Mention(*match.span(), "span", low, high)
        at = first + 1
    return None


def _first(match: re.Match[str]) -> int:
    return match.start("a_clock" if match["a_clock"] else "a_value")


def _is_span(
    word: str | None, opens: str | None, a_clock: str | None, join: str, b_clock: str | None, b_unit: str | None
) -> bool:
    if not (b_clock or b_unit) or (a_clock and not b_clock):
        return False
    if join == ",":
        return bool(opens)
    return join.lower() != "and" or (word or "").lower() == "between"


def _is_person(text: str, at: int) -> bool:
    """Whether the number there is that of a person."""
    return _PERSON_BEFORE.search(text[max(0, at - 12) : at]) is not None


def _single(text: str, at: int, worded: bool) -> Mention | None:
    """The first time from `at` that stands by itself; one that is no clock is "bare" until it is read in its place."""
    while match := _search(_SINGLE, None if worded else _SINGLE_BEGINS, text, at, len(text)):
        start, (clock, value, unit, _, rest, rest_unit) = _first(match), match.groups()
        if clock:
            return Mention(start, match.end("a_clock"), "point", *[_seconds(clock, value, unit)] * 2)
        if unit and not _is_person(text, start):
            seconds, end = _seconds(clock, value, unit), match.end("a_unit")
            if rest_unit and _scale(unit) == 60.0 and _scale(rest_unit) == 1.0:
                seconds, end = seconds + _seconds(None, rest, rest_unit), match.end("b_unit")
            return Mention(start, end, "bare", seconds, seconds)
        at = start + 1
    return None


def _kind(text: str, start: int, end: int) -> Kind:
    before, after = text[max(0, start - 60) : start], text[end : end + 30]
    if _POINT_BEFORE.search(before) and not _LENGTH_BEFORE.search(before):
        return "point"
    if _LENGTH_BEFORE.search(before) or _LENGTH_AFTER.search(after):
        return "length"
    return "bare"


def _seconds(clock: str | None, value: str, unit: str | None) -> float:
    """The seconds of one end: a clock form, or a value, by default of seconds."""
    if clock:
        total = 0.0
        for part in clock.split(":"):
            total = total * 60 + float(part)
        return total
    in_figures = value[-1].isdigit()
    number = float(value.replace("−", "-")) if in_figures else _WORDS[value.lower().lstrip("-−")]
    return number if unit is None or unit == "s" else number * _scale(unit)


def _scale(unit: str) -> float:
    return _UNITS[unit.lower()]


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
