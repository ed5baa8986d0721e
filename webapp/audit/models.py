"""Audits of models' free reasoning: responses, their claims, what was found in the picture, and people's verdicts.

An audit is open (people rate, blind) or finished (everybody in the project reads it). A response goes waiting -> done |
failed; its package is made once and never changed: another summariser or grounder is another audit. Spans of text are
characters of the raw reply, spans of time half-open source frames. Raters take a response as a whole: a `Rating` is a
place, `HumanVerdict`s are its words. What people do to masks is theirs alone until the audit is finished.
"""

from __future__ import annotations

import uuid

import pghistory
from django.conf import settings as site
from django.db import models
from django.db.models import F, Q

from ml.questions.clip import RENDERINGS

MACHINE_VERDICTS = (
    "supported", "weak", "unsupported", "contradicted", "wrong_person", "wrong_time", "ambiguous", "not_groundable",
    "not_in_vocabulary", "error",
)  # fmt: skip


class Verdict(models.TextChoices):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    CANNOT_TELL = "cannot_tell"
    MASK_WRONG = "mask_wrong"


class Relevance(models.TextChoices):
    RELEVANT = "relevant"
    PARTLY = "partly"
    IRRELEVANT = "irrelevant"


class Audit(models.Model):
    """One set of responses, looked at with one summariser and one grounder.

    `source`: what it was made from ("file:<sha256>", "run:<sha256>", "bench:<settings hash>"), so that the same again
    is this audit. `settings`: of summariser, grounder and the production of responses. `report`: the facts of the
    stored report; its files lie in the storage folder `audits/<id>/`.
    """

    class State(models.TextChoices):
        OPEN = "open"
        FINISHED = "finished"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="audits")
    number = models.PositiveIntegerField(help_text="Given once, never reused.")
    name = models.CharField(max_length=120)
    source = models.CharField(max_length=80)
    summariser = models.CharField(max_length=30)
    grounder = models.CharField(max_length=30)
    settings = models.JSONField(default=dict)
    raters = models.PositiveSmallIntegerField(default=2)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    notes = models.JSONField(default=list, help_text="Sentences about what the import left out or mended.")
    report = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="audit_number_once"),
            models.UniqueConstraint(fields=["project", "source", "summariser", "grounder"], name="audit_once"),
        ]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"audit {self.number}"

    @property
    def folder(self) -> str:
        return f"audits/{self.id}"


