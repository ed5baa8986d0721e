"""Projects and the videos in them. A file's identity is its sha256: one blob, however many projects hold it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper


class Project(models.Model):
    """Everything curated belongs to a project, and every look-up goes through it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    licence = models.CharField(max_length=200, blank=True)
    consent = models.TextField(blank=True, help_text="What the people in the videos agreed to.")
    link_identities = models.BooleanField(
        default=True, help_text="Propose the same person across cuts by face. Off: no face embedding is computed."
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Blob(models.Model):
    """A stored original and what was made from it, in the storage folder `blobs/<sha256>/`.

    Written by the import job: `frames.npz` (the frame index), `proxy.mp4`, `poster.jpg`, `strip.jpg`, `strip.json`,
    `waveform.bin`, `import.json`. `facts` is import.json: frames, width, height, rotation, rate, time_base, duration_s,
    first_s, has_audio, codec, warnings.
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    bytes = models.BigIntegerField()
    suffix = models.CharField(max_length=10, blank=True)
    ready = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.sha256[:12]

    @property
    def folder(self) -> str:
        return f"blobs/{self.sha256}"

    @property
    def original(self) -> str:
        return f"{self.folder}/original{self.suffix}"


class Video(models.Model):
    """One video of one project. `revision` counts acknowledged edits: the page asks for what came after one."""

    class State(models.TextChoices):
        IMPORTING = "importing"
        READY = "ready"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="videos")
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="videos", null=True, blank=True)
    name = models.CharField(max_length=255)
    state = models.CharField(max_length=10, choices=State.choices, default=State.IMPORTING)
    error = models.TextField(blank=True)
    warnings = models.JSONField(default=list)
    # copied from the blob for lists, filters and pages: upright size, counts, seconds
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    frames = models.PositiveIntegerField(default=0)
    duration_s = models.FloatField(default=0)
    has_audio = models.BooleanField(default=False)
    has_pixels = models.BooleanField(default=True, help_text="False for a video known from imported features only.")
    shots = models.JSONField(default=list, help_text="First frame of each shot of the accepted run.")
    run = models.ForeignKey("tracks.Run", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    revision = models.BigIntegerField(default=0)
    next_person = models.PositiveIntegerField(default=0, help_text="Numbers are given once and never reused.")
    # numbers the lists sort and filter by, kept by the services that change them
    proposed_count = models.PositiveIntegerField(default=0)
    reviewed_count = models.PositiveIntegerField(default=0)
    person_count = models.PositiveIntegerField(default=0)
    has_questions = models.BooleanField(
        default=False, help_text="Edits of facts put the proofs of its questions in doubt."
    )
    doubted = models.BigIntegerField(
        default=0, help_text="Revision that last moved what proofs rest on; 0 once they were run again."
    )
    source_recording = models.CharField(max_length=255, blank=True)
    licence = models.CharField(max_length=200, blank=True)
    consent_note = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            # the same file comes into a project once
            models.UniqueConstraint(fields=["project", "blob"], name="video_blob_once", condition=Q(blob__isnull=False))
        ]
        indexes = [  # the orders of the video list, within a project
            models.Index(fields=["project", "-created", "id"], name="video_by_created"),
            models.Index(fields=["project", "name", "id"], name="video_by_name"),
            models.Index(fields=["project", "duration_s", "id"], name="video_by_duration"),
            models.Index(fields=["project", "-proposed_count", "id"], name="video_by_proposed"),
            models.Index(fields=["project", "state", "-created"], name="video_by_state"),
            models.Index(fields=["project"], name="video_doubted", condition=Q(doubted__gt=0)),  # stale questions
            GinIndex(OpClass(Upper("name"), name="gin_trgm_ops"), name="video_name_words"),  # the list's search
        ]

    def __str__(self) -> str:
        return self.name


class Upload(models.Model):
    """A file arriving in pieces. `received` is the number of bytes on disk; the next piece starts there."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="uploads")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=255)
    size = models.BigIntegerField()
    received = models.BigIntegerField(default=0)
    video = models.ForeignKey(Video, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.name}: {self.received} of {self.size}"
