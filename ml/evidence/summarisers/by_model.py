"""What summarisers that ask a language model share: the words, the schema, and a package from what it wrote.

A model says where claims are and what they are about; it is held to the text. Every claim must quote it word for word
(blanks and capitals may differ); what is not in the reasoning is dropped and said. Persons and times are read from the
text itself by the same parsers as everywhere, never taken from the model, so none can be invented. An English phrase
must use a word of its claim. Output that does not follow the schema is asked for once more, then it is BrokenOutput.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ml.endpoint.client import bare_json
from ml.evidence import package as packages
from ml.evidence.package import MOST_KEPT, MOST_WORDS, UNSEEN, Claim, ClaimTime, ClaimType, Package, Phrase
from ml.evidence.reading import Parsed
from ml.evidence.summarisers import rules_english
from ml.evidence.summarisers.protocol import BrokenOutput
from ml.evidence.summarisers.rules import WHY_NOT, People, read_sentence
from ml.evidence.summarisers.rules_chinese import is_chinese, mentions
from ml.evidence.summarisers.rules_claims import trimmed
from ml.evidence.summarisers.rules_piece import Piece
from ml.evidence.summarisers.rules_sentences import sentences
from ml.evidence.summarisers.rules_times import Times
from ml.evidence.vocabulary import Vocabulary
from ml.text import persons

MOST_PHRASES = 6  # of one claim
LONGEST_QUOTE = 2000  # characters
_LATER = re.compile(r"\b(?:then|before|after|until)\b|然后|接着|随后", re.IGNORECASE)


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class WrittenPhrase(Shape):
    """A thing to look for, in English."""

    text: str
    head: str
    attributes: list[str]
    singular: bool


class WrittenClaim(Shape):
    quote: str
    type: ClaimType
    polarity: Literal["affirmed", "negated"]
    load_bearing: bool
    phrases: list[WrittenPhrase]


class Sheet(Shape):
    claims: list[WrittenClaim]


RULES = f"""\
You cut the reasoning of another model into claims that a picture could bear out or refute.
- One claim is one clause: a subject with its verb, or a verb that takes over the subject of the clause before.
- quote: the claim word for word as it stands in the reasoning, without the joining word before it ("and", "then").
- type: gaze, gesture, audio, expression, inference (feelings, thoughts, guesses), action, scene, person or object: the
  first that fits.
- polarity: negated where the verb is.
- load_bearing: whether the answer rests on this claim.
- phrases: things the claim names that could be seen: in English whatever the language of the reasoning, at most
  {MOST_WORDS} words, with head (the bare noun) and at most two visible attributes. Not persons named by number, no
  feelings, no sounds. Empty where there is none.
- No claim about the question, the options or the answer. Nothing that is not in the reasoning.
Answer with one JSON object: {{"claims": [{{"quote", "type", "polarity", "load_bearing", "phrases": [{{"text", "head",
"attributes", "singular"}}]}}]}}."""


def task(text: str, reply: Parsed, question: str, options: Sequence[str], answer: str) -> str:
    """What is asked about one reply."""
    reasoning = "\n".join(text[a:b].strip() for a, b in reply.rationale_spans)
    asked = [f"Question: {question}"] if question else []
    asked += [f"Options: {' | '.join(options)}"] if options else []
    given = answer or reply.answer
    asked += [f"Answer given: {given}"] if given else []
    return "\n".join([*asked, "Reasoning:", reasoning])


def sheet(written: str) -> Sheet:
    """The sheet in a model's words. Raises ValueError with a sentence that names the place."""
    try:
        return Sheet.model_validate_json(bare_json(written))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ValueError(f"The output does not follow the schema: {place}: {first['msg']}.") from None


