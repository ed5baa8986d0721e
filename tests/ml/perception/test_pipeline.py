"""The whole run on the demo clip against its truth; under kill -9, cancelling, and with other numbers of processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from ml.media.decode import read_frames
from ml.perception import headpose, registry, samples
from ml.perception.geometry import middle
from ml.perception.pipeline import STAGES, Options, perceive, piece_bounds
from ml.progress import Cancelled
from ml.weights.cache import MissingWeights
from tests.ml.perception.conftest import Demo, Finished
from tests.processes import children_with

pytestmark = pytest.mark.long


def sampled_counts(done: Finished, shot: int) -> tuple[list[int], list[int]]:
    """Persons and faces on each sampled frame of a shot."""
    c = done.columns
    here = c["sampled"] & (c["shot"] == shot)
    frames = np.unique(c["frame"][here])
    faces = here & np.isfinite(c["face_score"])
    return [int((here & (c["frame"] == f)).sum()) for f in frames], [
        int((faces & (c["frame"] == f)).sum()) for f in frames
    ]


def test_cuts_are_exact(demo: Demo, finished: Finished) -> None:
    assert [s["start"] for s in finished.run["shots"]] == [0, *demo.truth["cuts"]]
    assert [s["end"] for s in finished.run["shots"]] == [*demo.truth["cuts"], demo.truth["frames"]]


def test_persons_and_faces_are_those_of_the_truth(demo: Demo, finished: Finished) -> None:
    for number, shot in enumerate(demo.truth["shots"]):
        persons, faces = sampled_counts(finished, number)
        wanted = len(shot["persons"])
        assert np.mean(np.array(persons) == wanted) >= (0.8 if shot["name"] == "E" else 0.9), shot["name"]
        assert finished.run["shots"][number]["persons"] == wanted
        if shot["name"] != "E":
            assert np.mean(np.array(faces) == wanted) >= 0.95, shot["name"]
            assert finished.run["shots"][number]["faces"] == wanted


def test_each_person_of_a_shot_is_one_track(demo: Demo, finished: Finished) -> None:
    found = [sum(t["shot"] == k for t in finished.run["tracks"]) for k in range(5)]
    assert found == [len(shot["persons"]) for shot in demo.truth["shots"]]


def test_everybody_stays_to_the_cut(finished: Finished) -> None:
    """As in the clip, where nobody leaves before one (but in E, where people hide each other)."""
    ends = [s["end"] for s in finished.run["shots"]]
    assert all(t["start"] < t["end"] <= ends[t["shot"]] for t in finished.run["tracks"])
    assert all(t["end"] == ends[t["shot"]] for t in finished.run["tracks"] if t["shot"] < 4)


def test_the_two_who_return_are_proposed_as_the_same(demo: Demo, finished: Finished) -> None:
    """Persons of the truth stand in the columns of the split screens, so a track's place says who it is."""
    c = finished.columns
    names: dict[int, str] = {}
    for shot in (0, 2):
        here = c["shot"] == shot
        for track in np.unique(c["track"][here]):
            centre = np.median((c["body_x1"] + c["body_x2"])[here & (c["track"] == track)]) / 2
            names[int(track)] = demo.truth["shots"][shot]["persons"][int(centre * 3)]
    same = {(names.get(k["a"]), names.get(k["b"])) for k in finished.run["identity"] if k["band"] == "same"}
    assert same == {("franck", "franck"), ("woman", "woman")}


def test_the_table_has_its_columns_sorted(finished: Finished) -> None:
    table = pq.read_table(finished.folder / "samples.parquet")
    assert table.schema.equals(samples.SCHEMA)
    keys = list(zip(table["frame"].to_pylist(), table["track"].to_pylist(), strict=True))
    assert keys == sorted(set(keys))
    assert set(table["method"].to_pylist()) <= {"", samples.ESTIMATE, samples.PROFILE}
    c = finished.columns
    directed = np.isfinite(c["yaw"])
    assert (np.abs(c["yaw"][directed]) <= 90).all()
    assert (np.abs(c["pitch"][directed]) <= 90).all()
    assert finished.run["gaze_samples"] == directed.sum()
    assert not (directed & ~c["sampled"]).any()
    assert ((c["confidence"][directed] > 0) & (c["confidence"][directed] <= 1)).all()
    person = c["target_kind"] == "person"
    assert (c["target_track"][person] >= 0).all()
    assert (c["target_track"][~person] == -1).all()


