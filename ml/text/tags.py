"""The tags of a model's reply: think, gaze, gesture, answer.

A block begins at its opening tag and ends at the next closing one of the same name; one that is never closed is no
block for a reward, but is listed with `closed` False up to the end of the text. Tags are written in small letters;
`<Answer>` is read as well and flagged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TAGS = ("think", "gaze", "gesture", "answer")
_TAG = re.compile(r"<(?P<close>/)?\s*(?P<name>think|gaze|gesture|answer)\s*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """`content` stands at characters [start, end) of the text, between its tags. `lower`: the tags are as taught."""

    name: str
    start: int
    end: int
    content: str
    closed: bool = True
    exact: bool = True


def blocks(text: str, name: str | None = None) -> list[Block]:
    """All blocks by their beginning, of one name or of all; a block inside another one is listed as well."""
    found = []
    next_close: dict[str, re.Match[str]] = {}
    for tag in reversed(list(_TAG.finditer(text))):
        its = tag["name"].lower()
        if tag["close"]:
            next_close[its] = tag
        elif name is None or its == name:
            close = next_close.get(its)
            end = close.start() if close else len(text)
            exact = tag[0] == f"<{its}>" and (close is None or close[0] == f"</{its}>")
            found.append(Block(its, tag.end(), end, text[tag.end() : end], close is not None, exact))
    return found[::-1]


def contents(text: str, name: str) -> list[str]:
    """What stands in the closed blocks of that name, stripped."""
    return [block.content.strip() for block in blocks(text, name) if block.closed]


def first(text: str, name: str) -> str | None:
    """What stands in the first closed block of that name, stripped; None where there is none."""
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if tag["name"].lower() != name:
            continue
        if not tag["close"] and opened is None:
            opened = tag.end()
        elif tag["close"] and opened is not None:
            return text[opened : tag.start()].strip()
    return None


def after_think(text: str) -> str:
    """The text after the last closing think tag; all of it where there is none."""
    closings = [tag.end() for tag in _TAG.finditer(text) if tag["close"] and tag["name"].lower() == "think"]
    return text[closings[-1] :] if closings else text


def plain(text: str) -> str:
    """The text without any of the tags; what they enclose stays."""
    return _TAG.sub("", text)
