"""The two passes over a made-up shot: what is looked at, what is found, what an interruption costs."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from ml.media.index import FrameIndex
from ml.perception.gestures import detector as module
from ml.perception.gestures import look, run
from ml.perception.gestures.detector import Rules, unique
from ml.perception.gestures.look import Seen, Wanted
from ml.perception.gestures.protocol import Footage, Found, Gesture, People, Share
from ml.perception.protocols import Hand, Pose
from ml.progress import Cancelled
from tests.ml.perception.gestures.figures import FPS, REST, Figure, Path, window

SCALE = 200.0


class Stage:
    """Figures in a video that needs no file: a detector with eyes for them, and what was looked at."""

    def __init__(self, figures: list[Figure], seconds: float, shots: list[tuple[int, int]] | None = None) -> None:
        self.frames = int(seconds * FPS)
        every = window(figures, seconds=seconds, every=1 / FPS, scale=SCALE)
        self.seen = every
        index = FrameIndex(np.arange(self.frames + 1), Fraction(1, FPS))
        samples = np.arange(0, self.frames, FPS // 2)
        frame, person = (a.ravel() for a in np.meshgrid(samples, np.arange(len(figures)), indexing="ij"))
        size = np.array([every.width, every.height] * 2)
        people = People(
            frame, person + 1, (every.body[frame, person] / size).astype(np.float32),
            (every.face[frame, person] / size).astype(np.float32),
        )  # fmt: skip
        shots = shots or [(0, self.frames)]
        self.footage = Footage(FilePath("none.mp4"), index, every.width, every.height, shots, people)
        self.looks: list[tuple[int, Wanted]] = []
        self.rules = Rules.__new__(Rules)
        self.rules._eyes = self  # type: ignore[assignment]

    def recall(self, footage: Footage, frame: int, wanted: Wanted) -> None:
        """Nothing is known before."""

    def look(self, bgr: Any, footage: Footage, frame: int, wanted: Wanted) -> Seen:
        self.looks.append((frame, wanted))
        persons = self.seen.persons.tolist()
        hands = {}
        for k in range(len(persons)):
            for side in (0, 1):
                points = self.seen.hand[frame, k, side]
                if wanted.hands and np.isfinite(points).all():
                    hands[k, side] = Hand(points, 0.9, 0.5), False
        poses = [Pose(np.c_[p, np.zeros(33)], 0.9) for p in self.seen.pose[frame]]
        return Seen(
            frame, persons, self.seen.body[frame], self.seen.face[frame], list(poses), hands,
            [] if wanted.objects else None, {"poses": 0.01},
        )  # fmt: skip


@pytest.fixture(autouse=True)
def no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    blank = np.zeros((1, 1, 3), np.uint8)
    monkeypatch.setattr(look, "read_frames", lambda path, index, frames: ((int(n), blank) for n in frames))


def pointer(start: float, figure: Figure | None = None) -> Figure:
    """Points at the one to the right from `start` on; the hand goes back two seconds later."""
    figure = figure or Figure(at=(1.5, 1.0))
    figure.hands[0].go(start, start + 0.5, (0.54, -0.04, 0)).go(start + 2, start + 2.5, REST)
    before = figure.shapes[0]
    figure.shapes[0] = lambda t: "pointing" if start + 0.3 < t < start + 2.1 else before(t)
    return figure


def pair(*starts: float) -> list[Figure]:
    figure = Figure(at=(1.5, 1.0), hands=[Path(REST), Path(REST)])
    for start in starts:
        pointer(start, figure)
    return [figure, Figure(at=(3.5, 1.0))]


def detect(stage: Stage, work: FilePath, progress: Share = lambda share: None, shot: int = 0) -> Found:
    work.mkdir(parents=True, exist_ok=True)
    return stage.rules.detect(stage.footage, shot, work=work, progress=progress)


def test_two_looks_a_second_then_ten_where_an_arm_moves(tmp_path: FilePath) -> None:
    stage = Stage(pair(10.0), 30.0)
    found = detect(stage, tmp_path)
    (gesture,) = found.gestures
    assert gesture.type == "pointing" and (gesture.initiator, gesture.target_person) == (1, 2)
    assert abs(gesture.start / FPS - 10) <= 0.2 and abs(gesture.end / FPS - 12) <= 0.2
    assert found.counts["coarse_looks"] == 60 and found.counts["stretches"] == 1
    fine = [frame for frame, wanted in stage.looks if wanted.hands]
    assert len(fine) == found.counts["fine_looks"] and len(fine) <= 60
    assert fine[0] / FPS >= 8 and fine[-1] / FPS <= 14.5
    assert {w.persons for _, w in stage.looks if w.hands} == {frozenset({1})}


def test_a_quiet_shot_costs_the_coarse_pass_only(tmp_path: FilePath) -> None:
    stage = Stage([Figure(), Figure(at=(4.0, 1.0))], 20.0)
    found = detect(stage, tmp_path)
    assert found.gestures == [] and "fine" not in found.seconds
    assert len(stage.looks) == 40 and found.seconds["coarse"] > 0


def test_its_cost_is_told_by_pass_and_kind_of_work(tmp_path: FilePath) -> None:
    found = detect(Stage(pair(5.0), 12.0), tmp_path)
    assert {
        "coarse",
        "coarse poses",
        "coarse decode and rest",
        "fine",
        "fine poses",
        "fine rules",
    } <= found.seconds.keys()
    parts = [v for name, v in found.seconds.items() if name.startswith("fine ")]
    assert found.seconds["fine"] == pytest.approx(sum(parts), abs=0.01)


def test_progress_rises_to_one(tmp_path: FilePath) -> None:
    shares: list[float] = []
    detect(Stage(pair(5.0), 12.0), tmp_path, shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 20


def test_an_interrupted_shot_goes_on_where_it_was(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_S", 5.0)
    undisturbed = detect(Stage(pair(3.0, 14.0), 25.0), tmp_path / "a")
    stage = Stage(pair(3.0, 14.0), 25.0)
    for stop_at in (0.25, 0.45, 0.6, 0.9):

        def stop(share: float, limit: float = stop_at) -> None:
            if share >= limit:
                raise Cancelled

        with pytest.raises(Cancelled):
            detect(stage, tmp_path / "b", stop)
    found = detect(stage, tmp_path / "b")
    assert [g.row() for g in found.gestures] == [g.row() for g in undisturbed.gestures]
    assert len(found.gestures) == 2
    once = 50 + undisturbed.counts["fine_looks"]
    assert len(stage.looks) < once + 4 * 60  # each stop loses a piece at most
    assert found.counts == undisturbed.counts


def test_a_gesture_seen_by_two_overlapping_stretches_is_one(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.candidates, "LONGEST_S", 12.0)
    found = detect(Stage(pair(2.0, 5.0, 8.0, 11.0, 14.0, 17.0, 20.0), 26.0), tmp_path)
    assert found.counts["stretches"] >= 3
    assert [round(g.start / FPS) for g in found.gestures] == [2, 5, 8, 11, 14, 17, 20]


def test_of_two_of_a_kind_that_overlap_the_longer_stays() -> None:
    def g(start: int, end: int, **more: Any) -> Gesture:
        fields: dict[str, Any] = {"type": "pointing", "initiator": 1, "target_kind": "location"}
        return Gesture(**(fields | {"start": start, "end": end} | more))

    kept = unique([g(0, 10), g(4, 30), g(30, 40), g(5, 9, initiator=2), g(6, 12, type="reaching")])
    assert [(k.start, k.initiator, k.type) for k in kept] == [
        (4, 1, "pointing"), (5, 2, "pointing"), (6, 1, "reaching"), (30, 1, "pointing"),
    ]  # fmt: skip


def test_settings_hold_every_threshold() -> None:
    settings = Rules.__new__(Rules).settings()
    assert json.loads(json.dumps(settings)) == settings
    assert settings["coarse_rate"] == 2 and settings["fine_rate"] == 10
    assert settings["pointing"]["WEIGHTS"]["form"] == 0.3 and settings["window"]["SEEN"] == 0.5
    assert settings["rules"]["LEAST"] and settings["candidates"]["STEP_M"]


# ---------------------------------------------------------------------------------------------------------------------
# Over the shots


def whole(stage: Stage, work: FilePath, **more: Any) -> dict[str, Any]:
    return run.detect(footage=stage.footage, detector=stage.rules, work=work, sha256="ab", **more)


def test_nothing_crosses_a_cut_and_all_shots_add_up(tmp_path: FilePath) -> None:
    """A cut in the middle of a pointing ends what is seen of it there."""
    stage = Stage(pair(3.0, 9.0), 16.0, [(0, 10 * FPS), (10 * FPS, 16 * FPS)])
    found = whole(stage, tmp_path / "w")
    spans = [(g["start"], g["end"]) for g in found["gestures"]]
    assert all(end <= 10 * FPS or start >= 10 * FPS for start, end in spans)
    assert [s["gestures"] for s in found["shots"]] == [2, 0]
    assert found["counts"]["coarse_looks"] == 32
    assert found["detector"]["name"] == "rules" and found["detector"]["weights"]["nanodet.onnx"]
    assert [Gesture.of(row).row() for row in json.loads(json.dumps(found["gestures"]))] == found["gestures"]


def test_a_finished_shot_is_not_looked_at_again(tmp_path: FilePath) -> None:
    stage = Stage(pair(3.0, 12.0), 16.0, [(0, 8 * FPS), (8 * FPS, 16 * FPS)])

    def stop(name: str, share: float) -> None:
        if share > 0.6:
            raise Cancelled

    with pytest.raises(Cancelled):
        whole(stage, tmp_path / "w", progress=stop)
    stage.looks.clear()
    found = whole(stage, tmp_path / "w")
    assert min(frame for frame, _ in stage.looks) >= 8 * FPS
    assert len(found["gestures"]) == 2


def test_other_people_or_settings_begin_again(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(pair(3.0), 8.0)
    whole(stage, tmp_path / "w")
    stage.looks.clear()
    whole(stage, tmp_path / "w")
    assert stage.looks == []
    monkeypatch.setattr(module.rules, "LEAST", 0.36)
    whole(stage, tmp_path / "w")
    assert len(stage.looks) >= 16


def test_the_cli_says_in_a_sentence_what_is_wrong(tmp_path: FilePath, capsys: Any) -> None:
    from ml.perception.gestures.__main__ import main

    video, folder = tmp_path / "none.mp4", tmp_path / "run"
    folder.mkdir()
    assert main([str(video), "--run", str(folder), "--detector", "guess", "--out", str(tmp_path / "g.json")]) == 2
    assert "no gesture detector 'guess'" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", '{"video": {}}', '{"video": 3, "shots": []}'])
def test_a_run_folder_that_is_none_is_refused(text: str, tmp_path: FilePath) -> None:
    index = FrameIndex(np.arange(11), Fraction(1, 30))
    with pytest.raises(ValueError, match="not a finished run"):
        run.footage_of(tmp_path / "v.mp4", index, tmp_path)
    (tmp_path / "run.json").write_text(text)
    (tmp_path / "samples.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match="not what a run writes"):
        run.footage_of(tmp_path / "v.mp4", index, tmp_path)


def test_the_index_of_a_run_folder_is_taken_only_if_the_run_was_made_with_it(tmp_path: FilePath) -> None:
    from ml.perception.gestures.__main__ import stored_index

    assert stored_index(tmp_path) is None
    index = FrameIndex(np.arange(11), Fraction(1, 30))
    index.save(tmp_path / "frames.npz")
    assert stored_index(tmp_path) is None
    made_with = {"index": hashlib.sha256(index.seconds.tobytes()).hexdigest()}
    (tmp_path / "run.json").write_text(json.dumps({"parameters": made_with}))
    found = stored_index(tmp_path)
    assert found is not None and found.frames == 10
    FrameIndex(np.arange(11) * 2, Fraction(1, 30)).save(tmp_path / "frames.npz")
    assert stored_index(tmp_path) is None
    (tmp_path / "frames.npz").write_bytes(b"PK")
    assert stored_index(tmp_path) is None
