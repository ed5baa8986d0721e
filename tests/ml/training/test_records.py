"""GRASP's training records: rows of them, records of rows, and what is read, written and read again is the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ml.formats import grasp_train
from ml.formats.errors import FormatError
from ml.formats.hashing import sha256_of
from ml.training import records, snapshot
from ml.training.rows import Clip, Event, TrainingRow, build_row, read
from tests.ml.training.samples import TRACE, clip, made

SFT: list[dict[str, Any]] = [
    {"type": "video", "path": "/data/social_iq/video/abc.mp4", "fps": 2.0, "start_seconds": 0.5, "end_seconds": 1.5,
     "src_resolution": [48, 64]},
    {"type": "text", "content": "Why does Person 1 turn?\nReason about gaze with <gaze> tags.", "output": False},
    {"type": "text", "content": f"{TRACE}<answer>Person 2 called.</answer>", "output": True},
    {"type": "meta", "difficulty": "hard", "gt_events": [{"source": "gaze", "persons": [1, 2]}],
     "question_text": "Why does Person 1 turn?"},
]  # fmt: skip
RL: list[dict[str, Any]] = [
    {"type": "video", "path": "social_iq/video/xyz_qa0003.mp4"},
    {"type": "text", "content": "Who nods?\nA) Person 1\nB) Person 2\nC) nobody\nAnswer in the tag.", "output": False},
    {"type": "text", "content": "C", "output": True},
    {"type": "meta", "difficulty": "easy", "gt_events": [], "question_text": "Who nods?"},
]  # fmt: skip


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos/social_iq/video"
    folder.mkdir(parents=True)
    clip(folder, 1).rename(folder / "abc.mp4")
    clip(folder, 5).rename(folder / "xyz_qa0003.mp4")
    return tmp_path / "videos"


def written(path: Path, *trees: Any) -> Path:
    path.write_text("".join(json.dumps(tree) + "\n" for tree in trees))
    return path


def test_records_become_rows(videos: Path, tmp_path: Path) -> None:
    sft = records.source(written(tmp_path / "data_sft.jsonl", SFT), videos)
    told = sft.rows[0]
    abc = sha256_of(videos / "social_iq/video/abc.mp4")
    assert told.clip == Clip(abc, 1.0, 0.5, 0.5, 1.5) and sft.clips == {abc: videos / "social_iq/video/abc.mp4"}
    assert (told.question, told.kind, told.answer, told.options) == ("Why does Person 1 turn?", "open", None, ())
    assert told.answer_text == "Person 2 called." and told.reasoning == SFT[2]["content"]
    assert told.events == (Event("gaze", (1, 2)),) and told.visible is None and told.difficulty == "hard"
    assert told.recording == "socialiq/abc" and told.stages == ("sft",)
    assert told.provenance["record"]["src_resolution"] == [48, 64]

    graded = records.source(written(tmp_path / "data_rl.jsonl", RL), videos).rows[0]
    assert (graded.question, graded.options) == ("Who nods?", ("Person 1", "Person 2", "nobody"))
    assert (graded.kind, graded.answer, graded.answer_text) == ("single", "C", "nobody")
    assert graded.recording == "socialiq/xyz" and graded.stages == ("grpo",)
    assert graded.clip.duration_s == pytest.approx(2.5) and graded.clip.start_s is None  # 25 frames at 10 per second


def test_read_written_and_read_again_is_the_same(videos: Path, tmp_path: Path) -> None:
    traced = [*RL[:2], {"type": "text", "content": f"{TRACE}<answer>A</answer>", "output": True}, RL[3]]
    paths = [written(tmp_path / "data_sft.jsonl", SFT, traced), written(tmp_path / "data_rl.jsonl", RL)]
    words = [str(tmp_path / "first"), "--videos", str(videos), "--no-pictures"]
    words += [word for path in paths for word in ("--grasp-records", str(path))]
    assert snapshot.main(words) == 0
    first = read(tmp_path / "first")
    assert len(first) == 3
    again = _through_records(tmp_path / "first", tmp_path / "written", first)
    assert again == {one.id: replace(one, split="") for one in first}


def _through_records(folder: Path, out: Path, rows: list[TrainingRow]) -> dict[str, TrainingRow]:
    records.write(rows, out)
    found = [one for name in ("data_rl.jsonl", "data_sft.jsonl") for one in records.source(out / name, folder).rows]
    return {one.id: one for one in snapshot.newest(found)[0]}


def test_rows_of_a_snapshot_survive_their_records(tmp_path: Path) -> None:
    folder = made(tmp_path, 2, share=0.5)
    one, other = read(folder)
    rows = [
        one,
        replace(one, id="a" * 64, kind="multiple", answer="A,C", reasoning="", visible=None, provenance={}),
        replace(one, id="b" * 64, reasoning="", options=("two\nlines", "A) marked"), answer="A"),
        replace(one, id="c" * 64, question="Which?\nA) this\nB) that\nSay.", events=(Event("gesture", (3,)),)),
        replace(other, id="d" * 64, kind="number", options=(), answer="3", reasoning=f"{TRACE}\n<answer>3</answer>"),
        replace(other, id="e" * 64, kind="open", options=(), answer=None, recording="会议 1", difficulty=""),
        replace(other, id="f" * 64, clip=replace(other.clip, start_s=0.25, end_s=1.25, duration_s=1.0, offset_s=7.0)),
    ]
    found = _through_records(folder, tmp_path / "out", rows)
    for row in rows:
        assert build_row(found[row.id]) == build_row(replace(row, split=""))
    tree = json.loads((tmp_path / "out/data_rl.jsonl").read_text().splitlines()[0])
    assert grasp_train.parse_record(tree).target == "B"  # as GRASP has it: the letter alone
    assert [part["type"] for part in tree] == ["video", "text", "text", "meta"]


def test_the_command_writes_the_records_of_one_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, 3, per_clip=2, share=0.3)
    assert records.main([str(folder), str(tmp_path / "out")]) == 0
    assert "data_sft.jsonl: 4 records" in capsys.readouterr().out
    assert records.main([str(tmp_path), str(tmp_path / "out")]) == records.BAD_INPUT
    assert "is no snapshot: it has no rows.jsonl." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({0: {"path": "social_iq/video/gone.mp4"}}, r"line 2: the video social_iq/video/gone.mp4 is not below"),
        ({0: {"path": "../../etc/passwd"}}, r"line 2: the video ../../etc/passwd is not below"),
        ({0: {"start_seconds": 3, "end_seconds": 2}}, r"line 2: the video part goes from 3 s to 2 s"),
        ({2: {"content": "D"}}, r'line 2: the assistant answers "D", which is no letter of the options'),
        ({2: {"output": False}}, r"line 2: the record has no text of the assistant"),
        ({3: {"gt_events": [{"source": "gaze", "persons": [1], "start": 1}]}}, r"line 2: gt_events\[0\]: an event has"),
        ({3: {"sightline": {"id": 7}}}, r"line 2: sightline.id: expected a string, found 7"),
    ],
)
def test_what_cannot_be_used_is_said_with_file_and_place(
    change: dict[int, dict[str, Any]], sentence: str, videos: Path, tmp_path: Path
) -> None:
    wrong = [part | change.get(at, {}) for at, part in enumerate(RL)]
    path = written(tmp_path / "data_rl.jsonl", RL, wrong)
    with pytest.raises(FormatError, match=f"data_rl.jsonl, {sentence}"):
        records.source(path, videos)


def test_options_are_found_where_they_stand() -> None:
    assert records.asked("Who?\nA. one\nB. two") == ("Who?", ("one", "two"))
    assert records.asked("(a) one\n(b) two\nSay.") == ("", ("one", "two"))
    assert records.asked("A) is no option alone") == ("A) is no option alone", ())
    assert records.asked("Who?\nB) one\nC) two") == ("Who?\nB) one\nC) two", ())
    assert records.asked("Of A) x\nB) y it asks.\nA) one\nB) two\nC) three\n")[1] == ("one", "two", "three")
