"""Whether an answer is the key's: letters as sets, numbers as numbers, words without case, spacing and points.

An answer that could not be read is a wrong one; without a key nothing is said.

`ml.rewards.answering.accuracy` reads the same keys otherwise, and on purpose: a reward gives part of the credit for
part of the letters (F1) and keeps to the published rewards it stands in for (two decimals, the first answer tag), while
a report counts right and wrong, as the bench does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ml.text.answers import split_option

LETTER = re.compile(r"[A-Z]")
LETTERS = re.compile(r"[A-Z](?:\s*(?:,|;|/|&|\band\b)\s*[A-Z])*")
RUN = re.compile(r"(?=[A-J]{2,10}$)A?B?C?D?E?F?G?H?I?J?")  # "BC"; but "NO", "TV", "OK" are words
CLOSE = 1e-9


def is_correct(
    key: Sequence[Any] | None, *, answer: str, letters: Sequence[str] = (), options: Sequence[str] = ()
) -> bool | None:
    """`key`: letters, or [number], or [words]. `letters`: those the reply chose; `answer`: its words."""
    if not key:
        return None
    if all(isinstance(one, str) and LETTER.fullmatch(one) for one in key):
        chosen = set(letters) or {chr(ord("A") + n) for n, option in enumerate(options) if same(answer, option)}
        return chosen == set(key)
    if len(key) == 1 and isinstance(key[0], int | float) and not isinstance(key[0], bool):
        number = number_in(answer)
        return number is not None and abs(number - float(key[0])) < CLOSE
    return any(same(answer, str(one)) for one in key)


def key_of(text: str | None) -> list[str | float] | None:
    """A key as it is written: "B", "B, C" and "B) A cup" are letters, "3" a number, anything else words."""
    written = (text or "").strip()
    if not written:
        return None
    if LETTERS.fullmatch(written) or RUN.fullmatch(written):
        return sorted(set(LETTER.findall(written)))
    letter, _ = split_option(written)
    if letter is not None:
        return [letter]
    try:
        return [float(written)]
    except ValueError:
        return [written]


def same(one: str, other: str) -> bool:
    return plain(one) == plain(other) != ""


def plain(text: str) -> str:
    """Words of an answer or option, its letter left out."""
    return " ".join(re.findall(r"\w+", split_option(text)[1].casefold()))


def number_in(text: str) -> float | None:
    """The one number of a text; None where there is none, or more than one."""
    found = re.findall(r"[-+]?\d+(?:\.\d+)?", text)
    return float(found[0]) if len(found) == 1 else None
