"""The profile whose people are followed by a tracker of their own: with one that knows them, and with tiny SAM 3."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Footage, Masks
from ml.evidence.grounding.search import Search
from ml.media import masks as packed
from ml.media.index import FrameIndex
from ml.perception import registry, sam3_people
from ml.perception.given import Given
from ml.perception.pipeline import Options, perceive
from ml.progress import Cancelled, silent
from ml.weights import cache
from ml.weights.cache import MissingWeights
from tests.ml.evidence.grounding.scripted import SIZE, Script, Thing, footage

FRAMES = 200  # 8 s: 32 analysed frames
LEFT = Thing("people", 0, FRAMES, lambda f: (10 + f, 40, 60 + f, 170))
RIGHT = Thing("people", 0, FRAMES, lambda f: (250 - f, 60, 300 - f, 180), 0.8)
SHORT = Thing("people", 0, 1, lambda f: (0, 0, 9, 30))  # on one sample only: noise
THINGS = [LEFT, RIGHT, SHORT]
calls: list[list[int]] = []


class Known:
    """Follows the script's people, in chunks of 12 analysed frames."""

    name, version, weights = "known", "1", ()
    length, overlap = 12, 4

    def __init__(self, weights: Path | None = None) -> None:
        self.script = Script(THINGS)

    def describe(self) -> dict[str, Any]:
        return {"name": "known", "version": "1", "weights": {}}

    def follow(
        self,
        video: Path,
        index: FrameIndex,
        size: tuple[int, int],
        frames: NDArray[np.int64],
        report: Callable[..., None],
    ) -> tuple[Masks, list[str]]:
        calls.append(frames.tolist())
        whole = [(int(frames[0]), int(frames[-1]) + 1)]
        found = Search(self.script, Footage(video, index, *size, whole)).find(["people"], frames, lambda share: None)
        return found, [f"chunk of {len(frames)}"]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BACKENDS, "known", (__name__, "Known"))
    monkeypatch.setitem(
        registry.PROFILES, "known", registry.Profile("nanodet", "centerface", "facemesh", "faceres", "known")
    )
    calls.clear()


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FrameIndex]:
    return one_shot(tmp_path_factory.mktemp("numbers"), FRAMES)


def one_shot(folder: Path, frames: int) -> tuple[Path, FrameIndex]:
    """A clip and its index; by its changes, that of the numbers would be cuts."""
    made = footage(folder, frames)
    return made.video, replace(made.index, changes=np.zeros(frames, np.float32))


def run(video: tuple[Path, FrameIndex], out: Path, profile: str, progress: Any = silent) -> dict[str, Any]:
    out.mkdir(exist_ok=True)
    options = Options(profile=profile, identity=False, workers=0)
    return perceive(video=video[0], index=video[1], out=out, options=options, progress=progress)


def test_numbers_are_found_again_by_their_box() -> None:
    masks = packed.picked(_masks(), slice(None))
    given = Given.of(masks, SIZE[1], SIZE[0])
    assert [d.box.tolist() for d in given.persons(5)] == [[0, 0, 32, 18], [160, 90, 320, 180]]
    boxes = np.array([[160, 90, 320, 180], [0, 0, 32, 18], [1, 1, 2, 2], [0, 0, 32, 18]], np.float32)
    assert given.numbers(5, boxes).tolist() == [7, 3, -1, -1]
    assert given.numbers(6, boxes).tolist() == [-1] * 4 and given.count == 8


def _masks() -> Masks:
    counts = [packed.of_box(box, SIZE) for box in ((0, 0, 0.1, 0.1), (0.5, 0.5, 1, 1))]
    return Masks(
        SIZE, np.full(2, "people"), np.array([3, 7]), np.array([5, 5]), np.full(2, -1), np.ones(2, np.float32),
        np.ones(2, np.float32), packed.boxes(counts, SIZE), packed.area(counts, SIZE), np.full(2, "mask"), counts,
    )  # fmt: skip


