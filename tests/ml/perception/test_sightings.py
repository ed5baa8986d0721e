"""What masks and gestures take from each other: the same to the last bit, and nothing that was asked otherwise."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ml.media import masks as packed
from ml.media.decode import read_frames
from ml.perception import sightings
from ml.perception.gestures import run as gesturing
from ml.perception.gestures.detector import Rules
from ml.perception.gestures.look import Eyes, Seen, Wanted
from ml.perception.masks import run as masking
from ml.perception.masks.masker import Masker
from ml.perception.placed import Placed
from ml.perception.pose import BlazePose
from ml.perception.protocols import Face
from ml.perception.sightings import Sightings
from tests.ml.perception.conftest import Demo, Finished

ABOUT = {"v": 1, "video": {"sha256": "ab", "frames": 9}}
PICTURE = np.zeros((6, 8, 3), np.uint8)
BOX = np.array([1.0, 2, 3, 4])
FACE = Face(np.array([1.0, 2, 2, 3]), 0.9, np.arange(10.0).reshape(5, 2) / 3)


def placed(seed: int) -> Placed:
    random = np.random.default_rng(seed)
    return Placed(random.random((33, 4), np.float32), 0.75, (random.random(2), 12.5, -0.1))


def never() -> Any:
    raise AssertionError("It is known.")


def filled() -> Sightings:
    seen = Sightings(ABOUT)
    assert (
        seen.faces(PICTURE, 3, lambda bgr: [FACE, FACE]) == [FACE, FACE] and seen.faces(PICTURE, 4, lambda _: []) == []
    )
    seen.pose(PICTURE, 3, BOX, FACE, lambda: placed(1))
    seen.pose(PICTURE, 3, BOX + 1, None, lambda: None)
    seen.pose(PICTURE, 4, BOX, None, lambda: placed(2))
    return seen


def test_what_was_seen_is_read_as_it_was_written(tmp_path: Path) -> None:
    filled().save(tmp_path / "s.npz")
    seen = Sightings.load(tmp_path / "s.npz", ABOUT)
    faces = seen.faces(PICTURE, 3, lambda _: never())
    assert [(f.box.tolist(), f.score, f.points.tolist()) for f in faces] == [
        (FACE.box.tolist(), 0.9, FACE.points.tolist())
    ] * 2
    assert seen.faces(PICTURE, 4, lambda _: never()) == []
    for seed, frame, face in ((1, 3, FACE), (2, 4, None)):
        found, wanted = seen.pose(PICTURE, frame, BOX, face, never), placed(seed)
        assert found is not None and found.flag == wanted.flag and found.roi[1:] == wanted.roi[1:]
        assert (found.marks == wanted.marks).all() and (found.roi[0] == wanted.roi[0]).all()
        assert (found.pose.points == wanted.pose.points).all()
    assert seen.pose(PICTURE, 3, BOX + 1, None, never) is None


def test_another_frame_box_face_or_size_of_the_picture_is_another_question() -> None:
    seen = filled()
    moved = Face(FACE.box, 0.9, FACE.points + 1e-9)
    for frame, picture, box, face in (
        (5, PICTURE, BOX, FACE), (3, PICTURE[:5], BOX, FACE), (3, PICTURE, BOX + 1e-9, FACE),
        (3, PICTURE, BOX, None), (3, PICTURE, BOX, moved),
    ):  # fmt: skip
        assert seen.pose(picture, frame, box, face, lambda: placed(9)).marks[0, 0] == placed(9).marks[0, 0]  # type: ignore[union-attr]
    assert seen.faces(PICTURE[:5], 3, lambda _: []) == []


@pytest.mark.parametrize("change", ["video", "weights", "version"])
def test_what_is_about_something_else_is_not_taken(change: str, tmp_path: Path) -> None:
    mine = sightings.about("ab", 9)
    Sightings(mine).save(tmp_path / "empty.npz")
    seen = Sightings(mine)
    seen.faces(PICTURE, 3, lambda _: [FACE])
    seen.save(tmp_path / "s.npz")
    assert Sightings.load(tmp_path / "s.npz", sightings.about("ab", 9)) and not Sightings.load(
        tmp_path / "empty.npz", mine
    )
    other = json.loads(json.dumps(sightings.about("cd" if change == "video" else "ab", 9)))
    if change == "weights":
        other["backends"][1][2] = "0" * 64
    elif change == "version":
        other["backends"][1][1] = "2"
    assert not Sightings.load(tmp_path / "s.npz", other)


@pytest.mark.parametrize("keep", [None, 0, 40, 400])
def test_a_file_that_is_missing_or_cut_off_is_none(keep: int | None, tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    if keep is not None:
        filled().save(path)
        path.write_bytes(path.read_bytes()[:keep])
    assert not Sightings.load(path, ABOUT)


def test_parts_are_joined_with_what_was_known(tmp_path: Path) -> None:
    known = filled()
    part = Sightings(ABOUT, known)
    part.pose(PICTURE, 3, BOX, FACE, never)  # of the base: not noted again
    part.save(tmp_path / "a.sightings.npz")
    assert sightings.joined(ABOUT, known, tmp_path.glob("*.sightings.npz")) is None
    part.pose(PICTURE, 7, BOX, FACE, lambda: placed(7))
    part.save(tmp_path / "b.sightings.npz")
    both = sightings.joined(ABOUT, known, tmp_path.glob("*.sightings.npz"))
    assert both is not None and both.faces(PICTURE, 3, lambda _: never()) == [FACE, FACE]
    for frame in (3, 7):
        assert both.pose(PICTURE, frame, BOX, FACE, never) is not None


# ---------------------------------------------------------------------------------------------------------------------
# With the models


def same(a: Seen, b: Seen) -> bool:
    poses = [[None if p is None else (p.flag, p.points.tolist()) for p in seen.poses] for seen in (a, b)]
    return poses[0] == poses[1] and np.array_equal(a.face, b.face, equal_nan=True)


def test_a_look_after_the_masks_asks_no_pose_model(
    demo: Demo, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And masks after a look find the same as without it."""
    footage, sha256 = gesturing.footage_of(demo.path, demo.index, finished.folder)
    samples = masking.Samples.of(finished.folder / "samples.parquet")
    frames, persons = np.unique(samples.frame, return_counts=True)
    frame = frames[[persons.argmax()]]
    masker, eyes, about = Masker(), Eyes(None), sightings.about(sha256, demo.index.frames)

    def masks(noting: Sightings | None) -> Any:
        return masking.look_at(masker, demo.path, demo.index, samples, frame, lambda _: None, noting)[0]

    def look(known: Sightings | None) -> Seen:
        ((_, bgr),) = read_frames(demo.path, demo.index, frame)
        return eyes.look(bgr, replace(footage, known=known), int(frame[0]), Wanted())

    alone, masks_alone, by_masks, by_look = look(None), masks(None), Sightings(about), Sightings(about)
    assert masks(by_masks).counts == masks_alone.counts
    assert same(look(by_look), alone) and len(alone.poses) >= 4
    with monkeypatch.context() as patched:
        patched.setattr(BlazePose, "_find", lambda *_: never())
        assert same(look(by_masks), alone)
        again = masks(by_look)
    remembered = eyes.recall(replace(footage, known=by_masks), int(frame[0]), Wanted())
    assert remembered is not None and same(remembered, alone)  # without the picture
    assert eyes.recall(replace(footage, known=by_masks), int(frame[0]) + 1, Wanted()) is None
    assert eyes.recall(replace(footage, known=by_masks), int(frame[0]), Wanted(hands=True)) is None
    assert again.counts == masks_alone.counts and again.score.tolist() == masks_alone.score.tolist()


