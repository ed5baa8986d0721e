"""Forms of the bench: a question as a person writes it, settings with quotas, a verdict, a release.

A form only reads what was typed; whether it makes sense is said by the services, whose sentence is put at the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from string import ascii_lowercase
from typing import Any

from django import forms
from django.http import QueryDict

from ml.questions.clip import RENDERINGS
from ml.questions.taxonomy import CATEGORIES
from webapp.bench.listing import DIFFICULTIES, KIND_WORDS
from webapp.bench.markup import stored, written
from webapp.bench.models import Question
from webapp.lib.errors import Refused
from webapp.library.models import Video

CHOOSES = ("single", "multiple", "yes_no")
FRAME_WORDS = re.compile(r"\{\s*frame\s+(\d{1,9})\s*\}", re.IGNORECASE)
GROUP_WORDS = {"gaze": "Gaze", "gesture": "Gesture", "joint": "Gaze and gesture"}
RENDERING_WORDS = {
    "clean": "Clean: as filmed",
    "tags": "Tags: people are numbered in the picture",
    "grasp": "GRASP: tags, two frames a second",
}


def grouped_categories() -> list[tuple[str, list[tuple[str, str]]]]:
    """Categories for a select, by group."""
    return [
        (words, [(slug, one.words) for slug, one in CATEGORIES.items() if one.group == group])
        for group, words in GROUP_WORDS.items()
    ]


@dataclass
class OptionLine:
    """One option in the form: what was typed, whether it is (part of) the key, and what is wrong with it."""

    text: str = ""
    right: bool = False
    id: str = ""
    error: str = ""


class QuestionForm(forms.Form):
    """Everything of a question that a curator writes. Options are lines of their own: `lines`."""

    category = forms.ChoiceField()
    kind = forms.ChoiceField(choices=list(KIND_WORDS.items()), label="Kind of answer")
    text = forms.CharField(max_length=4000, label="Question", widget=forms.Textarea(attrs={"rows": 3}))
    start = forms.IntegerField(min_value=0, label="First frame")
    end = forms.IntegerField(min_value=1, label="Last frame")
    answer = forms.CharField(required=False, max_length=4000, label="Right answer")
    reasoning = forms.CharField(
        required=False, max_length=32000, label="Reasoning", widget=forms.Textarea(attrs={"rows": 4})
    )

    def __init__(
        self, data: QueryDict | None = None, *, video: Video, numbers: Mapping[str, int], **options: Any
    ) -> None:
        """`numbers`: person id -> number, of everybody in the video who is not merged into somebody."""
        super().__init__(data, **options)
        self.video, self.numbers = video, numbers
        self.fields["category"].choices = grouped_categories()  # type: ignore[attr-defined]
        self.fields["end"].max_value = video.frames  # type: ignore[attr-defined]
        self.lines = read_lines(data) if data is not None else list(self.initial.get("lines", []))

    @classmethod
    def of(cls, question: Question, *, numbers: Mapping[str, int]) -> QuestionForm:
        """The form of a question as it is."""
        lines = [
            OptionLine(written(one["text"], numbers), one["id"] in question.key, one["id"]) for one in question.options
        ]
        answer = "" if question.kind in CHOOSES or not question.key else f"{question.key[0]}"
        initial = {
            "category": question.category,
            "kind": question.kind,
            "text": written(question.text, numbers),
            "start": question.start,
            "end": question.end - 1,
            "reasoning": written(question.reasoning, numbers),
            "answer": written(answer, numbers) if question.kind == "open" else answer,
            "lines": lines,
        }
        return cls(video=question.video, numbers=numbers, initial=initial)

    @property
    def shown_lines(self) -> list[OptionLine]:
        """What the page draws: at least four, so that there is always room to write."""
        return self.lines + [OptionLine() for _ in range(4 - len(self.lines))]

    def say(self, refused: Refused) -> None:
        """Put a service's sentence at the field it is about."""
        places = {"key": "answer" if self.data.get("kind") not in CHOOSES else None, "options": None}
        name = places.get(refused.field, refused.field)
        self.add_error(name if name in self.fields else None, refused.sentence)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for name in ("text", "reasoning"):
            if name in cleaned:
                self._store(cleaned, name)
        kind = cleaned.get("kind")
        if kind in CHOOSES:
            cleaned["lines"] = self._options(kind)
        elif kind == "number":
            cleaned["answer"] = self._number(cleaned.get("answer", ""))
        elif kind == "open":
            if not cleaned.get("answer", "").strip():
                self.add_error("answer", "Write the answer that counts as right.")
            else:
                self._store(cleaned, "answer")
        if "start" in cleaned and "end" in cleaned and cleaned["end"] < cleaned["start"]:
            self.add_error("end", "The last frame lies before the first one.")
        elif cleaned.get("end", 0) >= self.video.frames:
            self.add_error("end", f"The last frame of this video is {self.video.frames - 1}.")
        return cleaned

    def _store(self, cleaned: dict[str, Any], name: str) -> None:
        try:
            cleaned[name] = self._stored(cleaned[name], name)
        except Refused as refused:
            self.add_error(name, refused.sentence)

    def _stored(self, text: str, name: str) -> str:
        return stored(text, {number: id for id, number in self.numbers.items()}, self.video.frames, name)

    def _options(self, kind: str) -> list[OptionLine]:
        """The lines that were filled in, with their text as it is kept."""
        kept: list[OptionLine] = []
        seen: dict[str, int] = {}
        for place, line in enumerate(self.lines):
            if not line.text.strip():
                continue
            try:
                kept.append(OptionLine(self._stored(line.text.strip(), "options"), line.right, line.id))
            except Refused as refused:
                line.error = refused.sentence
            if seen.setdefault(line.text.strip().casefold(), place) != place:
                line.error = "This option stands twice."
        if any(line.error for line in self.lines):
            self.add_error(None, "An option cannot be kept as it is: see there.")
        elif len(kept) < 2 or (kind == "yes_no" and len(kept) != 2):
            self.add_error(None, f"Write {'exactly two' if kind == 'yes_no' else 'at least two'} options.")
        elif not any(line.right for line in kept):
            self.add_error(None, "Mark the option that is right.")
        return kept

    def _number(self, text: str) -> float | int:
        try:
            value = float(text.strip().replace(",", "."))
        except ValueError:
            self.add_error("answer", "Write a number, such as 3 or 2.5.")
            return 0
        return int(value) if value.is_integer() and abs(value) < 1e12 else value

    def fields_wanted(self, question: Question | None = None) -> dict[str, Any]:
        """What the services are given: the fields of a question. Options keep their id and value where they had one."""
        cleaned = self.cleaned_data
        options, key = self._choices(question) if cleaned["kind"] in CHOOSES else ([], [cleaned["answer"]])
        return {
            "category": cleaned["category"],
            "kind": cleaned["kind"],
            "text": cleaned["text"],
            "reasoning": cleaned["reasoning"],
            "start": cleaned["start"],
            "end": cleaned["end"] + 1,
            "options": options,
            "key": key,
        }

    def _choices(self, question: Question | None) -> tuple[list[dict[str, Any]], list[str]]:
        before = {one["id"]: one for one in question.options} if question else {}
        taken = {line.id for line in self.cleaned_data["lines"] if line.id in before}
        free = (name for name in [*ascii_lowercase, *(f"z{n}" for n in range(100))] if name not in taken)
        options, key = [], []
        for line in self.cleaned_data["lines"]:
            id = line.id if line.id in before else next(free)
            options.append({"id": id, "text": line.text, "value": before.get(id, {}).get("value")})
            if line.right:
                key.append(id)
        return options, key


