"""A run whose profile follows people by their masks brings these with it: pages and grounders find them at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.evidence.grounding.protocol import Masks
from ml.media import masks as packed
from ml.media.files import write_json
from ml.perception import pipeline
from tests.webapp.runs import make_filmed_video, write_run_folder
from webapp.jobs import broker
from webapp.lib import storage
from webapp.library.models import Project, Video
from webapp.tracks.masks import masks_between
from webapp.tracks.models import Run
from webapp.tracks.services import request_perception
from workers import attempt
from workers.tasks import perceiving

FRAMES, SIZE = 500, (36, 64)


def perceive(*, out: Path, options: pipeline.Options, **_: Any) -> dict[str, Any]:
    """Two people, the masks of both on frames 0 and 5."""
    manifest = write_run_folder(out, people=2, frames=FRAMES) | {"profile": options.profile}
    counts = [packed.of_box((0.5 * k, 0, 0.5 * k + 0.4, 1), SIZE) for k in (0, 1)] * 2
    track, frame = np.array([0, 1, 0, 1]), np.array([0, 0, 5, 5])
    masks = Masks(
        SIZE, np.full(4, "person"), track, frame, track, np.full(4, 0.9, np.float32), np.full(4, 0.8, np.float32),
        packed.boxes(counts, SIZE), packed.area(counts, SIZE), np.full(4, "mask"), counts,
    )  # fmt: skip
    packed.write(out / "masks.parquet", masks, {})
    about = {"masker": {"name": "sam3-people", "version": "1"}, "size": list(SIZE)}
    write_json(out / "masks.json", {"v": 1, "counts": {"frames": 2, "masks": 4}, "notes": [], **about})
    return manifest


def test_masks_come_with_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "send", lambda **_: True)
    monkeypatch.setattr(pipeline, "perceive", perceive)
    video = make_filmed_video(project, FRAMES)
    assert video.blob is not None
    path = storage.local_path(video.blob.original)
    assert path is not None
    path.write_bytes(b"nobody reads it")
    job = request_perception(video=video, user=None, profile="gpu")
    attempt.run(str(job.id), "here@elsewhere", perceiving.work, perceiving.tidy)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    run = Run.objects.get(video=video, state="accepted")
    assert run.profile == "gpu" and run.masks["masker"]["name"] == "sam3-people"
    found = masks_between(Video.objects.select_related("run").get(id=video.id), 0, 10)
    assert found["frame"] == [0, 0, 5, 5] and found["track"] == [0, 1, 0, 1]
