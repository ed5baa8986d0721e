"""The answer in a model's reply, and the letter in front of an option.

`letter` follows the order in which the released GRASP evaluation looks for it:

1. only the text after the last closing think tag is read;
2. the first character in the answer tag, if it is a letter on offer;
3. a boxed value, `\\boxed{B}`;
4. the first `X)` or `X.` that is no end of a word ("USA."), looking for A first, then B, and so on;
5. the first character of the text.

Letters are capitals. Step 5 reads "Because ..." as B: that is the rule, and `Found.how` says which step it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ml.text import tags

LETTERS = "ABCD"
How = Literal["tag", "boxed", "marked", "first"]
_BOXED = re.compile(r"\\boxed\s*\{\s*(?:\\text\s*\{)?\s*([A-Z])\b")
_PREFIX = re.compile(r"\s*(?:\((?P<round>[A-Za-z])\)|(?P<plain>[A-Z])[).:]|(?P<small>[a-z])\))(?:\s+|$)")
_MARK = r"[(（\[]?\s*[A-Za-z]\s*[)）\]]?"
_LIST = re.compile(
    r"(?:(?:the\s+)?(?:final\s+)?(?:correct\s+)?(?:answers?|options?|choices?)?\s*(?:is|are)?\s*[:：]?\s*)"
    rf"(?P<list>{_MARK}(?:\s*(?:,|、|，|;|/|&|\+|and|or|和|\s)\s*{_MARK})*|(?-i:[A-Z]{{1,8}}))[.。]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """The letter, and which step found it."""

    letter: str
    how: How


def find(text: str, letters: str = LETTERS) -> Found | None:
    """The answer's letter and how it was found, or None."""
    rest = tags.after_think(text)
    tagged = tags.first(rest, "answer")
    if tagged and tagged[0] in letters:
        return Found(tagged[0], "tag")
    boxed = _BOXED.search(rest)
    if boxed and boxed[1] in letters:
        return Found(boxed[1], "boxed")
    for letter in letters:
        if re.search(rf"(?<![A-Za-z0-9]){letter}[).]", rest):
            return Found(letter, "marked")
    first = rest.strip()[:1]
    return Found(first, "first") if first and first in letters else None


def letter(text: str, letters: str = LETTERS) -> str | None:
    """The answer's letter, or None where no step finds one."""
    found = find(text, letters)
    return found.letter if found else None


def letters(text: str, letters: str = LETTERS) -> tuple[str, ...]:
    """All letters of an answer that may name several: "B, C", "B and C", "(a)", "A. Person 2", "BC", "Answer: B".

    Each once, in the order given. A text that is no such list is read for its one letter, as `letter` does, but for the
    first character of a word ("Because") and the article ("A person").
    """
    listed = _LIST.fullmatch(tags.plain(text).strip())
    if listed:
        found = [mark.upper() for mark in re.findall(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[A-Z]", listed["list"])]
        return tuple(dict.fromkeys(found)) if all(mark in letters for mark in found) else ()
    one = find(text, letters)
    if one and (one.how != "first" or not re.match(r"\s*(?:[A-Z]\w|A\s+[a-z])", text)):
        return (one.letter,)
    return ()


def split_option(text: str) -> tuple[str | None, str]:
    """An option's letter (capital) and its words: "B) Person 2" -> ("B", "Person 2"); no prefix gives None."""
    match = _PREFIX.match(text)
    if not match:
        return None, text.strip()
    mark = match["round"] or match["plain"] or match["small"]
    return mark.upper(), text[match.end() :].strip()


def letter_of(position: int) -> str:
    """The letter of an option by its position from 0; beyond Z there is none."""
    if not 0 <= position < 26:
        raise ValueError(f"There is no letter for option {position}.")
    return chr(ord("A") + position)


def with_letters(options: Sequence[str]) -> list[str]:
    """Options with the prefix GRASP writes, "A) " and so on; a prefix already there is replaced."""
    return [f"{letter_of(at)}) {split_option(option)[1]}" for at, option in enumerate(options)]
