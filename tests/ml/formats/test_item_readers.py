"""Readers of items, rows and training records: what they keep, and what they say of 200 damaged files each."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.formats import grasp_annotations, grasp_items, grasp_train, jsonstream
from ml.formats.errors import FormatError
from ml.formats.grasp_items import Item
from ml.questions.lint import recordings, tables
from ml.questions.lint.one import World
from ml.questions.lint.run import lint_file
from tests.ml.formats.damaged_files import damaged
from tests.ml.questions.lint.clean import items as clean_items

FILES = 200
LIMIT_S = 10

MADE = clean_items(12)
ITEMS = [made.tree for made in MADE]
ROWS = [{"id": at, "video": f"v{at}", "source": "tvqa", "category": "T1", "difficulty": "easy", "format": "mcq",
         "more": [1.5, None]} for at in range(12)]  # fmt: skip
RECORDS = [
    [
        {"type": "video", "path": f"tvqa/video/v{at}.mp4", "fps": 2, "start_seconds": 1.5, "end_seconds": 9.0,
         "src_resolution": [480, 640]},
        {"type": "text", "content": "Who?\nA) Person 1", "output": False},
        {"type": "text", "content": "A", "output": True},
        {"type": "meta", "difficulty": "easy", "gt_events": [{"source": "gaze", "persons": [1, 2]}],
         "question_text": "Who?"},
    ]
    for at in range(12)
]  # fmt: skip
EVENTS = [MADE[0].events_file(), MADE[6].gestures_file()]

READERS: dict[str, tuple[list[Any], Callable[[Path], Any]]] = {
    "items": (ITEMS, grasp_items.read),
    "rows": (ROWS, lambda path: list(grasp_annotations.stream(path))),
    "records": (RECORDS, lambda path: list(grasp_train.stream(path))),
    "linter": (ITEMS, lambda path: lint_file(path, World(scheme="data"))),
    "training split": (RECORDS, lambda path: list(recordings.train(path))),
    "tables": (EVENTS, lambda path: tables.read([path])),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_file_gets_a_sentence_with_file_and_place(reader: str, tmp_path: Path) -> None:
    values, read = READERS[reader]
    rng = random.Random(reader)
    refused = 0
    for number in range(FILES):
        ending, data = damaged(values, rng)
        path = tmp_path / f"file{number}{ending}"
        path.write_bytes(data)
        begin = time.monotonic()
        try:
            read(path)
        except FormatError as error:
            refused += 1
            sentence = str(error)
            assert path.name in sentence and sentence.endswith(".") and "\n" not in sentence, sentence
            assert len(sentence) < 1000
        assert time.monotonic() - begin < LIMIT_S
    assert refused > FILES / 4


# ------------------------------------------------------------------------------------------------- what they keep

words = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
numbers = st.floats(-1e6, 1e6)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
KNOWN = {*grasp_items._HEAD, *grasp_items._QA, "qa"}
extras = st.dictionaries(words.filter(lambda word: word not in KNOWN), plain, max_size=2)
item = st.builds(
    Item,
    question=words,
    options=st.lists(words, max_size=5),
    answer=st.none() | words,
    answer_text=st.none() | words,
    category=st.none() | words,
    format=st.none() | st.sampled_from(["mcq", "open_ended"]),
    reasoning=st.none() | words,
    source_event_ids=st.none() | st.lists(st.integers(0, 9999) | words, max_size=3),
    time_range=st.none() | st.tuples(numbers, numbers),
    clip_file=st.none() | words,
    clip_duration=st.none() | numbers,
    clip_offset=st.none() | numbers,
    extra=extras,
    qa_extra=extras,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(item, min_size=1, max_size=4), st.sampled_from([".json", ".jsonl"]))
def test_items_written_and_read_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, made: list[Item], ending: str
) -> None:
    path = tmp_path_factory.mktemp("items") / f"items{ending}"
    grasp_items.write(made, path)
    assert grasp_items.read(path) == made
    assert [grasp_items.build(one) for one in made] == [grasp_items.build(one) for one in grasp_items.read(path)]


@settings(deadline=None)
@given(item)
def test_a_flat_item_stays_flat(one: Item) -> None:
    one.flat, one.qa_extra = True, {}
    tree = json.loads(json.dumps(grasp_items.build(one)))
    assert "qa" not in tree and grasp_items.parse_item(tree) == one


def test_the_released_item_as_the_card_shows_it_is_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps(ITEMS, indent=2))
    assert [grasp_items.build(one) for one in grasp_items.stream(path)] == ITEMS


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_training_records_written_and_read_are_the_same(tmp_path: Path, name: str) -> None:
    for many in (RECORDS, RECORDS[:1]):
        made = [grasp_train.parse_record(tree) for tree in many]
        grasp_train.write(made, tmp_path / name)
        assert list(grasp_train.stream(tmp_path / name)) == made
        assert [grasp_train.build_record(one) for one in made] == many
    assert (made[0].target, made[0].question) == ("A", "Who?")


def test_annotation_rows_keep_unknown_columns() -> None:
    for tree in ROWS:
        assert grasp_annotations.build_row(grasp_annotations.parse_row(tree)) == tree
    with pytest.raises(FormatError, match="the field video is missing"):
        grasp_annotations.parse_row({"id": 1})


# ----------------------------------------------------------------------------------------------------- the stream


def test_a_folder_of_item_files_is_read_in_natural_order(tmp_path: Path) -> None:
    (tmp_path / "json").mkdir()
    (tmp_path / "video").mkdir()
    for at in (10, 2, 1):
        (tmp_path / "json" / f"v_qa{at}.json").write_text(json.dumps({"question": str(at)}))
    assert [one.question for one in grasp_items.read(tmp_path)] == ["1", "2", "10"]
    (tmp_path / "json" / "v_qa3.json").write_text('{"question": 7}')
    with pytest.raises(FormatError, match=r"^v_qa3\.json, item 0 \(line 1\): question: expected a string, found 7\.$"):
        grasp_items.read(tmp_path)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ('[{"question": "a"},\n {"question": 3}]', "f.json, item 1 (line 2): question: expected a string, found 3."),
        ('[{"question": "a"}', "f.json, line 1, column 19: the file ends inside the list; it was cut short."),
        ('[{"question": "a"} {"q": 1}]', "f.json, line 1, column 20: expected a comma or the end of the list."),
        ('{"question": "a"}\n{"question": 1}\n', "f.json, line 2: question: expected a string, found 1."),
        ('{"question": "a"}\n{"question": \n', "f.json, line 2, column 15: not valid JSON (Expecting value)."),
        ('{"question": "a\\u0000"}', "f.json, item 0 (line 1): question: the string holds a NUL character."),
        ('[{"question": "a"}] x', "f.json, line 1, column 21: something follows the end of the list."),
        ("", "f.json is empty."),
        ('{"qa": {"question": "a", "time_range": [1]}}',
         "f.json, item 0 (line 1): qa.time_range: expected 2 numbers, found [1]."),
    ],
)  # fmt: skip
def test_every_complaint_names_the_place(tmp_path: Path, data: str, sentence: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(data)
    with pytest.raises(FormatError) as error:
        grasp_items.read(path)
    assert str(error.value) == sentence


def test_values_may_be_cut_anywhere_by_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of one byte: numbers, escapes and characters of several bytes come apart."""
    monkeypatch.setattr(jsonstream, "CHUNK", 1)
    values = [{"question": "Wer schaut zu Ö — \U0001f440?\n", "n": 1.25, "e": "\\u00e9"}, 12, None, "x", [1, [2]]]
    for whole in (json.dumps(values, ensure_ascii=False, indent=1), json.dumps(values)):
        path = tmp_path / "a.json"
        path.write_text(whole, encoding="utf-8")
        assert [entry.tree for entry in jsonstream.entries(path)] == values
    path = tmp_path / "b.jsonl"
    path.write_text("\n\n".join(json.dumps(value, ensure_ascii=False) for value in values), encoding="utf-8-sig")
    assert [entry.tree for entry in jsonstream.entries(path)] == values


def test_a_large_file_is_read_lazily(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("w") as out:
        out.write("[" + ",\n".join(json.dumps({"question": "x" * 1000}) for _ in range(20_000)) + ",broken]")
    found = grasp_items.stream(path)
    assert next(found).question == "x" * 1000  # the fault at the end is not met yet
    with pytest.raises(FormatError, match="line 20000"):
        for _ in found:
            pass


def test_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "no", "There is no file"),
        (tmp_path, "holds no file"),
        (Path("/dev/null"), "neither"),
    ):
        with pytest.raises(FormatError, match=words):
            grasp_items.read(path)
