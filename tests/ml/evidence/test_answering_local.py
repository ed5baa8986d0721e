"""A real Qwen3-VL of random weights answers about a real clip: what the double of the job's test cannot show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ml import torchside
from ml.evidence import answering
from ml.media.index import FrameIndex
from tests import clips
from tests.ml.evaluation.test_local_tiny import tiny as tiny

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("torch"),
    pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed"),
]


def test_a_model_of_a_folder_sees_the_clip_and_answers_the_same_twice(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ml.perception.run import index_of
    from ml.progress import silent

    monkeypatch.setattr(answering, "REPLY_TOKENS", 12)
    clip = clips.make("bframes", tmp_path)
    index: FrameIndex = index_of(clip.path, silent)
    model = answering.ByFolder(tiny)
    told: dict[str, Any] = {
        "clip": clip.path,
        "index": index,
        "question": "Who looks?",
        "options": ["Person 1", "Person 2"],
    }
    first, second = (answering.ask(model, stamped=False, **told) for _ in range(2))
    other = answering.ask(model, stamped=True, **told)  # the same pictures without the stamp
    model.close()
    assert first == second and first.text.startswith("<think>") and first.model == "qwen3-vl-tiny"
    assert len(first.prompt) == 64 and first.prompt != other.prompt and first.frames == other.frames
    assert len(first.frames) >= 2 and model.about["fingerprint"]
