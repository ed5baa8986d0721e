"""Forms of the audit: bringing responses in, and what may change later."""

from __future__ import annotations

from django import forms

from webapp.audit import services

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
