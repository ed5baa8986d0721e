"""The minimal evidence package: a rationale split into claims that a picture can bear out or refute.

What counts as one claim, where it begins and what is noted of it: `docs/claims.md`. Persons are the numbers of printed
tags ("Person 2" -> 2), times are seconds on the clip's clock, spans are characters of the raw reply, half-open.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from ml.formats import jsonfields as read
from ml.formats.errors import FormatError
from ml.questions.grammar import MODALITIES, ROLES

ClaimType = Literal["person", "action", "expression", "gesture", "gaze", "object", "scene", "audio", "inference"]
Basis = Literal["stated", "aligned", "unknown"]
Polarity = Literal["affirmed", "negated"]

CLAIM_TYPES: tuple[ClaimType, ...] = (
    "gaze", "gesture", "audio", "expression", "inference", "action", "scene", "person", "object",
)  # fmt: skip
UNSEEN: tuple[ClaimType, ...] = ("audio", "inference")  # no picture shows these, whatever the grounder
MOST_WORDS = 6  # of a phrase
_SHA256 = re.compile(r"[0-9a-f]{64}")
MOST_KEPT = 300  # claims of one reply; nobody judges more, and a model can write thousands
MOST_TOKENS = 32  # of a phrase, in the grounder's own tokens, its two special ones included


@dataclass(frozen=True)
class Phrase:
    """A short noun phrase to look for.

    `text`: at most `MOST_WORDS` words, never collapsed to its head. `head`: the bare category, asked for second and
    recorded as such. `attributes`: the visible ones that `text` holds. `person`: the printed tag the text gives this
    thing, if any. `singular`: the text means exactly one. `span`: where in the reply it stands. `negative`: a phrase
    of the same kind that should not be found, which the same grounder can look for; None where there is none.
    """

    text: str
    head: str
    attributes: tuple[str, ...] = ()
    person: int | None = None
    singular: bool = True
    span: tuple[int, int] | None = None
    negative: str | None = None


@dataclass(frozen=True)
class ClaimTime:
    """Seconds of the clip [start_s, end_s]; a point has both the same. Both None with basis "unknown"."""

    start_s: float | None = None
    end_s: float | None = None
    basis: Basis = "unknown"
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class Statement:
    """What a gaze or gesture claim says in the proof evaluator's terms, in printed tags.

    `modality` gaze or gesture; `types`: event types, one of which must hold (empty: any of the modality); `roles`
    pairs a role of `ml.questions.grammar.ROLES` with a tag. "Person 1 looks at Person 2" is no event by itself: it has
    modality "gaze", `types` () and roles (("looker", 1), ("looked_at", 2)), and is held against the gaze samples.
    """

    modality: Literal["gaze", "gesture"]
    types: tuple[str, ...]
    roles: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Claim:
    """One claim. `id` is "c1", "c2", ... in the order of the text.

    `persons`: tags named in the span, by first mention. `meant`: whom a pronoun or description may mean, a heuristic.
    `groundable`: a mask can say something about it; `why_not` is a sentence where it cannot. `load_bearing`: the
    answer rests on it (as the summariser sees it; `rules` counts shared persons and words with the answer).
    """

    id: str
    span: tuple[int, int]
    text: str
    type: ClaimType
    polarity: Polarity = "affirmed"
    persons: tuple[int, ...] = ()
    meant: tuple[int, ...] = ()
    time: ClaimTime = ClaimTime()
    phrases: tuple[Phrase, ...] = ()
    statement: Statement | None = None
    load_bearing: bool = False
    groundable: bool = True
    why_not: str = ""


@dataclass(frozen=True)
class Package:
    """What a summariser makes of one reply.

    `summariser`: name, version, weights, settings (`ml.evidence.summarisers.describe`). `language`: "en", "zh" or
    "other". `repairs`: what was mended in the reply or in the summariser's own output, in sentences. `raw`: the
    summariser's output as it came, where it is a model's. `dropped`: how many claims beyond the first `MOST_KEPT` the
    reply makes; nobody looks at those, and reports and pages say so.
    """

    rationale_sha256: str
    claims: tuple[Claim, ...]
    summariser: dict[str, Any]
    language: str = "en"
    repairs: tuple[str, ...] = ()
    raw: str = ""
    v: int = field(default=1)
    dropped: int = 0


# --- JSON ------------------------------------------------------------------------------------------------------------

LOOKER, LOOKED_AT = "looker", "looked_at"  # roles of a look, which is no event by itself
STATEMENT_ROLES = (*ROLES, LOOKER, LOOKED_AT)
MOST_CLAIMS = 100_000


def sha256(text: str) -> str:
    """The hash that ties a package to its reply; half characters (lone surrogates) count as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def beyond(dropped: Sequence[int]) -> list[str]:
    """What a report says of claims that nobody looked at. `dropped`: how many each reply has."""
    several = [count for count in dropped if count]
    if not several:
        return []
    what = f"{sum(several):,} claims of {len(several):,} {'reply' if len(several) == 1 else 'replies'}"
    return [f"Of a reply the first {MOST_KEPT} claims are looked at: {what} were left out."]


