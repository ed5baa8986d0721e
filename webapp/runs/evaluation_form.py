"""The form that starts an evaluation. It only reads what was typed; the services say whether that makes sense."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from ml.evaluation.frames import MOST_FRAMES
from webapp.bench.models import Release
from webapp.library.models import Project
from webapp.runs import evaluating
from webapp.runs.evaluation_values import CONTROL_MEANS, CONTROL_WORDS


class EvaluateForm(forms.Form):
    """Which model, on which release, with what taken away."""

    model = forms.ChoiceField(help_text="Decoding is greedy, so the same model gives the same answers again.")
    file = forms.FileField(
        required=False,
        label="File of its replies",
        help_text="Of a model that was asked elsewhere: JSON lines with id and text, or the samples lmms-eval logs.",
    )
    release = forms.TypedChoiceField(coerce=int)
    control = forms.ChoiceField(
        required=False,
        choices=[("", "Nothing: the benchmark as it is"), *((name, words) for name, words in CONTROL_WORDS.items())],
        label="Control",
        help_text="What is taken away, to see whether the answers rest on it.",
    )
    name = forms.CharField(
        required=False,
        max_length=evaluating.MOST_NAME,
        label="Name in the table",
        help_text="By default the model's own.",
    )
    reasoning = forms.BooleanField(
        required=False, initial=True, label="Ask for reasoning", help_text="Without it, for the letter alone."
    )
    frames = forms.IntegerField(
        initial=MOST_FRAMES, label="Most pictures of a clip", help_text="Evenly spaced, at most two a second."
    )
    limit = forms.IntegerField(
        required=False, label="Only so many items", help_text="Evenly spaced over the release; empty for all."
    )
    seed = forms.IntegerField(initial=0, help_text="Of the control and of the intervals.")

    def __init__(self, data: QueryDict | None = None, files: Any = None, *, project: Project, **more: Any) -> None:
        super().__init__(data, files, **more)
        self.releases = {one.number: one for one in Release.objects.filter(project=project).order_by("-number")}
        told = self.fields["model"], self.fields["release"]
        assert isinstance(told[0], forms.ChoiceField) and isinstance(told[1], forms.ChoiceField)
        told[0].choices = evaluating.offered(project)
        told[1].choices = [(number, f"Release {number}") for number in self.releases]

    @property
    def means(self) -> list[tuple[str, str]]:
        """What each control takes away, in a sentence."""
        return [(CONTROL_WORDS[name], means) for name, means in CONTROL_MEANS.items()]

    def wanted(self) -> dict[str, Any]:
        """What `evaluating.start` is told, of a valid form. Nothing of how it is asked decides about a file."""
        told = self.cleaned_data
        asked = {name: told[name] for name in ("limit", "seed")}
        if told["model"] != "predictions":
            asked |= {"reasoning": told["reasoning"], "frames": told["frames"]}
        return {
            "model": told["model"],
            "release": self.releases[told["release"]],
            "control": told["control"],
            "name": told["name"],
            "file": told["file"] if told["model"] == "predictions" else None,
            "settings": evaluating.Settings(**asked),
        }


def as_posted(post: QueryDict, project: Project) -> QueryDict:
    """What was posted, completed where a run's page sends `run` and `checkpoint` alone."""
    if "model" in post or "run" not in post:
        return post
    told = post.copy()
    step = told.get("checkpoint", "")
    told["model"] = f"run:{told['run']}" + (f":{step}" if step else "")
    defaults = {
        name: str(field.initial) for name, field in EvaluateForm.base_fields.items() if field.initial is not None
    }
    newest = Release.objects.filter(project=project).order_by("-number").values_list("number", flat=True).first()
    defaults |= {"reasoning": "on"} | ({"release": str(newest)} if newest is not None else {})
    for name, value in defaults.items():
        told.setdefault(name, value)
    return told
