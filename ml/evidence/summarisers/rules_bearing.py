"""Whether the answer rests on a claim: a heuristic that counts the persons and words both share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ml.evidence.reading import Parsed
from ml.evidence.summarisers.rules_words import word_set
from ml.text import answers, chinese, persons

_WORD = re.compile(r"[a-zA-Z]{4,}|[\u4e00-\u9fff]{2}")
_COMMON = word_set(
    """
    person persons that this with from they their them there what when which while into have been were does
    """
)


@dataclass(frozen=True)
class Bearing:
    """Persons and stems of the chosen option, or of the answer's own words."""

    persons: frozenset[int]
    stems: frozenset[str]

    @classmethod
    def of(cls, reply: Parsed, options: Sequence[str], answer: str) -> Bearing:
        """`answer`: as the response has it (letters or words), else the reply's own."""
        given = answer or reply.answer
        letters = answers.letters(given, "ABCDEFGHIJ"[: len(options)]) if answer else reply.letters
        chosen = [answers.split_option(options[ord(x) - 65])[1] for x in letters if 0 <= ord(x) - 65 < len(options)]
        said = " ".join(chosen) or (given if len(given) > 2 else "")
        tags = {*persons.named(said), *(n for one in chinese.mentions(said) for n in one.numbers)}
        return cls(frozenset(tags), _stems(said))

    def bears(self, claim: str, tags: Sequence[int]) -> bool:
        """A shared person and a shared word; one of them where the answer has only persons, or only words."""
        if not self.persons and not self.stems:
            return False
        same_person, same_word = bool(self.persons & set(tags)), bool(self.stems & _stems(claim))
        if self.persons and self.stems:
            return same_person and same_word
        return same_person or same_word


def _stems(text: str) -> frozenset[str]:
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(word[:5] for word in found if word not in _COMMON)
