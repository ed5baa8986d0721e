"""Sentences of a reply, as docs/claims.md cuts them: where each begins and ends, without list marks and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 2000  # characters that are read as one sentence; a longer one is read in pieces, cut at a blank
_LINE = re.compile(r"[^\r\n\v\f\x85\u2028\u2029]+")
_LIST_MARK = re.compile(r"[ \t]*(?:(?:[0-9]{1,3}[.)](?![0-9])|\([0-9]{1,3}\)|[0-9]{1,3}、|[-*•–](?=[ \t]))[ \t]*)+")
_HEADING_END = re.compile(r"[:：][ \t*_]*$")
_ENDS = re.compile(r"[.!?…。！？；;]+[\"”’')\]*_»」』）]*")
_CLOSERS = "\"”’'）)]»」』"
_GOES_ON = re.compile(r"[ \t]*,?[ \t]+[a-z]|[，,]")
_ABBREVIATION = re.compile(r"(?:(?<![A-Za-z])(?:e\.?g|i\.?e|vs|approx|Mr|Mrs|Ms|Dr)|(?<![A-Za-z])[ei])$", re.IGNORECASE)


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans [start, end) of the sentences in a part of the text, with the marks that end them."""
    for line in _LINE.finditer(text, start, end):
        if _HEADING_END.search(text, max(line.start(), line.end() - 8), line.end()):
            continue
        mark = _LIST_MARK.match(text, line.start(), line.end())
        yield from _of_line(text, mark.end() if mark else line.start(), line.end())


def _of_line(text: str, at: int, end: int) -> Iterator[tuple[int, int]]:
    begin = at
    for stop in _ENDS.finditer(text, at, end):
        if stop[0][0] == "." and len(stop[0]) == 1 and _ends_nothing(text, stop.start(), end):
            continue
        if stop[0][-1] in _CLOSERS and _GOES_ON.match(text, stop.end(), end):
            continue  # says "Look at that!" and points
        yield from _pieces(text, begin, stop.end())
        begin = stop.end()
    yield from _pieces(text, begin, end)


def _ends_nothing(text: str, at: int, end: int) -> bool:
    """Whether the point at `at` stands inside a number or an abbreviation."""
    after = text[at + 1] if at + 1 < end else ""
    if after.isdigit() and (at == 0 or text[at - 1].isdigit() or text[at - 1] in " \t(~-"):
        return True
    return bool(_ABBREVIATION.search(text[max(0, at - 8) : at]))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        blank = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
        cut = blank if blank > 0 else start + LONGEST
        yield start, cut
        start = cut
    if text[start:end].strip():
        yield start, end
