"""Slots: how text about a video names people and times without fixing numbers and clocks.

`{p:ID}` stands for a person (rendered "Person 3"), `{t:FRAME}` for a moment (rendered "7.5 s", by the clock given: of
the clip or of the source). A literal brace is doubled: `{{`, `}}`. Anything else in braces is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ml.formats.errors import FormatError

_PIECE = re.compile(r"\{\{|\}\}|\{p:([^{}]+)\}|\{t:(\d{1,9})\}|([{}])")


def person(id: str) -> str:
    """The slot of a person."""
    return f"{{p:{id}}}"


def time(frame: int) -> str:
    """The slot of a moment, by source frame."""
    return f"{{t:{frame}}}"


def literal(text: str) -> str:
    """Free text with its braces doubled, to be put among slots."""
    return text.replace("{", "{{").replace("}", "}}")


def _slots(text: str) -> Iterator[tuple[str, str]]:
    for match in _PIECE.finditer(text):
        if match[3]:
            raise FormatError(f"The brace at position {match.start()} of “{text[:80]}” begins no known slot.")
        if match[1]:
            yield "p", match[1]
        elif match[2]:
            yield "t", match[2]


def seconds(value: float) -> str:
    """Seconds as questions print them: one decimal, never "-0.0"."""
    return f"{round(value, 1) + 0.0:.1f} s"


def render(text: str, names: Mapping[str, str], clock: Callable[[int], float]) -> str:
    """The text with every slot filled: persons by `names` (id -> "Person 3"), frames by `clock` (frame -> seconds).

    Raises FormatError for a brace that is no slot and for a person without a name.
    """

    def fill(match: re.Match[str]) -> str:
        if match[1]:
            if match[1] not in names:
                raise FormatError(f"The text names the person “{match[1]}”, who is not in this video.")
            return names[match[1]]
        if match[2]:
            return seconds(clock(int(match[2])))
        if match[3]:
            raise FormatError(f"The brace at position {match.start()} of “{text[:80]}” begins no known slot.")
        return match[0][0]

    return _PIECE.sub(fill, text)


def persons_in(text: str) -> list[str]:
    """Ids of the persons named, each once, in order of appearance. Raises FormatError as `render`."""
    return list(dict.fromkeys(value for kind, value in _slots(text) if kind == "p"))


def frames_in(text: str) -> list[int]:
    """Source frames named, each once, in order of appearance. Raises FormatError as `render`."""
    return list(dict.fromkeys(int(value) for kind, value in _slots(text) if kind == "t"))
