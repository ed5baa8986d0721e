"""Responses of models: the own layout and those of others, streaming, round trip, and what is broken."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.formats import responses
from ml.formats.errors import FormatError
from ml.formats.responses import Response

OWN: dict[str, Any] = {
    "video": "talk.mp4",
    "clip_start": 2.5,
    "clip_end": 12.5,
    "rendering": "grasp",
    "person_map": {"1": 4, "2": "a3f0"},
    "question": "Who looks at Person 2?",
    "options": ["A) Person 1", "B) Person 3"],
    "answer": "A",
    "model": "tester-7b",
    "text": "<think>Person 1 looks at Person 2 at 3.0 s.</think><answer>A</answer>",
    "key": "B",
    "id": "r1",
    "seed": 7,
}
PIPELINE = {
    "sample_id": 3,
    "qid": "q-3",
    "question": "How does she feel?",
    "video_path": "videos/a.mp4",
    "ground_truth": "<answer>B</answer>",
    "full_output": "<context>A room.</context><think>She smiles.</think><answer>B</answer>",
    "context": "A room.",
    "thinking": "She smiles.",
    "answer": "B",
    "summary": "### Key Points",
    "sam3_objects": ["woman"],
    "sam3_results_summary": {"woman": {"num_objects": 1, "num_frames": 30, "object_ids": [0], "error": None}},
}
OMNI = {
    "problem": "Is he angry?",
    "options": [],
    "solution": "<context>x</context><think>y</think><answer>Yes</answer>",
    "problem_type": "judge",
    "data_type": "video",
    "video": "b.mp4",
    "qid": 12,
    "output": "<context>c</context>\n<think>He shouts.</think>\n<answer>Yes</answer>",
    "prediction": "Yes",
}
GRASP = {
    "clip_file": "c_001.mp4",
    "clip_duration": 8.0,
    "clip_offset": 30.0,
    "video_name": "long.mp4",
    "qa": {"question": "Who points?", "options": ["A) Person 1", "B) Person 2"], "answer": "B", "category": "7"},
    "response": "<think><gesture>Person 2 points at 1.0 s.</gesture></think><answer>B</answer>",
    "model": "m",
}


def saved(path: Path, *trees: Any, lines: bool = True) -> Path:
    text = "\n".join(json.dumps(tree) for tree in trees) if lines else json.dumps(list(trees))
    path.write_text(text, encoding="utf-8")
    return path


def test_the_own_layout_is_read_as_it_stands() -> None:
    made = responses.parse(OWN, "x.jsonl, line 4")
    assert made == Response(
        "talk.mp4", 2.5, 12.5, "grasp", {"1": 4, "2": "a3f0"}, "Who looks at Person 2?",
        ("A) Person 1", "B) Person 3"), "A", "tester-7b", OWN["text"], "B", "r1", {"seed": 7},
    )  # fmt: skip
    assert made.place == "x.jsonl, line 4"
    assert responses.build(made) == OWN


def test_what_may_be_missing() -> None:
    made = responses.parse({"video": "v", "question": "q", "model": "m", "text": "Hm.\n<answer> B, C </answer>"})
    assert (made.clip_start, made.clip_end, made.rendering, made.person_map, made.options) == (
        None,
        None,
        "clean",
        {},
        (),
    )
    assert (made.answer, made.key, made.id) == ("B, C", None, None)


def test_tags_may_be_written_as_they_are_printed() -> None:
    made = responses.parse({**OWN, "person_map": {"P2": 5, "Person 0": "x", "07": 1}})
    assert made.person_map == {"2": 5, "0": "x", "7": 1}


def test_the_layouts_of_others(tmp_path: Path) -> None:
    (pipeline,) = responses.read(saved(tmp_path / "full_pipeline_results.json", PIPELINE, lines=False))
    assert (pipeline.video, pipeline.text, pipeline.answer) == ("videos/a.mp4", PIPELINE["full_output"], "B")
    assert (pipeline.key, pipeline.id, pipeline.clip_start) == ("B", "3", None)
    assert pipeline.extra["summary"] == "### Key Points"
    assembled = responses.parse({**PIPELINE, "full_output": None})
    assert assembled.text == "<context>A room.</context>\n<think>She smiles.</think>\n<answer>B</answer>"

    wrapped = tmp_path / "eval.json"
    wrapped.write_text(json.dumps({"results": [OMNI, OMNI], "final_acc": [{"mean_acc": 1.0}]}))
    omni, again = responses.read(wrapped)
    assert omni == again
    assert (omni.video, omni.question, omni.answer, omni.key, omni.id) == ("b.mp4", "Is he angry?", "Yes", "Yes", "12")
    assert omni.text == OMNI["output"]
    by_path = {name: value for name, value in OMNI.items() if name != "video"} | {
        "path": {"image": "p.mp4", "audio": "p.wav"}
    }
    assert responses.parse(by_path).video == "p.mp4"

    grasp = responses.parse(GRASP)
    assert (grasp.video, grasp.clip_start, grasp.clip_end, grasp.rendering) == ("long.mp4", 30.0, 38.0, "grasp")
    assert (grasp.answer, grasp.key, grasp.model, grasp.options[1]) == ("B", "B", "m", "B) Person 2")


@pytest.mark.parametrize("tree", [OWN, PIPELINE, OMNI, GRASP], ids=["own", "pipeline", "omni", "grasp"])
def test_a_written_file_reads_as_the_same(tree: Any, tmp_path: Path) -> None:
    made = responses.parse(tree)
    if not made.model:
        made = responses.parse(tree | {"model": "named"})
    responses.write(tmp_path / "r.jsonl", [made, made])
    assert list(responses.read(tmp_path / "r.jsonl")) == [made, made]


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@given(words, words, st.lists(words, max_size=4), words.filter(str.strip), st.floats(0, 1e5), st.floats(0.1, 1e3))
def test_any_response_survives_a_round_trip(
    text: str, question: str, options: list[str], name: str, start: float, length: float
) -> None:
    tree = {**OWN, "text": text, "question": question, "options": options, "model": name, "video": name}
    tree |= {"clip_start": start, "clip_end": start + length}
    made = responses.parse(tree)
    assert responses.parse(json.loads(json.dumps(responses.build(made)))) == made


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"video": None}, "video: expected a string"),
        ({"video": " "}, "video: expected a name"),
        ({"question": 3}, "question: expected a string, found 3"),
        ({"options": "A"}, "options: expected a list"),
        ({"options": ["A", None]}, "options[1]: expected a string"),
        ({"options": ["x"] * 27}, "27 options are more than 26"),
        ({"text": None}, "text: expected a string"),
        ({"text": "a\0b"}, "text: the string holds a NUL character"),
        ({"text": "a\ud800"}, "text: the string holds half a character"),
        ({"text": "a" * 1_000_001}, "1,000,001 characters, more than 1,000,000"),
        ({"clip_end": None}, "the field clip_end is missing"),
        ({"clip_start": -1}, "clip_start: expected a number from 0"),
        ({"clip_start": True}, "clip_start: expected a number"),
        ({"clip_start": 12.5}, "the clip ends at 12.5 s, which is not after its start at 12.5 s"),
        ({"rendering": "boxes"}, "rendering: expected one of clean, tags, grasp"),
        ({"person_map": [1]}, "person_map: expected an object"),
        ({"person_map": {"Persons 1 and 2": 2}}, "a printed tag is a whole number"),
        ({"person_map": {"P1": 2, "1": 3}}, "tag 1 is there twice"),
        ({"person_map": {"1": 2.5}}, "person_map"),
        ({"model": ""}, "model: expected a name"),
        ({"key": 4}, "key: expected a string"),
    ],
)
def test_what_is_broken_is_said_with_its_place(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "r.jsonl", OWN, OWN | change)
    stream = responses.read(path)
    assert next(stream).id == "r1"  # the good one before it comes first
    with pytest.raises(FormatError, match=re.escape(says)) as error:
        next(stream)
    assert str(error.value).startswith("r.jsonl, line 2: ")


@pytest.mark.parametrize("tree", [None, 3, [], "x", {}, {"qa": 1}, {"thinking": "", "video_path": 1}, {"output": "x"}])
def test_what_is_no_response_at_all(tree: Any) -> None:
    with pytest.raises(FormatError, match=r"^here: .+"):
        responses.parse(tree, "here")


def test_a_large_file_is_streamed(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps({**OWN, "id": str(k)}) for k in range(2000)))
    with path.open("a") as file:
        file.write("\n{broken")
    stream = responses.read(path)
    assert [next(stream).id for _ in range(3)] == ["0", "1", "2"]
    with pytest.raises(FormatError, match=r"many.jsonl, line 2001"):
        list(stream)
