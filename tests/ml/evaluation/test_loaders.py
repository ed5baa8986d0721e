"""Benchmarks in every layout that is read, what they become, and what is said of broken ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ml.evaluation.bench import load
from ml.formats import hf_dataset
from ml.formats.errors import FormatError
from tests.ml.evaluation.samples import DAILY, GRASP, INTENT, MMSI, TVQA, WORLD, written


def test_grasp_items_from_a_list_lines_and_a_folder(tmp_path: Path) -> None:
    whole = load(written(tmp_path / "bench.json", [GRASP]))
    lines = tmp_path / "bench.jsonl"
    lines.write_text(json.dumps(GRASP) + "\n")
    folder = written(tmp_path / "items/json/one.json", GRASP).parents[1]
    assert whole.kind == "grasp" and whole.sha256() == load(lines).sha256() == load(folder).sha256()
    (item,) = whole.items
    assert (item.id, item.options[1], item.key) == ("g1", "Person 2", ("B",))
    assert (item.category, item.group, item.difficulty) == ("mutual_gaze", "gaze", "medium")  # T4 of the data scheme
    assert (item.source, item.recording, item.visible) == ("werewolf", "game1", frozenset({0, 1, 2}))
    assert item.events[0].persons == {0, 2} and item.events[0].span == (1.0, 3.0)
    assert whole.videos == tmp_path and load(folder).videos == folder


def test_a_code_of_several_schemes_needs_one(tmp_path: Path) -> None:
    tree = {k: v for k, v in GRASP.items() if k != "scheme"}
    path = written(tmp_path / "b.json", [tree])
    with pytest.raises(FormatError, match=r"b\.json, item 0 .*T4 depends on the numbering scheme"):
        load(path)
    assert load(path, scheme="figure").items[0].category == "gaze_following"  # the figure's T4


def test_open_ended_items_are_left_out_and_counted(tmp_path: Path) -> None:
    tree = copy.deepcopy(GRASP)
    tree["qa"] |= {"format": "open_ended", "options": [], "answer": "Person 0 looks."}
    found = load(written(tmp_path / "b.json", [GRASP, tree]))
    assert len(found.items) == 1 and sum(found.left_out.values()) == 1
    with pytest.raises(FormatError, match="no item that can be scored .1 open-ended"):
        load(written(tmp_path / "c.json", [tree]))


def release(folder: Path, **manifest: Any) -> Path:
    rows = []
    for number, (kind, answer) in enumerate(
        [("single", "B"), ("multiple", "A,C"), ("number", "3"), ("open", "Person 1 looks."), ("yes_no", "A")], 1
    ):
        row = dict.fromkeys(hf_dataset.COLUMNS)
        row |= {
            "id": f"r{number}", "number": number, "question": "Who?", "kind": kind, "category": "gaze_target",
            "options": [] if kind in ("number", "open") else ["yes", "no"] if kind == "yes_no" else ["P0", "P1", "P2"],
            "answer": answer, "answer_text": "", "difficulty": "easy", "video": f"video/c{number}.mp4",
            "source_recording": "rec", "gt_events": [{"source": "gaze", "persons": [1], "start": 0.0, "end": 1.0}],
            "persons": [],
        }  # fmt: skip
        rows.append(row)
    (folder / "data").mkdir(parents=True)
    (folder / "data/test-00000-of-00001.parquet").write_bytes(hf_dataset.write_rows(rows))
    written(folder / "json/c1.json", GRASP | {"id": "r1", "person_map": {"P1": "uuid"}})
    told = {
        "project": "demo",
        "number": 2,
        "sha256": "ab",
        "withdrawn": [{"number": 9, "sha256": "cd"}],
        "retired": [5],
    }
    written(folder / "release.json", told | manifest)
    return folder


def test_a_release_has_every_kind_and_leaves_out_what_is_retired(tmp_path: Path) -> None:
    found = load(release(tmp_path / "rel"))
    assert found.kind == "release" and found.name == "demo r2" and found.facts["withdrawn"] == 1
    assert [(item.id, item.kind, item.key) for item in found.items] == [
        ("r1", "letter", ("B",)), ("r2", "letters", ("A", "C")), ("r3", "number", ("3",)),
    ]  # fmt: skip
    assert sorted(found.left_out.values()) == [1, 1] and any("retired" in reason for reason in found.left_out)
    first = found.items[0]
    assert first.visible == {0, 1, 2} and first.person_map == ((1, "uuid"),) and first.group == "gaze"
    assert first.source == "test" and first.recording == "rec" and found.videos == tmp_path / "rel"


def test_a_release_without_tables_is_said(tmp_path: Path) -> None:
    written(tmp_path / "rel/release.json", {})
    with pytest.raises(FormatError, match="holds no table"):
        load(tmp_path / "rel")


def test_mmsi(tmp_path: Path) -> None:
    found = load(written(tmp_path / "pcr.json", {"data": [MMSI]}))
    (item,) = found.items
    assert found.kind == "mmsi" and not found.sound
    assert (item.id, item.category, item.key, item.recording, item.source) == ("7", "PCR", ("C",), "g3", "youtube")
    assert item.context == ("P0: Who is it?", "P1: I think he lies.", "P2: No.") and item.video == "videos/g3.mp4"


def test_online_mmsi_has_no_future(tmp_path: Path) -> None:
    path = written(tmp_path / "online_pcr.json", [MMSI])
    with pytest.raises(FormatError, match=r"context\[2\] comes after the utterance; an online item knows no future"):
        load(path)
    with pytest.raises(FormatError, match="no future"):
        load(written(tmp_path / "pcr.json", [MMSI]), kind="online-mmsi")
    past = MMSI | {"context": [f"P0: {n}" for n in range(14)] + ["P1: I think he lies."]}
    found = load(written(path, [past]))
    assert found.kind == "online-mmsi"
    assert len(found.items[0].context) == 10 and found.items[0].context[-1] == "P1: I think he lies."


def test_tvqa(tmp_path: Path) -> None:
    unknown = {k: v for k, v in TVQA.items() if k != "answer_idx"} | {"qid": 12}
    found = load(written(tmp_path / "val.json", [TVQA, unknown]))
    (item,) = found.items
    assert (item.id, item.key, len(item.options), item.recording, item.rate) == ("11", ("B",), 5, "s01e02", 3.0)
    assert found.kind == "tvqa+" and found.sound and list(found.left_out.values()) == [1]
    string = load(written(tmp_path / "val.json", [TVQA | {"ts": "3.1-7.0", "answer_idx": 4}]))
    assert string.items[0].key == ("E",)


def test_intentbench(tmp_path: Path) -> None:
    found = load(written(tmp_path / "ib.json", INTENT))
    assert [(item.id, item.kind, item.key, item.category) for item in found.items] == [
        ("i1", "letter", ("B",), "Why"), ("i2", "letters", ("A", "C"), "Emotion"), ("i3", "yes_no", ("no",), "When"),
    ]  # fmt: skip
    assert found.items[1].video == "a/v2.mp4" and found.items[0].recording == found.items[2].recording == "v1"
    assert found.left_out == {"problem type free-form: no key to compare with": 1} and found.sound


def test_daily_omni_and_worldsense(tmp_path: Path) -> None:
    daily = load(written(tmp_path / "qa.json", [DAILY]))
    assert daily.kind == "daily-omni" and daily.sound and daily.items[0].video == "x9/x9_video.mp4"
    assert (daily.items[0].key, daily.items[0].options[3], daily.items[0].source) == (("D",), "Music", "Pets")
    world = load(written(tmp_path / "worldsense_qa.json", WORLD))
    assert [(item.id, item.key, item.group) for item in world.items] == [
        ("vid1/task0", ("A",), "Recognition"), ("vid1/task1", ("B",), "Reasoning"), ("vid2/task0", ("B",), ""),
    ]  # fmt: skip
    assert world.items[1].recording == "vid1" and world.items[0].video == "vid1.mp4" and world.sound


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ([GRASP | {"qa": GRASP["qa"] | {"answer": "E"}}], "the answer is E, the options are A to D"),
        ([GRASP | {"qa": GRASP["qa"] | {"answer": None}}], "the answer is nothing"),
        ([GRASP | {"qa": GRASP["qa"] | {"category": "T9"}}], "'T9' is not a code of the data scheme"),
        ([GRASP, GRASP], "The id g1|id .*g1 is there twice"),
        ([MMSI | {"answer_idx": 3}], "answer_idx: expected a whole number from 0 to 2, found 3"),
        ([MMSI | {"answer": [], "answer_idx": None}], r"answer: \[\] is none of the choices"),
        ([MMSI | {"answer": "P0"}], 'answer_idx is the choice C, answer is "P0"'),
        ([MMSI | {"choices": ["P0"], "answer_idx": 0, "answer": "P0"}], "expected 2 to 26 options, found 1"),
        ([TVQA | {"ts": "later"}], "ts: expected start-end in seconds"),
        ([TVQA | {"a2": None}], "the field a2 is missing"),
        ([INTENT[2] | {"solution": "<answer>know</answer>"}], "solution: expected yes or no"),
        ([INTENT[0] | {"options": "A, B"}], "options: expected a list"),
        ([DAILY | {"Answer": "Thunder"}], "the answer is Thunder"),
        ({"v": {"task0": {"question": "q?", "candidates": ["A. a", "B. b"]}}}, "v, task0: the item: the field answer"),
        ([{"a": 1}], "is none of the benchmarks read here"),
    ],
)  # fmt: skip
def test_what_is_broken_is_said_in_one_sentence(tmp_path: Path, tree: Any, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence) as raised:
        load(written(tmp_path / "bench.json", tree))
    assert "\n" not in str(raised.value)


def test_there_is_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="There is no file or folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="There is no folder .* of videos"):
        load(written(tmp_path / "b.json", [GRASP]), videos=tmp_path / "nowhere")


def test_ids_that_repeat_are_told_apart_by_video(tmp_path: Path) -> None:
    other = DAILY | {"id": 1, "video_id": "y1"}
    found = load(written(tmp_path / "qa.json", [DAILY | {"id": 1}, other]))
    assert [item.id for item in found.items] == ["x9/x9_video.mp4/1", "y1/y1_video.mp4/1"]


def test_the_hash_knows_keys_and_no_order(tmp_path: Path) -> None:
    first, second = GRASP, GRASP | {"id": "g2"}
    hash = load(written(tmp_path / "a.json", [first, second])).sha256()
    assert load(written(tmp_path / "b.json", [second, first])).sha256() == hash
    changed = GRASP | {"id": "g2", "qa": GRASP["qa"] | {"answer": "A"}}
    assert load(written(tmp_path / "c.json", [first, changed])).sha256() != hash
