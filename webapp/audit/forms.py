"""Forms of the audit: bringing responses in, and what may change later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join

from ml.endpoint import Config
from webapp.audit import producing, services
from webapp.lib.errors import Refused

SUMMARISER_WORDS = {
    "rules": "rules: fixed rules, deterministic (a heuristic)",
    "smollm": "smollm: a small packaged model, a fallback",
    "local": "local: a language model on this machine",
    "endpoint": "endpoint: the configured language model",
}
GROUNDER_WORDS = {
    "embedded": "embedded: approximate masks of people and 80 kinds of things",
    "sam3": "sam3: any phrase, needs its weights",
    "sam3-official": "sam3-official: as sam3, by its authors' own package",
}


# One line of a file as the importer takes it, shown where files are brought in; the first ones have to be there
SAMPLE: dict[str, Any] = {
    "video": "dinner.mp4",
    "question": "Who does Person 2 look at?",
    "model": "some-model",
    "text": "<think>At 3.0 s, Person 2 looks at Person 4.</think><answer>B</answer>",
    "answer": "B",
    "options": ["Person 1", "Person 4"],
    "key": "B",
    "clip_start": 4.0,
    "clip_end": 12.0,
    "rendering": "tags",
    "person_map": {"1": 1, "2": 3, "4": 5},
}
REQUIRED = ("video", "question", "model", "text")


def sample_line() -> str:
    return json.dumps(SAMPLE)


class Backends(forms.Select):
    """Choices of which those that are not set up here cannot be chosen. `missing`: by name, why not."""

    missing: dict[str, str] = {}

    def create_option(self, name: str, value: Any, label: Any, *given: Any, **more: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, label, *given, **more)
        if str(value) in self.missing:
            option["label"] = f"{label} (not set up)"
            option["attrs"]["disabled"] = True
        return option


def missing(field: str, name: str) -> str:
    """Why this summariser or grounder cannot be used here, "" where it can."""
    try:
        services.need_set_up(**({"summariser": "rules", "grounder": "embedded"} | {field: name}))
    except Refused as refused:
        return refused.sentence if refused.field == field else ""
    return ""


class HowForm(forms.Form):
    """How responses are audited."""

    name = forms.CharField(
        required=False, max_length=120, help_text="Such as the model and the set; it may stay empty."
    )
    summariser = forms.ChoiceField(
        choices=[(name, SUMMARISER_WORDS[name]) for name in services.SUMMARISERS],
        initial="rules",
        widget=Backends,
        help_text="Cuts what the model said into claims.",
    )
    grounder = forms.ChoiceField(
        choices=[(name, GROUNDER_WORDS[name]) for name in services.GROUNDERS],
        initial="embedded",
        widget=Backends,
        help_text="Looks for what the claims name, and draws masks.",
    )
    raters = forms.IntegerField(
        min_value=1, max_value=10, initial=2, label="People to judge each response", help_text="Blind to each other."
    )
    deletion = forms.BooleanField(required=False, label="Hide the evidence and ask again")

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._offer("summariser", services.SUMMARISERS)
        self._offer("grounder", services.GROUNDERS)
        if "endpoint" in producing.offered():
            self.fields["deletion"].help_text = deletion_costs(Config.from_environment())
        else:
            del self.fields["deletion"]

    def _offer(self, name: str, choices: Sequence[str]) -> None:
        """Disable what is not set up, and say below the field why."""
        field = self.fields[name]
        assert isinstance(field.widget, Backends)
        lacking = {choice: why for choice in choices if (why := missing(name, choice))}
        field.widget.missing = lacking
        if lacking:
            told = format_html_join("", "<li><b>{}</b> {}</li>", lacking.items())
            summary = format_html("<summary>Not set up here: {}</summary>", ", ".join(lacking))
            lists = format_html('<details class="lacking">{}<ul>{}</ul></details>', summary, told)
            field.help_text = format_html("{}{}", field.help_text, lists)

    def clean_summariser(self) -> str:
        return self._set_up("summariser")

    def clean_grounder(self) -> str:
        return self._set_up("grounder")

    def _set_up(self, name: str) -> str:
        chosen: str = self.cleaned_data[name]
        widget = self.fields[name].widget
        if isinstance(widget, Backends) and chosen in widget.missing:
            raise forms.ValidationError(f"{chosen} is not set up here. {widget.missing[chosen]}")
        return chosen


def deletion_costs(config: Config) -> str:
    """What the deletion test does and costs."""
    prices = [(config.price_in, "sent"), (config.price_out, "received")]
    told = " and ".join(f"{price:g} per million tokens {way}" for price, way in prices if price is not None)
    return (
        f"For every response that rests on a supported claim, {config.model} is asked {producing.ASKED_AGAIN} more "
        f"times, each with up to {producing.MOST_PICTURES} pictures"
        f"{f', at {told}' if told else ''}. Whether its answer changes stands in the report."
    )


class ProduceForm(HowForm):
    """Which model answers the questions of the bench, and how its responses are audited."""

    model = forms.ChoiceField(label="Model")
    field_order = ["model"]

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        where = {"endpoint": "at the configured endpoint, at its price", "local": "on this machine"}
        choice = self.fields["model"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(name, f"{model}: {where[name]}") for name, model in producing.offered().items()]


class ImportForm(HowForm):
    """A file of responses, and how they are audited."""

    file = forms.FileField(
        label="File of responses",
        help_text="JSONL with video, clip_start, clip_end, question, answer, model and text, or a file as AffectOmni, "
        "HumanOmniV2 or GRASP write them.",
    )
    field_order = ["file"]


class SettingsForm(forms.Form):
    """What of an open audit may change."""

    name = forms.CharField(max_length=120)
    raters = forms.IntegerField(min_value=1, max_value=10, label="People to judge each response")
    version = forms.IntegerField(widget=forms.HiddenInput)
