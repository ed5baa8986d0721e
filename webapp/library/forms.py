"""Forms of projects and videos."""

from __future__ import annotations

from django import forms

LICENCE_HINT = "Such as CC BY 4.0, or the agreement these recordings fall under."
CONSENT_HINT = "What the people in the videos agreed to, and where that is kept."


class ProjectForm(forms.Form):
    """What a project is, and under which terms its videos may be used."""

    name = forms.CharField(max_length=120)
    description = forms.CharField(required=False, max_length=5000, widget=forms.Textarea(attrs={"rows": 3}))
    licence = forms.CharField(required=False, max_length=200, help_text=LICENCE_HINT)
    consent = forms.CharField(
        required=False, max_length=5000, help_text=CONSENT_HINT, widget=forms.Textarea(attrs={"rows": 3})
    )
    link_identities = forms.BooleanField(
        required=False,
        initial=True,
        label="Propose the same person across cuts by face",
        help_text="Off: no face embedding is computed in this project.",
    )


class NewProjectForm(ProjectForm):
    slug = forms.SlugField(
        max_length=60, label="Short name", help_text="Stands in addresses and commands: a-z, 0-9 and -. It stays."
    )
    field_order = ["name", "slug"]


class ProvenanceForm(forms.Form):
    """Where a video comes from."""

    name = forms.CharField(max_length=255)
    source_recording = forms.CharField(
        required=False, max_length=255, label="Source recording", help_text="Film, session or data set it was cut from."
    )
    licence = forms.CharField(required=False, max_length=200, help_text=LICENCE_HINT)
    consent_note = forms.CharField(
        required=False,
        max_length=5000,
        label="Consent note",
        help_text=CONSENT_HINT,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
