"""English sentences cut into clauses at their joiners, as docs/claims.md says, by a small tagger of its own.

Each word gets a tag from closed classes, the dictionary and its neighbours; the one that matters is F, a finite verb.
A joiner cuts where a subject with its finite verb follows, or, after some, a finite verb alone. It is a heuristic: it
has no grammar beyond noun phrases, prepositional phrases and relative clauses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from ml.evidence.summarisers import rules_words as lexicon
from ml.evidence.summarisers.rules_words import word_set
from ml.text import persons, times

# tags: F finite verb, B base form that is not finite, G -ing, E participle, N noun, J adjective, A adverb,
# D determiner, I preposition, O infinitive "to", S subject pronoun, M object pronoun, P person's tag, T time,
# R relative or question word, C joiner, X punctuation, K comma, Q possessive 's, L number
JOINERS = word_set(
    """
    and but while whereas then before after when as because so although though since until or
    """
)
TAKE_OVER = frozenset(["and", "then", "but", "or"])
AFTER_A_WHILE = frozenset(["then", "before", "after", "until"])
_BEFORE_JOINER = word_set(
    """
    just right shortly immediately soon even only especially particularly exactly ever directly partly mainly
    probably perhaps possibly maybe simply largely mostly presumably likely precisely
    """
)
_REACH = 16  # words that a look back or ahead goes at most, so that the work grows with the text's length only
_TOKEN = re.compile(
    r"[A-Za-z]+n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|[A-Za-zÀ-ÿ]+(?:-[A-Za-zÀ-ÿ]+)*|"
    r"[0-9]+(?:[.:,][0-9]+)*(?:st|nd|rd|th)?|\S"
)
_FOLLOWS_VERB = word_set(
    """
    at to toward towards away back up down over out off around into onto through that across along for him her them
    it me us himself herself themselves itself directly straight
    """
)
_ATTACHED = word_set(
    """
    dressed seated positioned located placed labeled labelled called named marked situated entitled tagged framed
    clad shown depicted pictured gathered surrounded
    """
)


class Token(NamedTuple):
    word: str  # small-written, with a straight apostrophe
    start: int
    end: int
    numbers: tuple[int, ...] = ()  # of a person's tag


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


class Sentence:
    """One tagged English sentence; offsets are those of the whole text."""

    def __init__(
        self, text: str, start: int, end: int, tagged: list[persons.Mention], timed: list[times.Mention]
    ) -> None:
        self.text, self.start, self.end = text, start, end
        self.tokens = _tokens(text, start, end, tagged, timed)
        self.tags = [""] * len(self.tokens)
        self.relative: set[int] = set()  # finite verbs of relative clauses
        _Tagger(self).run()

    def word(self, at: int) -> str:
        return self.tokens[at].word if 0 <= at < len(self.tokens) else ""

    def number(self, at: int) -> int | None:
        """The one tag named by a token, None where it names several."""
        numbers = self.tokens[at].numbers
        return numbers[0] if len(numbers) == 1 else None

    def tag(self, at: int) -> str:
        return self.tags[at] if 0 <= at < len(self.tags) else ""


def _tokens(text: str, start: int, end: int, tagged: list[persons.Mention], timed: list[times.Mention]) -> list[Token]:
    """Words and marks; a person's tag and a time are one token each ("<person>", "<time>")."""
    whole = [(one.start, one.end, "<person>", one.numbers) for one in tagged]
    whole += [(one.start, one.end, "<time>", ()) for one in timed]
    whole.sort()
    found: list[Token] = []
    at = start
    for a, b, word, numbers in [*whole, (end, end, "", ())]:
        if a < at:
            continue
        for match in _TOKEN.finditer(text, at, a):
            found.append(Token(match[0].lower().replace("’", "'"), match.start(), match.end()))
        if word:
            found.append(Token(word, a, b, numbers))
        at = b
    return found


# --- tagging ---------------------------------------------------------------------------------------------------------


