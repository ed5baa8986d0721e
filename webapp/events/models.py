"""Social events, corrections of gaze, and coverage, each in an annotation set; and the ledger of edits.

Spans are half-open [start, end) in source frames. A proposal of the rules lives in the video's `proposal` set until a
human says a word on it; the same row then moves to the `working` set, so an event keeps its id for ever.
"""

from __future__ import annotations

import uuid

import pghistory
from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q

GAZE_TYPES = ("mutual_gaze", "joint_attention", "gaze_following", "attention_capture", "sudden_gaze_shift")
GESTURE_TYPES = ("pointing", "showing", "giving", "reaching")
ROLES = ("member", "leader", "follower", "initiator", "target")
MODALITIES = ("gaze", "gesture")


class AnnotationSet(models.Model):
    """Whose view of a video: the rules' (proposal), the one everybody works in (working), one person's, and so on."""

    class Kind(models.TextChoices):
        PROPOSAL = "proposal"
        WORKING = "working"
        ANNOTATOR = "annotator"
        CONSENSUS = "consensus"
        GOLD = "gold"
        IMPORTED = "imported"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="sets")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True)
    name = models.CharField(max_length=120, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["video", "kind"],
                name="one_shared_set",
                condition=Q(kind__in=["proposal", "working", "consensus"]),
            ),
            models.UniqueConstraint(
                fields=["video", "user"], name="one_set_per_annotator", condition=Q(kind="annotator")
            ),
        ]

    def __str__(self) -> str:
        return self.kind


@pghistory.track()
class Event(models.Model):
    """A gaze event or a gesture over a span.

    `machine` is the proposal as the rules last made it: {"start", "end", "confidence", "roles": [[person id, role]],
    "details", "preset", "run"}; null for a human-made event that no rule supports. `stale`: the machine's view changed
    since a human looked. `details` holds the numbers behind the proposal and a reviewer's note.
    """

    class Status(models.TextChoices):
        PROPOSED = "proposed"
        CONFIRMED = "confirmed"
        REJECTED = "rejected"

    class Origin(models.TextChoices):
        RULE = "rule"
        HUMAN = "human"
        MODEL = "model"
        IMPORTED = "imported"

    people: list[list[str]] | None = None  # [[person id, role]] where the query brought them along

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    set = models.ForeignKey(AnnotationSet, on_delete=models.CASCADE, related_name="events")
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="events")
    modality = models.CharField(max_length=8, choices=[(m, m) for m in MODALITIES])
    type = models.CharField(max_length=24, choices=[(t, t) for t in GAZE_TYPES + GESTURE_TYPES])
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    confidence = models.FloatField(default=1)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PROPOSED)
    details = models.JSONField(default=dict)
    machine = models.JSONField(null=True, blank=True)
    note = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    changed = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(end__gt=F("start")), name="event_not_empty")]
        indexes = [
            models.Index(fields=["video", "start"], name="event_by_video"),  # the workspace
            models.Index(  # triage: least certain proposals first
                fields=["confidence", "id"], name="event_triage", condition=Q(status="proposed")
            ),
            models.Index(
                fields=["type", "confidence", "id"], name="event_triage_of_type", condition=Q(status="proposed")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} [{self.start}, {self.end})"


@pghistory.track()
class Participation(models.Model):
    """One person's role in one event."""

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="participations")
    person = models.ForeignKey("tracks.Person", on_delete=models.CASCADE, related_name="participations")
    role = models.CharField(max_length=10, choices=[(r, r) for r in ROLES])

    class Meta:
        constraints = [models.UniqueConstraint(fields=["event", "person", "role"], name="role_once")]

    def __str__(self) -> str:
        return f"{self.person} as {self.role}"


@pghistory.track()
class GazeCorrection(models.Model):
    """Where a person looks during a span, by a human's word: keyed on the person, never on a run.

    Where several cover one moment, the one changed last counts.
    """

    class Kind(models.TextChoices):
        POINT = "point"
        PERSON = "person"
        OBJECT = "object"
        CAMERA = "camera"
        OFF = "off"
        UNUSABLE = "unusable"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    set = models.ForeignKey(AnnotationSet, on_delete=models.CASCADE, related_name="corrections")
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="corrections")
    person = models.ForeignKey("tracks.Person", on_delete=models.CASCADE, related_name="corrections")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    kind = models.CharField(max_length=8, choices=Kind.choices)
    x = models.FloatField(null=True, blank=True, help_text="Normalised picture coordinates of a point or object.")
    y = models.FloatField(null=True, blank=True)
    target_person = models.ForeignKey(
        "tracks.Person", on_delete=models.CASCADE, null=True, blank=True, related_name="looked_at_by"
    )
    version = models.PositiveIntegerField(default=1)
    changed = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["changed", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="correction_not_empty"),
            models.CheckConstraint(
                condition=Q(kind="person", target_person__isnull=False) | ~Q(kind="person"),
                name="correction_has_target",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person} {self.kind} [{self.start}, {self.end})"


@pghistory.track()
class Coverage(models.Model):
    """A human says: everything of this modality among these persons is marked here. Else absence proves nothing."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    set = models.ForeignKey(AnnotationSet, on_delete=models.CASCADE, related_name="coverage")
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="coverage")
    persons = models.JSONField(default=list, help_text="Person ids; empty means everybody.")
    modality = models.CharField(max_length=8, choices=[(m, m) for m in MODALITIES])
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    version = models.PositiveIntegerField(default=1)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(end__gt=F("start")), name="coverage_not_empty")]

    def __str__(self) -> str:
        return f"{self.modality} [{self.start}, {self.end})"


class Comment(models.Model):
    """A remark on an event. It outlives a deletion: an undo brings the event back under its id, with its comments."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="comments")
    event = models.ForeignKey(Event, on_delete=models.DO_NOTHING, db_constraint=False, related_name="comments")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    text = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created"]

    def __str__(self) -> str:
        return self.text[:40]


class Edit(models.Model):
    """An acknowledged edit. Its id is made by the page, so a retried save is found here and answered again.

    `changes` is a list of {"kind", "id", "before", "after"}, each side a full row or null: what undo restores.
    """

    id = models.UUIDField(primary_key=True)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="edits")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=30)
    revision = models.BigIntegerField()
    changes = models.JSONField()
    undoes = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="undone_by")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["video", "revision"], name="edit_revision_once")]
        indexes = [  # one object's history, and who made the other version of a conflict
            GinIndex(fields=["changes"], name="edit_by_object", opclasses=["jsonb_path_ops"])
        ]

    def __str__(self) -> str:
        return f"{self.kind} at {self.revision}"


class Derivation(models.Model):
    """Events the rules derive from the corrected data, compared with what is there; shown, then applied.

    `difference`: {"added": [proposal...], "changed": [{"id", "machine"}], "removed": [ids], "attached": [{"id",
    "machine"}]}, valid while the video is at `revision`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="derivations")
    run = models.ForeignKey("tracks.Run", on_delete=models.CASCADE, related_name="derivations")
    job = models.OneToOneField("jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="derivation")
    preset = models.CharField(max_length=20, default="strict")
    min_confidence = models.FloatField(null=True, blank=True)
    revision = models.BigIntegerField()
    difference = models.JSONField(default=dict)
    applied = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.preset} at revision {self.revision}"
