"""Questions with their proofs, blind answers, adjudication, clips and releases.

A question goes draft -> answering -> accepted, or disputed -> accepted | answering (edited: another round) | rejected;
what would be accepted beyond a quota waits in the reserve.
Answers are blind: who saw a key (`KeySeen`) is never asked for an answer to it. Text holds slots
(`ml.questions.slots`), spans are half-open source frames. Released items can be retired, never edited.
"""

from __future__ import annotations

import uuid

import pghistory
import pgtrigger
from django.conf import settings
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper

from ml.questions.clip import RENDERINGS
from ml.questions.taxonomy import CATEGORIES

KINDS = ("single", "multiple", "yes_no", "number", "open")


class Bench(models.Model):
    """How a project makes its benchmark. `quotas`: [{"category", "source", "difficulty", "letter", "most"}].

    `agreement` is what the last agreement job found, `agreement_at` the number of answers it was made from.
    """

    project = models.OneToOneField("library.Project", on_delete=models.CASCADE, primary_key=True, related_name="bench")
    raters = models.PositiveSmallIntegerField(default=2)
    rendering = models.CharField(max_length=8, choices=[(r, r) for r in RENDERINGS], default="tags")
    blur_faces = models.BooleanField(default=False)
    pad_before_s = models.FloatField(default=1.5)
    pad_after_s = models.FloatField(default=2.0)
    quotas = models.JSONField(default=list)
    next_number = models.PositiveIntegerField(default=1, help_text="Questions are numbered once, never reused.")
    agreement = models.JSONField(default=dict)
    agreement_at = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"bench of {self.project_id}"


