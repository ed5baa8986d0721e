"""A video is deleted or withdrawn: its questions go, releases keep the hashes and the word."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from tests.webapp.bench.scene import Scene, make_questions, make_scene, say
from webapp.bench.models import Answer, Clip, Question, Release, ReleaseItem
from webapp.library import services as library

pytestmark = pytest.mark.django_db
HISTORIES = ("QuestionEvent", "AnswerEvent", "AdjudicationEvent")


def released(project: Any, *questions: Question) -> Release:
    number = Release.objects.filter(project=project).count() + 1
    release = Release.objects.create(project=project, number=number, sha256="0" * 64)
    for position, question in enumerate(questions):
        ReleaseItem.objects.create(
            release=release, question=question, position=position, question_version=1,
            item={"question": question.shown, "answer": "B"}, sha256=f"{position:064x}",
        )  # fmt: skip
    default_storage.save(f"{release.folder}/items.json", ContentFile(b"[]"))
    return release


@pytest.fixture
def erased(people: Any, scene: Scene, django_capture_on_commit_callbacks: Any) -> Any:
    """A video with a released and an answered question is deleted; another video's question was released with it."""
    other = make_scene(people.one, people.alice, name="other.mp4")
    gone, answered = make_questions(scene, 2)
    kept = make_questions(other, 1)[0]
    say(answered, people.bob, "a")
    clip = Clip.objects.create(video=scene.video, start=0, end=9, rendering="clean", recipe="cd" * 32, ready=True)
    default_storage.save(f"{clip.folder}/clip.mp4", ContentFile(b"pictures"))
    both, alone = released(people.one, gone, kept), released(people.one, kept)
    with django_capture_on_commit_callbacks(execute=True):
        library.delete_video(video=scene.video)
    return both, alone, clip, kept


def test_the_item_is_its_hash_and_the_word(erased: Any) -> None:
    both, _, _, kept = erased
    first, second = both.items.order_by("position")
    assert (first.item, first.sha256, first.question) == ({"withdrawn": True}, f"{0:064x}", None)
    assert second.item["question"] == kept.shown and second.question == kept


def test_the_questions_are_gone_with_their_history(erased: Any) -> None:
    *_, kept = erased
    assert list(Question.objects.all()) == [kept]
    assert not Answer.objects.exists()
    for name in HISTORIES:
        rows = apps.get_model("bench", name).objects.all()
        assert not [row for row in rows if str(row.pgh_obj_id) != str(kept.id)], name


def test_files_that_hold_it_are_gone(erased: Any) -> None:
    both, alone, clip, _ = erased
    assert not default_storage.exists(f"{clip.folder}/clip.mp4")
    assert not default_storage.exists(f"{both.folder}/items.json")
    assert default_storage.exists(f"{alone.folder}/items.json")  # it never had the video
