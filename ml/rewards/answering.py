"""Is the answer right, and does the reply have the form it was asked for?"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from string import ascii_uppercase

from ml.rewards.rows import Row
from ml.text import answers

_PARTS = (re.compile(r"</context>\s*<think>"), re.compile(r"</think>\s*<answer>"), re.compile("</answer>"))
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")


def accuracy(row: Row) -> float | None:
    """1 when the first answer tag holds the right answer, else 0; F1 where several letters are right. Range [0, 1].

    Source: GRASP's "correct" (the tag's text equals the target after stripping), made tolerant where the same answer
    is written otherwise: "B.", "(b)", "B) Person 2" for B, and "C, A" for "A,C". Several letters give
    2 |G ∩ A| / (|G| + |A|), as HumanOmniV2 scores its emotion items. Two numbers are equal at two decimals; other
    texts are equal when their words are, so that "know" is no "no". None where the row has no answer.

    Reports count right and wrong by `ml.evidence.correctness` instead: letters as whole sets, no part of the credit.

    Known holes: an answer outside the tags is wrong however right it is; only the first tag is read.
    """
    if row.answer is None:
        return None
    said, right = row.reply.answer, row.answer.strip()
    if said is None:
        return 0.0
    if said == right:
        return 1.0
    expected = _letters(right)
    if expected:
        given = _given(said, max(4, len(row.options)))
        return 2 * len(expected & given) / (len(expected) + len(given)) if given else 0.0
    if _NUMBER.fullmatch(right) and _NUMBER.fullmatch(said):
        return float(round(float(said), 2) == round(float(right), 2))
    return float(_words(said) == _words(right))


# the rollouts of a prompt share the right answer, and give few different ones
@lru_cache(1024)
def _letters(right: str) -> frozenset[str]:
    """The letters of an answer that is nothing but letters: "B", "A, C", "(d)"."""
    bare = re.fullmatch(r"\(?[A-Za-z]\)?\.?(?:\s*[,;/、]\s*\(?[A-Za-z]\)?\.?)*", right)
    return frozenset(letter.upper() for letter in re.findall(r"[A-Za-z]", right)) if bare else frozenset()


@lru_cache(1024)
def _given(said: str, options: int) -> frozenset[str]:
    """The letters that an answer names, of so many options."""
    return frozenset(answers.letters(said, ascii_uppercase[:options]))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def format_grasp(row: Row) -> float:
    """1 when an answer tag opens and closes on one line, else 0. Source: GRASP, "has_format".

    Known hole: nothing else of the form is looked at, not even that there is only one answer.
    """
    # the first opening tag of a line leaves the most room for a closing one; a pattern would try each to the line's end
    found = ((line, line.find("<answer>")) for line in row.completion.split("\n"))
    return float(any(at >= 0 and "</answer>" in line[at:] for line, at in found))


def format_affectomni(row: Row) -> float:
    """1 when the reply begins with a context block, then think, then answer, else 0.

    Source: the public AffectOmni code.

    Known hole: the blocks may be empty, and any text may follow.
    """
    found = re.match(r"\s*<context>", row.completion)
    for part in _PARTS:  # the first place of each leaves the most room for the next; any text may follow
        found = found and part.search(row.completion, found.end())
    return float(bool(found))
