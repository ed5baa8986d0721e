"""Rows of a snapshot: what is written reads back, what is wrong is said with its place, stages take what they use."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.rewards.grounding import sgr_strict
from ml.training.rows import Clip, Event, build_row, of_stage, parse_row, read, reward_row
from tests.ml.training.samples import made, row

ROW = replace(row(), split="train")


def test_a_row_reads_back_as_it_was() -> None:
    rows = [
        ROW,
        replace(ROW, visible=None, events=(Event("gesture", (3,)),), difficulty=""),
        replace(ROW, kind="open", options=(), answer=None, answer_text="à cause d’elle", split="validation"),
        replace(ROW, kind="multiple", answer="A,C"),
        replace(ROW, kind="number", options=(), answer="3"),
        replace(ROW, clip=Clip("a" * 64, 2.0, 0.0, 1.5, 3.5)),
    ]
    for one in rows:
        assert parse_row(json.loads(json.dumps(build_row(one)))) == one


def test_stages_take_what_they_can_use() -> None:
    open_ended = replace(ROW, kind="open", options=(), answer=None)
    number = replace(ROW, kind="number", options=(), answer="3", reasoning="")
    untold = replace(ROW, reasoning="")
    rows = [ROW, open_ended, number, untold, replace(untold, kind="multiple", answer="A,C")]
    assert of_stage(rows, "sft") == [ROW, open_ended]
    assert of_stage(rows, "grpo") == [ROW, rows[3], rows[4]]
    with pytest.raises(ValueError, match="no stage 'dpo'"):
        of_stage(rows, "dpo")


def test_rewards_get_what_the_row_knows() -> None:
    said = "<think>\n<gaze>Person 2 is looked at from 0.5 s to 1.5 s.</gaze>\n</think><answer>B</answer>"
    given = reward_row(ROW, said)
    assert given.targets[0][1] == {2} and given.visible == {1, 2, 3} and given.prompt_id == ROW.id
    assert sgr_strict(given) == 1.0
    assert reward_row(replace(ROW, visible=None), said).visible is None


def _wrong(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(json.dumps(build_row(ROW)))
    change(tree)
    return tree


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda tree: tree.update(split="test"), r'split: expected train or validation, found "test"'),
        (lambda tree: tree.update(answer="D"), r"answer: 'D' is no letter of the 3 options"),
        (lambda tree: tree.update(answer="A,B"), r"answer: 'A,B' is no letter"),
        (lambda tree: tree.update(answer=None), r"answer: None is no letter"),
        (lambda tree: tree.update(kind="essay"), r"kind: expected one of single, multiple, yes_no, number, open"),
        (lambda tree: tree.update(kind="open"), r"options: a question of the kind open has none"),
        (lambda tree: tree.update(colour=1), r'there is no field "colour"'),
        (lambda tree: tree.pop("question"), r"the field question is missing"),
        (lambda tree: tree["gt_events"][0].pop("end"), r"gt_events\[0\]: an event has a start and an end, or neither"),
        (lambda tree: tree["gt_events"][0].update(end=0.1), r"ends at 0.1 s, before it starts at 0.5 s"),
        (lambda tree: tree["clip"].update(file="../../secret"), r"clip.file: expected clips/0+1.mp4, found"),
        (lambda tree: tree["clip"].update(sha256="../x"), r"clip.sha256: expected 64 hexadecimal digits"),
        (lambda tree: tree["clip"].update(start_s=2, end_s=1), r"clip: the part of the file ends where it starts"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: Callable[[dict[str, Any]], Any], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        parse_row(_wrong(change))


def test_reading_a_folder(tmp_path: Path) -> None:
    folder = made(tmp_path, 4)
    rows = read(folder)
    assert [one.split for one in rows] == ["train"] * 3 + ["validation"]
    assert [one.id for one in rows[:3]] == sorted(one.id for one in rows[:3])
    assert read(folder, "grpo", "validation") == rows[3:]
    lines = (folder / "rows.jsonl").read_text().splitlines()
    (folder / "rows.jsonl").write_text("\n".join([lines[0], lines[1].replace('"kind":"single"', '"kind":7')]))
    with pytest.raises(FormatError, match=r"rows.jsonl, line 2: kind: expected a string, found 7"):
        read(folder)
    with pytest.raises(FormatError, match="is no snapshot: it has no rows.jsonl"):
        read(tmp_path)
