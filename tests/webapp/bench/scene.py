"""A small scene with known facts, and questions about it whose proofs stand.

550 frames at 25 per second, cuts at 150 and 250, a run that looked twice a second. Ann (0), Ben (1) and Cid (2) are
seen throughout. Ann and Ben look at each other in [25, 75), Cid follows Ann's gaze in [100, 125), and all gaze is
covered in [0, 150).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import numpy as np
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from ml.progress import Cancelled
from tests.webapp.factories import edit, make_person, make_run, make_tracklet, make_video
from webapp.bench import answering, services
from webapp.bench.models import Answer, Lease, Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Blob, Project, Video
from webapp.tracks.models import Run

FPS = 25


def film(project: Project, *, name: str = "scene.mp4", frames: int = 550, **more: Any) -> Video:
    """A ready video with stored frame times."""
    blob = Blob.objects.create(sha256=uuid.uuid4().hex * 2, bytes=1, suffix=".mp4", ready=True)
    times = BytesIO()
    np.savez(times, pts=np.arange(frames + 1), time_base=np.array([1, FPS]), counts=np.zeros(3, np.int64))
    default_storage.save(f"{blob.folder}/frames.npz", ContentFile(times.getvalue()))
    return make_video(project, frames=frames, blob=blob, name=name, **more)


@dataclass
class Scene:
    """The scene's rows; `user` made them."""

    video: Video
    user: Any
    people: list[Any] = field(default_factory=list)
    mutual: uuid.UUID = field(default_factory=uuid.uuid4)
    following: uuid.UUID = field(default_factory=uuid.uuid4)
    coverage: uuid.UUID = field(default_factory=uuid.uuid4)

    @property
    def run(self) -> Run:
        """The accepted run."""
        return Run.objects.get(video=self.video, state="accepted")

    def edit(self, kind: str, object: Any, version: int | None = None, /, **fields: Any) -> Any:
        return edit(self.video, self.user, kind, object, version, **fields)


def make_scene(project: Project, user: Any, **more: Any) -> Scene:
    scene = Scene(film(project, **more), user)
    scene.people = [make_person(scene.video) for _ in range(3)]
    run = make_run(scene.video)
    for track, person in enumerate(scene.people):
        make_tracklet(run, person, track, 0, 550)
    ann, ben, cid = (str(person.id) for person in scene.people)
    events = (
        (scene.mutual, "mutual_gaze", 25, 75, [[ann, "member"], [ben, "member"]]),
        (scene.following, "gaze_following", 100, 125, [[ann, "leader"], [cid, "follower"]]),
    )
    for id, type, start, end, who in events:
        scene.edit("event.create", id, type=type, start=start, end=end, participants=who, status="confirmed")
    scene.edit("coverage.create", scene.coverage, persons=[], start=0, end=150, modality="gaze")
    scene.video.refresh_from_db()
    return scene


def draft(scene: Scene, number: int = 0, **more: Any) -> SimpleNamespace:
    """Who follows Ann's gaze? Cid; not Ben, not Ann. `number` makes it another question with the same proof."""
    ann, ben, cid = (str(person.id) for person in scene.people)
    ask = ["who", ["events", {"modality": "gaze", "type": "gaze_following", "during": [90, 130]}], "follower"]
    values = [("one", ben), ("two", cid), ("three", ann)]
    proof = {
        "v": 1,
        "set": "",
        "revision": scene.video.revision,
        "persons": [ann, ben, cid],
        "span": [100, 125],
        "ask": ask,
        "options": [{"id": id, "value": value} for id, value in values],
        "key": ["two"],
        "events": [str(scene.following)],
    }
    fields: dict[str, Any] = {
        "category": "gaze_following",
        "kind": "single",
        "text": f"Who follows the gaze of {{p:{ann}}} at {{t:100}}? (Wording {number})",
        "options": [{"id": id, "text": f"{{p:{value}}}", "value": value} for id, value in values],
        "key": ["two"],
        "proof": proof,
        "reasoning": f"{{p:{cid}}} follows {{p:{ann}}} from {{t:100}} to {{t:125}}.",
        "start": 100,
        "end": 125,
        "difficulty": "hard",
        "template": "following",
        "gt_events": [],
    }
    return SimpleNamespace(**(fields | more))


def make_questions(
    scene: Scene, count: int = 1, *, user: Any = None, opened: bool = True, **more: Any
) -> list[Question]:
    """Questions of the scene, handed to the raters; nobody counts as having seen their keys unless `user` is given."""
    first = Question.objects.filter(video=scene.video).count()
    drafts = [draft(scene, first + n, **more) for n in range(count)]
    made = services.create_questions(video=scene.video, drafts=drafts, user=user)
    assert len(made) == count
    if opened:
        done = services.open_questions(project=scene.video.project, user=scene.user, ids=[q.id for q in made])
        assert not done.refused, done.refused
        for question in made:
            question.refresh_from_db()
    return made


def lease(question: Question, user: Any) -> Lease:
    """Have exactly this question handed out to somebody."""
    found = answering._lease(question.id, user, 10)
    assert found is not None
    return found


def say(question: Question, user: Any, *chosen: Any, special: str = "", seconds: float | None = None) -> Answer:
    """Hand the question to somebody and have them answer."""
    from django.db import transaction

    with transaction.atomic():
        lease(question, user)
    return answering.answer(
        question_id=question.id, user=user, id=uuid.uuid4(), chosen=chosen, special=special, seconds=seconds
    )


class Pretended:
    """An attempt at a job without a heartbeat, whose thread would not see what a test's transaction holds."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def progress(self, stage: str, share: float) -> None:
        assert 0 <= share <= 1

    def say(self, line: str) -> None:
        jobs.log(job=self.job, line=line)

    def hold(self) -> None:
        if jobs.held(job=self.job).cancel_requested:
            raise Cancelled

    def finish(self, result: dict[str, Any], write: Callable[[], dict[str, Any] | None] = lambda: None) -> None:
        jobs.finish(job=self.job, result=result | (write() or {}))


def run_job(job: Job) -> Job:
    """Do a job of the bench here and now."""
    from workers.tasks import benching

    work = {"generate": benching.generate, "prove": benching.prove, "agreement": benching.agree}[job.kind]
    claimed = jobs.claim(job_id=job.id, worker="here")
    assert claimed is not None
    work(Pretended(claimed))  # type: ignore[arg-type]
    job.refresh_from_db()
    return job
