"""Forms of the audit: bringing responses in, and what may change later."""

from __future__ import annotations

from typing import Any

from django import forms

from ml.endpoint import Config
from webapp.audit import producing, services

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


class HowForm(forms.Form):
    """How responses are audited."""

    name = forms.CharField(
        required=False, max_length=120, help_text="Such as the model and the set; it may stay empty."
    )
    summariser = forms.ChoiceField(
        choices=[(name, SUMMARISER_WORDS[name]) for name in services.SUMMARISERS],
        initial="rules",
        help_text="Cuts what the model said into claims.",
    )
    grounder = forms.ChoiceField(
        choices=[(name, GROUNDER_WORDS[name]) for name in services.GROUNDERS],
        initial="embedded",
        help_text="Looks for what the claims name, and draws masks.",
    )
    raters = forms.IntegerField(
        min_value=1, max_value=10, initial=2, label="People to judge each response", help_text="Blind to each other."
    )
    deletion = forms.BooleanField(required=False, label="Hide the evidence and ask again")

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        if "endpoint" in producing.offered():
            self.fields["deletion"].help_text = deletion_costs(Config.from_environment())
        else:
            del self.fields["deletion"]


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
