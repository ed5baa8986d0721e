"""English sentences cut into clauses at their joiners, as docs/claims.md says.

A joiner cuts where a subject with its finite verb follows, or, after some, a finite verb alone. It is a heuristic: it
has no grammar beyond noun phrases, prepositional phrases and relative clauses. Tags: see `rules_tagger`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ml.evidence.summarisers import rules_words as lexicon
from ml.evidence.summarisers.rules_tagger import REACH, TAKE_OVER, Sentence, plural
from ml.evidence.summarisers.rules_words import word_set

AFTER_A_WHILE = frozenset(["then", "before", "after", "until"])
_BEFORE_JOINER = word_set(
    """
    just right shortly immediately soon even only especially particularly exactly ever directly partly mainly
    probably perhaps possibly maybe simply largely mostly presumably likely precisely
    """
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Characters [start, end) of the text, and the joiner before it ("and then"), "" at the sentence's beginning.

    `first`, `last`: its tokens [first, last) of the sentence.
    """

    start: int
    end: int
    joiner: str
    first: int
    last: int


def clauses(s: Sentence) -> list[Clause]:
    """The clauses of a sentence, in order; their spans are not yet trimmed."""
    found: list[Clause] = []
    begin, joiner, at, count = 0, "", 0, len(s.tokens)
    while at < count:
        after = _joiner_end(s, at) if s.tags[at] == "C" else at
        if after > at:
            words = [s.tokens[k].word for k in range(at, after) if s.tags[k] == "C"]
            left = _left_end(s, begin, at)
            if left > begin and _carries(s, begin, left) and _follows(s, after, words):
                found.append(_clause(s, begin, left, joiner))
                begin, joiner = after, " ".join(words)
                at = after
                continue
        at = max(at + 1, after)
    if begin < count:
        found.append(_clause(s, begin, count, joiner))
    return found


def _clause(s: Sentence, first: int, last: int, joiner: str) -> Clause:
    return Clause(s.tokens[first].start, s.tokens[last - 1].end, joiner, first, last)


def _joiner_end(s: Sentence, at: int) -> int:
    """The token after the joiner that begins at `at`, joiners that follow it taken in; `at` where it is none."""
    word, following = s.word(at), s.word(at + 1)
    if word == "as" and (following in ("if", "though", "well") or s.word(at - 1) in ("such", "well", "same", "known")):
        return at
    if word == "as" and s.word(at + 2) == "as":
        return at  # "as soon as" and comparisons: decided at the second one
    if word == "as" and s.word(at - 2) == "as":
        return at + 1 if s.word(at - 1) in ("soon", "long") else at
    if word == "though" and s.word(at - 1) == "as":
        return at
    if word == "so" and following in ("that", "as", "much", "many", "far"):
        return at
    if word == "then" and s.word(at - 1) in ("since", "by", "until", "and", "but"):
        return at if s.word(at - 1) not in ("and", "but") else at + 1
    end = at + 1
    while end < len(s.tokens):
        if s.tags[end] == "C" and not (s.word(end) == "as" and s.word(end + 1) in ("if", "though", "well")):
            end += 1
        elif s.tags[end] == "K" and s.tag(end + 1) == "C":
            end += 2
        else:
            break
    return end


def _left_end(s: Sentence, begin: int, at: int) -> int:
    """The end of what is left of a joiner: without the comma, and without an adverb that belongs to the joiner."""
    end = at
    if s.word(at) == "as" and s.word(at - 2) == "as" and s.word(at - 1) in ("soon", "long"):
        end -= 2
    subordinate = s.word(at) not in TAKE_OVER and s.word(at) != "so"
    while end > begin and (s.tags[end - 1] == "K" or (subordinate and s.word(end - 1) in _BEFORE_JOINER)):
        end -= 1
    return end


def _carries(s: Sentence, first: int, last: int) -> bool:
    """Whether the left side is a clause: it has a finite verb of its own, in its last subordinate clause, too."""
    own = [at for at in range(first, last) if s.tags[at] == "F" and at not in s.relative]
    if not own:
        return False
    openings = [at for at in range(first, last) if s.tags[at] == "R"]
    return not openings or any(s.tags[at] == "F" for at in range(openings[-1], last))


def _follows(s: Sentence, at: int, joiner: list[str]) -> bool:
    """Whether a new clause begins at `at`, after a joiner."""
    take_over = all(word in TAKE_OVER for word in joiner)
    at = _past_adverbials(s, at)
    tag = s.tag(at)
    if not tag or tag == "R":
        return False
    if tag == "F":
        return take_over
    if tag == "C":
        return False
    head = _noun_phrase(s, at)
    if head < 0:
        return False
    verb, several = _verb_of(s, head)
    if verb < 0:
        return False
    agrees = several or plural(s, head) or not _marked_plural(s, verb)
    return agrees or s.word(head) in ("i", "you") or not take_over


