"""The answer in a reply by three readings, and what it scores.

strict      only what stands in the first answer tag after the thoughts, and only if it is nothing but the answer
released    the order of the released GRASP evaluation (`ml.text.answers.find`): tag, boxed, "X)", first character.
            This is the reading that published rows compare with
lenient     also small letters, "(b)", "Answer: B", "B. Person 2", lists in any form, and the words of one option alone;
            but no first character of a word ("Because")

An item with one letter scores 0 or 1; with several letters F1 = 2 |K & A| / (|K| + |A|) of the two sets, by item; yes
or no by the whole word, so that "know" is no "no"; a number by equality at two decimals. A reply in which a reading
finds no answer is unanswered: it scores 0 by that reading, and is counted apart from the wrong ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ml.evaluation.bench import LETTER, LETTERS, NUMBER, YES_NO, Item
from ml.text import answers, tags

READINGS = ("strict", "released", "lenient")
HEADLINE = "released"
Said = tuple[str, ...]  # letters, "yes" or "no", or a number; empty where no answer is found
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
_YES_NO = re.compile(r"(?<![\w'])(yes|no)(?![\w'])", re.IGNORECASE)


@dataclass(frozen=True)
class Read:
    """What was found in a reply by one reading, and its score in [0, 1]."""

    said: Said
    score: float


def read_reply(text: str, item: Item) -> dict[str, Read]:
    """Every reading of a reply to an item."""
    found = {
        "strict": strict(text, item),
        "released": released(text, item),
        "lenient": lenient(text, item),
    }
    return {name: Read(said, score(said, item)) for name, said in found.items()}


def score(said: Said, item: Item) -> float:
    """What an answer is worth."""
    if not said:
        return 0.0
    if item.kind == LETTERS:
        key, given = set(item.key), set(said)
        return 2 * len(key & given) / (len(key) + len(given))
    if item.kind == NUMBER:
        return float(round(float(said[0]), 2) == round(float(item.key[0]), 2))
    return float(said == item.key)


def strict(text: str, item: Item) -> Said:
    """What the first answer tag holds, if that is a bare answer: "B", "A, C", "yes", "3"."""
    tagged = tags.first(tags.after_think(text), "answer")
    if tagged is None:
        return ()
    if item.kind == LETTER:
        return (tagged,) if len(tagged) == 1 and tagged in item.letters else ()
    if item.kind == LETTERS:
        parts = [part.strip() for part in tagged.split(",")]
        return _letters(parts) if all(len(p) == 1 and p in item.letters for p in parts) else ()
    if item.kind == YES_NO:
        return (tagged.lower(),) if tagged.lower() in ("yes", "no") else ()
    return (tagged,) if _NUMBER.fullmatch(tagged) else ()


def released(text: str, item: Item) -> Said:
    """The released order; its letters are those of the item's options. What GRASP has no rule for (several letters, yes
    or no, a number) is read from the answer tag, or from the text after the thoughts where there is none."""
    if item.kind == LETTER:
        letter = answers.letter(text, item.letters)
        return (letter,) if letter else ()
    return _answer(_told(text), item)


def lenient(text: str, item: Item) -> Said:
    """Any writing of an answer that leaves no doubt: not the first character of a word, not two letters for one."""
    if tags.after_think(text) == text and "<think>" in text.lower():
        return ()  # cut off while it thought
    told = _told(text)
    if item.kind in (LETTER, LETTERS):
        found = answers.letters(told, item.letters)
        if item.kind == LETTERS or len(found) == 1:
            if found:
                return _letters(found)
        elif found:
            return ()  # several letters where one is right: no answer
        by_words = _option(told, item.options)
        return () if by_words is None else (answers.letter_of(by_words),)
    return _answer(told, item) or _answer(tags.plain(text), item)


def _told(text: str) -> str:
    rest = tags.after_think(text)
    tagged = tags.first(rest, "answer")
    return tagged if tagged is not None else tags.plain(rest).strip()


def _answer(told: str, item: Item) -> Said:
    if item.kind == LETTERS:
        return _letters(answers.letters(told, item.letters))
    if item.kind == YES_NO:
        words = {word.lower() for word in _YES_NO.findall(told)}
        return (words.pop(),) if len(words) == 1 else ()  # both is no answer
    numbers = _NUMBER.findall(told)
    return (numbers[0],) if len(numbers) == 1 else ()


def _letters(found: Sequence[str]) -> Said:
    return tuple(sorted(set(found)))


def _option(told: str, options: Sequence[str]) -> int | None:
    """The one option whose words these are."""
    said = _words(answers.split_option(told)[1])
    same = [at for at, option in enumerate(options) if said and _words(option) == said]
    return same[0] if len(same) == 1 else None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
