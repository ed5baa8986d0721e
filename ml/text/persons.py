"""Person mentions: "Person 2", "Persons 1, 2 and 3", "P3", and lower-case or glued forms, which are flagged.

A number belongs to a list of persons as long as it is no amount: in "Person 1 and 2 seconds later" only person 1 is
named. Ranges are read after the plural only ("Persons 1 to 3", "Persons 1-3"), up to 20 persons.

The released reward of GRASP counts "Person" + spaces + number and capital "P" + number, nothing else (`released`); the
other forms are what it misses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = r"[0-9]{1,9}(?![0-9])(?!\.[0-9])(?!:[0-9])"
_HEAD = re.compile(
    rf"(?<![A-Za-z0-9_])(?:(?P<word>persons?|people)[ \t]*[#_]?[ \t]*|(?P<short>P)[ \t]?)(?P<number>{_NUMBER})",
    re.IGNORECASE,
)
_AMOUNT = (
    r"\s*-?(?:m?s|secs?|seconds?|mins?|minutes?|frames?|times?|others?|other|more|people|persons?|events?|gestures?|"
    r"gazes?|looks?\s+at\s+once|shots?|clips?|fps|%|percent|meters?|metres?|m|cm|x)(?![A-Za-z0-9])"
)
_AND = re.compile(rf"\s*(?:,\s*and|,\s*&|and|&|or|,\s*or)\s+(?P<number>{_NUMBER})(?!{_AMOUNT})", re.IGNORECASE)
_COMMA = re.compile(rf"\s*,\s*(?P<number>{_NUMBER})(?!{_AMOUNT})", re.IGNORECASE)
_TO = re.compile(rf"\s*(?:-|–|—|to|through)\s*(?P<number>{_NUMBER})(?!{_AMOUNT})", re.IGNORECASE)
_LONGEST_RANGE = 20
_RELEASED = re.compile(r"Person\s+([0-9]{1,9})|P([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters [start, end) of the text name `numbers`, in the order written.

    `plural`: several persons share one word ("Persons 1 and 2", also "Person 1 and 2"). `lower`: not written with the
    capital letter of "Person" or "P". `short`: the form "P3".
    """

    start: int
    end: int
    numbers: tuple[int, ...]
    plural: bool = False
    lower: bool = False
    short: bool = False

    @property
    def standard(self) -> bool:
        """A form the released reward counts in full."""
        return not (self.plural or self.lower)


def mentions(text: str) -> list[Mention]:
    """Every mention of persons, in order, not overlapping."""
    found = []
    at = 0
    while match := _HEAD.search(text, at):
        numbers, at = _list_from(text, match)
        word = match["word"] or match["short"]
        many = word.lower() in ("persons", "people")
        found.append(
            Mention(
                start=match.start(),
                end=at,
                numbers=tuple(numbers),
                plural=many or len(numbers) > 1,
                lower=word[0].islower(),
                short=match["short"] is not None,
            )
        )
    return found


def _list_from(text: str, match: re.Match[str]) -> tuple[list[int], int]:
    """The numbers of the list that begins with this mention, and where it ends."""
    numbers, at = [int(match["number"])], match.end()
    if match["short"] is not None:
        return numbers, at
    many = (match["word"] or "").lower() != "person"
    if many and (reach := _TO.match(text, at)):
        last = int(reach["number"])
        if numbers[0] < last < numbers[0] + _LONGEST_RANGE:
            return list(range(numbers[0], last + 1)), reach.end()
    while step := _AND.match(text, at) or (_COMMA.match(text, at) if many else None):
        numbers.append(int(step["number"]))
        at = step.end()
    return numbers, at


def named(text: str) -> frozenset[int]:
    """The numbers of all persons named in the text."""
    return frozenset(number for mention in mentions(text) for number in mention.numbers)


def in_order(text: str) -> list[int]:
    """The numbers of the persons named, each once, by first mention."""
    return list(dict.fromkeys(number for mention in mentions(text) for number in mention.numbers))


def released(text: str) -> frozenset[int]:
    """The persons that the released reward finds: "Person" + blanks + number, or "P" + number, case-sensitive."""
    return frozenset(int(long or short) for long, short in _RELEASED.findall(text))


def without(text: str, mark: str = "Person") -> str:
    """The text with every mention replaced by `mark`, to compare wordings."""
    pieces, at = [], 0
    for mention in mentions(text):
        pieces += [text[at : mention.start], mark]
        at = mention.end
    return "".join([*pieces, text[at:]])


def renumbered(text: str, new: dict[int, int]) -> str:
    """The text with every person's number replaced by `new[number]` where there is one; the wording stays."""
    pieces, at = [], 0
    for mention in mentions(text):
        pieces += [text[at : mention.start], _swap(text[mention.start : mention.end], new)]
        at = mention.end
    return "".join([*pieces, text[at:]])


def _swap(words: str, new: dict[int, int]) -> str:
    return re.sub(r"[0-9]+", lambda match: str(new.get(int(match[0]), int(match[0]))), words)


def listed(numbers: Iterable[int]) -> str:
    """Persons in words: "Person 2", "Persons 1 and 2", "Persons 1, 2 and 3"; `named` reads them back."""
    every = [str(number) for number in numbers]
    if not every:
        return "nobody"
    if len(every) == 1:
        return f"Person {every[0]}"
    return f"Persons {', '.join(every[:-1])} and {every[-1]}"
