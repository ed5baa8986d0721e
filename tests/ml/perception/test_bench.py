"""Figures of a whole run on the demo clip, and of reading single frames of it."""

from __future__ import annotations

import hashlib
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.media.decode import read_frames
from tests.figures import Record
from tests.ml.perception.conftest import Demo

pytestmark = pytest.mark.bench
RUNS = 3


def test_a_run(demo: Demo, tmp_path: Path, figure: Record) -> None:
    """By the command line, in processes of its own: this one holds what other tests have loaded."""
    runs = []
    for turn in range(RUNS):
        out = tmp_path / str(turn)
        subprocess.run(
            [sys.executable, "-m", "ml.perception.run", str(demo.path), "--out", str(out)],
            check=True,
            capture_output=True,
        )
        runs.append(json.loads((out / "run.json").read_text()))
    wall_s = sorted(sum(run["seconds"].values()) for run in runs)
    middle = next(run for run in runs if sum(run["seconds"].values()) == wall_s[RUNS // 2])
    figure(
        "perception, demo clip", demo.index.duration_s / wall_s[RUNS // 2], "x real time", budget=2.5, at_least=True,
        note=f"4 people, 2 samples/s, all stages; median of {RUNS}, best {demo.index.duration_s / wall_s[0]:.2f}",
    )  # fmt: skip
    for stage, seconds in middle["seconds"].items():
        figure(f"perception, demo clip, {stage}", seconds, "s")
    for kind, seconds in middle["processor_seconds"].items():
        figure(f"perception, demo clip, processor time of {kind}", seconds, "s")
    peak_mb = max(run["peak_rss_mb"] for run in runs)
    figure("perception, peak memory of all processes", peak_mb, "MB", budget=1500)
    assert peak_mb < 1500


def test_a_run_with_gestures_and_masks(demo: Demo, tmp_path: Path, figure: Record) -> None:
    """Everything perception does, one command after the other: people, gaze and identity, hands and poses, masks."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run = [sys.executable, "-m", "ml.perception.run", str(demo.path), "--out", str(tmp_path), "--masks"]
    subprocess.run(run, check=True, capture_output=True)
    masks = json.loads((tmp_path / "masks.json").read_text())
    with_masks = time.monotonic() - start
    gestures = [sys.executable, "-m", "ml.perception.gestures", str(demo.path), "--run", str(tmp_path)]
    subprocess.run([*gestures, "--out", str(tmp_path / "gestures.json")], check=True, capture_output=True)
    wall_s, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figure("masks, demo clip, processor time", masks["seconds"]["masks"], "s", note=f"{masks['counts']['masks']} masks")
    figure("perception with masks, demo clip", demo.index.duration_s / with_masks, "x real time")
    figure(
        "perception with gestures and masks, demo clip", demo.index.duration_s / wall_s, "x real time", budget=1,
        at_least=True, note=f"4 people, 2 samples/s, all stages and both starts; {cpu_s:.0f} s of processors",
    )  # fmt: skip
    assert wall_s < 3 * demo.index.duration_s


def test_single_frames(demo: Demo, figure: Record) -> None:
    """Each of 50 random frames, read alone, is the picture that reading in order gives under its number."""
    wanted = np.random.default_rng(0).choice(demo.index.frames, 50, replace=False).tolist()

    def digest(picture: Any) -> str:
        return hashlib.sha256(picture.tobytes()).hexdigest()

    in_order = {number: digest(picture) for number, picture in read_frames(demo.path, demo.index, wanted)}
    found, times = 0, []
    for number in wanted:
        start = time.perf_counter()
        ((shown, picture),) = read_frames(demo.path, demo.index, [number])
        times.append(1000 * (time.perf_counter() - start))
        found += shown == number and digest(picture) == in_order[number]
    figure("frames read alone, of 50", found, budget=50, at_least=True)
    figure("frames read alone, median", statistics.median(times), "ms", note="demo clip, file opened each time")
    assert found == 50
