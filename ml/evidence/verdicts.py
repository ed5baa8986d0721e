"""The machine's verdict on a claim: a name, the rule that led to it, a sentence, and the numbers behind.

`docs/verdicts.md` lists the rules in their order; a rule's id here is its id there. A mask shows that something is
there, not that an action, an emotion or a reason is true: no mask makes such a claim "supported". An error is never
taken for an absence.

Light on purpose: pages and reports import this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Grounded, Query, Status, Window
from ml.evidence.grounding.windows import claimed_span, padded
from ml.evidence.package import UNSEEN, Claim, Phrase, Statement
from ml.evidence.scope import Scope, scope
from ml.evidence.statements import SHARE, Around, Told, Truth, readable, told
from ml.questions.clip import CLOSE_S, ClipClock

Name = Literal[
    "supported", "weak", "unsupported", "contradicted", "wrong_person", "wrong_time", "ambiguous", "not_groundable",
    "not_in_vocabulary", "error",
]  # fmt: skip
NAMES: tuple[Name, ...] = get_args(Name)

# What a human would have said, for agreement; None: left out.
AGREES: dict[str, Literal["supported", "contradicted", "cannot_tell"] | None] = {
    "supported": "supported",
    **dict.fromkeys(("contradicted", "unsupported", "wrong_person", "wrong_time"), "contradicted"),
    **dict.fromkeys(("weak", "ambiguous", "not_groundable", "not_in_vocabulary"), "cannot_tell"),
    "error": None,
}

# Of an affirmed claim's verdict, that of its negation; those not listed stay.
NEGATED: dict[Name, Name] = {
    "supported": "contradicted",
    "weak": "ambiguous",
    "unsupported": "supported",
    "contradicted": "supported",
    "wrong_person": "supported",
    "wrong_time": "supported",
}

REFUTING = ("unsupported", "contradicted", "wrong_person", "wrong_time")
LOOKED = ("ok", "empty")  # of a query that was looked for
UNTIMED = "in the whole clip (the claim names no time)"
SEEN_ONLY = ("person", "object", "scene")  # types of claims that a mask can bear out by itself
# Word lists, so heuristics. PRESENCE without MORE: a claim about a person that says no more than that they are there.
# OWNS: one that gives the person what it names.
PRESENCE = re.compile(
    r"\b(?:visible|present|there (?:is|are)|appears?|is seen|are seen|can be seen|(?:in|on|into|enters?) (?:the )?"
    r"(?:picture|frame|screen|scene|shot|view|image|video))\b",
    re.IGNORECASE,
)
OWNS = re.compile(r"\b(?:wear\w*|wore|dressed|has|have|had|carr\w+|hold\w*|with)\b|['\u2019]s\b", re.IGNORECASE)
MORE = re.compile(
    r"\b(?:wear\w*|dressed|tall\w*|short\w*|old\w*|young\w*|behind|beside|between|left|right|next)\b", re.I
)


@dataclass(frozen=True)
class Rules:
    """Every number a verdict depends on. `score`: of a mask that counts. `share`: of the frames looked at in the span
    that such a mask must be on. `several`: share of those frames with more than one candidate that makes it unclear
    which is meant."""

    score: float = 0.5
    share: float = 0.3
    several: float = 0.5


RULES = Rules()


@dataclass(frozen=True)
class Verdict:
    """`rule`: an id of `docs/verdicts.md`, with "not_" before it where the claim is negated. `numbers`: plain JSON."""

    name: Name
    rule: str
    sentence: str
    numbers: dict[str, Any] = field(default_factory=dict)


def failed(sentence: str, numbers: Mapping[str, Any] | None = None) -> Verdict:
    """The verdict of a claim that could not be checked."""
    return Verdict("error", "failed", sentence, dict(numbers or {}))


def judge(
    claim: Claim,
    *,
    queries: Sequence[Query],
    window: Window | None,
    grounded: Grounded | None,
    truth: Truth,
    clock: ClipClock,
    persons: Mapping[int, int] | None = None,
    rules: Rules = RULES,
) -> Verdict:
    """The verdict by the first rule that fits.

    `queries`, `window`, `grounded`: what was looked for, where, and what was found (None where nothing was looked for).
    `persons`: person number of each printed tag; None where the tags are the numbers.
    """
    case = Case(claim, tuple(queries), window, grounded, truth, clock, persons, rules)
    verdict = _first(case)
    timed = verdict.name in ("not_groundable", "not_in_vocabulary", "error") or UNTIMED in verdict.sentence
    told = [verdict.sentence, *case.unlooked(verdict), "" if timed else case.timing]
    sentence = " ".join(filter(None, told))
    return replace(verdict, sentence=sentence, numbers={**case.numbers, **verdict.numbers})


# ---------------------------------------------------------------------------------------------------------------------
# What is known of one claim


class Case:
    """One claim with all that was found for it."""

    def __init__(
        self,
        claim: Claim,
        queries: tuple[Query, ...],
        window: Window | None,
        grounded: Grounded | None,
        truth: Truth,
        clock: ClipClock,
        persons: Mapping[int, int] | None,
        rules: Rules,
    ) -> None:
        self.claim, self.queries, self.grounded = claim, queries, grounded
        self.truth, self.clock, self.rules = truth, clock, rules
        self.timed = claim.time.start_s is not None and claim.time.end_s is not None
        clip = clock.start, clock.end
        span = claimed_span(claim.time, clock)
        wide = padded(span, clip, truth.index, truth.shots) if self.timed else clip
        self.around = Around(span, wide, clip)
        stated = claim.statement.roles if claim.statement else ()
        tags = dict.fromkeys(
            (*claim.persons, *(tag for _, tag in stated), *(p.person for p in claim.phrases if p.person is not None))
        )
        self.number = {tag: tag if persons is None else persons.get(tag) for tag in tags}
        self.tags = dict(persons or {})
        self.unknown = [tag for tag, number in self.number.items() if number is None]
        self.singular = {f"phrase-{k}": phrase.singular for k, phrase in enumerate(claim.phrases, 1)}
        self.inside, self.outside = _looked(window, grounded)
        self.found = {q.id: self._found(q) for q in queries} if grounded else {}
        self.numbers: dict[str, Any] = {
            "span": list(span),
            "padded": list(wide),
            "timed": self.timed,
            "time_basis": claim.time.basis,
            "frames_in": len(self.inside),
            "frames_out": len(self.outside),
            "rules": asdict(rules),
            "queries": self.found,
        }

    def number_of(self, tag: int) -> int:
        """The person of a tag that is in the map."""
        number = self.number[tag]
        assert number is not None
        return number

    def printed(self, number: int) -> int:
        """The tag that is printed for a person, the number itself where none is."""
        return next((tag for tag, own in self.tags.items() if own == number), number)

    def at_another_time(self, rule: str, sentence: str) -> Verdict:
        """Wrong time, unless the time is not the claim's own word."""
        if self.claim.time.basis == "aligned":
            return Verdict("ambiguous", f"aligned_{rule}", sentence)
        return Verdict("wrong_time", rule, sentence)

    @property
    def timing(self) -> str:
        if not self.timed:
            return "The claim names no time, so the whole clip counts."
        return "Its time was aligned, not stated." if self.claim.time.basis == "aligned" else ""

    def rests_on(self, query: Query) -> bool:
        """Whether the verdict needs what this query finds: a phrase's or its category's; a person's where no statement
        and no track tells. Controls and other wordings decide nothing."""
        if query.role == "person":
            stated = self.claim.statement is not None and readable(self.claim.statement)
            known = query.person is not None and self.truth.sees(query.person, self.around.padded) is not None
            return not stated and not known
        return query.role in ("phrase", "category")

    def status(self, query: str) -> Status | None:
        return None if self.grounded is None else self.grounded.status.get(query)

    def said(self, query: str) -> str:
        return "" if self.grounded is None else self.grounded.sentence.get(query, "")

    def checked(self, query: str) -> tuple[str, ...]:
        """The words beyond its category that the grounder could check."""
        return () if self.grounded is None else self.grounded.attributes_checked.get(query, ())

    def scope(self, query: str) -> Scope | None:
        """What was really looked for when it was asked for a query's words; None where nothing was."""
        text = next((q.text for q in self.queries if q.id == query), "")
        return scope(text, self.checked(query)) if text and self.status(query) in LOOKED else None

    def unlooked(self, verdict: Verdict) -> list[str]:
        """Sentences on what the claim names and nobody looked for, whatever the verdict rests on."""
        if verdict.name == "error" or self.grounded is None:
            return []
        told = []
        for k, phrase in enumerate(self.claim.phrases, 1):
            found, kind = self.scope(f"phrase-{k}"), self.scope(f"category-{k}")
            said = f"“{phrase.text}”"
            if found is not None:
                told += [] if found.whole else [f"Of {said} – {found}."]
            elif said not in verdict.sentence:
                told.append(
                    f"Of {said} only “{kind.looked_for}” was looked for." if kind else f"{said} was not looked for."
                )
        return told

    @property
    def where(self) -> str:
        """Of the frames inside of the span: where they lie."""
        return "in the claimed time" if self.timed else UNTIMED

    def on(self, found: Mapping[str, Any]) -> str:
        """On how many frames masks that count are, by numbers of `presence`."""
        inside = f"on {found['strong_in']} of {len(self.inside)} frames ({_percent(found['share_in'])}) looked at"
        outside = f", on {found['strong_out']} of {len(self.outside)} outside" if len(self.outside) else ""
        return f"{inside} {self.where}{outside}"

    def _found(self, query: Query) -> dict[str, Any]:
        """Numbers of one query, see `presence`."""
        assert self.grounded is not None
        masks = self.grounded.masks
        strength = np.fmin(masks.score, masks.tracker_score)  # fmin: without a tracker's score the detection's counts
        rows = masks.query == query.id
        strong = rows & (strength >= self.rules.score)
        looked_for = self.scope(query.id)
        return {
            "role": query.role,
            "text": query.text,
            "looked_for": looked_for.looked_for if looked_for else None,
            "unchecked": list(looked_for.unchecked) if looked_for else [],
            "status": self.status(query.id),
            **presence(masks.frame, masks.object, masks.person, rows, strong, self.inside, self.outside),
            "score": round(float(strength[rows].max()), 4) if rows.any() else None,
            "singular": self.singular.get(query.id),
        }

    def of_person(self, query: str, person: int) -> dict[str, Any]:
        """Numbers of those masks of a query that lie on one person."""
        assert self.grounded is not None
        masks = self.grounded.masks
        rows = (masks.query == query) & (masks.person == person)
        strong = rows & (np.fmin(masks.score, masks.tracker_score) >= self.rules.score)
        return presence(masks.frame, masks.object, masks.person, rows, strong, self.inside, self.outside)