def written_by(ask: Callable[[list[dict[str, str]]], str], system: str, asked: str) -> tuple[Sheet, str, list[str]]:
    """What a model writes, its raw words and the repairs: broken output is asked for once more. Raises BrokenOutput."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": asked}]
    raw = ask(messages)
    try:
        return sheet(raw), raw, []
    except ValueError as error:
        again = f"{error} Answer once more, with nothing but one JSON object that follows the schema."
        messages += [{"role": "assistant", "content": raw or "(nothing)"}, {"role": "user", "content": again}]
        second = ask(messages)
        try:
            return sheet(second), second, [f"The model was asked once more: {error}"]
        except ValueError as still:
            raise BrokenOutput(f"The model's output is no package, also when asked again. {still}", second) from None


@dataclass(frozen=True)
class Placed:
    """A written claim and where it stands in the reply."""

    claim: WrittenClaim
    span: tuple[int, int]


def package(
    text: str,
    reply: Parsed,
    made: Sheet,
    summariser: dict[str, Any],
    *,
    raw: str,
    repairs: Sequence[str],
    duration_s: float | None,
    vocabulary: Vocabulary | None,
) -> Package:
    """The package of what a model wrote about `text`. Raises BrokenOutput where nothing it quotes stands there."""
    said = [*reply.repairs, *repairs]
    written = made.claims
    written, dropped = written[:MOST_KEPT], max(0, len(written) - MOST_KEPT)
    placed = _placed(text, reply, written, said)
    if written and not placed:
        raise BrokenOutput(f"None of the {len(written)} claims that the model wrote stands in the reply.", raw)
    claims = _Claims(text, reply, duration_s, vocabulary, said)
    found = tuple(claims.claim(number, one) for number, one in enumerate(placed, 1))
    language = _language(text, reply)
    return Package(packages.sha256(text), found, summariser, language, tuple(said), raw, dropped=dropped)


def _language(text: str, reply: Parsed) -> Literal["en", "zh", "other"]:
    words = " ".join(text[a:b] for a, b in reply.rationale_spans)
    return "other" if not words.strip() else "zh" if is_chinese(words) else "en"


def _placed(text: str, reply: Parsed, written: Sequence[WrittenClaim], said: list[str]) -> list[Placed]:
    """The claims in the order of the text, none over another; what has no place is dropped and said."""
    found: list[Placed] = []
    cursor = 0
    for claim in written:
        span = place(text, reply.rationale_spans, claim.quote, cursor)
        if span is None:
            said.append(f"A claim was dropped, since the reasoning does not say it: {claim.quote[:80]!r}.")
            continue
        if any(span[0] < other.span[1] and other.span[0] < span[1] for other in found):
            said.append(f"A claim was dropped, since it lies over another one: {claim.quote[:80]!r}.")
            continue
        found.append(Placed(claim, span))
        cursor = span[1]
    return sorted(found, key=lambda one: one.span)


def place(text: str, spans: Sequence[tuple[int, int]], quote: str, cursor: int) -> tuple[int, int] | None:
    """Where a quote stands inside one of the spans, after `cursor` first: word for word, else whatever the blanks and
    capitals; None where nowhere."""
    words = quote.strip()
    if not words or len(words) > LONGEST_QUOTE:
        return None
    loose = re.compile(r"\s+".join(re.escape(word) for word in words.split()), re.IGNORECASE)
    for pattern in (re.compile(re.escape(words)), loose):
        for least in (cursor, 0):
            for start, end in spans:
                match = pattern.search(text, max(start, least), end)
                if match:
                    a, b = trimmed(text, match.start(), match.end())
                    return (a, b) if a < b else None
    return None


class _Claims:
    """Claims of one reply: persons, times and what is stated are read from the text."""

    def __init__(
        self, text: str, reply: Parsed, duration_s: float | None, vocabulary: Vocabulary | None, said: list[str]
    ) -> None:
        self.text, self.vocabulary, self.said = text, vocabulary, said
        self.sentences = [bounds for a, b in reply.rationale_spans for bounds in sentences(text, a, b)]
        self.duration_s = duration_s
        self.clock, self.people = Times(), People()
        self.at = -1  # the sentence that is being read
        self.reached = 0

    def claim(self, number: int, placed: Placed) -> Claim:
        start, end = placed.span
        words = self.text[start:end]
        written = placed.claim
        named = tuple(dict.fromkeys(n for one in mentions(words) for n in one.numbers))
        zh = is_chinese(words)
        read = [] if zh else list(rules_english.pieces(words, None))
        piece = read[0] if len(read) == 1 else Piece((0, len(words)), written.type, written.polarity, named)
        piece = replace(piece, persons=named, span=(0, len(words)))
        found = () if written.type in UNSEEN else self._phrases(written, words, start, zh)
        stated = piece.statement if piece.type == written.type else None
        why = ""
        if written.type in UNSEEN:
            why = WHY_NOT[written.type]
        elif not (named or found or stated):
            why = WHY_NOT["nothing"]
        return Claim(
            id=f"c{number}",
            span=placed.span,
            text=words,
            type=written.type,
            polarity=written.polarity,
            persons=named,
            meant=self.people.meant(piece),
            time=self._time(placed.span),
            phrases=found,
            statement=stated,
            load_bearing=written.load_bearing,
            groundable=not why,
            why_not=why,
        )

    def _time(self, span: tuple[int, int]) -> ClaimTime:
        while self.at + 1 < len(self.sentences) and self.sentences[self.at + 1][0] <= span[0]:
            self.at += 1
            begin, stop = self.sentences[self.at]
            self.clock.sentence(read_sentence(self.text[begin:stop], self.duration_s, None), begin)
            self.reached = begin
        begin = self.sentences[self.at][0] if self.at >= 0 else 0
        later = bool(_LATER.search(self.text, self.reached, span[0]))
        self.reached = span[1]
        return self.clock.of((span[0] - begin, span[1] - begin), later, begin)

    def _phrases(self, written: WrittenClaim, words: str, start: int, zh: bool) -> tuple[Phrase, ...]:
        found: list[Phrase] = []
        for one in written.phrases[:MOST_PHRASES]:
            text, head = " ".join(one.text.split()), " ".join(one.head.split())
            if not text or not head or len(text.split()) > MOST_WORDS or _printed(text):
                self.said.append(f"A phrase was dropped, since it is none to look for: {text[:80]!r}.")
            elif not zh and not _shares(head, words):
                self.said.append(f"A phrase was dropped, since its claim does not name it: {text[:80]!r}.")
            elif text not in [other.text for other in found]:
                attributes = tuple(a for a in one.attributes[:2] if zh or _shares(a, words))
                span = None if zh else _where(text, words, start)
                found.append(Phrase(text, head, attributes, None, one.singular, span))
        if self.vocabulary is None:
            return tuple(found)
        taken = [name for one in found for name in (one.text, one.head)]
        return tuple(replace(one, negative=self.vocabulary.negative(one.text, taken)) for one in found)


def _printed(text: str) -> bool:
    """Whether a phrase names a person by number, which is no thing to look for."""
    return bool(persons.mentions(text)) or not text.isascii()


def _shares(phrase: str, words: str) -> bool:
    """Whether the claim has a word of the phrase, plural or not."""
    said = {word.rstrip("s") for word in re.findall(r"[a-z]+", words.lower())}
    return any(word.rstrip("s") in said for word in re.findall(r"[a-z]+", phrase.lower()))


def _where(phrase: str, words: str, start: int) -> tuple[int, int] | None:
    match = re.search(re.escape(phrase), words, re.IGNORECASE)
    return (match.start() + start, match.end() + start) if match else None


def schema() -> dict[str, Any]:
    """The JSON schema of a sheet."""
    return Sheet.model_json_schema()


def prompt_version() -> str:
    """The hash of all that is said to a model but the reply."""
    return packages.sha256(RULES + json.dumps(schema(), sort_keys=True))