def read_lines(data: QueryDict) -> list[OptionLine]:
    """Options of a sent form: `option-K`, `option-id-K`, and `right` naming the places that are right."""
    right = set(data.getlist("right"))
    places = sorted({int(name[7:]) for name in data if re.fullmatch(r"option-\d{1,2}", name)})
    lines = [
        OptionLine(data.get(f"option-{k}", "")[:4000], str(k) in right, data.get(f"option-id-{k}", "")[:40])
        for k in places
    ]
    while lines and not lines[-1].text.strip():
        lines.pop()
    return lines


# ---------------------------------------------------------------------------------------------------------------------
# Settings


@dataclass
class QuotaLine:
    """One line of the quota table: blank fields stand for any."""

    category: str = ""
    source: str = ""
    difficulty: str = ""
    letter: str = ""
    most: str = ""
    error: str = ""

    @property
    def blank(self) -> bool:
        return not (self.category or self.source or self.difficulty or self.letter or self.most)


def mark_of(quotas: Sequence[Mapping[str, Any]]) -> str:
    """Tells whether quotas are the same as those a page showed."""
    return sha256(json.dumps(list(quotas), sort_keys=True).encode()).hexdigest()[:16]


@dataclass
class Quotas:
    lines: list[QuotaLine] = field(default_factory=list)

    @classmethod
    def read(cls, data: QueryDict) -> Quotas:
        columns = [data.getlist(name) for name in ("category", "source", "difficulty", "letter", "most")]
        rows = list(zip(*columns, strict=False))[:200]
        return cls([line for row in rows if not (line := QuotaLine(*(cell.strip()[:255] for cell in row))).blank])

    @classmethod
    def of(cls, quotas: list[dict[str, Any]]) -> Quotas:
        def cell(value: Any) -> str:
            return "" if value is None else str(value)

        names = ("category", "source", "difficulty", "letter", "most")
        return cls([QuotaLine(*(cell(quota.get(name)) for name in names)) for quota in quotas])

    def cleaned(self) -> list[dict[str, Any]]:
        """As they are stored. Raises Refused; the line is marked."""
        found = []
        for line in self.lines:
            most = line.most
            if not (most.isascii() and most.isdigit()) or len(most) > 6:
                line.error = "Write how many questions at most, such as 20."
            elif line.category not in ("", *CATEGORIES) or line.difficulty not in ("", *DIFFICULTIES):
                line.error = "There is no such category or difficulty."
            elif not re.fullmatch(r"[A-Za-z]?", line.letter):
                line.error = "A letter is one of A to Z."
            else:
                values = {"category": line.category, "source": line.source, "difficulty": line.difficulty}
                found.append(values | {"letter": line.letter.upper(), "most": int(most)})
        if any(line.error for line in self.lines):
            raise Refused("A quota cannot be kept as it is: see there.", "quotas")
        return found


