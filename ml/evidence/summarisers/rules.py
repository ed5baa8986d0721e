"""The summariser `rules`: a reply cut into claims after docs/claims.md, without a model. Deterministic.

Each sentence is read by itself (`rules_english`, `rules_chinese`); what depends on those before it, whom a pronoun may
mean and which time goes on, is added here. Phrases of Chinese sentences stay unread: a picture can be asked for the
persons they name, but not for things ("not groundable: language"). Gaze and gestures are read in both languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from ml.evidence import package as packages
from ml.evidence.package import MOST_KEPT, UNSEEN, Claim, ClaimTime, Package, Phrase
from ml.evidence.reading import parsed
from ml.evidence.summarisers import rules_chinese as chinese
from ml.evidence.summarisers import rules_english as english
from ml.evidence.summarisers.rules_bearing import Bearing
from ml.evidence.summarisers.rules_piece import Piece, Read
from ml.evidence.summarisers.rules_sentences import sentences
from ml.evidence.summarisers.rules_times import Times, goes_on, stated
from ml.evidence.vocabulary import Vocabulary

REMEMBERED = 20  # persons a pronoun may mean
WHY_NOT = {
    "audio": "No picture shows a sound.",
    "inference": "No picture shows what somebody thinks, feels or means.",
    "language": "not groundable: language. The rules read no phrases in this language; an endpoint can supply them, "
    "a rater can type one.",
    "nothing": "It names no person by tag and no thing that could be looked for.",
}


class Rules:
    name: ClassVar[str] = "rules"
    version: ClassVar[str] = "1"

    def describe(self) -> dict[str, Any]:
        """Name, version and settings."""
        return {"name": self.name, "version": self.version, "weights": {}, "settings": {"most_claims": MOST_KEPT}}

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
        bearing = Bearing.of(reply, options, answer)
        found: list[Claim] = []
        made = 0
        clock, people = Times(), People()
        known: dict[str, Read] = {}  # a reply that repeats itself is read once
        characters = {False: 0, True: 0}
        for start, end in reply.rationale_spans:
            for begin, stop in sentences(text, start, end):
                words = text[begin:stop]
                read = known.get(words)
                if read is None:
                    read = known[words] = read_sentence(words, duration_s, vocabulary)
                characters[read.zh] += stop - begin
                clock.sentence(read, begin)
                made += len(read.pieces)
                for piece in read.pieces[: max(0, MOST_KEPT - len(found))]:
                    meant = people.meant(piece)
                    time = clock.of(piece.span, piece.aligned, begin)
                    found.append(_claim(len(found) + 1, text, piece, begin, meant, time, read.zh, bearing))
        language = "other" if not any(characters.values()) else "zh" if characters[True] > characters[False] else "en"
        about, dropped = self.describe(), made - len(found)
        return Package(packages.sha256(text), tuple(found), about, language, reply.repairs, dropped=dropped)


def read_sentence(words: str, duration_s: float | None, vocabulary: Vocabulary | None) -> Read:
    """What a sentence says by itself."""
    zh = chinese.is_chinese(words)
    pieces = chinese.pieces(words) if zh else english.pieces(words, vocabulary)
    return Read(tuple(pieces), tuple(stated(words, duration_s)), goes_on(words), zh)


def _claim(
    number: int,
    text: str,
    piece: Piece,
    by: int,
    meant: tuple[int, ...],
    time: ClaimTime,
    zh: bool,
    bearing: Bearing,
) -> Claim:
    """The claim of a piece whose sentence begins at `by`."""
    start, end = piece.span[0] + by, piece.span[1] + by
    words = text[start:end]
    # a person beside whom a thing is said to be is a place: the claim is not about them
    subjects = piece.own if piece.type in ("object", "scene") else piece.persons
    why = ""
    if piece.type in UNSEEN:
        why = WHY_NOT[piece.type]
    elif not (piece.persons or piece.phrases or piece.statement):
        why = WHY_NOT["language" if zh else "nothing"]
    return Claim(
        id=f"c{number}",
        span=(start, end),
        text=words,
        type=piece.type,
        polarity=piece.polarity,
        persons=piece.persons,
        meant=meant,
        time=time,
        phrases=tuple(_moved(phrase, by) for phrase in piece.phrases),
        statement=piece.statement,
        load_bearing=bearing.bears(words, subjects),
        groundable=not why,
        why_not=why,
    )


def _moved(phrase: Phrase, by: int) -> Phrase:
    return replace(phrase, span=(phrase.span[0] + by, phrase.span[1] + by)) if phrase.span else phrase


class People:
    """Who was named so far, the last one last: whom a pronoun may mean. A heuristic."""

    def __init__(self) -> None:
        self.named: list[int] = []

    def meant(self, piece: Piece) -> tuple[int, ...]:
        """Whom the piece may mean besides those it names: the subject it takes over; for "he" the one named last, for
        "they" the last two."""
        if piece.taken:
            found: Sequence[int] = piece.taken
        elif piece.pronoun == "several":
            found = self.named[-2:]
        elif piece.pronoun == "one":
            found = ([n for n in self.named if n not in piece.own] or self.named)[-1:]
        else:
            found = ()
        for number in (*piece.persons, *piece.own):
            if number in self.named:
                self.named.remove(number)
            self.named.append(number)
        del self.named[:-REMEMBERED]
        return tuple(number for number in found if number not in piece.persons)