def test_the_run_names_what_made_it(finished: Finished) -> None:
    run = finished.run
    assert [b["name"] for b in run["backends"]] == ["nanodet", "centerface", "facemesh", "faceres"]
    assert all(len(h) == 64 for b in run["backends"] for h in b["weights"].values())
    assert (run["rate"], run["tracking_rate"], run["profile"]) == (2.0, 4.0, "embedded")
    assert list(run["seconds"]) == list(STAGES)
    assert not (finished.folder / "work").exists()
    assert sorted(p.name for p in finished.folder.iterdir()) == ["run.json", "samples.parquet"]


def test_progress_comes_often_and_rises(finished: Finished) -> None:
    times = [at for at, _, _ in finished.calls]
    assert max(np.diff(times)) < 3.0  # of one second
    for stage in STAGES:
        shares = [share for _, s, share in finished.calls if s == stage]
        assert shares[0] == 0
        assert shares[-1] == 1
        assert shares == sorted(shares)


def test_memory_and_processor_time_are_bounded(finished: Finished) -> None:
    assert finished.run["peak_rss_mb"] < 1500
    assert sum(finished.run["processor_seconds"].values()) < 3 * 17.6  # what two cores have at 2.5 times real time


def test_mirrored_faces_look_the_other_way(demo: Demo) -> None:
    profile = registry.profile("embedded")
    detector, mesher = registry.load(profile.faces), registry.load(profile.mesh)
    pairs = []
    for _, bgr in read_frames(demo.path, demo.index, range(0, 475, 12)):
        mirror = np.ascontiguousarray(bgr[:, ::-1])
        others = detector.detect(mirror)
        for face in detector.detect(bgr):
            there = np.array([bgr.shape[1], 0]) + middle(face.box) * [-1, 1]
            twin = min(others, key=lambda f, there=there: float(np.linalg.norm(middle(f.box) - there)))  # type: ignore[misc]
            meshes = [mesher.mesh(bgr, face), mesher.mesh(mirror, twin)]
            if np.linalg.norm(middle(twin.box) - there) < 20 and min(m.flag for m in meshes) >= 0.5:
                pairs.append([headpose.from_mesh(m.points).yaw for m in meshes])
    yaw = np.array(pairs)
    beyond = yaw[(np.abs(yaw) > 8).all(1)]
    assert len(beyond) >= 25
    assert (np.sign(beyond[:, 0]) == -np.sign(beyond[:, 1])).all()
    assert np.median(np.abs(yaw.sum(1))) < 5


@pytest.mark.parametrize("workers", [0, 1])
def test_the_number_of_processes_does_not_matter(demo: Demo, finished: Finished, tmp_path: Path, workers: int) -> None:
    perceive(video=demo.path, index=demo.index, out=tmp_path, options=Options(workers=workers))
    assert (tmp_path / "samples.parquet").read_bytes() == (finished.folder / "samples.parquet").read_bytes()


def test_an_index_without_changes_gives_the_same(demo: Demo, finished: Finished, tmp_path: Path) -> None:
    assert demo.index.changes is not None
    bare, calls = replace(demo.index, changes=None), []
    run = perceive(
        video=demo.path, index=bare, out=tmp_path, options=Options(),
        progress=lambda stage, share: calls.append(share) if stage == "shots" else None,
    )  # fmt: skip
    assert run["shots"] == finished.run["shots"]
    assert len(calls) > 5 and calls == sorted(calls)
    assert (tmp_path / "samples.parquet").read_bytes() == (finished.folder / "samples.parquet").read_bytes()


def test_cancelled_while_it_decodes_for_cuts_it_stops_and_continues(demo: Demo, tmp_path: Path) -> None:
    def stop(stage: str, share: float) -> None:
        seen.append((stage, share))
        if share > 0.3:
            asked.append(time.monotonic())
            raise Cancelled

    asked: list[float] = []
    seen: list[tuple[str, float]] = []
    bare = replace(demo.index, changes=None)
    with pytest.raises(Cancelled):
        perceive(video=demo.path, index=bare, out=tmp_path, options=Options(), progress=stop)
    assert time.monotonic() - asked[0] < 30  # of ten
    assert seen[-1][0] == "shots" and 0.3 < seen[-1][1] < 1
    assert not children_with("ml.perception.worker")
    assert not (tmp_path / "run.json").exists()


def test_without_identity_nothing_is_compared(demo: Demo, finished: Finished, tmp_path: Path) -> None:
    run = perceive(video=demo.path, index=demo.index, out=tmp_path, options=Options(identity=False))
    assert run["identity"] == []
    assert "faceres" not in [b["name"] for b in run["backends"]]
    assert run["processor_seconds"]["identity"] == 0
    assert (tmp_path / "samples.parquet").read_bytes() == (finished.folder / "samples.parquet").read_bytes()