class Clip(models.Model):
    """A piece of a video, cut once: `recipe` is the sha256 of everything that decides its bytes.

    Its files lie in the storage folder `clips/<recipe>/`: `clip.mp4`, `frames.npz` (clip frame -> source frame).
    `person_map`: printed tag -> person id, for renderings that print tags.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="clips")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    rendering = models.CharField(max_length=8, choices=[(r, r) for r in RENDERINGS])
    blur_faces = models.BooleanField(default=False)
    person_map = models.JSONField(default=dict)
    recipe = models.CharField(max_length=64)
    ready = models.BooleanField(default=False)
    error = models.TextField(blank=True)
    facts = models.JSONField(default=dict, help_text="bytes, sha256, width, height, frames, duration_s of the file")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="clip_not_empty"),
            models.UniqueConstraint(fields=["video", "recipe"], name="clip_once"),
        ]

    def __str__(self) -> str:
        return f"{self.rendering} [{self.start}, {self.end})"

    @property
    def folder(self) -> str:
        return f"clips/{self.recipe}"


UNTOLD = (
    "stale",
    "stale_why",
    "stood",
    "shown",
    "changed",
)  # what proofs and clocks work out again is no history


OVER = ("rejected", "retired")
DOUBTED = Q(proof__isnull=False, stood__lt=F("video__doubted")) & ~Q(state__in=OVER)  # as `Question.doubted` says


class Questions(models.QuerySet["Question"]):
    def standing(self) -> Questions:
        """Neither stale nor in doubt."""
        return self.filter(stale=False).exclude(DOUBTED)

    def in_doubt(self) -> Questions:
        """Whose proofs stood, and have to be run again."""
        return self.filter(DOUBTED, stale=False, video__doubted__gt=0)


COUNTED = ("project_id", "state", "category", "difficulty", "letter")


def _count(*changes: str) -> str:
    """Trigger code that adds lines to the count; each change is (how many, where from)."""
    columns = ", ".join(COUNTED)
    lines = [f"INSERT INTO bench_questioncount ({columns}, n) {change};" for change in changes]
    return "\n".join([*lines, "RETURN NULL;"])


def _all_of(rows: str, n: str) -> str:
    return f"SELECT {', '.join(COUNTED)}, {n} FROM {rows} GROUP BY {', '.join(COUNTED)}"


def _one(row: str, n: int) -> str:
    return f"VALUES ({', '.join(f'{row}.{column}' for column in COUNTED)}, {n})"


COUNTING = [
    pgtrigger.Trigger(
        name="count_insert", level=pgtrigger.Statement, when=pgtrigger.After, operation=pgtrigger.Insert,
        referencing=pgtrigger.Referencing(new="added"), func=_count(_all_of("added", "count(*)")),
    ),
    pgtrigger.Trigger(
        name="count_delete", level=pgtrigger.Statement, when=pgtrigger.After, operation=pgtrigger.Delete,
        referencing=pgtrigger.Referencing(old="gone"), func=_count(_all_of("gone", "-count(*)")),
    ),
    pgtrigger.Trigger(
        name="count_update", when=pgtrigger.After, operation=pgtrigger.Update,
        condition=pgtrigger.AnyChange(*COUNTED), func=_count(_one("OLD", -1), _one("NEW", 1)),
    ),
]  # fmt: skip


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(condition=pghistory.AnyChange(exclude=list(UNTOLD))),
    pghistory.DeleteEvent(),
)
class Question(models.Model):
    """`options`: [{"id", "text", "value"}]; `key`: option ids (or [number], or [text] of an open item).

    `proof` is null where the key cannot be derived; then `signed_by` says whose word it is, and the item is free-form.
    `stale`: the proof did not stand when it was last run. It is in doubt where events, people or coverage were edited
    since: an edit marks the video, not its questions (`Video.doubted`), and `is_stale` and `standing()` look there.
    `stale_why` names what changed since it last stood, which was at the video's revision `stood`. `letter` is the
    key's place among the options as stored, A to Z ("" unless it is one option). `shown` is the text as lists print
    and search it, times in video seconds.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        ANSWERING = "answering"
        DISPUTED = "disputed"
        ACCEPTED = "accepted"
        RESERVE = "reserve"
        REJECTED = "rejected"
        RETIRED = "retired"

    class Origin(models.TextChoices):
        TEMPLATE = "template"
        MODEL = "model"
        HUMAN = "human"
        IMPORTED = "imported"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="questions")
    video = models.ForeignKey("library.Video", on_delete=models.CASCADE, related_name="questions")
    clip = models.ForeignKey(Clip, on_delete=models.SET_NULL, null=True, blank=True, related_name="questions")
    number = models.PositiveIntegerField()
    category = models.CharField(max_length=30, choices=[(slug, one.words) for slug, one in CATEGORIES.items()])
    difficulty = models.CharField(max_length=6)
    kind = models.CharField(max_length=8, choices=[(k, k) for k in KINDS], default="single")
    text = models.TextField()
    options = models.JSONField(default=list)
    key = models.JSONField(default=list)
    letter = models.CharField(max_length=1, blank=True)
    proof = models.JSONField(null=True, blank=True)
    reasoning = models.TextField(blank=True, help_text="The trace, with slots.")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    origin = models.CharField(max_length=8, choices=Origin.choices, default=Origin.TEMPLATE)
    template = models.CharField(max_length=60, blank=True)
    provenance = models.JSONField(default=dict, help_text="Model, prompt hash, rounds, file and position.")
    signed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    round = models.PositiveSmallIntegerField(default=1)
    stale = models.BooleanField(default=False)
    stale_why = models.TextField(blank=True)
    stood = models.BigIntegerField(default=0)
    shown = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    changed = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    objects = Questions.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="question_number_once"),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="question_span_not_empty"),
        ]
        indexes = [
            models.Index(fields=["project", "state", "number"], name="question_by_state"),  # the list
            models.Index(fields=["project", "category", "number"], name="question_by_category"),
            models.Index(fields=["video"], name="question_by_video"),  # proofs to run again after an edit
            models.Index(  # the queue: it passes by what somebody answered already, without a look at the rows
                fields=["project", "number"],
                include=["id", "created_by"],
                name="question_queue",
                condition=Q(state="answering", stale=False),
            ),
            models.Index(fields=["project", "number"], name="question_stale", condition=Q(stale=True)),  # how many
            GinIndex(OpClass(Upper("shown"), name="gin_trgm_ops"), name="question_words"),  # the list's search
        ]
        triggers = COUNTING

    def __str__(self) -> str:
        return f"Question {self.number}"

    @property
    def doubted(self) -> bool:
        """What its proof rests on was edited since it last stood, and it was not run again. Looks at the video."""
        return self.proof is not None and self.state not in OVER and self.stood < self.video.doubted

    @property
    def is_stale(self) -> bool:
        """Its proof does not stand, or is in doubt."""
        return self.stale or self.doubted


