"""The stage of a profile whose people are followed by a tracker of their own: chunk by chunk, then stitched by shot.

Chunks are tasks like the pieces of the other stages, so they survive an interruption. The masks become the run's packed
person masks (`ml.perception.masks.run` says what that file holds), on every analysed frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Masks
from ml.evidence.grounding.stitching import chunks, stitched
from ml.media import masks as packed
from ml.media.files import write_json
from ml.perception import registry
from ml.perception.given import Given
from ml.perception.worker import GIVEN, Task

FOLLOWED = "followed.parquet"  # in the work folder: all masks, by the numbers that `Given` has


def tasks_of(
    profile: registry.Profile, frames: NDArray[np.int64], shots: Sequence[tuple[int, int]]
) -> list[list[Task]]:
    """The chunks of each shot, as spans of rows of the analysed frames."""
    assert profile.people is not None
    backend = registry.backend_class(profile.people)
    found: list[list[Task]] = []
    for start, end in np.searchsorted(frames, np.array(shots)).tolist():
        number = sum(len(tasks) for tasks in found)
        spans = chunks(end - start, backend.length, backend.overlap)
        found.append([Task("follow", number + k, start + a, start + b) for k, (a, b) in enumerate(spans)])
    return found


def settle(
    work: Path, frames: NDArray[np.int64], shots: list[list[Task]], size: tuple[int, int], notes: list[str]
) -> None:
    """Join what the tasks found, shot by shot, for the stages that follow. `size`: width and height."""
    parts: list[Masks] = []
    first = 0
    for tasks in shots:
        pieces = [(frames[t.start : t.end], packed.read(t.result(work))) for t in tasks]
        if pieces:
            parts.append(stitched(pieces, first))
            first += len(np.unique(parts[-1].object))
        for task in tasks:
            notes += packed.meta(task.result(work))["notes"]
    masks = packed.joined(parts)
    packed.write(work / FOLLOWED, masks, {})
    Given.of(masks, *size).save(work / GIVEN)


def write_masks(work: Path, out: Path, tracks: dict[int, int], about: dict[str, Any], seconds: float) -> None:
    """Write masks.parquet and masks.json. `tracks`: the run's track by the number that the tracker gave."""
    from ml.perception.masks.run import ABOUT, FILE

    found = packed.read(work / FOLLOWED)
    track = np.array([tracks.get(number, -1) for number in found.object.tolist()], np.int64)
    rows = np.flatnonzero(track >= 0)
    kept = packed.picked(found, rows)
    masks = packed.joined([
        replace(kept, query=np.full(len(rows), "person"), object=track[rows], person=track[rows])
    ])  # fmt: skip
    masker = about["backends"][-1]
    video = {name: about["video"][name] for name in ("sha256", "frames")}
    packed.write(out / FILE, masks, {"masker": masker, "video": video})
    counts = {
        "frames": len(np.unique(masks.frame)), "masks": len(masks.frame), "persons": len(np.unique(masks.object)),
        "without": 0,
    }  # fmt: skip
    write_json(
        out / ABOUT,
        {
            "v": 1,
            "video": video,
            "masker": masker,
            "size": list(masks.size),
            "seconds": {"masks": seconds},
            "counts": counts,
            "notes": [],
        },
    )
