"""The conversation of a row is evaluation's, and what trainers would silently get wrong is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ml import torchside
from ml.evaluation import prompts
from ml.evaluation.bench import Bench
from ml.evaluation.frames import Look, Shown
from ml.evaluation.models import Asking
from ml.training.messages import WrongMessages, completion, guarded, item_of, prompt
from tests.ml.training.samples import row


def test_each_picture_stands_after_its_time_and_the_question_last() -> None:
    system, user = prompt(row(), [0.25, 1.75])
    assert system["role"] == "system" and "the letter of the right option" in system["content"][0]["text"]
    *pictures, task = user["content"]
    assert pictures == [
        {"type": "text", "text": "<0.2 seconds>"}, {"type": "image"},
        {"type": "text", "text": "<1.8 seconds>"}, {"type": "image"},
    ]  # fmt: skip
    lines = task["text"].splitlines()
    assert lines[1:5] == ["Who does Person 1 look at?", "A) Person 3", "B) Person 2", "C) nobody"]
    assert lines[5] == prompts.REASON
    assert "B" not in [part.get("text") for part in user["content"]] and row().reasoning not in task["text"]


def test_training_and_evaluation_say_the_same(tmp_path: Path) -> None:
    if torchside.missing():
        pytest.skip("needs `make ml`")
    from ml.evaluation.local import LocalModel

    for one in (row(), replace(row(), kind="multiple", answer="A,C"), replace(row(), kind="yes_no")):
        item = item_of(one)
        model = LocalModel(tmp_path, Asking(Bench("b", "release", (item,)), Look()))
        pictures = [Shown(second, b"") for second in (0.5, 1.5, 2.5)]
        assert model.messages(item, pictures) == prompt(one, [0.5, 1.5, 2.5])


@pytest.mark.parametrize(
    ("kind", "answer", "words"),
    [
        ("multiple", "A,C", "the letters of all right options"),
        ("yes_no", "A", "the letter of the right option"),
        ("number", "3", "Give the number between"),
        ("open", None, "the answer in a few words"),
    ],
)
def test_each_kind_is_asked_in_its_form(kind: str, answer: str | None, words: str) -> None:
    options = row().options if kind in ("multiple", "yes_no") else ()
    one = replace(row(), kind=kind, answer=answer, options=options)
    assert words in prompt(one, [0.0])[0]["content"][0]["text"]


def test_the_completion_is_the_reasoning_and_nothing_without_it() -> None:
    assert completion(row()) == [{"role": "assistant", "content": [{"type": "text", "text": row().reasoning}]}]
    with pytest.raises(WrongMessages, match="has no reasoning to learn from"):
        completion(row(reasoning=""))


def _video(messages: Any) -> None:
    messages[1]["content"][1] = {"type": "video"}


def _video_with_file(messages: Any) -> None:
    messages[1]["content"][1] = {"type": "video", "video": "clip.mp4"}


def _video_beside_text(messages: Any) -> None:
    messages[1]["content"][0]["video"] = "clip.mp4"


def _picture_in_part(messages: Any) -> None:
    messages[1]["content"][1] = {"type": "image", "image": None}


def _one_too_many(messages: Any) -> None:
    messages[1]["content"].append({"type": "image"})


def _sound(messages: Any) -> None:
    messages[1]["content"].append({"type": "audio"})


def _bare_text(messages: Any) -> None:
    messages[1]["content"] = "Who?"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_video, "The user turn has a video part: training would leave the video out without a word"),
        (_video_with_file, "The user turn has a video part"),
        (_video_beside_text, "The user turn has a video part"),
        (_picture_in_part, "has a picture inside a part; pictures go into the column images"),
        (_one_too_many, "The messages have 2 placeholders for 1 pictures"),
        (_sound, "a part of the type 'audio'; there are text and image"),
        (_bare_text, "A message has a role and a list of parts"),
    ],
)
def test_what_trainers_would_get_wrong_is_refused(change: Callable[[Any], None], sentence: str) -> None:
    good = prompt(row(), [0.5])
    assert guarded(good, 1) is good
    messages = copy.deepcopy(good)
    change(messages)
    with pytest.raises(WrongMessages, match=sentence):
        guarded(messages, 1)