class QuestionCount(models.Model):
    """How many questions there are of a kind: the sum of `n` over its rows, which triggers on the questions write.

    A change adds rows and touches none, so that nobody waits for another's edit; `services.fold_counts` sums them up
    now and then. The project is no foreign key: its rows are written while it is being deleted.
    """

    project_id = models.UUIDField()
    state = models.CharField(max_length=10)
    category = models.CharField(max_length=30)
    difficulty = models.CharField(max_length=6)
    letter = models.CharField(max_length=1, blank=True)
    n = models.IntegerField()

    class Meta:
        indexes = [models.Index(fields=["project_id"], name="question_count")]

    def __str__(self) -> str:
        return f"{self.n:+d} {self.state} {self.category}"


class Lease(models.Model):
    """Somebody was handed a question to answer; the place is free again after `until`. Gone once they answered."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="leases")
    round = models.PositiveSmallIntegerField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    order = models.JSONField(default=list, help_text="Option ids as this person sees them.")
    begun = models.DateTimeField(auto_now_add=True)
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "round", "user"], name="lease_once")]

    def __str__(self) -> str:
        return f"{self.question} leased to {self.user}"


@pghistory.track()
class Answer(models.Model):
    """A blind answer. `chosen`: option ids, or [number], or [text]; `special` instead of it. Never changed."""

    class Special(models.TextChoices):
        CANNOT_TELL = "cannot_tell"
        TWO_RIGHT = "two_right"
        BAD_CLIP = "bad_clip"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="answers")
    round = models.PositiveSmallIntegerField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    chosen = models.JSONField(default=list)
    special = models.CharField(max_length=12, choices=Special.choices, blank=True)
    order = models.JSONField(default=list)
    seconds = models.FloatField(help_text="From the moment the question was shown.")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "round", "user"], name="answer_once")]
        indexes = [models.Index(fields=["user", "question"], name="answer_by_user")]  # what somebody is not asked again

    def __str__(self) -> str:
        return f"answer of {self.user} to {self.question}"


@pghistory.track()
class Adjudication(models.Model):
    """The word of a third person on a disputed question, with the reason."""

    class Verdict(models.TextChoices):
        ACCEPT = "accept"
        EDIT = "edit"
        REJECT = "reject"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="adjudications")
    round = models.PositiveSmallIntegerField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    verdict = models.CharField(max_length=6, choices=Verdict.choices)
    reason = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "round"], name="adjudication_once")]

    def __str__(self) -> str:
        return f"{self.verdict} of {self.question}"


class KeySeen(models.Model):
    """This person saw the key (opened, edited or adjudicated the question), so they never answer it blind.

    Who made a question saw it too; `created_by` says that.
    """

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="seen")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "user"], name="key_seen_once")]

    def __str__(self) -> str:
        return f"{self.user} saw the key of {self.question}"


class Release(models.Model):
    """Frozen and numbered. `sha256` is over the items; its files lie in the storage folder `releases/<id>/`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("library.Project", on_delete=models.CASCADE, related_name="releases")
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    notes = models.TextField(blank=True)
    facts = models.JSONField(default=dict, help_text="Counts, agreement, lint and changes since the release before.")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="release_number_once")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"release {self.number}"

    @property
    def folder(self) -> str:
        return f"releases/{self.id}"


class ReleaseItem(models.Model):
    """One question as it was released; `item` never changes, a retirement is said beside it.

    Where the video was withdrawn or deleted, only the hash and the word stay: `item` is {"withdrawn": true}.
    """

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="items")
    question = models.ForeignKey(Question, on_delete=models.SET_NULL, null=True, related_name="releases")
    position = models.PositiveIntegerField()
    question_version = models.PositiveIntegerField()
    split = models.CharField(max_length=8, default="test")
    item = models.JSONField()
    sha256 = models.CharField(max_length=64)
    retired = models.DateTimeField(null=True, blank=True)
    retired_why = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "position"], name="release_position_once"),
            models.UniqueConstraint(fields=["release", "question"], name="release_question_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.position} of {self.release}"
