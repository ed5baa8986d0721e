"""Person mentions: "Person 2", "Persons 1, 2 and 3", "P3", and lower-case or glued forms, which are flagged.

A number belongs to a list of persons as long as it is no amount: in "Person 1 and 2 seconds later" only person 1 is
named. Ranges are read after the plural only ("Persons 1 to 3", "Persons 1-3"), up to 20 persons.

The released reward of GRASP counts "Person" + spaces + number and capital "P" + number, nothing else (`released`); the
other forms are what it misses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_NUMBER = r"[0-9]{1,9}(?![0-9])(?!\.[0-9])(?!:[0-9])"
_AMOUNT = (
    r"\s*-?(?:m?s|secs?|seconds?|mins?|minutes?|frames?|times?|others?|other|more|people|persons?|events?|gestures?|"
    r"gazes?|looks?\s+at\s+once|shots?|clips?|fps|%|percent|meters?|metres?|m|cm|x)(?![A-Za-z0-9])"
)
_AND = rf"\s*(?:,\s*and|,\s*&|and|&|or|,\s*or)\s+{_NUMBER}(?!{_AMOUNT})"
_COMMA = rf"\s*,\s*{_NUMBER}(?!{_AMOUNT})"
_TO = rf"\s*(?:-|–|—|to|through)\s*(?P<last>{_NUMBER})(?!{_AMOUNT})"
_BLANK = r"[ \t]*[#_]?[ \t]*"
# begins with its letter, for which the engine skips through a text; what must not stand before it is asked after that
_MENTION = re.compile(
    rf"[Pp](?i:(?<![A-Za-z0-9_].)(?:erson{_BLANK}(?P<one>{_NUMBER})(?P<also>(?:{_AND})*)|"
    rf"(?:ersons|eople){_BLANK}(?P<first>{_NUMBER})(?:{_TO}|(?P<list>(?:{_AND}|{_COMMA})*))|"
    rf"[ \t]?(?P<short>{_NUMBER})))",
)
_DIGITS = re.compile(r"[0-9]+")
_LONGEST_RANGE = 20
_RELEASED = re.compile(r"Person\s+([0-9]{1,9})|P([0-9]{1,9})")


class Mention(NamedTuple):
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
    return [
        Mention(
            start=match.start(),
            end=end,
            numbers=numbers,
            plural=match["first"] is not None or len(numbers) > 1,
            lower=text[match.start()].islower(),
            short=match["short"] is not None,
        )
        for match, numbers, end in _read(text)
    ]


def _read(text: str) -> Iterator[tuple[re.Match[str], tuple[int, ...], int]]:
    """Each mention, its numbers, and where it ends."""
    numbers: tuple[int, ...]
    for match in _MENTION.finditer(text):
        one, also, first, last, more, short = match.groups()
        if first is None:
            numbers = int(one or short), *(map(int, _DIGITS.findall(also)) if also else ())
        elif last is None:
            numbers = int(first), *map(int, _DIGITS.findall(more))
        else:
            numbers = _range(int(first), int(last))
        # behind a range that is none, nobody else is named up to its end
        yield match, numbers, match.end() if last is None or len(numbers) > 1 else match.end("first")


def _range(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1)) if first < last < first + _LONGEST_RANGE else (first,)


def named(text: str) -> frozenset[int]:
    """The numbers of all persons named in the text."""
    found = set()
    for one, also, first, last, more, short in _MENTION.findall(text):
        if not first:
            found.add(int(one or short))
            if also:
                found.update(map(int, _DIGITS.findall(also)))
        elif last:
            found.update(_range(int(first), int(last)))
        else:
            found.update((int(first), *map(int, _DIGITS.findall(more))))
    return frozenset(found)


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
