"""Items of a GRASP-layout file become questions of a project."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.questions.slots import frames_in, persons_in
from tests.webapp.bench.scene import Scene, film, make_scene
from webapp.bench.models import Question
from webapp.exchange.grasp_items import Imported, import_file

pytestmark = pytest.mark.django_db

ITEM: dict[str, Any] = {
    "clip_file": "scene_qa0001.mp4",
    "clip_duration": 5.5,
    "clip_offset": 2.0,
    "video_name": "scene",
    "qa": {
        "question": "With whom does Person 0 make eye contact {really} from 0.0 s to 1.0 s?",
        "options": ["A) Person 1", "B) Person 2", "C) No one", "D) Everybody"],
        "answer": "A",
        "answer_text": "Person 1",
        "category": "T1",
        "difficulty": "easy",
        "format": "mcq",
        "reasoning": "Person 0 and Person 1 look at each other from 0.0 s on.",
        "source_event_ids": [4000],
        "time_range": [2.0, 3.0],
        "video_id": "scene",
        "dataset": "werewolf",
    },
}


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def scene(people: SimpleNamespace) -> Scene:
    return make_scene(people.one, people.alice)


def changed(**changes: Any) -> dict[str, Any]:
    item = copy.deepcopy(ITEM)
    for name, value in changes.items():
        (item if name in item else item["qa"])[name] = value
    return item


def bring(tmp_path: Path, scene: Scene, *items: Any, scheme: Any = "data", user: Any = None) -> Imported:
    path = tmp_path / "items.json"
    path.write_text(json.dumps(items))
    return import_file(path=path, project=scene.video.project, user=user, scheme=scheme)


def test_an_item_becomes_a_draft_without_a_proof(tmp_path: Path, scene: Scene) -> None:
    (question,) = bring(tmp_path, scene, ITEM).questions
    question.refresh_from_db()
    ann, ben, cid = (str(person.id) for person in scene.people)
    assert (question.state, question.origin, question.proof, question.signed_by) == ("draft", "imported", None, None)
    assert (question.category, question.kind, question.start, question.end) == ("gaze_target", "single", 50, 75)
    assert persons_in(question.text) == [ann] and frames_in(question.text) == [50, 75]
    assert question.shown == "With whom does Person 0 make eye contact {really} from 2.0 s to 3.0 s?"
    assert [persons_in(option["text"]) for option in question.options] == [[ben], [cid], [], []]
    assert question.key == [question.options[0]["id"]]
    assert persons_in(question.reasoning) == [ann, ben]
    told = {name: question.provenance[name] for name in ("file", "item", "code", "source_event_ids", "dataset")}
    assert told == {"file": "items.json", "item": 0, "code": "T1", "source_event_ids": [4000], "dataset": "werewolf"}


def test_a_trace_with_source_times_is_read_on_that_clock(tmp_path: Path, scene: Scene) -> None:
    item = changed(clip_offset=8.0, time_range=[8.0, 9.0], reasoning="They look at each other from 8.0 s to 9.0 s.",
                   clip_duration=5.5)  # fmt: skip
    (question,) = bring(tmp_path, scene, item).questions
    assert frames_in(question.text) == [200, 225]
    assert frames_in(question.reasoning) == [200, 225]


def test_an_item_of_a_clip_that_is_a_video_here_keeps_the_clip_s_clock(tmp_path: Path, scene: Scene) -> None:
    clip = film(scene.video.project, name="scene_qa0001.mp4", frames=140)
    (question,) = bring(tmp_path, scene, changed(time_range=[0.0, 1.0])).questions
    assert question.video_id == clip.id
    assert (question.start, question.end) == (0, 25)
    assert "Person 0" in question.text  # nobody is known there yet, so mentions stay text


def test_an_open_item(tmp_path: Path, scene: Scene) -> None:
    item = changed(format="open_ended", options=[], category="T6", answer="Person 0 and Person 1 look at each other.")
    item["qa"]["answer_text"] = None
    (question,) = bring(tmp_path, scene, item).questions
    assert (question.kind, question.options) == ("open", [])
    assert persons_in(question.key[0]) == [str(person.id) for person in scene.people[:2]]


def test_the_same_file_again_adds_nothing(tmp_path: Path, scene: Scene) -> None:
    assert len(bring(tmp_path, scene, ITEM).questions) == 1
    again = bring(tmp_path, scene, ITEM)
    assert (again.questions, again.here, again.left_out, again.items) == ([], [0], [], 1)


def test_whoever_brings_items_in_has_seen_their_keys(tmp_path: Path, scene: Scene, people: SimpleNamespace) -> None:
    (question,) = bring(tmp_path, scene, ITEM, user=people.cora).questions
    assert question.created_by == people.cora  # who made a question is never asked


@pytest.mark.parametrize("scheme", [None, "data", "figure"])
def test_an_ambiguous_code_is_asked_about(tmp_path: Path, scene: Scene, scheme: str | None) -> None:
    item = changed(category="T3")
    if scheme is None:
        with pytest.raises(FormatError, match=r"T3 may be temporal_gaze \(data\).*--scheme"):
            bring(tmp_path, scene, item, scheme=None)
        return
    (question,) = bring(tmp_path, scene, item, scheme=scheme).questions
    assert question.category == {"data": "temporal_gaze", "figure": "mutual_gaze"}[scheme]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answer": "E"}, "qa.answer: 'E' is not the letter"),
        ({"options": ["A) Person 1", "B) Person 1"]}, "Two options have the same text"),
        ({"options": []}, "qa.answer: 'A' is not the letter of one of the 0 options"),
        ({"question": "  "}, "qa.question: expected between 1 and"),
        ({"question": "Who looks at Person 7?"}, "Person 7 named, but the video 'scene.mp4' has nobody of that number"),
        ({"question": "Who looks at 900.0 s?"}, "the time 902 s lies outside the video"),
        ({"time_range": [3.0, 2.0]}, "back to"),
        ({"time_range": [90.0, 91.0]}, "does not lie in the clip"),
        ({"category": "T9"}, "'T9' is not a code of the data scheme"),
        ({"video_name": "other", "video_id": "other", "clip_file": "other_qa1.mp4"}, "no video named 'other'"),
        ({"video_name": None, "video_id": None, "clip_file": None}, "names no video"),
        ({"answer": 7}, "expected a string"),
        ({"format": "open_ended"}, "an open-ended item has none"),
    ],
)  # fmt: skip
def test_one_fault_and_nothing_is_written(tmp_path: Path, scene: Scene, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError) as error:
        bring(tmp_path, scene, ITEM, changed(**changes))
    assert words in str(error.value)
    if "category" not in changes:
        assert "items.json, item 1 (line 1)" in str(error.value)
    assert not Question.objects.exists()


def test_two_videos_of_one_name_are_not_guessed_between(tmp_path: Path, scene: Scene) -> None:
    film(scene.video.project, name="Scene.mkv")
    with pytest.raises(FormatError, match="2 videos that 'scene' may mean"):
        bring(tmp_path, scene, ITEM)


def test_a_video_of_another_project_is_none(tmp_path: Path, scene: Scene, people: SimpleNamespace) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps([ITEM]))
    with pytest.raises(FormatError, match="no video named"):
        import_file(path=path, project=people.two, user=None, scheme="data")