class Response(models.Model):
    """What a model said of a clip. `person_map`: printed tag (its number, as text) -> person id.

    `digest` names the record it came from, so that importing it again makes no second one. `correct` and `key` are
    nobody's before the audit is finished. `repairs`: what was mended in the reply, in sentences. Masks lie in the
    storage folder `responses/<id>/`.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="responses")
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="responses")
    clip = models.ForeignKey("bench.Clip", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    question = models.ForeignKey("bench.Question", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    position = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    rendering = models.CharField(max_length=8, choices=[(r, r) for r in RENDERINGS], default="clean")
    person_map = models.JSONField(default=dict)
    asked = models.TextField(blank=True, help_text="The question as the model was asked it.")
    options = models.JSONField(default=list)
    answer = models.TextField(blank=True)
    letters = models.JSONField(default=list)
    key = models.JSONField(null=True, blank=True)
    correct = models.BooleanField(null=True)
    model = models.CharField(max_length=200)
    text = models.TextField()
    repairs = models.JSONField(default=list)
    provenance = models.JSONField(default=dict, help_text="File, line, prompt hash, frames shown, cost.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    error = models.TextField(blank=True, help_text="One sentence.")
    judged = models.BooleanField(default=False, help_text="All its raters completed it; kept by `rating`.")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "digest"], name="response_once"),
            models.UniqueConstraint(fields=["audit", "position"], name="response_position_once"),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="response_clip_not_empty"),
        ]
        indexes = [
            models.Index(fields=["audit", "state", "position"], name="response_by_state"),
            models.Index(fields=["audit", "position"], condition=Q(state="done", judged=False), name="response_free"),
            models.Index(fields=["audit", "position"], condition=Q(judged=True), name="response_judged"),
        ]
        ordering = ["position"]

    def __str__(self) -> str:
        return f"response {self.position}"

    @property
    def folder(self) -> str:
        return f"responses/{self.id}"


class Tally(models.Model):
    """How many responses of a model to a video an audit has, and their claims, as they were written (`tallies`)."""

    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="tallies")
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="+")
    model = models.CharField(max_length=200)
    responses = models.IntegerField(default=0)
    processed = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    claims = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "video", "model"], name="tally_once")]

    def __str__(self) -> str:
        return f"{self.responses} responses of {self.model!r} to {self.video_id}"


class Package(models.Model):
    """The minimal evidence package of a response as JSON (`ml.evidence.package`), whole or not there at all.

    `raw`: the summariser's own output, also where it could not be used; then `tree` is {} and the response failed.
    """

    response = models.OneToOneField(Response, on_delete=models.CASCADE, primary_key=True, related_name="package")
    tree = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    language = models.CharField(max_length=10, default="en")
    raw = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"package of {self.response_id}"


class Claim(models.Model):
    """One claim of a package, as a row: `body` is the claim as the package has it, with its name ("c1") in `name`.

    `window`: [start, end) of the claimed time in source frames, or null where it has none. `settled`: both the machine
    is through with it and its groundings are written. `disputed`: all raters are done, differ, and nobody decided.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="claims")
    name = models.CharField(max_length=10)
    position = models.PositiveIntegerField()
    type = models.CharField(max_length=12)
    load_bearing = models.BooleanField(default=False)
    groundable = models.BooleanField(default=True)
    body = models.JSONField()
    window = models.JSONField(null=True, blank=True)
    settled = models.BooleanField(default=False)
    disputed = models.BooleanField(default=False, help_text="Kept by `rating`.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "name"], name="claim_once")]
        indexes = [models.Index(fields=["response"], condition=Q(disputed=True), name="claim_disputed")]
        ordering = ["position"]

    def __str__(self) -> str:
        return f"{self.name} of {self.response_id}"


@pghistory.track()
class Reprompt(models.Model):
    """Somebody's other wording for a claim's phrase; what it finds stands beside the first."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="+")
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="reprompts")
    user = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    text = models.CharField(max_length=200)
    error = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.text!r} for {self.claim_id}"


class Grounding(models.Model):
    """What a grounder found of a claim in one call: its own queries, or those of a human's other wording.

    `queries`: [{"id", "text", "role", "person", "status", "sentence", "attributes_checked"}]. `looked`: the frames that
    were decoded. `masks`: name of the packed file in the response's folder ("" where there is none); `columns` the same
    as columns of JSON, for pages.
    """

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="groundings")
    reprompt = models.OneToOneField(Reprompt, on_delete=models.CASCADE, null=True, blank=True, related_name="grounding")
    queries = models.JSONField(default=list)
    looked = models.JSONField(default=list)
    inside = models.JSONField(default=list)
    masks = models.CharField(max_length=100, blank=True)
    columns = models.CharField(max_length=100, blank=True)
    seconds = models.JSONField(default=dict)
    notes = models.JSONField(default=list)
    provenance = models.JSONField(default=dict, help_text="Grounder, version, weights' sha256, thresholds, run.")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["claim"], condition=Q(reprompt=None), name="grounding_once"),
        ]

    def __str__(self) -> str:
        return f"grounding of {self.claim_id}"


class MachineVerdict(models.Model):
    """What the rules say of a claim, with the numbers and the rule that led to it."""

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="machine")
    reprompt = models.OneToOneField(Reprompt, on_delete=models.CASCADE, null=True, blank=True, related_name="machine")
    name = models.CharField(max_length=20, choices=[(v, v) for v in MACHINE_VERDICTS])
    rule = models.CharField(max_length=60)
    sentence = models.TextField(blank=True)
    numbers = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict, help_text="Thresholds, revision of the video's facts, annotation set.")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["claim"], condition=Q(reprompt=None), name="machine_verdict_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.claim_id}"


class Rating(models.Model):
    """Somebody's place at a response: theirs until `until`, for good once `completed`. A response has `raters` of them.

    Verdicts of a place that ran out stay; they count once the same person takes a place again and completes it.
    """

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="ratings")
    user = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    begun = models.DateTimeField(auto_now_add=True)
    until = models.DateTimeField()
    completed = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "user"], name="rating_once")]
        indexes = [
            models.Index(fields=["user", "response"], name="rating_by_user"),
            models.Index(fields=["until"], condition=Q(completed=None), name="rating_begun"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.response}"


@pghistory.track()
class HumanVerdict(models.Model):
    """A person's word on a claim. `blind_verdict` and `blind_relevance` are the last words before they asked for the
    machine's (`machine_seen`): agreement and the report count those; `verdict` is what they say now.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="+")
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="verdicts")
    user = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    verdict = models.CharField(max_length=12, choices=Verdict.choices)
    relevance = models.CharField(max_length=10, choices=Relevance.choices, blank=True)
    reason = models.TextField(blank=True)
    blind_verdict = models.CharField(max_length=12, choices=Verdict.choices)
    blind_relevance = models.CharField(max_length=10, choices=Relevance.choices, blank=True)
    machine_seen = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(default=0, help_text="As the page measured.")
    version = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["claim", "user"], name="human_verdict_once")]

    def __str__(self) -> str:
        return f"{self.verdict} of {self.claim_id}"


@pghistory.track()
class MaskEdit(models.Model):
    """What a person says of one object's mask on one frame: `draw` another shape, `delete` it, or `accept` it as right.

    `counts`: COCO run lengths within `size` [height, width]; "" unless drawn. `origin` says how a shape came to be:
    brush, polygon, or from neighbours by shape; `key` where nothing was drawn.
    """

    class Action(models.TextChoices):
        DRAW = "draw"
        DELETE = "delete"
        ACCEPT = "accept"

    class Origin(models.TextChoices):
        BRUSH = "brush"
        POLYGON = "polygon"
        KEY = "key"
        SHAPES = "shapes"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="+")
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="mask_edits")
    user = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    query = models.CharField(max_length=60)
    object = models.IntegerField()
    frame = models.PositiveIntegerField()
    action = models.CharField(max_length=6, choices=Action.choices)
    origin = models.CharField(max_length=8, choices=Origin.choices)
    size = models.JSONField(default=list)
    counts = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["claim", "user", "query", "object", "frame"], name="mask_edit_once"),
        ]

    def __str__(self) -> str:
        return f"{self.action} of {self.query} {self.object} on {self.frame}"


class MaskStep(models.Model):
    """One step of mask correction (a stroke, a propagation), for undo: the rows it touched as they were and are.

    `rows`: [[id, fields before or null, version after]].
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="steps")
    user = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=10)
    rows = models.JSONField(default=list)
    undone = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["claim", "user", "-created"], name="mask_step_last")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.claim_id}"


@pghistory.track()
class AuditAdjudication(models.Model):
    """The word of a third person on a claim whose raters disagree, with the reason. Never changed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="+")
    claim = models.OneToOneField(Claim, on_delete=models.CASCADE, related_name="adjudication")
    user = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    verdict = models.CharField(max_length=12, choices=Verdict.choices)
    relevance = models.CharField(max_length=10, choices=Relevance.choices, blank=True)
    reason = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.verdict} of {self.claim_id}"
