"""Forms of training: making a snapshot, and drafting a run. The settings of a run are in `run_settings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from ml.training import configs
from webapp.bench.models import Release
from webapp.library.models import Project
from webapp.runs import basemodels
from webapp.runs.models import DatasetSnapshot, TrainingRun
from webapp.runs.services import MOST_NAME

STAGE_WORDS = {
    "grpo": "GRPO: from rewards on its own answers",
    "sft": "SFT: a warm-up on the reasoning traces",
}


class SnapshotForm(forms.Form):
    """What goes into a snapshot, and how it is split."""

    releases = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text="Each item as it was released."
    )
    questions = forms.BooleanField(
        required=False,
        label="The project's accepted questions",
        help_text="As they are now, where their clip is cut.",
    )
    name = forms.CharField(required=False, max_length=MOST_NAME)
    validation_share = forms.FloatField(
        min_value=0,
        max_value=0.9,
        initial=0.1,
        label="Share for validation",
        help_text="Split by whole source recordings: of a single one, nothing validates.",
    )
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=0, help_text="Of the split.")

    def __init__(self, project: Project, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.known = {str(one.number): one for one in Release.objects.filter(project=project).order_by("-number")}
        choices = [(number, f"Release {number}, {one.created:%Y-%m-%d}") for number, one in self.known.items()]
        field = self.fields["releases"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = choices

    def wanted(self) -> dict[str, Any]:
        """As `services.create_snapshot` takes it."""
        told = dict(self.cleaned_data)
        return told | {"releases": [self.known[number] for number in told["releases"]]}


class RunForm(forms.Form):
    """What a run is, but for its settings. `fixed`: a draft, whose stage stays."""

    name = forms.CharField(required=False, max_length=MOST_NAME, help_text="It may stay empty.")
    stage = forms.ChoiceField(choices=list(STAGE_WORDS.items()), initial="grpo")
    snapshot = forms.ChoiceField(help_text="The items it learns from.")
    start = forms.ChoiceField(label="Start from")
    preset = forms.ChoiceField()

    def __init__(self, project: Project, stage: str, *given: Any, fixed: bool = False, **more: Any) -> None:
        super().__init__(*given, **more)
        self.snapshots = {
            str(one.number): one
            for one in DatasetSnapshot.objects.filter(project=project, state="ready", withdrawn=False).order_by(
                "-number"
            )
        }
        self.parents = {
            f"run:{run.number}": run
            for run in TrainingRun.objects.filter(project=project, state=TrainingRun.State.DONE).order_by("-number")
        }
        self.models = {f"model:{one['name']}": one for one in basemodels.base_models()}
        self._choose("snapshot", [(number, snapshot_words(one)) for number, one in self.snapshots.items()])
        folders = [(key, f"{one['name']} ({one['about'] or 'kind not named'})") for key, one in self.models.items()]
        runs = [(key, f"Run {run.number}: {run.name}") for key, run in self.parents.items()]
        grouped = [("Configured folders", folders), ("Final models of this project's runs", runs)]
        self._choose("start", [(name, choices) for name, choices in grouped if choices])
        self._choose("preset", [(one.name, f"{one.name}: {one.title}") for one in configs.presets(stage)])
        if fixed:
            self.fields["stage"].disabled = True

    def _choose(self, name: str, choices: list[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def wanted(self) -> dict[str, Any]:
        """As `services.create_run` takes it, without stage and overrides."""
        told = self.cleaned_data
        chosen = told["start"]
        return {
            "name": told["name"],
            "snapshot": self.snapshots[told["snapshot"]],
            "parent": self.parents.get(chosen),
            "base_model": self.models[chosen]["name"] if chosen in self.models else "",
            "preset": told["preset"],
        }


def snapshot_words(snapshot: DatasetSnapshot) -> str:
    counts: Mapping[str, Any] = snapshot.facts.get("counts", {}).get("train", {})
    return f"{snapshot.number}: {snapshot.name} ({counts.get('grpo', 0)} for GRPO, {counts.get('sft', 0)} for SFT)"
