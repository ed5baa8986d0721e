"""Slots as people write them in forms: `{Person 3}` for `{p:ID}`, `{frame 187}` for `{t:187}`; braces are doubled.

The stored text names a person by id, so that a merge or a new number in an export cannot make it wrong; a person who
writes a question names them as the page does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ml.questions import slots
from webapp.lib.errors import Refused

STORED = re.compile(r"\{\{|\}\}|\{p:([^{}]+)\}|\{t:(\d{1,9})\}")
WRITTEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
PERSON = re.compile(r"person\s+(\d{1,6})", re.IGNORECASE)
FRAME = re.compile(r"frame\s+(\d{1,9})", re.IGNORECASE)


def written(text: str, numbers: Mapping[str, int]) -> str:
    """The stored text as it stands in a field. `numbers`: person id -> number; one that is not there keeps its slot."""

    def word(match: re.Match[str]) -> str:
        if match[1]:
            return f"{{Person {numbers[match[1]]}}}" if match[1] in numbers else match[0]
        return f"{{frame {match[2]}}}" if match[2] else match[0]

    return STORED.sub(word, text)


def stored(text: str, ids: Mapping[int, str], frames: int, field: str = "text") -> str:
    """What is kept of a field's text. `ids`: number -> person id; `frames`: length of the video.

    Raises Refused with a sentence for `field`: an unknown person, a frame outside the video, a single brace.
    """

    def slot(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0]
        words = (match[1] or "").strip()
        person, frame = PERSON.fullmatch(words), FRAME.fullmatch(words)
        if person:
            if int(person[1]) not in ids:
                raise Refused(f"There is no Person {int(person[1])} in this video.", field)
            return slots.person(ids[int(person[1])])
        if frame:
            if int(frame[1]) > frames:
                raise Refused(f"Frame {int(frame[1])} is outside this video of {frames} frames.", field)
            return slots.time(int(frame[1]))
        known = "Only {Person 3} and {frame 187} may stand in braces"
        raise Refused(f"{known}, not “{match[0][:40]}”. Write a plain brace twice.", field)

    return WRITTEN.sub(slot, text)
