"""Tiny models and a small snapshot, built once for all tests of training."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ml import torchside
from ml.training import tiny
from tests.ml.training import samples

FAMILIES = ("qwen3-vl", "qwen3_5")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model by its family."""
    folder = tmp_path_factory.mktemp("models")

    def built(family: str) -> Path:
        found = folder / family
        return found if found.exists() else tiny.build(family, found)

    return built


@pytest.fixture(scope="session")
def tiny_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of 9 training rows about 3 clips of 2 seconds, good for both stages."""
    return samples.made(tmp_path_factory.mktemp("snapshot"), 4, per_clip=3)


@pytest.fixture
def training_process() -> Iterator[None]:
    """What a training process sets for itself, taken back after the test: environment and threads."""
    before = dict(os.environ)
    torch, _ = torchside.load()
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    os.environ.clear()
    os.environ.update(before)
