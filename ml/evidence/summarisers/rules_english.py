"""An English sentence cut into claims, each with what is noted of it but its place in the reply."""

from __future__ import annotations

from collections.abc import Iterator

from ml.evidence.package import UNSEEN, Phrase, Polarity
from ml.evidence.summarisers import rules_claims as claims
from ml.evidence.summarisers import rules_phrases, rules_statements
from ml.evidence.summarisers import rules_words as lexicon
from ml.evidence.summarisers.rules_clauses import AFTER_A_WHILE, clauses
from ml.evidence.summarisers.rules_piece import Piece, Pronoun
from ml.evidence.summarisers.rules_tagger import Sentence
from ml.evidence.vocabulary import Vocabulary
from ml.text import persons, times

_APART = frozenset(["but", "whereas", "so", "because", "although", "though"])  # begin what is said in the writer's name
_SEVERAL = frozenset(["they", "them", "their", "themselves"])
_LOOK = frozenset(["gaze", "eyes", "look", "line"])  # whose is as good as who
_ONE = frozenset(["he", "she", "him", "her", "his", "himself", "herself"])


def pieces(text: str, vocabulary: Vocabulary | None) -> Iterator[Piece]:
    """The claims of a sentence, in order."""
    if claims.is_question(text):
        return
    tagged = persons.mentions(text) if any(character.isdigit() for character in text) else []
    timed = times.mentions(text)
    s = Sentence(text, 0, len(text), tagged, timed)
    subject: tuple[int, ...] = ()
    swallowed = False
    for clause in clauses(s):
        a, b = claims.trimmed(text, clause.start, clause.end)
        if a >= b:
            continue
        said = text[a:b]
        joiners = clause.joiner.split(" ")
        swallowed = swallowed and joiners[0] not in _APART
        if swallowed:
            continue
        if claims.about_task(said):
            swallowed = claims.reports(said)
            continue
        inside = [at for at in range(clause.first, clause.last) if a <= s.tokens[at].start < b]
        named = tuple(dict.fromkeys(number for at in inside for number in s.tokens[at].numbers))
        own, targets, lead, states, verbs = _parts(s, inside)
        if verbs == "none":
            thing = named or any(s.tags[at] == "N" for at in inside)
            if not thing or not any(s.tags[at] == "T" for at in inside):
                continue
        takes_over = not own and bool(clause.joiner) and verbs == "first"
        taken = subject if takes_over else ()
        kind = claims.type_of(said, states)
        found: tuple[Phrase, ...] = ()
        if kind not in UNSEEN:
            found = tuple(rules_phrases.phrases(s, clause.first, clause.last, vocabulary))
        yield Piece(
            span=(a, b),
            type=kind,
            polarity=_polarity(s, clause.first, clause.last),
            persons=named,
            phrases=found,
            statement=rules_statements.statement(said, kind, own or taken, targets, lead),
            aligned=not AFTER_A_WHILE.isdisjoint(joiners),
            own=own,
            taken=taken,
            pronoun=_pronoun(s, inside),
        )
        if not takes_over:
            subject = own


def _pronoun(s: Sentence, inside: list[int]) -> Pronoun:
    words = {s.tokens[at].word for at in inside}
    return "several" if words & _SEVERAL else "one" if words & _ONE else ""


def _parts(s: Sentence, inside: list[int]) -> tuple[tuple[int, ...], tuple[int, ...], str, bool, str]:
    """Tags before the verb, tags right after it and the words between, whether the verb is one of being, and whether
    the clause has a verb: "first" (it begins with it), "some", "none". `inside`: the clause's tokens."""
    first = inside[0]
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
    after = [
        at for at in inside if at > verb and s.tags[at] == "P" and (s.tag(at + 1) != "Q" or s.word(at + 2) in _LOOK)
    ]
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


_NOT = frozenset(["not", "never", "n't"])
_NO_SUBJECT = frozenset(["nobody", "none", "neither", "nothing", "no"])


def _polarity(s: Sentence, first: int, last: int) -> Polarity:
    """Negated where a finite verb of the clause is: "does not look", "never", "no one looks", "there is no"."""
    for verb in range(first, last):
        if s.tags[verb] != "F" or verb in s.relative:
            continue
        if s.word(verb).endswith("n't") or s.word(verb) == "cannot":
            return "negated"
        before = verb - 1
        while before >= first and s.tags[before] == "A":
            if s.word(before) in _NOT:
                return "negated"
            before -= 1
        while before >= first and s.tags[before] not in ("F", "R", "C", "K"):
            if s.word(before) in _NO_SUBJECT:
                return "negated"
            before -= 1
        if _negated_after(s, verb, last):
            return "negated"
    return "affirmed"


def _negated_after(s: Sentence, verb: int, last: int) -> bool:
    at = verb + 1
    while at < last and s.tags[at] == "A":
        if s.word(at) in _NOT and s.word(at + 1) not in ("to", "only"):
            return True
        at += 1
    if s.word(at) in ("no", "nobody", "nothing", "none", "neither") and at < last:
        return True
    return s.tag(at) in ("G", "E", "B") and at < last and s.word(at + 1) in ("no", "nobody", "nothing")