@pytest.mark.long
def test_the_two_stages_of_a_run_in_either_order_and_interrupted(
    demo: Demo, finished: Finished, tmp_path: Path
) -> None:
    """On the last two shots, in the first of which hands move."""
    footage, sha256 = gesturing.footage_of(demo.path, demo.index, finished.folder)
    footage = replace(footage, shots=footage.shots[-2:])
    detector, samples = Rules(), tmp_path / "samples.parquet"
    rows = pq.read_table(finished.folder / "samples.parquet")
    pq.write_table(rows.filter(pc.field("frame") >= footage.shots[0][0]), samples)

    class Stop(Exception):
        pass

    def gestures(run: Path, stop: float = 2.0) -> Any:
        def progress(_: str, share: float) -> None:
            if share > stop:
                raise Stop

        work, beside = run / "work", run / sightings.FILE
        found = gesturing.detect(
            footage=footage, detector=detector, work=work, sha256=sha256, sightings=beside, progress=progress
        )
        if (work / sightings.FILE).exists():
            shutil.move(work / sightings.FILE, beside)
        return found["gestures"], found["counts"]

    def masks(run: Path, stop: float = 2.0) -> Any:
        def progress(_: str, share: float) -> None:
            if share > stop:
                raise Stop

        masking.make(
            video=demo.path, index=demo.index, shots=footage.shots, samples=samples, out=run, work=run / "masks-work",
            sha256=sha256, sightings=run / sightings.FILE, progress=progress,
        )  # fmt: skip
        return packed.read(run / masking.FILE).counts

    found = {}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        for stage in (gestures, masks) if name == "first" else (masks, gestures):
            with pytest.raises(Stop):
                stage(tmp_path / name, stop=0.15)
            found[name, stage] = stage(tmp_path / name)
    assert found["first", gestures][1]["fine_looks"] > 0
    assert found["first", gestures] == found["second", gestures] and found["first", masks] == found["second", masks]
    assert (tmp_path / "first" / sightings.FILE).read_bytes() == (tmp_path / "second" / sightings.FILE).read_bytes()
