"""Figures of a whole run on the demo clip, and of reading single frames of it."""

from __future__ import annotations

import hashlib
import statistics
import time
from typing import Any

import numpy as np
import pytest

from ml.media.decode import read_frames
from tests.figures import Record
from tests.ml.perception.conftest import Demo, Finished

pytestmark = pytest.mark.bench


def test_a_run(demo: Demo, finished: Finished, figure: Record) -> None:
    wall_s = finished.run["seconds"]
    figure(
        "perception, demo clip", demo.index.duration_s / sum(wall_s.values()), "x real time", budget=2.5, at_least=True,
        note="4 people, 2 samples/s, all stages",
    )  # fmt: skip
    for stage, seconds in wall_s.items():
        figure(f"perception, demo clip, {stage}", seconds, "s")
    for kind, seconds in finished.run["processor_seconds"].items():
        figure(f"perception, demo clip, processor time of {kind}", seconds, "s")
    figure("perception, peak memory of all processes", finished.run["peak_rss_mb"], "MB", budget=1500)
    assert finished.run["peak_rss_mb"] < 1500


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
