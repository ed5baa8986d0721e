"""A longer video costs time, not memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ml.evidence.grounding.scripted import footage

LOOK = """
import sys
from pathlib import Path
import numpy as np
from ml.evidence.grounding.protocol import Footage
from ml.evidence.grounding.search import Search
from ml.evidence.grounding.sam3_model import Limits, Transformers
from ml.media.index import FrameIndex
from ml.perception.worker import peak_rss_mb
from fractions import Fraction
import torch
torch.set_num_threads(1)
folder, video, frames = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
engine = Transformers(folder, Limits(objects=2))
index = FrameIndex(np.arange(401), Fraction(1, 25))
def look(count):
    search = Search(engine, Footage(video, index, 320, 180, [(0, 400)]))
    masks = search.find(["man", "red cup"], np.arange(count), lambda share: None)
    assert not search.errors and len(search.looked) == count
    return len(masks.frame)
look(3)
before = peak_rss_mb()
print(before, look(frames), peak_rss_mb())
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_peak_memory_of_400_frames_is_that_of_100(tiny_sam3: Path, tmp_path: Path) -> None:
    video = footage(tmp_path, 400).video
    figures = {}
    for frames in (100, 400):
        command = [sys.executable, "-c", LOOK, str(tiny_sam3), str(video), str(frames)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        assert done.returncode == 0, done.stderr
        before, found, peak = map(float, done.stdout.split())
        assert found > frames  # something was followed all the time
        figures[frames] = before, peak
    (base, short), (_, long) = figures[100], figures[400]
    print(
        f"\npeak resident memory: {base:.0f} MB with the model, {short:.0f} MB for 100 and {long:.0f} MB for 400 frames"
    )
    assert long < 1.2 * short
    assert long - base < 1.2 * (short - base) + 40  # what looking adds, apart from the model's own
