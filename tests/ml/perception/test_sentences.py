"""What a run refuses before it works, and what it says of its numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ml.perception import run
from ml.perception.pipeline import Options, bias_notes
from ml.progress import silent


def test_an_unknown_profile_is_refused_before_the_video_is_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no perception profile 'fast'"):
        run.run(tmp_path / "not-there.mp4", tmp_path / "out", Options(profile="fast"), silent)


@pytest.mark.parametrize(
    ("bias", "words"),
    [
        ([3.1, 3.14], "by -3.1 degrees."),
        ([3.1], "by -3.1 degrees."),
        ([2.0, -1.5], "by -2.0 to 1.5 degrees (one value per shot)."),
    ],
)
def test_the_note_on_the_pitch_names_one_number_or_two(bias: list[float], words: str) -> None:
    assert bias_notes(np.array(bias)) == [f"The pitch was corrected {words}"]
