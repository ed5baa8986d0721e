"""English sentences as tagged words, by a small tagger of its own.

Each word gets a tag from closed classes, the dictionary and its neighbours; the one that matters is F, a finite verb.
It is a heuristic: it knows no grammar beyond what stands around a word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ml.evidence.summarisers import rules_words as lexicon
from ml.evidence.summarisers.rules_words import word_set
from ml.text import persons, times

# tags: F finite verb, B base form that is not finite, G -ing, E participle, N noun, J adjective, A adverb,
# D determiner, I preposition, O infinitive "to", S subject pronoun, M object pronoun, P person's tag, T time,
JOINERS = word_set(
    """
    and but while whereas then before after when as because so although though since until or
    """
)
TAKE_OVER = frozenset(["and", "then", "but", "or"])
REACH = 16  # words that a look back or ahead goes at most, so that the work grows with the text's length only
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
            several = any(tag == "N" and plural(self.s, k) for k, tag in enumerate(self.tags[:before]))
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
            at = at - 1 if joiner - at < 4 * REACH else -1
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
        while at >= 0 and noun - at < REACH and self.tags[at] in ("N", "J", "L", "E", "G", "K"):
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
        while at >= 0 and relative - at < REACH and self.tags[at] not in ("N", "P", "S", "M"):
            at -= 1
        return at >= 0 and self._plural_subject(at)

    def _plural_subject(self, head: int) -> bool:
        """Whether the noun phrase that ends at `head` takes a plural verb, alone or as the last of several."""
        return plural(self.s, head) or (self.finite < 0 and self._compound(head))

    def _compound(self, head: int) -> bool:
        at = head - 1
        while at >= 0 and head - at < REACH and self.tags[at] in ("D", "J", "N", "Q", "L", "P"):
            at -= 1
        return at > 0 and self.words[at] == "and" and self.tags[at - 1] in ("N", "P", "M", "S", "K")


def plural(s: Sentence, head: int) -> bool:
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
    while at >= 0 and head - at < REACH and s.tags[at] in ("J", "N", "L"):
        at -= 1
    return at >= 0 and s.tokens[at].word in lexicon.PLURAL_DETERMINERS
