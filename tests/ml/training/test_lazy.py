"""Frames are decoded when a batch is asked for, once for the rollouts of a prompt; the store stays within bounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ml.evaluation.bench import Bench, Item
from ml.evaluation.frames import Look, Shown, shown
from ml.training import lazy
from ml.training.messages import item_of
from ml.training.rows import read
from tests.clips import read_number
from tests.ml.training.samples import made, row

LOOK = Look(most=4, rate=2.0, longest=320)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("lazy"), 3, per_clip=2, share=0.3)


def test_nothing_is_decoded_before_it_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    rows = read(folder, "sft", "train")
    asked: list[str] = []

    def looked(item: Item, bench: Bench, look: Look) -> list[Shown]:
        asked.append(item.id)
        return shown(item, bench, look)

    monkeypatch.setattr(lazy, "shown", looked)
    data = lazy.dataset(rows, folder, LOOK, stage="sft")
    assert len(data) == 4 and not asked
    one = data[1]
    assert asked == [rows[1].id]
    assert set(one) == {*lazy.COLUMNS, "completion"}
    assert len(one["images"]) == 4 and one["images"][0].mode == "RGB"
    assert [part["type"] for part in one["prompt"][1]["content"]] == ["text", "image"] * 4 + ["text"]
    assert (one["row"], one["answer"], one["options"]) == (rows[1].id, "B", list(rows[1].options))
    several = data.__getitems__([2, 2, 2, 0])  # as a loader asks; the rollouts of a prompt repeat it
    assert [each["row"] for each in several] == [rows[at].id for at in (2, 2, 2, 0)]
    assert asked == [rows[1].id, rows[2].id]  # row 0 shows the clip of row 1
    shuffled = data.shuffle(seed=1).select(range(2))
    assert {each["row"] for each in shuffled} <= {each.id for each in rows}


def test_the_pictures_are_those_of_evaluation(tmp_path: Path) -> None:
    from tests.clips import make

    clip = make("25", tmp_path)
    one = replace(row(), clip=replace(row().clip, start_s=0.8, end_s=1.8))
    frames = lazy.Frames(tmp_path, Look(most=8, rate=4.0), in_memory=1)
    (tmp_path / "clips").mkdir()
    clip.path.rename(tmp_path / one.clip.file)
    example = lazy.example(one, frames, "grpo")
    numbers = [read_number(np.asarray(image)[..., ::-1]) for image in example["images"]]
    assert numbers == [23, 29, 35, 41]  # on the screen at 0.8 + 0.125, 0.375, .. s at 25 per second
    theirs = shown(item_of(one), Bench("b", "b", (), videos=tmp_path), Look(most=8, rate=4.0))
    texts = [part["text"] for part in example["prompt"][1]["content"] if part["type"] == "text"][:4]
    assert texts == [f"<{each.second:.1f} seconds>" for each in theirs] and "completion" not in example


def test_the_store_serves_later_epochs_and_stays_within_bounds(folder: Path, tmp_path: Path) -> None:
    rows = read(folder)
    store = tmp_path / "frames"
    first = lazy.Frames(folder, LOOK, store=store, in_memory=1)
    seen = [first.of(one) for one in rows]
    assert first.decoded == 3  # clips, of six rows in order
    again = lazy.Frames(folder, LOOK, store=store, in_memory=1)
    assert [again.of(one) for one in rows] == seen and again.decoded == 0
    other = lazy.Frames(folder, replace(LOOK, most=2), store=store)
    assert len(other.of(rows[0])) == 2 and other.decoded == 1  # another look is another picture
    for path in store.iterdir():
        path.write_bytes(b"damaged")
    assert [lazy.Frames(folder, LOOK, store=store).of(rows[0])] == seen[:1]

    small = tmp_path / "small"
    room = sum(len(one.jpeg) for one in seen[0]) + 10  # for one clip
    full = lazy.Frames(folder, LOOK, store=small, store_bytes=room, in_memory=1)
    for _ in range(3):
        assert [full.of(one) for one in rows] == seen
    assert len(list(small.iterdir())) == 1 and len(full.recent) == 1
    assert full.decoded == 3 + 2 + 2  # the one that was kept is not decoded again


def test_rows_the_stage_cannot_use_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="The item 000000000000 has nothing for the stage sft"):
        lazy.dataset([row(reasoning="")], folder, LOOK, stage="sft")
    with pytest.raises(ValueError, match="The snapshot has no rows for the stage grpo"):
        lazy.dataset([], folder, LOOK, stage="grpo")
