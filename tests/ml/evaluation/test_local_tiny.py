"""A real Qwen3-VL of random weights, built here, answers through the local model: what doubles cannot show."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from ml import torchside
from ml.evaluation import models
from ml.evaluation.frames import Look, Shown
from ml.evaluation.local import LocalModel
from ml.evaluation.models import Asking
from ml.formats.errors import FormatError
from ml.training.tiny import build
from tests.ml.evaluation.samples import bench, item

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed"),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("qwen3-vl", tmp_path_factory.mktemp("tiny") / "qwen3-vl-tiny")


def noise(*_: object) -> list[Shown]:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (3, 48, 64, 3), dtype=np.uint8)
    return [Shown(k + 0.5, bytes(cv2.imencode(".jpg", picture)[1])) for k, picture in enumerate(pictures)]


def test_it_sees_every_picture_and_answers_the_same_twice(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "shown", noise)
    one = item(video="x.mp4")
    model = LocalModel(tiny, Asking(bench(one), Look(), tokens=8))
    seen = []
    vision = model.load()[0].model.visual
    handle = vision.register_forward_hook(lambda module, args, out: seen.append(args[0].shape[0]))
    first, second = model.answer(one), model.answer(one)
    handle.remove()
    assert first.error is None and first.frames == 3 and first.finish == "length" and first.text.startswith("<think>")
    assert first.text == second.text
    # 64 x 48 pixels are 4 x 2 or more patches of 16: each picture has its own, once for each reply
    assert len(seen) == 2 and seen[0] == seen[1] and seen[0] % 3 == 0 and seen[0] >= 3 * 4
    blind = LocalModel(tiny, Asking(bench(one), None, tokens=8, reasoning=False)).answer(one)
    assert blind.error is None and blind.frames == 0 and not blind.text.startswith("<think>")


def test_a_folder_that_is_no_such_model_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(FormatError, match="cannot be loaded as a model of images and text"):
        LocalModel(tmp_path, Asking(bench(item()), None)).answer(item())
