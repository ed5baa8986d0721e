"""Memory follows the size of the pictures, not the length of the clip."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from tests import clips

PEAK = """
import sys
from pathlib import Path
from ml.media.decode import read_frames
from ml.media.importer import prepare
from ml.media.index import FrameIndex
from ml.progress import silent
source, out = Path(sys.argv[1]), Path(sys.argv[2])
prepare(source, out, silent)
for _ in read_frames(source, FrameIndex.load(out / "frames.npz")):
    pass
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
"""


def peak_mb(path: Path, out: Path) -> int:
    done = subprocess.run([sys.executable, "-c", PEAK, path, out], capture_output=True, text=True, check=True)
    return int(done.stdout) // 1024


@pytest.mark.long
def test_ten_times_the_length_takes_no_more_memory(tmp_path: Path) -> None:
    peaks = []
    for count in (300, 3000):
        path = tmp_path / f"{count}.mkv"
        clips.write(path, clips.steady(count, Fraction(25), suffix=".mkv", bframes=2, sound=True))
        peaks.append(peak_mb(path, tmp_path / str(count)))
    assert peaks[1] < peaks[0] + 20, peaks