class SettingsForm(forms.Form):
    """How a project makes its benchmark. `changed_data`: what differs from what the page showed, whatever is stored."""

    raters = forms.IntegerField(
        min_value=1,
        max_value=10,
        label="Blind answers to each question",
        help_text="Each is given by another person.",
        show_hidden_initial=True,
    )
    rendering = forms.ChoiceField(
        choices=[(name, RENDERING_WORDS[name]) for name in RENDERINGS], label="Clips", show_hidden_initial=True
    )
    blur_faces = forms.BooleanField(required=False, label="Blur faces in clips", show_hidden_initial=True)
    pad_before_s = forms.FloatField(
        min_value=0, max_value=60, label="Seconds before the question's span", show_hidden_initial=True
    )
    pad_after_s = forms.FloatField(min_value=0, max_value=60, label="Seconds after it", show_hidden_initial=True)


class VerdictForm(forms.Form):
    """What an adjudicator says."""

    id = forms.UUIDField()
    question = forms.UUIDField()
    verdict = forms.ChoiceField(choices=[("accept", "Accept"), ("edit", "Edit"), ("reject", "Reject")])
    reason = forms.CharField(max_length=4000)


class ReleaseForm(forms.Form):
    """What is said with a release."""

    notes = forms.CharField(
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What changed and why, for whoever uses it.",
    )
    names = forms.BooleanField(
        required=False, label="Name the raters", help_text="Off: the provenance of items gives them pseudonyms."
    )


class RetireForm(forms.Form):
    reason = forms.CharField(max_length=1000)
