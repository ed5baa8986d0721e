"""Masks of the people of a video for pages: columns of a range of frames, read from small files.

The web process reads no Parquet. Whoever makes masks also writes them in blocks of BLOCK frames, masks/<number>.json:
{"frame": [...], "track": [...], "score": [...], "box": [[x1, y1, x2, y2]...], "counts": [COCO run lengths as text]},
sorted by frame and track, boxes in [0, 1]. A block without a mask has no file.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.core.files.storage import default_storage
from numpy.typing import NDArray

from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Run, Tracklet
from webapp.tracks.queries import roots_of

BLOCK = 512
MOST = 8 * BLOCK  # frames of one answer
NAMES = ("frame", "track", "score", "box", "counts")


def write_blocks(
    folder: Path,
    *,
    frame: NDArray[np.int64],
    track: NDArray[np.int64],
    score: NDArray[Any],
    box: NDArray[Any],
    counts: Sequence[bytes],
) -> None:
    """Write masks (N rows; box N x 4) as blocks into `folder`/masks."""
    target = folder / "masks"
    target.mkdir(exist_ok=True)
    order = np.lexsort((track, frame))
    for number in np.unique(frame // BLOCK).tolist():
        rows = order[frame[order] // BLOCK == number]
        columns = {
            "frame": frame[rows].tolist(),
            "track": track[rows].tolist(),
            "score": np.round(score[rows].astype(float), 3).tolist(),
            "box": np.round(box[rows].astype(float), 5).tolist(),
            "counts": [counts[k].decode("ascii") for k in rows.tolist()],
        }
        (target / f"{number:05d}.json").write_text(json.dumps(columns, separators=(",", ":")))


def masks_between(video: Video, start: int, end: int | None) -> dict[str, Any]:
    """Masks of the frames [start, end), by default to the end of the block of `start`, as columns: frame, track, person
    (id; of whom they were merged into), score, box, counts. `size` (height, width) and `made` are None without masks.

    Raises Refused for a span that is none of the video's, or too long for one answer.
    """
    stop = min((start // BLOCK + 1) * BLOCK, video.frames) if end is None else end
    if not 0 <= start < max(stop, 1) or stop > video.frames:
        raise Refused(f"Frames {start} to {stop} are no span of this video, which has {video.frames}.", "start")
    if stop - start > MOST:
        raise Refused(f"At most {MOST} frames at once; these are {stop - start}.", "end")
    run = video.run
    columns: dict[str, list[Any]] = {name: [] for name in NAMES}
    if run is None or not run.masks:
        return {"size": None, "made": None, "run": None, **columns, "person": []}
    for number in range(start // BLOCK, (stop - 1) // BLOCK + 1):
        part = _block(run, number)
        rows = [k for k, frame in enumerate(part["frame"]) if start <= frame < stop]
        for name in NAMES:
            columns[name] += [part[name][k] for k in rows]
    persons = _persons(video, run, columns["frame"], columns["track"])
    known = [k for k, person in enumerate(persons) if person is not None]
    return {
        "size": run.masks["size"],
        "made": about(run),
        "run": str(run.id),
        **{name: [columns[name][k] for k in known] for name in NAMES},
        "person": [persons[k] for k in known],
    }


def about(run: Run | None) -> dict[str, Any] | None:
    """How a run's masks were made, for pages; None without masks."""
    if run is None or not run.masks:
        return None
    masker, counts = run.masks["masker"], run.masks["counts"]
    return {"name": f"{masker['name']} {masker['version']}", "frames": counts["frames"], "masks": counts["masks"]}


def _block(run: Run, number: int) -> dict[str, list[Any]]:
    try:
        with default_storage.open(f"{run.folder}/masks/{number:05d}.json") as file:
            found: dict[str, list[Any]] = json.load(file)
    except FileNotFoundError:
        return {name: [] for name in NAMES}
    return found


def _persons(video: Video, run: Run, frames: list[int], tracks: list[int]) -> list[str | None]:
    """Whose each mask is, None for nobody's."""
    roots = roots_of(video)
    spans: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    found = Tracklet.objects.filter(run=run, track__in=set(tracks))
    for track, start, end, person in found.values_list("track", "start", "end", "person_id"):
        spans[track].append((start, end, roots[str(person)]))
    return [
        next((who for start, end, who in spans[track] if start <= frame < end), None)
        for frame, track in zip(frames, tracks, strict=True)
    ]
