"""Background work as rows: the row is the truth, a message on the broker only says "look at it".

queued -> running -> done | failed | cancelled
running -> queued      its worker died (heartbeat too old) and attempts are left
failed, cancelled -> queued    somebody pressed retry
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q


class Job(models.Model):
    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="jobs")
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, null=True, blank=True, related_name="jobs")
    kind = models.CharField(max_length=30, help_text="Name of the task: import, perceive, derive, match, import-run.")
    queue = models.CharField(max_length=10, choices=[(q, q) for q in ("cpu", "gpu", "train")])
    parameters = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    stage = models.CharField(max_length=40, blank=True)
    share = models.FloatField(default=0, help_text="Share of the stage that is done, 0 to 1.")
    stages = models.JSONField(default=list, help_text="[stage, seconds spent in it so far], in order.")
    log = models.TextField(blank=True, help_text="Last lines, at most 16 kB.")
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True, help_text="One sentence for the user.")
    claim = models.UUIDField(null=True, blank=True, help_text="Token of the attempt that holds the job.")
    worker = models.CharField(max_length=120, blank=True)
    heartbeat = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        indexes = [
            models.Index(fields=["project", "-created"], name="job_by_project"),
            models.Index(fields=["heartbeat"], name="job_reaper", condition=Q(state="running")),
            models.Index(fields=["created"], name="job_waiting", condition=Q(state="queued")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class DeviceLease(models.Model):
    """Who holds a device of a host: `gpu` and `train` jobs never share one by accident."""

    device = models.CharField(max_length=160, primary_key=True, help_text="host/device, such as studio/cuda:0")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="lease")
    taken = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.device
