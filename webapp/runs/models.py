"""Dataset snapshots, training runs with what they report, and evaluations.

A snapshot goes queued -> building -> ready | failed and never changes afterwards, but for what a withdrawal erases. Its
files lie in DATA/snapshots/<id>/, a run's in DATA/runs/<id>/ (`webapp.runs.folders`): the folders that a cluster is
given and gives back.

A run:

    draft -> queued -> running -> done | failed
                       running -> stopping -> stopped
    stopped, failed -> queued    resumed from its last checkpoint
    running -> queued            its worker died; another one goes on from the last checkpoint

Numbers of snapshots, runs and evaluations are given once in a project, never reused.
"""

from __future__ import annotations

import uuid

from django.conf import settings as site
from django.db import models
from django.db.models import Q

STAGES = ("sft", "grpo")
MODEL_KINDS = ("run", "folder", "endpoint", "predictions")


class Numbers(models.Model):
    """The next number of each kind in a project: one that was deleted is not given again."""

    project = models.OneToOneField("library.Project", on_delete=models.CASCADE, primary_key=True, related_name="+")
    snapshot = models.PositiveIntegerField(default=1)
    run = models.PositiveIntegerField(default=1)
    evaluation = models.PositiveIntegerField(default=1)

    def __str__(self) -> str:
        return f"numbers of {self.project_id}"


class DatasetSnapshot(models.Model):
    """Exact revisions of items, split by source recording.

    `sources`: what was asked for, {"releases": [ids], "questions": bool}. `facts`: snapshot.json as built. `hash` is
    over the canonical rows; `withdrawn`: rows and clips of a video were erased since, so the hash is history.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        BUILDING = "building"
        READY = "ready"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="snapshots")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    error = models.TextField(blank=True, help_text="One sentence.")
    hash = models.CharField(max_length=64, blank=True)
    sources = models.JSONField(default=dict)
    validation_share = models.FloatField(default=0.1)
    seed = models.PositiveIntegerField(default=0)
    facts = models.JSONField(default=dict)
    withdrawn = models.BooleanField(default=False)
    job = models.ForeignKey("jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="snapshot_number_once")]
        indexes = [models.Index(fields=["project", "hash"], name="snapshot_by_hash")]  # a run folder that comes back
        ordering = ["number"]

    def __str__(self) -> str:
        return f"snapshot {self.number}"


class SnapshotItem(models.Model):
    """One row of a snapshot and where it is from. `row`: the line of rows.jsonl without its reasoning and clip.
    Where the video was withdrawn or deleted, only the hash and the word stay.
    """

    snapshot = models.ForeignKey(DatasetSnapshot, on_delete=models.CASCADE, related_name="items")
    item_hash = models.CharField(max_length=64)
    question = models.ForeignKey("bench.Question", on_delete=models.SET_NULL, null=True, related_name="snapshot_items")
    question_version = models.PositiveIntegerField(default=0)
    video = models.ForeignKey("library.Video", on_delete=models.SET_NULL, null=True, related_name="snapshot_items")
    release = models.ForeignKey("bench.Release", on_delete=models.SET_NULL, null=True, related_name="snapshot_items")
    split = models.CharField(max_length=10)
    row = models.JSONField(default=dict)
    withdrawn = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "item_hash"], name="snapshot_item_once")]

    def __str__(self) -> str:
        return f"{self.item_hash[:12]} in {self.snapshot_id}"


class TrainingRun(models.Model):
    """One training of one model on one snapshot.

    `base_model`: the name of a configured folder ("" where `parent` says that another run's final model is meant).
    `overrides`: what differs from the preset, "key" -> value; `config`: all of it as resolved. `preflight`: {"state":
    queued | done | failed, "for": digest of what was looked at, "errors": [], "warnings": [], ...}. `about`: run.json.
    `log`: the end of log.txt. `withdrawn`: it saw a video that was withdrawn since.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        QUEUED = "queued"
        RUNNING = "running"
        STOPPING = "stopping"
        STOPPED = "stopped"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="training_runs")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    stage = models.CharField(max_length=4, choices=[(s, s) for s in STAGES])
    snapshot = models.ForeignKey(DatasetSnapshot, on_delete=models.RESTRICT, related_name="runs")
    base_model = models.CharField(max_length=120, blank=True)
    parent = models.ForeignKey("self", on_delete=models.RESTRICT, null=True, blank=True, related_name="children")
    cloned_from = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="clones")
    preset = models.CharField(max_length=60)
    overrides = models.JSONField(default=dict)
    config = models.JSONField(default=dict)
    seed = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    error = models.TextField(blank=True, help_text="One sentence: why it failed, or what ended it.")
    preflight = models.JSONField(default=dict)
    step = models.PositiveIntegerField(default=0)
    max_steps = models.PositiveIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0, help_text="Times the training began or went on.")
    resumed_from = models.PositiveIntegerField(null=True, blank=True)
    about = models.JSONField(default=dict)
    log = models.TextField(blank=True)
    log_bytes = models.BigIntegerField(default=0, help_text="Length of log.txt where `log` ends.")
    imported = models.BooleanField(default=False, help_text="Its folder came back from elsewhere.")
    withdrawn = models.BooleanField(default=False)
    job = models.ForeignKey("jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    version = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="training_run_number_once")]
        indexes = [models.Index(fields=["project", "-created"], name="training_run_by_created")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"run {self.number}"


class Metric(models.Model):
    """What a run logged at a step: name -> number or null. `time`: unix seconds, as the training said."""

    run = models.ForeignKey(TrainingRun, on_delete=models.CASCADE, related_name="metrics")
    step = models.PositiveIntegerField()
    time = models.FloatField(default=0)
    values = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="metric_once")]

    def __str__(self) -> str:
        return f"step {self.step} of {self.run_id}"