def to_json(package: Package) -> dict[str, Any]:
    """The package as a JSON tree: spans are lists of two, a missing value is null. `parse` reads it back."""
    tree = asdict(package)
    tree["claims"] = [claim | {"statement": _statement_tree(claim["statement"])} for claim in tree["claims"]]
    listed: dict[str, Any] = _lists(tree)
    return listed


def _statement_tree(tree: dict[str, Any] | None) -> dict[str, Any] | None:
    return tree and {**tree, "roles": [{"role": role, "person": person} for role, person in tree["roles"]]}


def _lists(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _lists(value) for key, value in tree.items()}
    return [_lists(value) for value in tree] if isinstance(tree, (list, tuple)) else tree


def parse(tree: Any) -> Package:
    """A package from its JSON tree. Raises FormatError naming the place. `check` holds it against its text."""
    if isinstance(tree, dict):
        tree = {"dropped": 0, **tree}  # packages of before the limit keep all their claims
    found = _fields(tree, Package, "")
    if found["v"] != 1:
        raise read.fail("v", "version 1", found["v"])
    listed = read.sequence(found["claims"], "claims")
    if len(listed) > MOST_CLAIMS:
        raise FormatError(f"claims: {len(listed):,} claims are more than {MOST_CLAIMS:,}.")
    claims = tuple(_claim(claim, f"claims[{at}]", f"c{at + 1}") for at, claim in enumerate(listed))
    summariser = read.plain(dict(read.mapping(found["summariser"], "summariser")), "summariser")
    language = _one_of(found["language"], ("en", "zh", "other"), "language")
    repairs = _texts(found["repairs"], "repairs")
    digest = read.text(found["rationale_sha256"], "rationale_sha256")
    if not _SHA256.fullmatch(digest):
        raise read.fail("rationale_sha256", "64 hexadecimal digits", digest)
    dropped = read.whole(found["dropped"], "dropped")
    return Package(digest, claims, summariser, language, repairs, _string(found["raw"], "raw"), 1, dropped)


def check(package: Package, text: str) -> None:
    """Hold a package against the reply it was made of. Raises FormatError: hash, spans in order, and their words."""
    if package.rationale_sha256 != sha256(text):
        raise FormatError("rationale_sha256: the package was made of another text.")
    reached = 0
    for at, claim in enumerate(package.claims):
        place = f"claims[{at}]"
        start, end = claim.span
        if not reached <= start < end <= len(text):
            raise read.fail(f"{place}.span", f"a span of the text from {reached} to {len(text)}", [start, end])
        if text[start:end] != claim.text:
            raise FormatError(f"{place}.text: the text has other words at {start} to {end}.")
        reached = end
        inner = [(f"phrases[{k}]", phrase.span) for k, phrase in enumerate(claim.phrases)]
        for name, span in [*inner, ("time", claim.time.span)]:
            if span is not None and not 0 <= span[0] < span[1] <= len(text):
                raise read.fail(f"{place}.{name}.span", f"a span of the text from 0 to {len(text)}", list(span))


def _fields(tree: Any, shape: type, place: str) -> dict[str, Any]:
    """The fields of a dataclass: none may be missing, none unknown."""
    found = dict(read.mapping(tree, place or "the package"))
    names = [one.name for one in fields(shape)]
    for name in names:
        read.member(found, name, place or "the package")
    unknown = sorted(set(found) - set(names))
    if unknown:
        raise FormatError(f"{read.step(place, unknown[0])}: there is no such field.")
    return found


