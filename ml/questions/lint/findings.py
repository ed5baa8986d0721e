"""What the linter can say: the registry of codes, and one finding.

A code has one severity: `error` (a release may not be cut), `warning` (somebody should look), `note` (for information,
or a check that was not run). `item` counts from 0 in the order of the source; None is said of the whole set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

_SHAPE: dict[str, tuple[Severity, str]] = {
    "malformed_item": ("error", "The item cannot be read: a field is missing or of the wrong type."),
    "missing_field": ("error", "The item lacks a field without which it cannot be asked or scored."),
    "missing_context": ("note", "The item lacks a field that checks of times, clips or persons need."),
    "unknown_format": ("error", "The format is neither mcq nor open_ended."),
    "option_count": ("error", "A multiple-choice item has exactly four options, an open one has none."),
    "option_letters": ("error", "The letters in front of the options are not A, B, C, D in this order."),
    "empty_option": ("error", "An option says nothing."),
    "answer_letter": ("error", "The answer is not the letter of an option."),
    "answer_text_mismatch": ("error", "The answer's text is not the text of the keyed option."),
    "short_open_answer": ("warning", "The answer of an open item has fewer than five words."),
    "open_not_allowed": ("warning", "The category has no open-ended items."),
    "unknown_category": ("error", "The category is no code of the scheme, and no slug."),
    "scheme_needed": ("note", "Codes of the file mean different categories in different schemes, and none is named."),
    "scheme_doubtful": (
        "error",
        "Most items with a code that depends on the scheme fit another scheme than the named.",
    ),
    "difficulty_mismatch": ("warning", "The difficulty is not the one that the category's code has."),
}
_OPTIONS: dict[str, tuple[Severity, str]] = {
    "duplicate_options": ("error", "Two options say the same."),
    "near_duplicate_options": ("warning", "Two options differ in nothing that matters."),
    "options_too_close": ("warning", "Two durations or times are closer than anybody can see in the clip."),
}
_TIMES: dict[str, tuple[Severity, str]] = {
    "time_outside_clip": ("error", "A time lies outside the clip."),
    "time_inverted": ("error", "A span ends before it begins."),
    "source_time_in_question": ("error", "The question or an option cites source time; it has to be the clip's."),
    "source_time_in_reasoning": ("error", "The reasoning cites source time while the question cites the clip's."),
    "duration_not_positive": ("error", "A duration or a clip lasts zero seconds or less."),
    "empty_time_range": ("warning", "The time range has no length."),
}
_PEOPLE: dict[str, tuple[Severity, str]] = {
    "person_unknown": ("error", "A person is named whom the files of this video do not know."),
    "person_without_event": ("note", "A person is named who takes part in no event of this video."),
    "person_not_visible": ("error", "A person is named who is not visible in the clip."),
    "person_form": ("note", "A person is named in a form that the released reward does not count."),
}
_WORDING: dict[str, tuple[Severity, str]] = {
    "speculative_word": ("warning", "The question, an option or the answer speculates."),
    "category_mismatch": ("error", "The question's words do not fit its category."),
    "answer_in_question": ("warning", "The question itself says what the keyed option says."),
}
_CLAIMS: dict[str, tuple[Severity, str]] = {
    "key_contradicted": ("error", "The event table says that the keyed option is false."),
    "second_true_option": ("error", "The event table says that another option is true as well."),
    "unknown_event": ("error", "An event the item rests on is not in the event table."),
    "event_outside_range": ("warning", "An event the item rests on does not touch its time range."),
    "key_not_checked": ("note", "Keys that could not be checked against an event table, and why."),
    "proof_broken": ("error", "The item's proof does not stand."),
}
_SETS: dict[str, tuple[Severity, str]] = {
    "duplicate_question": ("error", "The same question about the same recording is in the set twice."),
    "contradicting_questions": ("error", "The same question about the same recording has two different keys."),
    "near_duplicate_question": ("warning", "Two questions about the same recording ask nearly the same."),
    "question_in_train": ("error", "The training split asks nearly the same about the same recording."),
    "recording_in_train": ("error", "The recording is in the training split, too."),
    "overlap_with_train": ("error", "The clip shares time of its recording with the training split."),
    "picture_in_train": ("error", "The clip looks like one of the training split (picture hash)."),
    "letter_bias": ("warning", "The keys are not spread evenly over the letters."),
    "longest_option_bias": ("warning", "The keyed option is the longest (or shortest) more often than by chance."),
    "answerable_without_video": ("warning", "A guesser that never sees the video beats chance."),
    "identity_prior": ("warning", "A model without video answers worse once the person numbers are permuted."),
    "not_run": ("note", "A check that was not run, and what it needs."),
}


@dataclass(frozen=True, slots=True)
class Code:
    """`words` says what the code stands for; `family` is the module of the check."""

    name: str
    severity: Severity
    words: str
    family: str


CODES: dict[str, Code] = {
    name: Code(name, severity, words, family)
    for family, codes in {
        "shape": _SHAPE,
        "options": _OPTIONS,
        "times": _TIMES,
        "people": _PEOPLE,
        "wording": _WORDING,
        "claims": _CLAIMS,
        "sets": _SETS,
    }.items()
    for name, (severity, words) in codes.items()
}


@dataclass(frozen=True, slots=True)
class Fix:
    """A change nobody could object to: put `value` into the field."""

    field: str
    value: Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One complaint: `sentence` says what is wrong with the item at hand."""

    code: str
    sentence: str
    item: int | None = None
    fix: Fix | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code!r} is no code of the linter")

    @property
    def severity(self) -> Severity:
        return CODES[self.code].severity

    def tree(self) -> dict[str, Any]:
        """As JSON; `fix` only where there is one."""
        found: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "item": self.item,
            "sentence": self.sentence,
        }
        if self.fix is not None:
            found["fix"] = {"field": self.fix.field, "value": self.fix.value}
        return found


def quoted(text: str, most: int = 60) -> str:
    """A piece of the file in a sentence, cut and on one line."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= most else line[: most - 1] + '…'}”"