class Rollout(models.Model):
    """The K answers to one prompt at one step. `completions`: [{"text", "tokens", "clipped", "advantage", "rewards"}].

    `row`: what rewards need of the item, so that each answer can be explained. `disagreement`: population standard
    deviation of the answers' weighted sums of rewards.
    """

    run = models.ForeignKey(TrainingRun, on_delete=models.CASCADE, related_name="rollouts")
    step = models.PositiveIntegerField()
    item_hash = models.CharField(max_length=64)
    category = models.CharField(max_length=40, blank=True)
    question = models.TextField(blank=True)
    options = models.JSONField(default=list)
    answer = models.TextField(blank=True)
    row = models.JSONField(default=dict)
    completions = models.JSONField(default=list)
    disagreement = models.FloatField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "step", "item_hash"], name="rollout_once")]
        indexes = [
            models.Index(fields=["run", "-step", "id"], name="rollout_by_step"),
            models.Index(fields=["run", "-disagreement", "id"], name="rollout_by_disagreement"),
            models.Index(fields=["run", "category", "-step", "id"], name="rollout_by_category"),
            models.Index(fields=["run", "category", "-disagreement", "id"], name="rollout_by_category_spread"),
            models.Index(fields=["item_hash"], name="rollout_by_item"),  # what a withdrawal erases
        ]

    def __str__(self) -> str:
        return f"rollout of {self.item_hash[:12]} at step {self.step}"


class Checkpoint(models.Model):
    """A complete checkpoint in the run's folder; `path` is below it. Step of the final model: the run's last."""

    run = models.ForeignKey(TrainingRun, on_delete=models.CASCADE, related_name="checkpoints")
    step = models.PositiveIntegerField()
    path = models.CharField(max_length=120)
    bytes = models.BigIntegerField(default=0)
    final = models.BooleanField(default=False)
    withdrawn = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "path"], name="checkpoint_once")]
        ordering = ["step", "final"]

    def __str__(self) -> str:
        return f"{self.path} of {self.run_id}"


class Evaluation(models.Model):
    """One model on one bench. `model`: a configured folder's name, an endpoint's model, or a file's name, by
    `model_kind`; of a run `run` and `checkpoint` (null: its final model). The bench is a `release`, or an external one
    by name in `bench`. `results`: as `ml.evaluation` gives them; longer files lie in DATA/evaluations/<id>/.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="evaluations")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    model_kind = models.CharField(max_length=12, choices=[(k, k) for k in MODEL_KINDS])
    model = models.CharField(max_length=200, blank=True)
    run = models.ForeignKey(TrainingRun, on_delete=models.SET_NULL, null=True, blank=True, related_name="evaluations")
    checkpoint = models.PositiveIntegerField(null=True, blank=True)
    release = models.ForeignKey(
        "bench.Release", on_delete=models.CASCADE, null=True, blank=True, related_name="evaluations"
    )
    bench = models.CharField(max_length=60, blank=True)
    control = models.CharField(max_length=30, blank=True)
    settings = models.JSONField(default=dict)
    results = models.JSONField(default=dict)
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    error = models.TextField(blank=True, help_text="One sentence.")
    withdrawn = models.BooleanField(default=False, help_text="An item or its model's data was withdrawn since.")
    job = models.ForeignKey("jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    version = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="evaluation_number_once"),
            models.CheckConstraint(
                condition=(Q(release__isnull=False) & Q(bench="")) | (Q(release=None) & ~Q(bench="")),
                name="evaluation_has_one_bench",
            ),
        ]
        indexes = [models.Index(fields=["release", "state"], name="evaluation_by_release")]  # the leaderboard
        ordering = ["number"]

    def __str__(self) -> str:
        return f"evaluation {self.number}"