def _claim(tree: Any, place: str, id: str) -> Claim:
    found = _fields(tree, Claim, place)
    if found["id"] != id:
        raise read.fail(f"{place}.id", f"{id}, claims are numbered in the order of the text", found["id"])
    words = _string(found["text"], f"{place}.text")
    span = _span(found["span"], f"{place}.span")
    if len(words) != span[1] - span[0]:
        raise FormatError(f"{place}.text: it has {len(words)} characters, its span {span[1] - span[0]}.")
    groundable, why_not = (
        _yes(found["groundable"], f"{place}.groundable"),
        read.text(found["why_not"], f"{place}.why_not"),
    )
    if groundable == bool(why_not):
        raise read.fail(f"{place}.why_not", "a sentence where the claim is not groundable, and only there", why_not)
    phrases = read.sequence(found["phrases"], f"{place}.phrases")
    return Claim(
        id=id,
        span=span,
        text=words,
        type=_one_of(found["type"], CLAIM_TYPES, f"{place}.type"),
        polarity=_one_of(found["polarity"], ("affirmed", "negated"), f"{place}.polarity"),
        persons=_tags(found["persons"], f"{place}.persons"),
        meant=_tags(found["meant"], f"{place}.meant"),
        time=_time(found["time"], f"{place}.time"),
        phrases=tuple(_phrase(one, f"{place}.phrases[{at}]") for at, one in enumerate(phrases)),
        statement=_statement(found["statement"], f"{place}.statement"),
        load_bearing=_yes(found["load_bearing"], f"{place}.load_bearing"),
        groundable=groundable,
        why_not=why_not,
    )


def _phrase(tree: Any, place: str) -> Phrase:
    found = _fields(tree, Phrase, place)
    text, head = (read.text(found[name], f"{place}.{name}") for name in ("text", "head"))
    if not 1 <= len(text.split()) <= MOST_WORDS:
        raise read.fail(f"{place}.text", f"one to {MOST_WORDS} words", text)
    if not head.strip():
        raise read.fail(f"{place}.head", "a word", head)
    negative = found["negative"]
    return Phrase(
        text=text,
        head=head,
        attributes=_texts(found["attributes"], f"{place}.attributes"),
        person=None if found["person"] is None else read.whole(found["person"], f"{place}.person"),
        singular=_yes(found["singular"], f"{place}.singular"),
        span=None if found["span"] is None else _span(found["span"], f"{place}.span"),
        negative=None if negative is None else read.text(negative, f"{place}.negative"),
    )


def _time(tree: Any, place: str) -> ClaimTime:
    found = _fields(tree, ClaimTime, place)
    basis: Basis = _one_of(found["basis"], ("stated", "aligned", "unknown"), f"{place}.basis")
    span = None if found["span"] is None else _span(found["span"], f"{place}.span")
    ends = (found["start_s"], found["end_s"])
    if basis == "unknown":
        if ends != (None, None):
            raise read.fail(place, "no seconds where the basis is unknown", list(ends))
        return ClaimTime(None, None, basis, span)
    start = read.number(ends[0], f"{place}.start_s", low=0)
    return ClaimTime(start, read.number(ends[1], f"{place}.end_s", low=start), basis, span)


def _statement(tree: Any, place: str) -> Statement | None:
    if tree is None:
        return None
    found = _fields(tree, Statement, place)
    modality: Literal["gaze", "gesture"] = _one_of(found["modality"], tuple(MODALITIES), f"{place}.modality")
    types = read.sequence(found["types"], f"{place}.types")
    roles = []
    for at, one in enumerate(read.sequence(found["roles"], f"{place}.roles")):
        where = f"{place}.roles[{at}]"
        pair = read.mapping(one, where)
        if set(pair) != {"role", "person"}:
            raise read.fail(where, "an object of role and person", one)
        role = _one_of(pair["role"], STATEMENT_ROLES, f"{where}.role")
        roles.append((role, read.whole(pair["person"], f"{where}.person")))
    known = MODALITIES[modality]
    named = tuple(_one_of(one, known, f"{place}.types[{at}]") for at, one in enumerate(types))
    return Statement(modality, named, tuple(roles))


def _span(tree: Any, place: str) -> tuple[int, int]:
    ends = read.sequence(tree, place)
    if len(ends) != 2:
        raise read.fail(place, "two numbers", tree)
    start = read.whole(ends[0], f"{place}[0]")
    return start, read.whole(ends[1], f"{place}[1]", low=start + 1)


def _tags(tree: Any, place: str) -> tuple[int, ...]:
    numbers = tuple(read.whole(one, f"{place}[{at}]") for at, one in enumerate(read.sequence(tree, place)))
    if len(set(numbers)) != len(numbers):
        raise read.fail(place, "every person once", tree)
    return numbers


def _texts(tree: Any, place: str) -> tuple[str, ...]:
    return tuple(read.text(one, f"{place}[{at}]") for at, one in enumerate(read.sequence(tree, place)))


def _string(value: Any, place: str) -> str:
    """A string as it came: a model's raw words may hold half characters, and are kept."""
    if not isinstance(value, str):
        raise read.fail(place, "a string", value)
    return value


def _yes(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise read.fail(place, "true or false", value)
    return value


def _one_of(value: Any, allowed: tuple[str, ...], place: str) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise read.fail(place, f"one of {', '.join(allowed)}", value)
    return value