class _Tagger:
    def __init__(self, sentence: Sentence) -> None:
        self.s = sentence
        self.words = [token.word for token in sentence.tokens]
        self.tags = sentence.tags
        self.finite = -1  # the finite verb of the clause that is being read, -1 for none yet
        self.joined = -1  # the last "and", "or", "but" or "then" after it
        self.in_relative = False

    def run(self) -> None:
        for at, word in enumerate(self.words):
            tag = self._closed(at, word) or self._open(at, word)
            self.tags[at] = tag
            if tag == "F":
                if self.in_relative:
                    self.s.relative.add(at)
                    self.in_relative = False
                else:
                    self.finite, self.joined = at, -1
            elif tag == "R":
                self.in_relative = self._is_relative(at)
                if not self.in_relative:
                    self.finite = -1
            elif tag == "C" and word not in TAKE_OVER:
                self.finite = -1
            elif tag == "C":
                self.joined = at

    def _is_relative(self, at: int) -> bool:
        """A relative clause hangs on a noun; "that" after a verb or adjective begins a clause of its own."""
        before = at - 1
        while before >= 0 and self.tags[before] in ("K", "I"):
            before -= 1
        return (
            before >= 0
            and self.tags[before] in ("N", "P", "M", "S", "J")
            and self.words[at] not in ("if", "whether", "how")
        )

    def _before(self, at: int) -> int:
        """The token before, adverbs passed over; -1 at the beginning."""
        at -= 1
        while at >= 0 and self.tags[at] == "A":
            at -= 1
        return at

    def _next(self, at: int) -> str:
        return self.words[at + 1] if at + 1 < len(self.words) else ""

    def _noun_like(self, word: str) -> bool:
        """A word that can stand inside a noun phrase after a determiner."""
        if not word or word in lexicon.FINITE_AUX or word in lexicon.PREPOSITIONS or word in JOINERS:
            return False
        if word in ("<person>", "<time>") or not word[0].isalpha() or lexicon.is_adverb(word):
            return word[:1].isdigit()
        return word not in lexicon.DETERMINERS and word not in lexicon.NO_CUT

    def _closed(self, at: int, word: str) -> str:
        if word == "<person>":
            return "P"
        if word == "<time>":
            return "T"
        first = word[0]
        if first == "'" and len(word) > 1:
            return self._apostrophe(at, word)
        if not (first.isalnum()):
            return "K" if word in ",，" else "X"
        if first.isdigit():
            return "L"
        if word in ("be", "been", "being"):
            return "B"
        if word in lexicon.FINITE_AUX:
            before = self._before(at)
            if before >= 0 and (self.tags[before] == "O" or self.words[before] in lexicon.MODALS):
                return "B"
            return "F"
        if word == "to":
            following = self._next(at)
            base = lexicon.verb_form(following) == "base" if following else False
            return "O" if (base or following in ("be", "have", "do")) and lexicon.leaning(following) != "noun" else "I"
        if word in JOINERS:
            if word == "while" and at and self.tags[at - 1] == "D":
                return "N"
            return "C"
        if word == "that":
            following = self._next(at)
            if not following or not following[0].isalnum() and following[0] not in "<'":
                return "M"
            if at and self.tags[at - 1] in ("I", "F") and self._noun_like(following) and not self._clause_after(at + 1):
                return "D"
            return "R"
        if word in lexicon.NO_CUT:
            return "R"
        if word in ("left", "right", "middle", "front", "back") and self.tags[at - 2 : at] == ["I", "D"]:
            return "N"
        if word == "her":
            return "D" if self._noun_like(self._next(at)) and not self._verb_after(at) else "M"
        if (
            word in ("other", "others", "one", "ones", "latter", "former", "rest")
            and at
            and self.tags[at - 1] in ("D", "J")
        ):
            following = self._next(at)
            verbal = (
                lexicon.verb_form(following) == "s" and lexicon.leaning(following) != "noun" if following else False
            )
            beside = word in ("other", "former", "latter") and self._noun_like(following) and not verbal
            return "J" if beside else "N"
        if word in ("this", "these", "those", "each", "both", "all", "some", "another", "one", "most", "several",
                    "many",                     "few", "neither", "either", "any"):  # fmt: skip
            following = self._next(at)
            if self._noun_like(following) and not (
                lexicon.verb_form(following) in ("s", "base") and lexicon.leaning(following) == "verb"
            ):
                return "D"
            if following == "of":
                return "S"
            before = self._before(at)
            return "M" if before >= 0 and self.tags[before] in ("I", "F", "G", "B") else "S"
        if word in lexicon.DETERMINERS:
            return "D"
        if word in lexicon.ONLY_SUBJECTS:
            return "S"
        if word in lexicon.SUBJECTS:
            before = self._before(at)
            return "M" if before >= 0 and self.tags[before] in ("I", "G", "B", "E") else "S"
        if word in lexicon.OBJECTS:
            return "M"
        if word in lexicon.PREPOSITIONS:
            return "I"
        return "A" if lexicon.is_adverb(word) else ""

    def _clause_after(self, at: int) -> bool:
        """Whether a finite verb follows soon, so that "that" begins a clause."""
        return any(
            word in lexicon.FINITE_AUX or (lexicon.verb_form(word) in ("s", "past") and lexicon.leaning(word) == "verb")
            for word in self.words[at : at + 5]
        )

    def _verb_after(self, at: int) -> bool:
        """Whether the word after "her" is rather the verb of "the man next to her smiles"."""
        following = self._next(at)
        return self.finite < 0 and lexicon.verb_form(following) == "s" and lexicon.leaning(following) == "verb"

    def _apostrophe(self, at: int, word: str) -> str:
        if word != "'s":
            return "F"
        before = self.tags[at - 1] if at else ""
        following = self._next(at)
        if before == "S" or self.words[at - 1] in ("that", "who", "what", "there"):
            return "F"
        form = lexicon.verb_form(following) if following else ""
        if form == "ing" or following in lexicon.DETERMINERS or following == "not" or lexicon.is_adverb(following):
            return "F"
        return "Q"

    def _open(self, at: int, word: str) -> str:
        form = lexicon.verb_form(word)
        found = lexicon.kinds(word)
        if not form:
            if "ADJ" in found and "NOUN" not in found:
                return "J"
            return "N" if "NOUN" in found or not found else "J" if "ADJ" in found else "A"
        if form == "ing":
            before = self._before(at)
            attribute = before >= 0 and self.tags[before] == "N" and "ADJ" in lexicon.kinds(self.words[before])
            nominal = before >= 0 and (attribute or self.tags[before] in ("D", "Q", "J", "E")) and "NOUN" in found
            if nominal and not self._noun_like(self._next(at)):
                return "N"
            return "G"
        if form == "part":
            return "E"
        return self._finite_or_not(at, word, form, found)

    def _finite_or_not(self, at: int, word: str, form: str, found: frozenset[str]) -> str:
        nominal = "E" if form in ("ed", "past") else "N" if "NOUN" in found else "J" if "ADJ" in found else "B"
        before = self._before(at)
        if before < 0:
            return self._at_beginning(at, word, form, nominal)
        tag, previous = self.tags[before], self.words[before]
        if tag == "O" or previous in lexicon.MODALS or previous in lexicon.DO:
            return "B" if form == "base" else nominal
        if (
            previous in lexicon.BE
            or previous in lexicon.HAVE
            or previous in ("'s", "'re", "'m", "'ve", "'d")
            and tag == "F"
        ):
            return nominal
        if tag in ("D", "Q", "J", "L"):
            pronoun = tag == "D" and previous in ("both", "all", "each", "some", "one")
            if tag == "J" and form == "s" and self.finite < 0 and lexicon.leaning(word) == "verb":
                return "F"  # "the man in red smiles"
            return "F" if pronoun and lexicon.leaning(word) == "verb" else nominal
        if tag == "I":
            particle = previous in lexicon.PARTICLES and self.finite < 0 and lexicon.leaning(word) == "verb"
            return "F" if particle and form in ("s", "past") else nominal
        if tag == "R":
            return "F" if form != "base" or self._plural_head(before) else nominal
        if tag == "S":
            return "F"
        if tag == "C":
            return self._coordinated(at, word, form, nominal, before)
        if tag == "P":
            if form == "base":
                return "F" if self._plural_subject(before) else "B"
            return "E" if form == "ed" and (word in _ATTACHED or self._finite_later(at)) else "F"
        if tag in ("N", "M"):
            return self._after_noun(at, word, form, nominal, before)
        if tag == "T":
            return (
                "F"
                if form in ("s", "past") and lexicon.leaning(word) == "verb"
                else self._after_noun(at, word, form, nominal, before)
            )
        if tag in ("K", "X"):
            return self._after_mark(at, word, form, nominal, before)
        return nominal

    def _at_beginning(self, at: int, word: str, form: str, nominal: str) -> str:
        if form == "base":
            return "B"
        return "F" if form == "s" and (lexicon.leaning(word) == "verb" or self._verb_follows(at)) else nominal

    def _after_noun(self, at: int, word: str, form: str, nominal: str, before: int) -> str:
        plural = self._plural_subject(before)
        if self.finite >= 0 and not self.in_relative and not self._new_subject(before):
            return "B" if form == "base" and nominal != "N" else nominal
        leaning = lexicon.leaning(word)
        if form == "s":
            sure = leaning == "verb" or (leaning == "" and not plural) or self._object_follows(at)
            return "F" if sure or (not plural and not self._verb_later(at)) else nominal
        if form == "base":
            pronoun = self.tags[before] == "M"
            sure = leaning != "noun" or self._object_follows(at) or (pronoun and self._verb_follows(at))
            return "F" if plural and (sure or not self._verb_later(at)) else nominal
        if form == "past":
            return "F"
        return "E" if word in _ATTACHED or self._finite_later(at) else "F"

    def _new_subject(self, head: int) -> bool:
        """Whether a coordinating joiner stands between the last finite verb and the noun phrase that ends at `head`."""
        return self.joined > self.finite and not any(tag in "FBGO" for tag in self.tags[self.joined + 1 : head])

    def _after_mark(self, at: int, word: str, form: str, nominal: str, before: int) -> str:
        if form == "base":
            several = any(tag == "N" and _plural(self.s, k) for k, tag in enumerate(self.tags[:before]))
            return "F" if self.finite < 0 and several and lexicon.leaning(word) == "verb" else nominal
        if self.finite >= 0:
            return "F" if form == "s" and self._goes_on(at, word, before) else nominal
        if form == "s":
            return "F" if lexicon.leaning(word) == "verb" or self._verb_follows(at) else nominal
        return "F" if form == "past" else nominal

    def _goes_on(self, at: int, word: str, comma: int) -> bool:
        """Whether an -s form after a comma is one more verb of a list: "wobbles toward the couch, trips and falls"."""
        if lexicon.verb_form(self.words[self.finite]) != "s" or self.words[comma] not in ",，":
            return False
        if self._object_follows(at) or "NOUN" not in lexicon.kinds(word):
            return True
        last = self._before(comma)
        listed = self.tags[last] in ("N", "J") and not self._determined(last)
        return lexicon.leaning(word) != "noun" and not listed

    def _coordinated(self, at: int, word: str, form: str, nominal: str, joiner: int) -> str:
        """A verb after "and" and its like: finite when the verb it stands beside is."""
        if self.words[joiner] not in TAKE_OVER:
            return nominal
        beside = self._verb_beside(joiner)
        if beside < 0:  # "slowly and carefully turns", or nouns
            return self._after_noun(at, word, form, nominal, joiner) if form != "base" else nominal
        if form == "past":
            return "F"
        its, other = self.tags[beside], self.words[beside]
        if form == "s":
            return "F" if self._rather_verb(at, word, joiner) else nominal
        if form == "base":
            if its == "B":
                return "B"
            finite = its == "F" and (lexicon.verb_form(other) == "base" or other in lexicon.PLURAL_AUX)
            return "F" if finite and (lexicon.leaning(word) == "verb" or self._object_follows(at)) else nominal
        past = its == "F" and (lexicon.verb_form(other) in ("ed", "past") or other in ("was", "were", "had", "did"))
        if its == "G":
            past = self.finite >= 0 and self.words[self.finite] in ("was", "were")
        return "F" if past else "E"

    def _verb_beside(self, joiner: int) -> int:
        at = joiner - 1
        while at >= 0 and (self.tags[at] not in ("F", "B", "G", "E") or self._is_attribute(at)):
            at = at - 1 if joiner - at < 4 * _REACH else -1
        if at >= 0 and self.tags[at] in ("G", "E") and self.finite >= 0 and at - self.finite > 3:
            return self.finite  # "looks at the man sitting there and smiles"
        return at

    def _is_attribute(self, at: int) -> bool:
        """Whether a verb's form stands before a noun: "the steering wheel"."""
        return at > 0 and self.tags[at] in ("G", "E") and self.tags[at - 1] in ("D", "J", "Q")

    def _rather_verb(self, at: int, word: str, joiner: int) -> bool:
        """Whether an -s form after a joiner is a verb rather than a plural."""
        if "NOUN" not in lexicon.kinds(word):
            return True
        leaning = lexicon.leaning(word)
        if self._object_follows(at) or (leaning != "noun" and self._verb_follows(at)):
            return True
        if leaning == "noun":
            return False
        last = self._before(joiner)
        while last >= 0 and self.tags[last] == "K":
            last -= 1
        return self.tags[last] not in ("N", "J") or self._determined(last)

    def _determined(self, noun: int) -> bool:
        at = noun - 1
        while at >= 0 and noun - at < _REACH and self.tags[at] in ("N", "J", "L", "E", "G", "K"):
            at -= 1
        return at >= 0 and self.tags[at] in ("D", "Q")

    def _verb_follows(self, at: int) -> bool:
        """Whether what follows is what follows a verb."""
        following = self._next(at)
        return (
            self._object_follows(at) or following in _FOLLOWS_VERB or (bool(following) and lexicon.is_adverb(following))
        )

    def _object_follows(self, at: int) -> bool:
        following = self._next(at)
        return following == "<person>" or following in lexicon.DETERMINERS or following in (
            "him", "them", "himself", "herself", "themselves", "it", "over", "out")  # fmt: skip

    def _finite_later(self, at: int) -> bool:
        """Whether a plain finite verb follows before the next joiner, so that this -ed form is a participle."""
        for k in range(at + 1, min(at + 14, len(self.words))):
            word = self.words[k]
            if word in JOINERS or word in lexicon.NO_CUT or word in ".;:":
                return False
            if word in lexicon.FINITE_AUX:
                return True
            if (
                lexicon.verb_form(word) == "s"
                and lexicon.leaning(word) == "verb"
                and self.words[k - 1] not in lexicon.DETERMINERS
            ):
                return True
        return False

    def _verb_later(self, at: int) -> bool:
        """Whether anything that can be a finite verb follows before the next joiner or mark."""
        for word in self.words[at + 1 : at + 14]:
            if word in JOINERS or word in lexicon.NO_CUT or not word[0].isalnum() and word[0] != "<":
                return False
            if word in lexicon.FINITE_AUX or lexicon.verb_form(word) in ("s", "past", "ed"):
                return True
        return False

    def _plural_head(self, relative: int) -> bool:
        at = relative - 1
        while at >= 0 and relative - at < _REACH and self.tags[at] not in ("N", "P", "S", "M"):
            at -= 1
        return at >= 0 and self._plural_subject(at)

    def _plural_subject(self, head: int) -> bool:
        """Whether the noun phrase that ends at `head` takes a plural verb, alone or as the last of several."""
        return _plural(self.s, head) or (self.finite < 0 and self._compound(head))

    def _compound(self, head: int) -> bool:
        at = head - 1
        while at >= 0 and head - at < _REACH and self.tags[at] in ("D", "J", "N", "Q", "L", "P"):
            at -= 1
        return at > 0 and self.words[at] == "and" and self.tags[at - 1] in ("N", "P", "M", "S", "K")


def _plural(s: Sentence, head: int) -> bool:
    token = s.tokens[head]
    if token.word == "<person>":
        return len(token.numbers) > 1
    if s.tags[head] in ("S", "M"):
        return token.word in lexicon.PLURAL_SUBJECTS or token.word in ("them", "us")
    if token.word in ("people", "men", "women", "children") or token.word in lexicon.PLURAL_DETERMINERS:
        return True
    if lexicon.is_plural_noun(token.word) or token.word in ("others", "ones", "rest"):
        return True
    at = head - 1
    while at >= 0 and head - at < _REACH and s.tags[at] in ("J", "N", "L"):
        at -= 1
    return at >= 0 and s.tokens[at].word in lexicon.PLURAL_DETERMINERS


# --- cutting ---------------------------------------------------------------------------------------------------------


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
    agrees = several or _plural(s, head) or not _marked_plural(s, verb)
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
    at, several, count = head + 1, False, min(len(s.tokens), head + 4 * _REACH)
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