def command(demo: Demo, out: Path) -> list[str]:
    return [sys.executable, "-m", "ml.perception.run", str(demo.path), "--out", str(out)]


def test_killed_again_and_again_it_ends_with_the_same_bytes(demo: Demo, finished: Finished, tmp_path: Path) -> None:
    """kill -9 of the parent after growing times: pieces are kept, processes go, the result is that of a quiet run."""
    kills = 0
    for wait_s in (1.5, 3.0, 4.5, 6.0, 7.5, 9.0):
        with subprocess.Popen(command(demo, tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
            try:
                parent.wait(wait_s)
                break
            except subprocess.TimeoutExpired:
                family = psutil.Process(parent.pid).children(recursive=True)
                parent.send_signal(signal.SIGKILL)
                kills += 1
        assert not psutil.wait_procs(family, timeout=5)[1]
    assert kills
    subprocess.run(command(demo, tmp_path), check=True, capture_output=True)
    assert (tmp_path / "samples.parquet").read_bytes() == (finished.folder / "samples.parquet").read_bytes()
    again = json.loads((tmp_path / "run.json").read_text())
    changing = {"seconds", "processor_seconds", "peak_rss_mb", "notes"}
    assert {k: v for k, v in again.items() if k not in changing} == {
        k: v for k, v in finished.run.items() if k not in changing
    }
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("stage", STAGES)
def test_cancelled_in_any_stage_it_stops_and_continues(
    demo: Demo, finished: Finished, tmp_path_factory: pytest.TempPathFactory, stage: str, cancelled: Path
) -> None:
    def stop(now: str, share: float) -> None:
        if now == stage and (share > 0.3 or stage not in ("shots", "people")):
            asked.append(time.monotonic())
            raise Cancelled

    asked: list[float] = []
    with pytest.raises(Cancelled):
        perceive(video=demo.path, index=demo.index, out=cancelled, options=Options(), progress=stop)
    assert time.monotonic() - asked[0] < 30  # of ten
    assert not children_with("ml.perception.worker")
    assert not (cancelled / "run.json").exists()
    assert not (cancelled / "samples.parquet").exists()
    if stage == STAGES[-1]:
        perceive(video=demo.path, index=demo.index, out=cancelled, options=Options())
        assert (cancelled / "samples.parquet").read_bytes() == (finished.folder / "samples.parquet").read_bytes()


@pytest.fixture(scope="module")
def cancelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the cancelled runs: each goes on where the one before was stopped."""
    return tmp_path_factory.mktemp("cancelled")


def test_an_equal_call_in_a_finished_folder_returns_at_once(demo: Demo, finished: Finished) -> None:
    before = (finished.folder / "run.json").stat().st_mtime_ns
    start = time.monotonic()
    assert perceive(video=demo.path, index=demo.index, out=finished.folder, options=Options()) == finished.run
    assert time.monotonic() - start < 2
    assert (finished.folder / "run.json").stat().st_mtime_ns == before


def test_missing_weights_are_told_before_any_work(demo: Demo, tmp_path: Path) -> None:
    with pytest.raises(MissingWeights, match="nanodet.onnx"):
        perceive(video=demo.path, index=demo.index, out=tmp_path / "run", options=Options(weights=tmp_path))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("options", [Options(profile="none"), Options(rate=0), replace(Options(), tracking_rate=-1.0)])
def test_bad_options_are_told(demo: Demo, tmp_path: Path, options: Options) -> None:
    with pytest.raises(ValueError, match="cannot be used|no perception profile"):
        perceive(video=demo.path, index=demo.index, out=tmp_path / "run", options=options)


def test_the_command_line_has_its_exit_codes(demo: Demo, tmp_path: Path) -> None:
    text = tmp_path / "text.mp4"
    text.write_text("not a video")
    bad = subprocess.run(
        [sys.executable, "-m", "ml.perception.run", str(text), "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert bad.returncode == 2
    assert "Cannot read the video" in bad.stderr
    assert "Traceback" not in bad.stderr
    none = subprocess.run(
        command(demo, tmp_path / "out"), capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "SIGHTLINE_WEIGHTS": str(tmp_path)},
    )  # fmt: skip
    assert none.returncode == 3
    assert "make weights" in none.stderr


def test_pieces_share_the_time_evenly() -> None:
    assert piece_bounds(np.arange(100.0), 200) == [0, 50, 100]
    assert piece_bounds(np.arange(100.0), 50)[1:-1] == pytest.approx([25, 50, 75], abs=1)
    assert piece_bounds(np.array([0.0]), 20) == [0, 1]
    assert piece_bounds(np.r_[0, np.arange(90.0, 100)], 20)[-1] == 11
