"""Person masks of a perception run, at its gaze samples: one packed file beside the run's samples.

`masks.parquet` is a packed masks file (`ml.media.masks`): query "person", object and person the raw track, score how
sure the mask model is of the pixels (0.5..1), tracker score that of the detector (NaN where the box was filled in).
`masks.json` says how they were made. Pieces of at most PIECE samples, none across a cut, lie in the work folder until
the whole is complete, so an interrupted call goes on; anything that differs begins again.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Masks
from ml.formats.errors import FormatError
from ml.media import masks as packed
from ml.media.decode import read_frames
from ml.media.files import write_json
from ml.media.index import FrameIndex
from ml.perception import sightings as seen
from ml.perception.gestures.run import prepare, renamed
from ml.perception.masks.masker import LONGEST, Masker
from ml.perception.protocols import Array, Image
from ml.progress import Progress, silent

T = TypeVar("T")

FILE, ABOUT = "masks.parquet", "masks.json"
PIECE = 120  # samples
MAX_THREADS = 2  # one video gets two cores
SIDES = ("x1", "y1", "x2", "y2")
BOXES = {part: [f"{part}_{side}" for side in SIDES] for part in ("body", "face")}


@dataclass(frozen=True, eq=False)
class Samples:
    """Who is where on the frames that get masks: one row per person and frame, sorted by frame, then track; boxes in
    [0, 1], NaN where there is no face."""

    frame: NDArray[np.int64]
    track: NDArray[np.int64]
    body: Array
    face: Array
    score: Array

    @classmethod
    def of(cls, path: Path) -> Samples:
        """The gaze samples of a run's samples.parquet."""
        names = ["frame", "track", "sampled", "body_score", *BOXES["body"], *BOXES["face"]]
        table = pq.read_table(path, columns=names)
        columns = {name: table[name].to_numpy() for name in names}
        rows = np.flatnonzero(columns["sampled"])
        rows = rows[np.lexsort((columns["track"][rows], columns["frame"][rows]))]
        body, face = (np.stack([columns[n][rows] for n in names_], 1).astype(np.float64) for names_ in BOXES.values())
        frame, track = (columns[n][rows].astype(np.int64) for n in ("frame", "track"))
        return cls(frame, track, body, face, columns["body_score"][rows].astype(np.float32))

    def on(self, frame: int) -> slice:
        """The rows of a frame."""
        low, high = np.searchsorted(self.frame, [frame, frame + 1])
        return slice(int(low), int(high))