def _marked_plural(s: Sentence, verb: int) -> bool:
    word = s.word(verb)
    return (
        word in lexicon.PLURAL_AUX
        or word == "'re"
        or (word not in lexicon.MODALS and lexicon.verb_form(word) == "base")
    )


def _past_adverbials(s: Sentence, at: int) -> int:
    """Past adverbs, time phrases and prepositional phrases before a subject or verb."""
    while True:
        tag = s.tag(at)
        if tag in ("A", "K", "T"):
            at += 1
        elif tag == "I" or (tag == "C" and s.tag(at + 1) == "T"):
            after = _phrase_end(s, at)
            if after <= at:
                return at
            at = after
        elif (
            tag == "D"
            and s.word(at + 1) in ("moment", "second", "while", "time", "bit")
            and s.word(at + 2) in ("later", "after", "before")
        ):
            at += 3
        elif (
            tag == "D"
            and s.word(at + 1) in ("few", "couple", "short")
            and s.word(at + 2) in ("seconds", "moments", "while")
            and s.word(at + 3) in ("later", "after")
        ):
            at += 4
        else:
            return at


def _phrase_end(s: Sentence, at: int) -> int:
    """The token after the prepositional phrase at `at`; `at` + 1 for a bare particle."""
    at += 1
    if s.tag(at) == "T":
        return at + 1
    if s.tag(at) == "I":
        return _phrase_end(s, at)
    head = _noun_phrase(s, at)
    if head >= 0:
        return head + 1
    if s.tag(at) == "M":
        return at + 1
    return at


def _noun_phrase(s: Sentence, at: int) -> int:
    """The head of the noun phrase that begins at `at`, -1 for none. Ends before a word tagged as a verb."""
    tag = s.tag(at)
    if tag in ("S", "P") or (tag == "M" and s.word(at) in ("it", "you", "this", "that", "these", "those")):
        if s.tag(at + 1) == "Q":
            inner = _noun_phrase(s, at + 2)
            return inner
        return at
    head = -1
    begin = at
    while True:
        tag = s.tag(at)
        if tag in ("N", "P"):
            head = at
        elif tag == "Q" and head >= 0:
            head = -1
        elif (
            tag in ("D", "L", "J")
            or (tag == "A" and at > begin)
            or (tag in ("G", "E") and s.tag(at - 1) in ("D", "J", "Q") and at > begin)
        ):
            if tag in ("D",) and at > begin and head >= 0:
                break
            if tag in ("J", "A") and head >= 0:
                break
        elif tag == "K" and s.tag(at - 1) == "J" and s.tag(at + 1) in ("J", "N", "E"):
            pass  # "a red, round cup"
        else:
            break
        at += 1
    if head < 0 and s.tag(begin) == "D" and at > begin + 1 and s.tag(at - 1) in ("J", "L", "D"):
        return at - 1  # "the other", "the first", "the two of them"
    return head


def _verb_of(s: Sentence, head: int) -> tuple[int, bool]:
    """The finite verb whose subject ends at `head`, -1 for none, and whether the subject is several joined by "and"."""
    at, several, count = head + 1, False, min(len(s.tokens), head + 4 * REACH)
    relative = False
    while at < count:
        tag = s.tags[at]
        if tag == "F":
            if at in s.relative:
                relative = False
                at += 1
                continue
            return at, several
        if tag == "C":
            if s.word(at) in ("and", "or") and not relative:
                other = _noun_phrase(s, _past_adverbs(s, at + 1))
                if other >= 0 and s.tag(_past_adverbs(s, other + 1)) == "F":
                    verb = _past_adverbs(s, other + 1)
                    if verb not in s.relative and (_marked_plural(s, verb) or not _marked_singular(s, verb)):
                        return verb, True
            return -1, several
        if tag == "R":
            relative = True
        if tag == "X" and s.word(at) in ":—–-":
            return -1, several
        at += 1
    return -1, several


def _marked_singular(s: Sentence, verb: int) -> bool:
    return s.word(verb) in lexicon.SINGULAR_AUX or s.word(verb) == "'s" or lexicon.verb_form(s.word(verb)) == "s"


def _past_adverbs(s: Sentence, at: int) -> int:
    while s.tag(at) in ("A", "K"):
        at += 1
    return at
