"""Clips of questions: which one a question needs, made once, cut by a job.

A clip belongs to the video, and every question that needs the same one has it. It is never changed: where its span,
the project's settings or who is where changes, the question gets another; what nothing needs any more is removed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from numpy.typing import NDArray

from ml.questions.clip import ClipClock, padded, recipe
from webapp.accounts.models import User
from webapp.bench.models import Bench, Clip, Question, ReleaseItem
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.models import Tracklet
from webapp.tracks.queries import roots_of

Seconds = NDArray[np.float64]
SPARED = timedelta(hours=1)


@dataclass(frozen=True)
class Appearances:
    """Who is where in a span: the run, [raw track, start, end, person id] of its tracklets, and person id -> number."""

    run: str
    tracklets: list[tuple[int, int, int, str]]
    numbers: dict[str, int]

    @property
    def tags(self) -> dict[str, str]:
        """Printed tag -> person id; tags are short, so that they hide little."""
        return {f"P{number}": person for person, number in sorted(self.numbers.items(), key=lambda pair: pair[1])}

    @property
    def sha256(self) -> str:
        told = json.dumps([self.run, self.tracklets], separators=(",", ":"))
        return hashlib.sha256(told.encode()).hexdigest()


def appearances(video: Video, start: int, end: int) -> Appearances:
    """Who is where in [start, end), by the accepted run. Raises Refused without one."""
    if video.run_id is None:
        raise Refused("Clips with tags or blurred faces need to know who is where: run perception first.", "video")
    roots = roots_of(video)
    rows = Tracklet.objects.filter(run_id=video.run_id, start__lt=end, end__gt=start).order_by("track", "start")
    found = [(row.track, row.start, row.end, roots[str(row.person_id)]) for row in rows]
    numbers = {str(p.id): p.number for p in video.persons.all()}
    return Appearances(str(video.run_id), found, {person: numbers[person] for *_, person in found})


def clip_span(*, question: Question, bench: Bench, seconds: Seconds) -> tuple[int, int]:
    """The question's span with the project's padding."""
    before_s, after_s, shots = bench.pad_before_s, bench.pad_after_s, question.video.shots
    return padded(seconds, shots, question.start, question.end, before_s=before_s, after_s=after_s)


@transaction.atomic
def ensure_clip(*, question: Question, bench: Bench, user: User | None = None, seconds: Seconds | None = None) -> Clip:
    """The clip the question needs now, as `question.clip`; cut by a job unless it is there. Raises Refused.

    `seconds` of the video's frames, where the caller has read them already.
    """
    video = Video.objects.select_for_update(no_key=True).get(id=question.video_id)  # of two callers one makes the clip
    if video.blob is None or not video.has_pixels:
        raise Refused("This video has no pictures here, so no clip of it can be cut.", "video")
    rendering, blur = bench.rendering, bench.blur_faces
    start, end = clip_span(question=question, bench=bench, seconds=frame_seconds(video) if seconds is None else seconds)
    who = appearances(video, start, end) if blur or rendering != "clean" else None
    person_map = who.tags if who and rendering != "clean" else {}
    name = recipe(
        owner=str(video.id),
        video=video.blob.sha256,
        start=start,
        end=end,
        rendering=rendering,
        blur=blur,
        person_map=person_map,
        boxes=who.sha256 if who else "",
    )
    facts = {"start": start, "end": end, "rendering": rendering, "blur_faces": blur, "person_map": person_map}
    clip, _ = Clip.objects.get_or_create(video=video, recipe=name, defaults=facts)
    _have_cut(clip, video, who, user)
    if question.clip_id != clip.id:
        Question.objects.filter(id=question.id).update(clip=clip)
        question.clip = clip
    return clip


def _have_cut(clip: Clip, video: Video, who: Appearances | None, user: User | None) -> None:
    """Queue the job that cuts a clip, unless it is done or under way."""
    if clip.ready or Job.objects.filter(video=video, kind="clip", state__in=jobs.LIVE, parameters__clip=str(clip.id)):
        return
    if clip.error:
        clip.error = ""
        clip.save(update_fields=["error"])
    parameters = {
        "clip": str(clip.id),
        "recipe": clip.recipe,
        "seen_by": who.run if who else None,
        "tracklets": who.tracklets if who else [],
    }
    jobs.create(project=video.project, kind="clip", queue="cpu", video=video, parameters=parameters, user=user)


def finish_clip(*, clip_id: UUID, facts: dict[str, object]) -> bool:
    """Note that a clip's files are there. False when the clip is gone. Call inside `atomic`, with the video locked."""
    return bool(Clip.objects.filter(id=clip_id).update(ready=True, error="", facts=facts))