def make(
    *,
    video: Path,
    index: FrameIndex,
    shots: list[tuple[int, int]],
    samples: Path,
    out: Path,
    work: Path,
    sha256: str,
    weights: Path | None = None,
    sightings: Path | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write masks.parquet and masks.json into `out`; returns what masks.json holds: {"v", "video", "masker", "size"
    (height, width), "seconds" (of processors), "counts": {"frames", "masks", "persons", "without"}, "notes"}. What is
    there already, of the same input, is left as it is. `sightings` is the file of that name beside the samples, which
    need not exist; where something was seen that is not in it, another one is written into `out`.

    Raises MissingWeights, MediaError, and what `progress` raises; the work folder then keeps the finished pieces. It is
    the caller's to remove.
    """
    known = Samples.of(samples)
    masker = Masker(weights)
    about = {
        "video": {"sha256": sha256, "frames": index.frames},
        "masker": masker.describe(),
        "samples": _fingerprint(known),
    }
    if (finished := _finished(out, about)) is not None:
        return finished
    prepare(work, {**about, "shots": [list(shot) for shot in shots]})
    pieces, done = split(np.unique(known.frame), shots), 0
    total = sum(len(piece) for piece in pieces)
    of = seen.about(sha256, index.frames)
    earlier = seen.Sightings.load(sightings, of)
    parts = []
    for number, frames in enumerate(pieces):
        path = work / f"piece-{number:05d}.parquet"
        if not path.exists():

            def report(count: int, before: int = done) -> None:
                progress("masks", (before + count) / total)

            noting = seen.Sightings(of, earlier)
            masks, seconds = look_at(masker, video, index, known, frames, report, noting)
            noting.save(path.with_suffix(seen.SUFFIX))
            packed.write(path, masks, {"seconds": seconds})
        done += len(frames)
        progress("masks", done / max(total, 1))
        parts.append(packed.read(path))
    masks = packed.joined(parts) if parts else packed.empty(_size(video, index))
    seconds = sum(packed.meta(work / f"piece-{number:05d}.parquet")["seconds"] for number in range(len(pieces)))
    result = {
        "v": 1,
        "video": about["video"],
        "masker": about["masker"],
        "size": list(masks.size),
        "seconds": {"masks": round(seconds, 3)},
        "counts": {
            "frames": total, "masks": len(masks.frame), "persons": len(np.unique(masks.object)),
            "without": len(known.frame) - len(masks.frame),
        },
        "notes": ["Masks are approximate: people who overlap strongly trade patches of limbs."],
    }  # fmt: skip
    both = seen.joined(of, earlier, work.glob(f"piece-*{seen.SUFFIX}"))
    if both is not None:
        both.save(out / seen.FILE)
    packed.write(out / FILE, masks, about)
    write_json(out / ABOUT, result)
    return result


def _finished(out: Path, about: dict[str, Any]) -> dict[str, Any] | None:
    """What an earlier call with the same input wrote, None where there is none."""
    try:
        return json.loads((out / ABOUT).read_text()) if packed.meta(out / FILE) == about else None
    except (FormatError, FileNotFoundError):
        return None


def split(frames: NDArray[np.int64], shots: list[tuple[int, int]]) -> list[NDArray[np.int64]]:
    """Ascending frames in pieces of at most PIECE, none across a cut."""
    starts = np.searchsorted(frames, [start for start, _ in shots])
    parts = [p for p in np.split(frames, starts) if len(p)]
    return [part[at : at + PIECE] for part in parts for at in range(0, len(part), PIECE)]


def look_at(
    masker: Masker,
    video: Path,
    index: FrameIndex,
    known: Samples,
    frames: NDArray[np.int64],
    report: Callable[[int], None],
    noting: seen.Sightings | None = None,
) -> tuple[Masks, float]:
    """The masks on some frames (ascending), and the processor seconds of looking. `report` is called with the number of
    frames done, and may raise; `noting` is asked first what is seen there, and added to."""

    def look(number: int, bgr: Image) -> tuple[Masks, float]:
        start, rows = time.thread_time(), known.on(number)
        columns = (known.track[rows], known.body[rows], known.face[rows], known.score[rows])
        found = masker.look(bgr, number, *columns, noting)
        return found, time.thread_time() - start

    parts, seconds = [], 0.0
    for masks, spent in in_order(look, read_frames(video, index, frames, longest=LONGEST)):
        parts.append(masks)
        seconds += spent
        report(len(parts))
    return packed.joined(parts), seconds


def in_order(look: Callable[[int, Image], T], pictures: Iterator[tuple[int, Image]]) -> Iterator[T]:
    """What `look` says of each picture, in their order; a few are looked at at once."""
    threads = min(MAX_THREADS, len(os.sched_getaffinity(0)))
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for number, bgr in pictures:
            waiting.append(pool.submit(look, number, bgr))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def by_person(masks: Masks, person_of: dict[int, list[tuple[int, int, int]]]) -> Masks:
    """Masks by raw track as masks by person: track -> (start, end, person) names the person of each stretch of a track;
    masks of nobody are left out, and of two tracks of one person on a frame the smaller mask."""
    person = renamed(masks.frame, masks.object, person_of)
    rows = np.flatnonzero(person >= 0)
    rows = rows[np.lexsort((-masks.area[rows], masks.frame[rows], person[rows]))]
    again = (np.diff(person[rows], prepend=-1) == 0) & (np.diff(masks.frame[rows], prepend=-1) == 0)
    rows = rows[~again]
    found = packed.picked(masks, rows)
    columns = {**vars(found), "object": person[rows], "person": person[rows]}
    return packed.joined([Masks(**columns)])


def _fingerprint(known: Samples) -> str:
    import hashlib

    digest = hashlib.sha256()
    for column in (known.frame, known.track, known.body, known.face):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def _size(video: Path, index: FrameIndex) -> packed.Size:
    """Height and width of the pictures that masks are made of."""
    _, bgr = next(read_frames(video, index, [0], longest=LONGEST))
    return bgr.shape[:2]
