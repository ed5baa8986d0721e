"""A snapshot: recordings stay whole, the hash is of what is taught, the folder appears whole, leaks are told."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.formats.errors import FormatError
from ml.formats.hashing import canonical
from ml.progress import Cancelled
from ml.training import snapshot, splits
from ml.training.rows import Clip, TrainingRow, read
from ml.training.sources import said
from tests.ml.training.samples import TRACE, clip, made, row

# ---------------------------------------------------------------------------------------------------------------------
# The split


@st.composite
def projects(draw: st.DrawFn) -> list[TrainingRow]:
    """Rows whose recording, video file and clip are each one of few, or not told."""
    count = draw(st.integers(1, 40))
    few = st.integers(0, 9)
    return [
        row(
            number,
            recording=draw(st.sampled_from(["", "Tape 1", "tape-1", "会议", "tape 2", "tape 3"])),
            video_sha256=draw(st.sampled_from(["", *(f"{n:064x}" for n in range(8))])),
            clip=Clip(f"{draw(few) + 100:064x}", 2.0),
        )
        for number in range(count)
    ]


@settings(max_examples=80, deadline=None)
@given(projects(), st.floats(0, 0.9), st.integers(0, 5), st.randoms(use_true_random=False))
def test_a_recording_is_in_one_split_whatever_the_order_of_the_rows(
    rows: list[TrainingRow], share: float, seed: int, order: random.Random
) -> None:
    found = splits.split(rows, share, seed)
    for mark in (lambda r: splits.key(r.recording), lambda r: r.video_sha256, lambda r: r.clip.sha256):
        for value in {mark(one) for one in rows} - {""}:
            assert len({one.split for one in found if mark(one) == value}) == 1
    held = sum(one.split == "validation" for one in found)
    groups = [len(group) for group in splits.groups(rows)]
    assert held < len(rows)
    assert (held > 0) == (share > 0 and len(groups) > 1)
    if held:  # what it misses the share by is at most half of a recording, or one cannot be had smaller
        assert abs(held - share * len(rows)) <= max(groups)
    mixed = rows[:]
    order.shuffle(mixed)
    assert {one.id: one.split for one in splits.split(mixed, share, seed)} == {one.id: one.split for one in found}


def test_the_share_is_of_items_and_the_seed_draws() -> None:
    rows = [row(n, recording=f"tape {n // 5}", video_sha256=f"{n // 5:064x}") for n in range(100)]  # 20 of 5 items
    drawn = [splits.split(rows, 0.2, seed) for seed in range(6)]
    assert {sum(one.split == "validation" for one in found) for found in drawn} == {20}
    assert len({tuple(one.split for one in found) for found in drawn}) == 6
    again = [replace(one, recording=f"other {one.recording}", video_name="x") for one in rows]
    assert [one.split for one in splits.split(again, 0.2, 3)] == [one.split for one in drawn[3]]  # names draw nothing
    with pytest.raises(ValueError, match="from 0 to 0.9, not 1"):
        splits.split(rows, 1.0, 0)


# ---------------------------------------------------------------------------------------------------------------------
# Leaks


def held(number: int, **more: Any) -> TrainingRow:
    return row(number, split="validation", **more)


def test_leaks_are_told_each_in_one_sentence() -> None:
    train = row(1, split="train", recording="Tape A", clip=Clip("1" * 64, 4.0, 10.0))
    assert splits.leaks([train, held(2)], {}) == []
    same = held(2, recording="tape-a", clip=Clip("2" * 64, 4.0, 12.5))
    found = splits.leaks([train, same], {})
    assert [one.partition(" (")[0] for one in found] == [
        "The recording “tape-a” is in both splits",
        "Item 000000000000 of validation and 000000000000 of training show the same 1.5 s of “tape-a”.",
    ]
    apart = replace(same, clip=Clip("2" * 64, 4.0, 14.0))  # from where the other ends
    assert len(splits.leaks([train, apart], {})) == 1
    assert splits.leaks([train, held(2, clip=train.clip)], {}) == [
        "Item 000000000000 of validation and 000000000000 of training have the same clip."
    ]
    unnamed = held(3, recording="", video_name="tape1_qa0007.mp4")  # a clip of tape1.mp4, to go by the files' names
    assert splits.leaks([replace(train, recording=""), unnamed], {})[0].startswith("The recording “tape1_qa0007.mp4”")


def test_pictures_that_look_alike_are_told_and_plain_ones_are_not() -> None:
    train, other = row(1, split="train"), held(2)
    hashes = {train.clip.sha256: [0x0F0F0F0F0F0F0F0F], other.clip.sha256: [0x0F0F0F0F0F0F0F00]}  # 4 bits apart
    assert splits.leaks([train, other], hashes) == [
        "A picture of item 000000000000 of validation looks like one of 000000000000 of training "
        "(4 of 64 bits of their hashes differ)."
    ]
    assert splits.leaks([train, other], hashes | {other.clip.sha256: [0xF0F0F0F0F0F0F0F0]}) == []
    assert splits.leaks([train, other], {train.clip.sha256: [0], other.clip.sha256: [0]}) == []  # black pictures


def test_what_a_release_tests_on_is_told_when_it_is_trained_on() -> None:
    rows = [row(n, split="train", provenance={"release": {"number": 3, "split": "test"}}) for n in (1, 2)]
    rows.append(row(3, split="train", provenance={"release": {"number": 3, "split": "train"}}))
    rows.append(held(4, provenance={"release": {"number": 3, "split": "test"}}))
    assert splits.leaks(rows, {}) == [
        "2 items of training are in the split “test” of release 3: evaluated there, the model answers what it has seen."
    ]


def test_many_leaks_are_counted() -> None:
    rows = [row(n, split="train", recording=f"t{n}") for n in range(30)]
    rows += [held(n + 50, recording=f"t{n}", clip=Clip(f"{n + 50:064x}", 1.0, 500.0)) for n in range(30)]
    found = splits.leaks(rows, {})
    assert len(found) == splits.TOLD + 1 and found[-1] == "And 10 more of this kind."


# ---------------------------------------------------------------------------------------------------------------------
# The hash


def test_the_hash_is_of_what_is_taught() -> None:
    rows = [row(n, split="train") for n in range(5)]
    first = snapshot.content_hash(rows)
    renamed = [
        replace(one, id=f"{9 + n:064x}", recording="other", video_name="b.mp4", provenance={"date": "2027"})
        for n, one in enumerate(reversed(rows))
    ]
    assert snapshot.content_hash(renamed) == first
    changes: list[dict[str, Any]] = [
        {"question": "Who?"}, {"options": ("Person 3", "Person 2", "no one")}, {"answer": "C"}, {"reasoning": ""},
        {"events": ()}, {"visible": None}, {"split": "validation"}, {"clip": Clip("f" * 64, 2.0, 10.0)},
        {"video_sha256": "f" * 64}, {"category": "x"}, {"difficulty": "hard"},
    ]  # fmt: skip
    changed = {snapshot.content_hash([replace(rows[0], **change), *rows[1:]]) for change in changes}
    assert len(changed) == len(changes) and first not in changed
    assert snapshot.content_hash([*rows, rows[0]]) != first


# ---------------------------------------------------------------------------------------------------------------------
# The folder


def test_a_snapshot_holds_rows_clips_and_what_it_says(tmp_path: Path) -> None:
    folder = made(tmp_path, 4, per_clip=2, share=0.25)
    facts = snapshot.check(folder)
    rows = read(folder)
    assert facts["counts"] == {
        "train": {"items": 6, "sft": 6, "grpo": 6}, "validation": {"items": 2, "sft": 2, "grpo": 2},
    }  # fmt: skip
    assert facts["hash"] == snapshot.content_hash(rows) and facts["coverage"] == {"train": 1.0, "validation": 1.0}
    assert sorted(sum(facts["recordings"].values(), [])) == ["tape 1", "tape 2", "tape 3", "tape 4"]
    files = sorted(path.name for path in (folder / "clips").iterdir())
    assert files == sorted({f"{one.clip.sha256}.mp4" for one in rows}) and len(files) == 4
    assert facts["clips"]["bytes"] == sum((folder / "clips" / name).stat().st_size for name in files)
    assert facts["leaks"] == ["Pictures were not compared."]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snapshot", "videos"]  # no part is left
    again = snapshot.build(
        reversed(rows), lambda sha256: folder / f"clips/{sha256}.mp4", tmp_path / "b", name="other",
        validation_share=0.25, pictures=False,
    )  # fmt: skip
    assert again["hash"] == facts["hash"]
    assert (tmp_path / "b/rows.jsonl").read_bytes() == (folder / "rows.jsonl").read_bytes()


def test_pictures_of_both_splits_are_compared(tmp_path: Path) -> None:
    # two files with nearly the same pictures: the number burnt in counts from 0 in every clip
    folder = made(tmp_path, 2, share=0.5, pictures=True)
    leaks = snapshot.check(folder)["leaks"]
    assert len(leaks) == 1 and "looks like one of" in leaks[0]


def test_nothing_is_left_when_it_fails_or_is_stopped(tmp_path: Path) -> None:
    path = clip(tmp_path, 1)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    good = row(1, clip=Clip(digest, 2.0))

    def build(*rows: TrainingRow, **more: Any) -> Any:
        clips = {digest: path, "0" * 64: path}
        return snapshot.build(rows, clips.__getitem__, tmp_path / "out", name="x", pictures=False, **more)

    def stop(stage: str, share: float) -> None:
        raise Cancelled

    with pytest.raises(FormatError, match="The clip of the item 000000000000 .* is not there"):
        build(good, row(2, clip=Clip("1" * 64, 2.0)))
    with pytest.raises(FormatError, match="is not the one it was made with"):
        build(good, row(2, clip=Clip("0" * 64, 2.0)))
    with pytest.raises(FormatError, match="no row to make a snapshot of"):
        build()
    with pytest.raises(Cancelled):
        build(good, progress=stop)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    build(good)
    with pytest.raises(FormatError, match="is there already and holds something"):
        build(good)


def test_of_a_question_the_newest_version_is_taken_once(tmp_path: Path) -> None:
    old, new = row(1, id="a" * 64), row(1, id="b" * 64, answer="A")
    new = replace(new, provenance=old.provenance | {"version": 2})
    other = row(1, id="c" * 64, provenance={"project": "another", "question": "q1", "version": 1})
    kept, dropped = snapshot.newest([old, new, new, other, row(5, provenance={})])
    assert [one.id[0] for one in kept] == ["b", "c", "0"]
    assert dropped == {snapshot.SUPERSEDED: 1, snapshot.TWICE: 1}


def test_a_check_says_what_is_not_as_it_was(tmp_path: Path) -> None:
    folder = made(tmp_path, 2, share=0.5)
    first = read(folder)[0]
    whole = (folder / "rows.jsonl").read_bytes()
    (folder / "rows.jsonl").write_bytes(whole.replace(b'"answer":"B"', b'"answer":"C"', 1))
    with pytest.raises(FormatError, match="rows.jsonl is not what the snapshot was made with"):
        snapshot.check(folder)
    (folder / "rows.jsonl").write_bytes(whole + whole.splitlines(keepends=True)[0])
    with pytest.raises(FormatError, match="is there twice"):
        snapshot.check(folder)
    (folder / "rows.jsonl").write_bytes(whole)
    path = folder / first.clip.file
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"x")
    with pytest.raises(FormatError, match=f"{first.clip.sha256}.mp4 is not the clip it was"):
        snapshot.check(folder)
    path.unlink()
    with pytest.raises(FormatError, match="the clip clips/.* is not there"):
        snapshot.check(folder)
    path.write_bytes(data)
    facts = json.loads((folder / "snapshot.json").read_text())
    assert snapshot.check(folder) == facts
    (folder / "snapshot.json").write_text(json.dumps(facts | {"version": 2}))
    with pytest.raises(FormatError, match="expected version 1, found 2"):
        snapshot.check(folder)


# ---------------------------------------------------------------------------------------------------------------------
# Items

ITEM: dict[str, Any] = {
    "id": "q00007", "category": "gaze_target", "difficulty": "easy", "kind": "single", "question": "Who?",
    "options": ["Person 3", "Person 2", "nobody"], "answer": "B", "answer_text": "Person 2", "reasoning": TRACE,
    "persons": [], "visible": [1, 2, 3], "span": {"start": 0, "end": 9, "start_s": 0.0, "end_s": 1.0},
    "gt_events": [{"source": "gaze", "persons": [1, 2], "start": 0.5, "end": 1.5}],
    "clip": {"sha256": "a" * 64, "bytes": 9, "frames": 20, "width": 64, "height": 48, "duration_s": 2.0, "start": 0,
             "end": 20, "offset_s": 10.0, "rendering": "plain", "blur_faces": False, "recipe": "r"},
    "video": {"name": "Tape 7.mp4", "sha256": "b" * 64, "recording": "tape 7", "licence": "CC0"},
    "provenance": {"project": "p", "question": "u", "number": 7, "video": "v", "version": 4, "raters": ["rater-1"]},
}  # fmt: skip


def test_a_frozen_item_becomes_a_row() -> None:
    found = snapshot.row_of(ITEM, release=3, release_split="test")
    assert found.id == hashlib.sha256(canonical(ITEM)).hexdigest()
    assert found.reasoning == f"{TRACE}\n<answer>B</answer>" and found.recording == "tape 7"
    assert found.provenance == {
        "project": "p", "question": "u", "number": 7, "version": 4, "release": {"number": 3, "split": "test"},
    }  # fmt: skip
    assert found.clip == Clip("a" * 64, 2.0, 10.0) and found.visible == (1, 2, 3)
    several = snapshot.row_of(ITEM | {"kind": "multiple", "answer": ["A", "C"]})
    assert several.answer == "A,C" and several.reasoning.endswith("<answer>A,C</answer>")
    free = {"kind": "open", "options": [], "answer": "She asks him.", "answer_text": "She asks him."}
    assert snapshot.row_of(ITEM | free).answer is None
    assert snapshot.row_of(ITEM | free).reasoning.endswith("</think>\n<answer>She asks him.</answer>")
    counted = {"kind": "number", "options": [], "answer": 3.0, "answer_text": "3"}
    assert snapshot.row_of(ITEM | counted).answer == "3"
    unnamed = ITEM | {"video": ITEM["video"] | {"recording": ""}}
    assert snapshot.row_of(unnamed).recording == "b" * 64
    with pytest.raises(FormatError, match="The item q00007: answer: 'F' is no letter of the 3 options"):
        snapshot.row_of(ITEM | {"answer": "F"})
    with pytest.raises(FormatError, match="The item q00007 is no released item"):
        snapshot.row_of({name: value for name, value in ITEM.items() if name != "clip"})


def test_the_assistant_thinks_in_its_block_and_answers_in_its_tag() -> None:
    assert said("", "B") == "" and said(" \n", "B") == ""
    assert said("She turns to him.", "B") == "<think>\nShe turns to him.\n</think>\n<answer>B</answer>"
    whole = f"{TRACE}<answer>B</answer>"
    assert said(whole, "B") == whole
    for tag in ("answer", "Answer", " answer "):
        assert said(f"He nods. <{tag}>B</{tag}>", "B") == "<think>\nHe nods.\n</think>\n<answer>B</answer>"
    with pytest.raises(FormatError, match="its reasoning answers 'C', and its key is 'B'"):
        said(f"{TRACE}<answer>C</answer>", "B")


def test_the_command_makes_and_checks_a_snapshot_of_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clips").mkdir()
    items = []
    for number in (1, 2, 3):
        path = clip(tmp_path / "clips", number)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        video = ITEM["video"] | {"recording": f"tape {number}", "sha256": f"{number:064x}"}
        told = ITEM["provenance"] | {"question": f"u{number}"}
        items.append(ITEM | {"clip": ITEM["clip"] | {"sha256": digest}, "video": video, "provenance": told})
    (tmp_path / "items.jsonl").write_text("\n".join(json.dumps(one) for one in items))
    words = [str(tmp_path / "items.jsonl"), str(tmp_path / "out"), "--no-pictures", "--validation-share", "0.3"]
    assert snapshot.main(words) == snapshot.BAD_INPUT
    assert "comes without its clips: name the folder where they are with --videos." in capsys.readouterr().err
    assert snapshot.main([*words, "--videos", str(tmp_path / "clips")]) == 0
    assert "validation: 1 items of 1 recordings, 1 with reasoning, 1 with options" in capsys.readouterr().out
    assert snapshot.main(["--check", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.strip().endswith(snapshot.check(tmp_path / "out")["hash"])
    assert snapshot.main([str(tmp_path / "nothing"), str(tmp_path / "b")]) == snapshot.BAD_INPUT
    assert "is neither a release folder (it has no release.json) nor a file of items." in capsys.readouterr().err