def follow_clip(job: Job) -> None:
    """Say at the clip why it could not be cut (see `webapp.jobs.services.follow`)."""
    told = {Job.State.FAILED: job.error, Job.State.CANCELLED: "Cutting the clip was cancelled."}
    Clip.objects.filter(id=job.parameters.get("clip"), ready=False).update(error=told.get(Job.State(job.state), ""))


# --- after edits of who is where -----------------------------------------------------------------------------------


def recut(video: Video) -> int:
    """Have the clips of accepted questions cut again that show people otherwise than the video's rows do now, after a
    merge, say: a release would refuse them. How many questions get another clip. Workers only: reads frame times.
    """
    found = Question.objects.filter(video=video, state=Question.State.ACCEPTED, clip__isnull=False)
    outdated = [q for q in found.select_related("clip", "video__blob", "project") if _is_outdated(q.clip, q.video)]
    if not outdated:
        return 0
    bench, seconds = Bench.objects.get(project=video.project_id), frame_seconds(outdated[0].video)
    for question in outdated:
        ensure_clip(question=question, bench=bench, seconds=seconds)
    return len(outdated)


def _is_outdated(clip: Clip | None, video: Video) -> bool:
    """Whether the same span in the same rendering would be another clip now."""
    if clip is None or video.blob is None or video.run_id is None:
        return False
    if clip.rendering == "clean" and not clip.blur_faces:
        return False
    who = appearances(video, clip.start, clip.end)
    return clip.recipe != recipe(
        owner=str(video.id),
        video=video.blob.sha256,
        start=clip.start,
        end=clip.end,
        rendering=clip.rendering,
        blur=clip.blur_faces,
        person_map=who.tags if clip.rendering != "clean" else {},
        boxes=who.sha256,
    )


def sweep(video: Video) -> int:
    """Remove the video's clips that nothing needs any more, with their files; how many.

    Needed is what a question, anything else in the database or a released item names, what is being cut, and what was
    made within `SPARED`: somebody may be looking at it. Rows are marked first, so that a crash leaves none that
    promises files.
    """
    if Job.objects.filter(project=video.project_id, kind="release", state__in=jobs.LIVE).exists():
        return 0  # what it releases is about to be named by its items
    with transaction.atomic():
        Video.objects.select_for_update(no_key=True).get(id=video.id)
        unused = _unused(video)
        Clip.objects.filter(id__in=[clip.id for clip in unused]).update(ready=False)
    if not unused:
        return 0
    with transaction.atomic():
        Video.objects.select_for_update(no_key=True).get(id=video.id)
        gone = [clip for clip in _unused(video) if clip in unused]
        for clip in gone:
            storage.delete_tree(clip.folder)
        Clip.objects.filter(id__in=[clip.id for clip in gone]).delete()
    return len(gone)


def _unused(video: Video) -> list[Clip]:
    found = Clip.objects.filter(video=video, created__lt=timezone.now() - SPARED)
    for relation in Clip._meta.get_fields(include_hidden=True):  # questions, and whatever other apps tie to a clip
        if relation.auto_created and relation.one_to_many and relation.related_model is not None:
            field = relation.field.name  # type: ignore[union-attr]
            tied = relation.related_model._base_manager.filter(**{field: OuterRef("pk")})
            found = found.exclude(Exists(tied))
    of_video = ReleaseItem.objects.filter(item__provenance__video=str(video.id))
    kept = set(of_video.values_list("item__clip__recipe", flat=True))  # archives are written from these files
    live = Job.objects.filter(video=video, kind="clip", state__in=jobs.LIVE).values_list("parameters__clip", flat=True)
    cutting = set(live)
    return [clip for clip in found if clip.recipe not in kept and str(clip.id) not in cutting]


# --- reading ---------------------------------------------------------------------------------------------------------


def stored_clock(clip: Clip) -> ClipClock:
    """The clock of a clip that is cut: what is shown when."""
    with storage.local(f"{clip.folder}/frames.npz") as path:
        return ClipClock.load(path)
