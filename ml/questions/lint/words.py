"""Wordings made comparable: options and questions as tokens in which persons and times are themselves.

Heuristics in English. `@3` stands for person 3, `#2.5` for 2.5 seconds; the rest are words without articles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rapidfuzz.distance import Levenshtein

from ml.text import persons, phrases, times

Tokens = tuple[str, ...]
_WORD = re.compile(r"[@#]-?[0-9.]+|[^\W_]+(?:['’][a-z]+)?")
_ARTICLES = frozenset({"the", "a", "an"})
_FILLER = frozenset({
    "the", "a", "an", "is", "are", "was", "were", "do", "does", "did", "of", "in", "this", "that", "these", "those",
    "there", "then", "their", "his", "her", "its", "it", "by", "on", "with", "to", "and", "directly", "clearly", "just",
    "very", "really", "also", "best", "correctly", "video", "clip", "shown", "seen", "be", "been", "as",
    "for", "from", "at", "during", "while", "when", "own", "happen", "happens", "takes", "take", "place", "occur",
    "occurs", "between", "interval", "window", "segment", "time", "moment", "around", "about",
})  # fmt: skip
# words that turn a sentence into another one however alike the rest is
_CONTRAST = frozenset({
    "first", "second", "third", "last", "next", "previous", "before", "after", "not", "no", "none", "never", "neither",
    "nobody", "most", "least", "fewest", "earlier", "later", "earliest", "latest", "long", "longer", "longest", "short",
    "shorter", "shortest", "many", "much", "left", "right", "up", "down", "start", "starts", "end", "ends", "begin",
    "begins", "beginning", "yes", "only", "both", "either", "all", "same", "other", "others", "another", "more", "less",
    "simultaneously", "overlap", "overlapping", "duration", "often", "type", "back", "where", "why", "how", "except",
    "also", "lead", "leads", "leader", "follower", "follow", "follows", "initiator", "target", "once",
    "twice",
})  # fmt: skip
_GESTURES = frozenset({
    "giving", "gives", "give", "showing", "shows", "show", "pointing", "points", "point", "reaching", "reaches",
    "reach",
})  # fmt: skip
_ENDINGS = ("ing", "ed", "es", "s")


@lru_cache(maxsize=65536)
def tokens(text: str, shift: float = 0.0) -> Tokens:
    """The text's tokens in order, articles left out; moments moved by `shift` seconds (clip to source)."""
    marked = _mark_persons(_mark_times(text, shift))
    return tuple(word for word in _WORD.findall(marked.casefold()) if word not in _ARTICLES)


def _mark_times(text: str, shift: float) -> str:
    def mark(one: times.Mention) -> str:
        move = shift if one.kind in ("point", "span") else 0.0
        return " ".join(f"#{round(value + move, 1) + 0.0:g}" for value in one.values)

    return _replaced(text, times.mentions(text), mark)


def _mark_persons(text: str) -> str:
    return _replaced(text, persons.mentions(text), lambda one: " ".join(f"@{number}" for number in one.numbers))


def _replaced(text: str, found: Sequence[Any], mark: Callable[[Any], str]) -> str:
    pieces, at = [], 0
    for one in found:
        pieces += [text[at : one.start], f" {mark(one)} "]
        at = one.end
    return "".join([*pieces, text[at:]])


def stem(word: str) -> str:
    """The word without a common ending; crude, for comparing only."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def marks(listed: Tokens) -> Tokens:
    """Persons and times among tokens, in order."""
    return tuple(token for token in listed if token[0] in "@#")


def content(listed: Tokens) -> frozenset[str]:
    """Stems of the words that carry content."""
    return frozenset(stem(token) for token in listed if token[0] not in "@#" and token not in _FILLER)


def contrasts(listed: Tokens) -> frozenset[str]:
    """The words that would make two like sentences different."""
    return frozenset(stem(token) for token in listed if token in _CONTRAST or phrases.NEGATION.fullmatch(token))


def gestures(listed: Tokens) -> frozenset[str]:
    """The gestures named: among many shared words one of these is easily drowned."""
    return frozenset(stem(token) for token in listed if token in _GESTURES)


def same(a: str, b: str) -> bool:
    """Two options say the same: equal tokens, or the same persons listed in another order."""
    one, other = tokens(a), tokens(b)
    if one == other:
        return bool(one)
    return is_list(one) and is_list(other) and sorted(marks(one)) == sorted(marks(other))


def is_list(listed: Tokens) -> bool:
    """Nothing but persons (or times), listed."""
    return bool(marks(listed)) and all(token[0] in "@#" or token in ("and", "&", "with") for token in listed)


def nearly_same(a: str, b: str) -> bool:
    """Two options differ in filler, endings or spelling only, never in persons, times, their order or a contrast."""
    one, other = tokens(a), tokens(b)
    if marks(one) != marks(other) or contrasts(one) != contrasts(other):
        return False
    left, right = (_telling(side) for side in (one, other))
    if not (left or right):
        return is_list(one) == is_list(other)
    return len(left) == len(right) and all(_alike(a, b) for a, b in zip(left, right, strict=True))


def _telling(listed: Tokens) -> list[str]:
    """Tokens in order, fillers left out; persons and times keep their places."""
    return [token for token in listed if token not in _FILLER]


def _alike(a: str, b: str) -> bool:
    """One word, up to its ending or one letter of a longer one."""
    if a == b or "@" in a + b or "#" in a + b:
        return a == b
    return stem(a) == stem(b) or (min(len(a), len(b)) >= 5 and Levenshtein.distance(a, b, score_cutoff=1) <= 1)


def likeness(a: frozenset[str], b: frozenset[str]) -> float:
    """Jaccard: shared over all; 1 where both are empty."""
    return len(a & b) / len(a | b) if a or b else 1.0