def _looked(window: Window | None, grounded: Grounded | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frames that were looked at inside and outside of the span."""
    if window is None or grounded is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    seen = np.isin(window.frame, grounded.looked)
    return window.frame[window.inside & seen], window.frame[~window.inside & seen]


def presence(
    frame: NDArray[np.int64],
    object: NDArray[np.int64],
    person: NDArray[np.int64],
    rows: NDArray[np.bool_],
    strong: NDArray[np.bool_],
    inside: NDArray[np.int64],
    outside: NDArray[np.int64],
) -> dict[str, Any]:
    """Where rows of masks lie. `strong`: those of them that count.

    any_in, strong_in, strong_out: frames inside and outside of the span with a mask. share_in, share_out: of the frames
    looked at there (None where there are none). several: share of the frames of strong_in with two objects or more.
    objects, together: objects with a strong mask inside, and most of them on one frame. persons: whom they lie on, by
    number, -1 for nobody.
    """
    within = strong & np.isin(frame, inside)
    hit, at = np.unique(frame[within], return_inverse=True)
    per_frame = np.bincount(at, minlength=len(hit))
    strong_out = len(np.unique(frame[strong & np.isin(frame, outside)]))
    return {
        "any_in": len(np.unique(frame[rows & np.isin(frame, inside)])),
        "strong_in": len(hit),
        "strong_out": strong_out,
        "share_in": round(len(hit) / len(inside), 4) if len(inside) else None,
        "share_out": round(strong_out / len(outside), 4) if len(outside) else None,
        "several": round(float((per_frame > 1).mean()), 4) if len(hit) else 0.0,
        "objects": len(np.unique(object[within])),
        "together": int(per_frame.max(initial=0)),
        "persons": np.unique(person[within]).tolist(),
    }


# ---------------------------------------------------------------------------------------------------------------------
# The rules, in their order


def _first(case: Case) -> Verdict:
    claim = case.claim
    broken = [q for q in case.queries if case.status(q.id) == "error" and case.rests_on(q)]
    if broken:
        why = case.said(broken[0].id) or "no reason was given."
        return failed(f"{_wanted(broken[0])} could not be looked for: {why}")
    if case.timed and claim.time.start_s is not None and claim.time.start_s > case.clock.end_s + CLOSE_S:
        sentence = f"The claim speaks of {claim.time.start_s:.1f} s; the clip ends at {case.clock.end_s:.1f} s."
        return case.at_another_time("outside_clip", sentence)
    statement = claim.statement if claim.statement is not None and readable(claim.statement) else None
    if statement is None and (claim.type in UNSEEN or not claim.groundable):
        return Verdict("not_groundable", "unseen", claim.why_not or _UNSEEN.get(claim.type, _NOTHING))
    if case.unknown:
        listed, does = _people(case.unknown), "is" if len(case.unknown) == 1 else "are"
        return Verdict("ambiguous", "unknown_person", f"{listed} {does} not among the tags of this clip.")
    if statement is not None:
        return _stated(case, statement)
    absent = _absent(case)
    if absent is None:
        return _seen(case)
    return _negated(case, absent) if _only_presence(claim) else absent


_NOTHING = "Nothing in it can be looked for."
_UNSEEN = {"audio": "No picture shows a sound.", "inference": "No picture shows what somebody thinks or feels."}


# ---------------------------------------------------------------------------------------------------------------------
# Gaze and gestures: what is marked


def _stated(case: Case, statement: Statement) -> Verdict:
    numbered = replace(statement, roles=tuple((role, case.number_of(tag)) for role, tag in statement.roles))
    known = told(numbered, case.truth, case.around)
    numbers = {"statement": {"truth": known.truth, "firm": known.firm, "basis": known.basis, **known.numbers}}
    if known.truth is not True and not known.instead and case.claim.polarity == "affirmed":
        absent = _absent(case)
        if absent is not None:
            return replace(absent, numbers=numbers)
    return replace(_by_statement(case, known), numbers=numbers)


def _by_statement(case: Case, known: Told) -> Verdict:
    by = "what is marked" if known.basis == "marked" else "estimated looks, which nobody has checked"
    if known.truth:
        if known.firm and not _rest_holds(case):
            sentence = f"It is so by {by}, but what else the claim names could not be confirmed."
            return _negated(case, Verdict("weak", "stated_partly", sentence))
        if known.firm:
            return _negated(case, Verdict("supported", "stated", f"It is so by {by}."))
        share = f"{_percent(known.numbers['share'])} of the known time; {_percent(SHARE)} are needed"
        return _negated(case, Verdict("weak", "stated_briefly", f"By {by} it is so for a moment only ({share})."))
    if known.truth is None:
        if known.boundary:
            sentence = "What is marked begins or ends so close to the claimed time that it cannot be told."
            return Verdict("ambiguous", "boundary", sentence)
        return Verdict("ambiguous", "no_coverage", "It is not marked, and not everything is marked around that time.")
    if known.instead:
        whom = " and ".join(f"Person {case.printed(n)} as {role.replace('_', ' ')}" for role, n in known.instead)
        return _negated(case, Verdict("wrong_person", "stated_of_another", f"By {by} it is so of {whom}."))
    if known.other_time:
        return _negated(
            case, case.at_another_time("stated_elsewhere", f"By {by} it is so at another time of the clip.")
        )
    if known.basis == "marked":
        return _negated(case, Verdict("contradicted", "stated_false", "By what is marked it is not so."))
    return _negated(case, Verdict("unsupported", "estimated_false", f"By {by} it is not so."))


def _rest_holds(case: Case) -> bool:
    """Whether the things a gaze or gesture claim names are there; what a gesture without a person for its target is
    aimed at, no mask tells."""
    claim = case.claim
    if not claim.phrases:
        return True
    assert claim.statement is not None
    both = len(claim.statement.roles) > 1
    return both and all(_phrase(case, k, phrase).name == "supported" for k, phrase in enumerate(claim.phrases, 1))


# ---------------------------------------------------------------------------------------------------------------------
# Persons: are they in the picture


def _absent(case: Case) -> Verdict | None:
    """The verdict when somebody the claim names is not in the picture in its time."""
    for tag, number in case.number.items():
        assert number is not None
        there = case.truth.sees(number, case.around.padded)
        found = case.found.get(f"person-{tag}")
        if there is None and found is not None and found["status"] in LOOKED and case.inside.size:
            there = found["any_in"] > 0
        if there is not False:
            continue
        ever = case.truth.sees(number, case.around.clip) or bool(found and found["strong_out"])
        if case.timed and ever:
            sentence = f"Person {tag} is not in the picture at that time, but elsewhere in the clip."
            return case.at_another_time("person_elsewhere", sentence)
        return Verdict("unsupported", "person_nowhere", f"Person {tag} is not in the picture.")
    return None


def _only_presence(claim: Claim) -> bool:
    """Whether the claim says of persons no more than that they are there."""
    plain = PRESENCE.search(claim.text) and not MORE.search(claim.text)
    return claim.type == "person" and bool(claim.persons) and not claim.phrases and bool(plain)


def _present(case: Case) -> Verdict:
    """Of a claim about persons without anything else to look for."""
    seen = []
    for tag, number in case.number.items():
        assert number is not None
        found = case.found.get(f"person-{tag}")
        if found is not None and found["status"] in LOOKED and case.inside.size:
            seen.append(found)
        elif not case.truth.sees(number, case.around.padded):
            return failed(f"Nobody looked for Person {tag}, and no run says where that person is.")
    least = min(seen, key=lambda found: float(found["share_in"]), default=None)
    many = "by the tracks" if least is None else case.on(least)
    if least is not None and least["share_in"] < case.rules.share:
        sentence = f"Found {many}; {_percent(case.rules.share)} are needed."
        return Verdict("weak", "person_rarely", sentence)
    if not _only_presence(case.claim):
        return Verdict("weak", "presence_only", f"In the picture {many}; no more of the claim was checked.")
    return Verdict("supported", "person_there", f"In the picture {many}.")


# ---------------------------------------------------------------------------------------------------------------------
# Phrases: what masks show


def _seen(case: Case) -> Verdict:
    """Of claims without a statement."""
    claim = case.claim
    each = [_phrase(case, k, phrase) for k, phrase in enumerate(claim.phrases, 1)]
    if claim.type not in SEEN_ONLY:
        missing = next((v for v in each if v.name in REFUTING), None) if claim.polarity == "affirmed" else None
        broken = next((v for v in each if v.name == "error"), None)
        what = "gaze or a gesture" if claim.type in ("gaze", "gesture") else f"an {claim.type}"
        sentence = f"A mask shows that something is there; it does not show {what}."
        if claim.type in ("gaze", "gesture"):
            sentence = f"{unread(claim.text)} {sentence}"
        return broken or missing or Verdict("not_groundable", "mask_only", sentence)
    if claim.phrases:
        if claim.polarity == "negated" and len(each) > 1:
            return _none_of(each)
        return _negated(case, combined(each))
    if claim.type == "person" and claim.persons:
        return _negated(case, _present(case))
    return Verdict("not_groundable", "unseen", claim.why_not or _NOTHING)


def _phrase(case: Case, k: int, phrase: Phrase) -> Verdict:
    query = f"phrase-{k}"
    found, said = case.found.get(query), f"“{phrase.text}”"
    if found is None:
        return failed(f"{said} was not looked for.")
    if found["status"] == "skipped":
        return Verdict("not_groundable", "refused", case.said(query) or f"{said} cannot be looked for.")
    if found["status"] == "not_in_vocabulary":
        return _category(case, k, phrase)
    if found["status"] not in LOOKED:
        return failed(f"{said} was not looked for: {case.said(query)}".rstrip(": "))
    asked = scope(phrase.text, case.checked(query))
    said = f"“{asked.looked_for}”"
    missing = _missing(case, found, said, whole=asked.whole)
    if missing is not None:
        return missing
    tag = _bearer(case.claim, phrase)
    if tag is not None:
        number = case.number_of(tag)
        own = case.of_person(query, number)
        others = [n for n in found["persons"] if n not in (-1, number)]
        if not own["any_in"] and others and found["share_in"] >= case.rules.share:
            whose = ", ".join(f"Person {case.printed(n)}" for n in others)
            sentence = f"{said} was found on {whose}, not on Person {tag}."
            if not asked.whole:
                return Verdict("weak", "attribute_unchecked", sentence)
            return Verdict("wrong_person", "on_another", sentence)
        if not own["any_in"]:
            return Verdict("weak", "bearer_unchecked", f"{said} was found, but not on Person {tag}: on nobody.")
        found = own
    share = case.on(found)
    if found["share_in"] < case.rules.share:
        return Verdict("weak", "found_rarely", f"{said} was found {share}; {_percent(case.rules.share)} are needed.")
    if tag is None and asked.whole and phrase.singular and found["several"] >= case.rules.several:
        together = f"{found['together']} at once"
        return Verdict("ambiguous", "candidates", f"{said} is one thing in the text; {together} were found.")
    if not asked.whole:
        return Verdict("weak", "attribute_unchecked", f"{said} was found {share}.")
    return Verdict("supported", "found", f"{said} was found {share}.")


def _missing(case: Case, found: Mapping[str, Any], said: str, *, whole: bool) -> Verdict | None:
    """The verdict on something of which there is no mask in the span. `whole`: all of the phrase was looked for; a
    thing of its kind somewhere else is not it."""
    if not case.inside.size:
        return Verdict("ambiguous", "no_frames", f"No frame was looked at {case.where} for {said}.")
    if found["any_in"]:
        return None
    if whole and case.timed and (found["share_out"] or 0.0) >= case.rules.share:
        share = f"on {found['strong_out']} of {len(case.outside)} frames ({_percent(found['share_out'])}) around"
        return case.at_another_time("found_elsewhere", f"{said} was not found in the claimed time, but {share} it.")
    sentence = f"{said} was found on none of the {len(case.inside)} frames looked at {case.where}."
    return Verdict("unsupported", "missing", sentence)


def _category(case: Case, k: int, phrase: Phrase) -> Verdict:
    """Of a phrase the grounder does not know: where it knows the head, that decides how far it can be told."""
    said = f"“{phrase.text}”"
    found = case.found.get(f"category-{k}")
    if found is None or found["status"] not in LOOKED:
        sentence = case.said(f"phrase-{k}") or f"{said} is not among the words this grounder can look for."
        return Verdict("not_in_vocabulary", "vocabulary", sentence)
    head = f"“{scope(phrase.head, case.checked(f'category-{k}')).looked_for}”"
    missing = _missing(case, found, head, whole=False)
    if missing is not None:
        return missing
    return Verdict("weak", "category_only", f"{head} was found; the grounder does not know {said}.")


def _bearer(claim: Claim, phrase: Phrase) -> int | None:
    """The tag of whom the phrase's mask must lie on, if anybody's."""
    if phrase.person is not None:
        return phrase.person
    own = claim.type == "person" and len(claim.persons) == 1 and OWNS.search(claim.text)
    return claim.persons[0] if own else None


# ---------------------------------------------------------------------------------------------------------------------
# Several phrases, and negation


def combined(each: Sequence[Verdict]) -> Verdict:
    """The verdict on all phrases of a claim, at least one: the claim says that all of them are there."""
    for name in ("error", "wrong_person", "wrong_time", "unsupported", "ambiguous"):
        for verdict in each:
            if verdict.name == name:
                return verdict
    unchecked = [v for v in each if v.name in ("not_in_vocabulary", "not_groundable")]
    if len(unchecked) == len(each):
        return unchecked[0]
    if unchecked:
        return Verdict("weak", "partly_checked", f"Not all of it could be checked. {unchecked[0].sentence}")
    return next((v for v in each if v.name == "weak"), each[0])


def _none_of(each: Sequence[Verdict]) -> Verdict:
    """The verdict on a denial with several phrases: what exactly is denied is not read, so only their absence tells."""
    broken = next((v for v in each if v.name == "error"), None)
    if broken is not None:
        return broken
    if all(v.name in REFUTING for v in each):
        return Verdict("supported", "none_found", "The claim denies it, and nothing of it was found.")
    return Verdict("ambiguous", "several_denied", "The claim denies something of several things: which, is not read.")


def _negated(case: Case, verdict: Verdict) -> Verdict:
    """The verdict on what the claim denies, turned into that on the claim."""
    if case.claim.polarity != "negated" or verdict.name not in NEGATED:
        return verdict
    sentence = f"The claim denies this: {verdict.sentence}"
    return Verdict(NEGATED[verdict.name], f"not_{verdict.rule}", sentence, verdict.numbers)


# ---------------------------------------------------------------------------------------------------------------------
# Words


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.0f} %"


def _wanted(query: Query) -> str:
    return f"“{query.text}”" if query.text else f"Person {query.id.removeprefix('person-')}"


_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")
_OTHER = re.compile(r"[^\W\d_A-Za-z\u00c0-\u024f\u3400-\u9fff]")


def unread(text: str) -> str:
    """Why a gaze or gesture claim has no statement, by the letters it is written in."""
    if len(_OTHER.findall(text)) > len(_LATIN.findall(text)):
        return "Statements of this language are not read, so it was not held against what is marked."
    where = " in Chinese only where" if _HAN.search(text) else " only where"
    return f"Who does it to whom is read{where} both are named by tag; here it was not held against what is marked."


def _people(tags: Sequence[int]) -> str:
    return ", ".join(f"Person {tag}" for tag in tags)
