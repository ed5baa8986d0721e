"""Accepted questions with clips that are cut, ready to be released: the rows, and small files in the clips' place."""

from __future__ import annotations

import hashlib
import random
import uuid
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from tests.webapp.bench.scene import Scene, draft
from webapp.bench import services
from webapp.bench.models import Answer, Clip, Question

CLIP = (62, 175)  # of questions of the scene


def four(scene: Scene, number: int, **more: Any) -> Any:
    """Like `draft`, in GRASP's form: a fourth option, nobody, and a time of its own."""
    made = draft(scene, number)
    ann = scene.people[0].id
    made.options.append({"id": "four", "text": "No one", "value": None})
    made.proof["options"].append({"id": "four", "value": None})
    rng = random.Random(number)  # words that no other question has, or the linter would call them the same
    scenery = " ".join("".join(rng.choices("bdfgklmnprst", k=3)) + "a" for _ in range(10)) if number else ""
    made.text = f"At {{t:{100 + number % 25}}}, who follows the gaze of {{p:{ann}}}{scenery and f' by {scenery}'}?"
    for name, value in more.items():
        setattr(made, name, value)
    return made


def accept(
    scene: Scene, count: int = 4, *, proven: bool = True, raters: tuple[Any, ...] = (), **more: Any
) -> list[Question]:
    """Questions as they are once raters agreed, each with the scene's clip."""
    first = Question.objects.filter(project=scene.video.project).count()
    made = []
    clip = cut_clip(scene)
    for number in range(first, first + count):
        one = four(scene, number, **more)
        question = services.create_questions(video=scene.video, drafts=[one], user=None)[0]
        if not proven:
            Question.objects.filter(id=question.id).update(proof=None, signed_by=scene.user)
        Question.objects.filter(id=question.id).update(state="accepted", clip=clip, round=1)
        question.refresh_from_db()
        for rater in raters:
            Answer.objects.create(question=question, round=1, user=rater, chosen=question.key, seconds=5)
        made.append(question)
    return made


def cut_clip(scene: Scene) -> Clip:
    """The clip of the scene's questions: a row, and a file that stands for it."""
    known = Clip.objects.filter(video=scene.video).first()
    if known is not None:
        return known
    data = f"clip of {scene.video.id}".encode()
    recipe = hashlib.sha256(data + uuid.uuid4().bytes).hexdigest()
    default_storage.save(f"clips/{recipe}/clip.mp4", ContentFile(data))
    seconds = (CLIP[1] - CLIP[0]) / 25
    facts = {
        "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "frames": CLIP[1] - CLIP[0],
        "width": 1280, "height": 720, "duration_s": seconds,
    }  # fmt: skip
    person_map = {f"P{person.number}": str(person.id) for person in scene.people}
    return Clip.objects.create(
        video=scene.video, start=CLIP[0], end=CLIP[1], rendering="tags", recipe=recipe, ready=True, facts=facts,
        person_map=person_map,
    )  # fmt: skip