def test_people_keep_their_trackers_numbers_and_masks_also_when_it_was_stopped(
    known: None, video: tuple[Path, FrameIndex], tmp_path: Path
) -> None:
    shares: list[tuple[str, float]] = []

    def stop(stage: str, share: float) -> None:
        shares.append((stage, share))
        if stage == "people":
            raise Cancelled("half-way")

    with pytest.raises(Cancelled):
        run(video, tmp_path / "run", "known", stop)
    assert [len(frames) for frames in calls] == [12, 12, 12, 8] and calls[1][:4] == calls[0][-4:]
    done = run(video, tmp_path / "run", "known")
    assert len(calls) == 4  # the chunks were there
    assert [t["start"] for t in done["tracks"]] == [0, 0] and [t["end"] for t in done["tracks"]] == [FRAMES] * 2
    assert done["backends"][-1] == {"name": "known", "version": "1", "weights": {}}
    assert done["notes"].count("chunk of 12") == 3 and "follow" in done["seconds"]
    table = pq.read_table(tmp_path / "run" / "samples.parquet")
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in ("frame", "track", "body_x1", "body_y2")}
    assert len(columns["frame"]) == 64  # both on each analysed frame
    left = columns["track"] == 0
    assert np.allclose(columns["body_x1"][left] * SIZE[1], 10 + columns["frame"][left], atol=0.01)
    assert np.allclose(columns["body_x1"][~left] * SIZE[1], 250 - columns["frame"][~left], atol=0.01)
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "masks.json", "masks.parquet", "run.json", "samples.parquet",
    ]  # fmt: skip
    masks = packed.read(tmp_path / "run" / "masks.parquet")
    assert set(masks.query.tolist()) == {"person"} and (masks.object == masks.person).all()
    for track, thing in enumerate((LEFT, RIGHT)):
        rows = np.flatnonzero(masks.object == track)
        assert len(rows) == 32
        for k in rows.tolist():
            assert masks.counts[k] == packed.encode(thing.mask(int(masks.frame[k])))
    about = json.loads((tmp_path / "run" / "masks.json").read_text())
    assert about["masker"]["name"] == "known" and about["counts"] == {
        "frames": 32, "masks": 64, "persons": 2, "without": 0,
    }  # fmt: skip
    assert about["size"] == list(SIZE)
    again = run(video, tmp_path / "again", "known")
    for name in ("samples.parquet", "masks.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert again["gaze_samples"] == 0


@pytest.mark.xdist_group("torch")
def test_tiny_sam3_follows_through_the_whole_profile(
    tiny_sam3: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ml.evidence.grounding import sam3_model

    monkeypatch.setenv("SIGHTLINE_SAM3_WEIGHTS", str(tiny_sam3))
    short = one_shot(tmp_path, 60)
    nobody = run(short, tmp_path / "nobody", "gpu")  # noise scores below the profile's threshold
    assert nobody["tracks"] == [] and nobody["backends"][-1]["settings"]["threshold"] == 0.45
    assert not len(packed.read(tmp_path / "nobody" / "masks.parquet").frame)
    monkeypatch.setattr(sam3_people, "THRESHOLD", 0.0)
    monkeypatch.setattr(sam3_model.Limits, "__init__", _few(sam3_model.Limits.__init__))
    somebody = run(short, tmp_path / "somebody", "gpu")
    masks = packed.read(tmp_path / "somebody" / "masks.parquet")
    assert somebody["tracks"] and set(masks.object.tolist()) == {t["track"] for t in somebody["tracks"]}


def _few(made: Any) -> Any:
    return lambda self, **numbers: made(self, **(numbers | {"objects": 4}))


def test_without_weights_the_profile_is_refused_before_any_work(
    video: tuple[Path, FrameIndex], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="torch is not installed; `make ml` installs it.")
    monkeypatch.setenv("SIGHTLINE_SAM3_WEIGHTS", str(tmp_path / "none"))
    with pytest.raises(MissingWeights, match="SAM 3 are not in .*none"):
        run(video, tmp_path / "run", "gpu")
    assert not list((tmp_path / "run").iterdir())
    assert cache.folder().exists()
