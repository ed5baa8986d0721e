"""The tags of a model's reply: think, gaze, gesture, answer.

A block begins at its opening tag and ends at the next closing one of the same name; a tag that opens it again in
between opens nothing, as for the pattern `<gaze>(.*?)</gaze>`. One that is never closed is no block for a reward, but
is listed with `closed` False up to the end of the text. Tags are written in small letters; `<Answer>` is read as well
and flagged.
"""

from __future__ import annotations

import re
from collections import Counter
from operator import itemgetter
from typing import NamedTuple

TAGS = ("think", "gaze", "gesture", "answer")
_TAG = re.compile(r"<(?P<close>/)?\s*(?P<name>(?ai:think|gaze|gesture|answer))\s*>")
_BETWEEN = re.compile(r"(</?\s*(?ai:think|gaze|gesture|answer)\s*>)")
_AS_TAUGHT = {f"<{close}{name}>": (not close, name, True) for name in TAGS for close in ("", "/")}


class Block(NamedTuple):
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
    opened: dict[str, tuple[int, bool]] = {}
    pieces = _BETWEEN.split(text)  # text, tag, text, tag, ..., text
    at = len(pieces[0])
    for tag, after in zip(pieces[1::2], pieces[2::2], strict=True):
        opens, its, exact = _AS_TAUGHT.get(tag) or _read(tag)
        if name is None or its == name:
            if opens:
                opened.setdefault(its, (at + len(tag), exact))
            elif its in opened:
                start, opened_exact = opened.pop(its)
                found.append(Block(its, start, at, text[start:at], True, exact and opened_exact))
        at += len(tag) + len(after)
    found += [Block(its, start, at, text[start:], False, exact) for its, (start, exact) in opened.items()]
    return sorted(found, key=itemgetter(1))


def openings(text: str) -> Counter[str]:
    """How many tags of each name open something, or would where it is open already."""
    return Counter(tag["name"].lower() for tag in _TAG.finditer(text) if not tag["close"])


def _read(tag: str) -> tuple[bool, str, bool]:
    """Whether a tag that is not written as taught opens, its name, and that it is not."""
    return "/" not in tag, tag.strip("</>").strip().lower(), False


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
