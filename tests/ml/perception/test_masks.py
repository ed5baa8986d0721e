"""Person masks on the demo clip: quality as the reference measured it, and runs that were interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.media import masks as packed
from ml.perception.geometry import ious
from ml.perception.masks import run
from ml.perception.masks.masker import Masker
from ml.progress import Cancelled
from tests.ml.perception.conftest import Demo, Finished

SHA256 = "0" * 64


@pytest.fixture(scope="module")
def samples(finished: Finished) -> run.Samples:
    return run.Samples.of(finished.folder / "samples.parquet")


def shots_of(finished: Finished) -> list[tuple[int, int]]:
    return [(shot["start"], shot["end"]) for shot in finished.run["shots"]]


def middles(samples: run.Samples, finished: Finished) -> np.ndarray[Any, Any]:
    """The sample in the middle of each shot."""
    pieces = run.split(np.unique(samples.frame), shots_of(finished))
    return np.array([piece[len(piece) // 2] for piece in pieces])


def judge(masks: packed.Masks, samples: run.Samples, frames: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Own faces covered and other people's, by the middle half of each face; overlap of mask boxes and person boxes;
    the most labels of any pixel; persons without a mask."""
    height, width = masks.size
    own: list[bool] = []
    others: list[bool] = []
    overlaps, most, without = [], 0, 0
    for frame in frames.tolist():
        rows = samples.on(frame)
        here = {int(masks.object[k]): k for k in np.flatnonzero(masks.frame == frame).tolist()}
        pictures = {who: packed.decode(masks.counts[k], masks.size) for who, k in here.items()}
        most = max(most, int(np.sum(list(pictures.values()), axis=0).max()))
        for track, body, face in zip(samples.track[rows], samples.body[rows], samples.face[rows], strict=True):
            if track not in here:
                without += 1
                continue
            overlaps.append(ious(body[None], masks.box[here[track]][None].astype(float))[0, 0])
            if np.isfinite(face).all():
                x1, y1, x2, y2 = face * [width, height, width, height]
                w, h = (x2 - x1) / 4, (y2 - y1) / 4
                middle = np.s_[int(y1 + h) : int(y2 - h) + 1, int(x1 + w) : int(x2 - w) + 1]
                for who, picture in pictures.items():
                    (own if who == track else others).append(picture[middle].mean() > 0.5)
    return {
        "own": np.mean(own), "others": np.sum(others), "pairs": len(others), "iou": np.mean(overlaps), "most": most,
        "without": without,
    }  # fmt: skip


def test_everybody_has_a_mask_that_covers_their_own_face_and_nobody_elses(
    demo: Demo, finished: Finished, samples: run.Samples
) -> None:
    frames = middles(samples, finished)
    masks, _ = run.look_at(Masker(), demo.path, demo.index, samples, frames, lambda _: None)
    found = judge(masks, samples, frames)
    assert found["own"] == 1 and found["others"] == 0 and found["pairs"] > 30
    assert found["most"] == 1 and found["without"] == 0
    assert found["iou"] > 0.7
    assert (masks.score > 0.5).all() and (masks.person == masks.object).all()
    again, _ = run.look_at(Masker(), demo.path, demo.index, samples, frames[:1], lambda _: None)
    assert again.counts == packed.picked(masks, masks.frame == frames[0]).counts


@pytest.mark.long
def test_masks_of_the_whole_clip_stopped_on_the_way_and_gone_on(
    demo: Demo, finished: Finished, samples: run.Samples, tmp_path: Path
) -> None:
    def make(name: str, progress: Any) -> dict[str, Any]:
        (tmp_path / name).mkdir(exist_ok=True)
        return run.make(
            video=demo.path, index=demo.index, shots=shots_of(finished), samples=finished.folder / "samples.parquet",
            out=tmp_path / name, work=tmp_path / f"{name}-work", sha256=SHA256, progress=progress,
        )  # fmt: skip

    calls: list[float] = []

    def stop(stage: str, share: float) -> None:
        calls.append(share)
        if share > 0.6:
            raise Cancelled

    with pytest.raises(Cancelled):
        make("a", stop)
    assert not list((tmp_path / "a").iterdir())
    calls.clear()
    result = make("a", lambda stage, share: calls.append(share))
    frames = result["counts"]["frames"]
    assert len(calls) < frames * 0.8  # the first pieces are not looked at again
    calls.clear()
    assert make("a", lambda stage, share: calls.append(share)) == result and not calls
    make("b", lambda stage, share: None)
    assert (tmp_path / "a" / run.FILE).read_bytes() == (tmp_path / "b" / run.FILE).read_bytes()
    masks = packed.read(tmp_path / "a" / run.FILE)
    found = judge(masks, samples, np.unique(samples.frame))
    assert found["own"] >= 0.99 and found["others"] == 0 and found["most"] == 1 and found["iou"] > 0.7
    assert result["counts"]["masks"] == len(masks.frame) and result["counts"]["without"] == 0
    assert packed.meta(tmp_path / "a" / run.FILE)["masker"]["weights"].keys() >= {"selfie.onnx", "blazepose-full.onnx"}


def test_tracks_become_persons_by_stretch_and_of_two_masks_on_a_frame_the_larger_stays() -> None:
    size = (10, 10)
    boxes = [(0.0, 0.0, 0.5, 0.5), (0.0, 0.0, 0.2, 0.2), (0.5, 0.5, 1.0, 1.0), (0.2, 0.2, 0.6, 0.6)]
    counts = [packed.of_box(box, size) for box in boxes]
    track = np.array([1, 2, 3, 1])
    real = np.full(4, 0.9, np.float32)
    masks = packed.Masks(
        size, np.full(4, "person"), track, np.array([5, 5, 5, 20]), track, real, real,
        np.array(boxes, np.float32), packed.area(counts, size), np.full(4, "mask"), counts,
    )  # fmt: skip
    found = run.by_person(masks, {1: [(0, 10, 7), (10, 30, 8)], 2: [(0, 30, 7)]})  # nobody is track 3
    rows = np.stack([found.object, found.person, found.frame, found.area], 1)
    assert rows.tolist() == [[7, 7, 5, 25], [8, 8, 20, 16]]


def test_pieces_end_at_cuts_and_after_so_many_samples() -> None:
    frames = np.arange(0, 1000, 5)
    pieces = run.split(frames, [(0, 33), (33, 1000)])
    assert [len(p) for p in pieces] == [7, run.PIECE, 193 - run.PIECE]
    assert np.concatenate(pieces).tolist() == frames.tolist()
