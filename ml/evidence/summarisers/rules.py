"""The summariser `rules`: a reply cut into claims after docs/claims.md, without a model. Deterministic.

Chinese sentences are cut by rules of their own (`rules_chinese`); their phrases stay unread: a picture can be asked for
the persons they name, but not for things ("not groundable: language").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from ml.evidence import package as packages
from ml.evidence.package import UNSEEN, Claim, ClaimTime, Package
from ml.evidence.reading import parsed
from ml.evidence.summarisers import rules_chinese as chinese
from ml.evidence.summarisers import rules_claims as english
from ml.evidence.summarisers import rules_phrases, rules_statements
from ml.evidence.summarisers import rules_words as lexicon
from ml.evidence.summarisers.rules_bearing import Bearing
from ml.evidence.summarisers.rules_clauses import AFTER_A_WHILE, Sentence, clauses
from ml.evidence.summarisers.rules_piece import Piece
from ml.evidence.summarisers.rules_sentences import sentences
from ml.evidence.summarisers.rules_times import Times
from ml.evidence.vocabulary import Vocabulary
from ml.text import persons, times

WHY_NOT = {
    "audio": "No picture shows a sound.",
    "inference": "No picture shows what somebody thinks, feels or means.",
    "language": "not groundable: language. The rules read no phrases in this language; an endpoint can supply them.",
    "nothing": "It names no person by tag and no thing that could be looked for.",
}


class Rules:
    name: ClassVar[str] = "rules"
    version: ClassVar[str] = "1"

    def describe(self) -> dict[str, Any]:
        """Name, version and settings."""
        return {"name": self.name, "version": self.version, "weights": {}, "settings": {}}

    def summarise(
        self,
        text: str,
        *,
        question: str = "",
        options: Sequence[str] = (),
        answer: str = "",
        duration_s: float | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Package:
        """See `protocol.Summariser`. Never raises for any text."""
        reply = parsed(text)
        bearing = Bearing.of(reply, question, options, answer)
        found: list[Claim] = []
        kept = Times(text, duration_s)
        counts = {"en": 0, "zh": 0}
        people: list[int] = []
        for start, end in reply.rationale_spans:
            for begin, stop in sentences(text, start, end):
                zh = chinese.is_chinese(text, begin, stop)
                read = chinese.pieces if zh else _english
                counts["zh" if zh else "en"] += stop - begin
                kept.sentence(begin, stop)
                for piece in read(text, begin, stop, people, vocabulary):
                    time = kept.of(piece.span, piece.aligned)
                    found.append(_claim(len(found) + 1, text, piece, time, bearing))
        language = "other" if not any(counts.values()) else "zh" if counts["zh"] > counts["en"] else "en"
        return Package(packages.sha256(text), tuple(found), self.describe(), language, reply.repairs)


def _claim(number: int, text: str, piece: Piece, time: ClaimTime, bearing: Bearing) -> Claim:
    start, end = piece.span
    words = text[start:end]
    why = ""
    if piece.type in UNSEEN:
        why = WHY_NOT[piece.type]
    elif not (piece.persons or piece.phrases or piece.statement):
        why = WHY_NOT["language" if piece.zh else "nothing"]
    return Claim(
        id=f"c{number}",
        span=piece.span,
        text=words,
        type=piece.type,
        polarity=piece.polarity,
        persons=piece.persons,
        meant=piece.meant,
        time=time,
        phrases=piece.phrases,
        statement=piece.statement,
        load_bearing=bearing.bears(words, piece.persons),
        groundable=not why,
        why_not=why,
    )


def _english(text: str, start: int, end: int, people: list[int], vocabulary: Vocabulary | None) -> Iterator[Piece]:
    """The claims of an English sentence. `people`: the tags named so far, the last one last; it is kept up to date."""
    words = text[start:end]
    digits = any(character.isdigit() for character in words)
    tagged = _moved(persons.mentions(words), start) if digits else []
    timed = [replace(one, start=one.start + start, end=one.end + start) for one in times.mentions(words)]
    sentence = Sentence(text, start, end, tagged, timed)
    subject: tuple[int, ...] = ()
    swallowed = False
    for clause in clauses(sentence):
        a, b = english.trimmed(text, clause.start, clause.end)
        if a >= b:
            continue
        said = text[a:b]
        if clause.joiner.split(" ")[-1:] and clause.joiner.split(" ")[0] in (
            "but",
            "whereas",
            "so",
            "because",
            "although",
            "though",
        ):
            swallowed = False
        if text[end : end + 1] in "?？" and end < len(text) or swallowed:
            continue
        if english.about_task(said):
            swallowed = english.reports(said)
            continue
        inside = [one for one in tagged if a <= one.start and one.end <= b]
        named = tuple(dict.fromkeys(number for one in inside for number in one.numbers))
        own, targets, lead, states, verbs = _parts(sentence, clause.first, clause.last, a, b)
        takes_over = not own and bool(clause.joiner) and verbs == "first"
        type = english.type_of(said, states)
        if verbs == "none" and not (named or _thing(sentence, clause.first, clause.last)):
            continue
        if verbs == "none" and not any(a <= one.start < b for one in timed):
            continue
        meant = tuple(n for n in _meant(said, people, own) if n not in named)
        if takes_over:
            meant = tuple(n for n in subject if n not in named)
        roles = rules_statements.statement(said, type, own or (subject if takes_over else ()), targets, lead)
        phrases = tuple(rules_phrases.phrases(sentence, clause.first, clause.last, vocabulary))
        yield Piece(
            (a, b), clause.joiner, type, english.polarity_of(said), named, meant, phrases, roles,
            bool(AFTER_A_WHILE & set(clause.joiner.split(" "))), False,
        )  # fmt: skip
        for number in named:
            if number in people:
                people.remove(number)
            people.append(number)
        if not takes_over:
            subject = own
        if own:
            people[:] = [n for n in people if n not in own] + list(own)
        del people[:-20]


def _moved(found: Sequence[persons.Mention], by: int) -> list[persons.Mention]:
    return [replace(one, start=one.start + by, end=one.end + by) for one in found]


def _parts(
    s: Sentence, first: int, last: int, a: int, b: int
) -> tuple[tuple[int, ...], tuple[int, ...], str, bool, str]:
    """Tags before the verb, tags right after it and the words between, whether the verb is one of being, and whether
    the clause has a verb: "first" (it begins with it), "some", "none"."""
    inside = [at for at in range(first, last) if a <= s.tokens[at].start < b]
    finite = [at for at in inside if s.tags[at] == "F" and at not in s.relative]
    verbs = finite or [at for at in inside if s.tags[at] in ("G", "B", "E", "F")]
    if not verbs:
        return (), (), "", True, "none"
    verb = verbs[0]
    before = [at for at in inside if at < verb]
    own: tuple[int, ...] = ()
    if finite:
        tags = [at for at in before if s.tags[at] == "P" and not _in_phrase(s, at, first)]
        own = tuple(dict.fromkeys(n for at in tags for n in s.tokens[at].numbers))
    after = [at for at in inside if at > verb and s.tags[at] == "P" and s.tag(at + 1) != "Q"]
    targets: tuple[int, ...] = ()
    lead = ""
    if after:
        targets = tuple(dict.fromkeys(n for at in after for n in s.tokens[at].numbers))
        lead = s.text[s.tokens[verb].start : s.tokens[after[0]].start]
    bare = [at for at in before if s.tags[at] not in ("A", "T", "K", "I", "D", "N", "J", "L")]
    starts = (
        bool(finite)
        and not bare
        and not any(s.tags[at] in ("N", "P", "S") and not _in_phrase(s, at, first) for at in before)
    )
    states = s.word(verb) in lexicon.BE or s.word(verb) in lexicon.HAVE or s.word(verb) in ("wears", "wear", "wore")
    return own, targets, lead, states, "first" if starts else "some"


def _in_phrase(s: Sentence, at: int, first: int) -> bool:
    """Whether a token stands in a prepositional phrase or belongs to another noun ("Person 1's")."""
    if s.tag(at + 1) == "Q":
        return True
    at -= 1
    while at >= first and s.tags[at] in ("D", "J", "N", "L", "A"):
        at -= 1
    return at >= first and s.tags[at] == "I"


def _thing(s: Sentence, first: int, last: int) -> bool:
    return any(s.tags[at] == "N" for at in range(first, last))


_ONE = frozenset(["he", "she", "him", "her", "his", "himself", "herself"])
_MANY = frozenset(["they", "them", "their", "themselves"])


def _meant(said: str, people: list[int], own: tuple[int, ...]) -> tuple[int, ...]:
    """Whom a pronoun may mean: the person named last, or the last two. A heuristic."""
    words = set(said.lower().replace("’", "'").replace("'", " ").split())
    if _MANY & words:
        return tuple(people[-2:])
    candidates = [n for n in people if n not in own] or people
    return tuple(candidates[-1:]) if _ONE & words else ()
