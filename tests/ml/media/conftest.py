"""Clips are written and imported once per session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from ml.media.importer import Imported, prepare
from ml.media.index import FrameIndex
from ml.progress import silent
from tests import clips

Import = tuple[clips.Clip, Path, Imported, FrameIndex]


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], clips.Clip]:
    """The clip of a kind."""
    folder = tmp_path_factory.mktemp("clips")
    return cache(lambda kind: clips.make(kind, folder))


@pytest.fixture(scope="session")
def imported(clip: Callable[[str], clips.Clip], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Import]:
    """The clip of a kind, the folder of its import, the result and the index."""
    folder = tmp_path_factory.mktemp("imports")

    def make(kind: str) -> Import:
        out = folder / kind
        result = prepare(clip(kind).path, out, silent)
        return clip(kind), out, result, FrameIndex.load(out / "frames.npz")

    return cache(make)
