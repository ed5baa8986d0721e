"""Persons, the runs that saw them, and tracklets: which raw track is which person, when.

Spans are half-open [start, end) in source frames. Samples are files of a run, never rows: merging, splitting and
re-assigning edit tracklets only.
"""

from __future__ import annotations

import uuid

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import F, Q


@pghistory.track()
class Person(models.Model):
    """Somebody in a video. The number is given once, never changed or reused; a merge leaves the row as an alias."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="persons")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80, blank=True)
    colour = models.CharField(max_length=7, blank=True, help_text="#rrggbb, or empty for the palette's")
    merged_into = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="aliases")
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["video", "number"], name="person_number_once")]
        ordering = ["number"]

    def __str__(self) -> str:
        return self.name or f"Person {self.number}"


class Run(models.Model):
    """One execution of a perception profile; a layer until accepted. Its files lie in `runs/<id>/`.

    `manifest` is run.json. `masks` is masks.json once masks of the people were made, else empty. `report` is what
    acceptance would do: {"revision", "tracklets": [[track, start, end, person id or null]...], "conflicts": [...]}.
    """

    class State(models.TextChoices):
        LAYER = "layer"
        ACCEPTED = "accepted"
        REPLACED = "replaced"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="runs")
    job = models.OneToOneField("jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="run")
    profile = models.CharField(max_length=40)
    origin = models.CharField(max_length=20, default="perception", help_text="perception, folder or grasp-gaze")
    state = models.CharField(max_length=10, choices=State.choices, default=State.LAYER)
    manifest = models.JSONField(default=dict)
    masks = models.JSONField(default=dict, blank=True)
    report = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["video", "-created"], name="run_by_video")]

    def __str__(self) -> str:
        return f"{self.profile} run of {self.created:%Y-%m-%d %H:%M}"

    @property
    def folder(self) -> str:
        return f"runs/{self.id}"


@pghistory.track()
class Tracklet(models.Model):
    """Raw track `track` of a run is `person` during [start, end). `human`: somebody assigned it by hand."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tracklets")
    track = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="tracklets")
    human = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="tracklet_not_empty"),
            models.UniqueConstraint(fields=["run", "track", "start"], name="tracklet_start_once"),
        ]

    def __str__(self) -> str:
        return f"track {self.track} [{self.start}, {self.end})"


@pghistory.track()
class IdentityProposal(models.Model):
    """Two persons whose faces look alike; a human says whether they are one."""

    class State(models.TextChoices):
        OPEN = "open"
        SAME = "same"
        DIFFERENT = "different"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="identity_proposals")
    first = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="+")
    similarity = models.FloatField(help_text="Cosine of the mean face embeddings.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["first", "second"], name="identity_pair_once")]

    def __str__(self) -> str:
        return f"{self.first} = {self.second}? {self.similarity:.2f}"
