"""A detector over all shots of a video: one JSON file with the gestures, what they cost, and how they were found.

Each finished shot is a file in the work folder, so an interrupted call goes on with the next one; a detector, version,
weights, setting or video that differs begins again. Shots are looked at one after another: memory is that of one.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ml.media.files import sweep, write_json
from ml.media.index import FrameIndex
from ml.perception import sightings as seen
from ml.perception.gestures import registry
from ml.perception.gestures.protocol import Footage, Found, Gesture, GestureDetector, People
from ml.progress import Progress, silent

COLUMNS = ["frame", "track", *(f"{part}_{side}" for part in ("body", "face") for side in ("x1", "y1", "x2", "y2"))]


def detect(
    *,
    footage: Footage,
    detector: GestureDetector,
    work: Path,
    sha256: str,
    sightings: Path | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """All gestures of a video, as `gestures.json` holds them: see `result`.

    `sightings` is the file of that name beside the run's samples, which need not exist; where something was seen that
    is not in it, the work folder has another one to be put in its place. Raises MediaError, and what `progress` raises;
    the work folder then keeps the finished shots. Whoever stored the result removes it.
    """
    plan = {
        "video": {"sha256": sha256, "frames": footage.index.frames},
        "detector": registry.describe(detector),
        "shots": [list(shot) for shot in footage.shots],
        "people": fingerprint(footage.people),
    }
    prepare(work, plan)
    about = seen.about(sha256, footage.index.frames)
    footage = replace(footage, known=seen.Sightings.load(sightings, about))
    frames, before = footage.index.frames, 0
    for number, (start, end) in enumerate(footage.shots):
        path = work / f"shot-{number:05d}.json"
        if not path.exists():
            folder = work / f"shot-{number:05d}"
            folder.mkdir(exist_ok=True)

            def share(done: float, start: int = before, length: int = end - start) -> None:
                progress("gestures", min(1.0, (start + done * length) / frames))

            found = detector.detect(footage, number, work=folder, progress=share)
            for part in folder.glob(f"*{seen.SUFFIX}"):
                part.replace(work / f"{folder.name}-{part.name}")
            write_json(path, {**asdict(found), "gestures": [g.row() for g in found.gestures]})
            shutil.rmtree(folder)
        before += end - start
        progress("gestures", before / frames)
    assert footage.known is not None
    both = seen.joined(about, footage.known, work.glob(f"shot-*{seen.SUFFIX}"))
    if both is not None:
        both.save(work / seen.FILE)
    return result(work, plan)


def result(work: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """{"v", "video", "detector", "gestures" (rows of `Gesture`, by start), "seconds" and "counts" added up over the
    shots, "notes", "shots": [{"start", "end", "gestures": count, "rounds"}]}."""
    parts = []
    for number in range(len(plan["shots"])):
        stored = json.loads((work / f"shot-{number:05d}.json").read_text())
        parts.append(Found(**{**stored, "gestures": [Gesture.of(row) for row in stored["gestures"]]}))
    return {
        "v": 1,
        **{key: plan[key] for key in ("video", "detector")},
        "gestures": [g.row() for part in parts for g in part.gestures],
        "seconds": added([part.seconds for part in parts]),
        "counts": added([part.counts for part in parts]),
        "notes": [note for part in parts for note in part.notes],
        "shots": [
            {"start": start, "end": end, "gestures": len(part.gestures), "rounds": part.rounds}
            for (start, end), part in zip(plan["shots"], parts, strict=True)
        ],
    }


def added(parts: list[dict[str, float]]) -> dict[str, float]:
    """Sums by name, in the order in which the names come up."""
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = round(total.get(name, 0) + value, 6)
    return total


def prepare(work: Path, plan: dict[str, Any]) -> None:
    """Make the work folder; what a call with other input left in it goes."""
    path = work / "plan.json"
    if not path.is_file() or json.loads(path.read_text()) != json.loads(json.dumps(plan)):
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    for folder in (work, *(p for p in work.iterdir() if p.is_dir())):
        sweep(folder)
    write_json(path, plan)


def fingerprint(people: People) -> str:
    """Hex digest of who is where."""
    import hashlib

    digest = hashlib.sha256()
    for column in (people.frame, people.person, people.body, people.face):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# From a run folder


def people_of(samples: Path, person_of: dict[int, list[tuple[int, int, int]]] | None = None) -> People:
    """Who is where by a run's samples.parquet. Without `person_of` a person is a track; with it, track -> (start, end,
    person) names the person of each stretch of a track, and rows of nobody are left out."""
    table = pq.read_table(samples, columns=COLUMNS)
    columns = {name: table[name].to_numpy() for name in COLUMNS}
    frame, track = columns["frame"].astype(np.int64), columns["track"].astype(np.int64)
    body, face = (
        np.stack([columns[f"{part}_{side}"] for side in ("x1", "y1", "x2", "y2")], 1).astype(np.float32)
        for part in ("body", "face")
    )
    person = track if person_of is None else renamed(frame, track, person_of)
    rows = np.flatnonzero(person >= 0)
    rows = rows[np.lexsort((person[rows], frame[rows]))]
    return People(frame[rows], person[rows], body[rows], face[rows])


def renamed(frame: Any, track: Any, person_of: dict[int, list[tuple[int, int, int]]]) -> Any:
    """The person of each row, -1 for none."""
    person = np.full(len(track), -1, np.int64)
    for number, spans in person_of.items():
        for start, end, who in spans:
            person[(track == number) & (frame >= start) & (frame < end)] = who
    return person


def footage_of(video: Path, index: FrameIndex, run: Path) -> tuple[Footage, str]:
    """A video with the people of its run folder, and its sha256 as the run has it. Raises ValueError with a sentence
    when the folder is not a finished run of this video."""
    if not (run / "run.json").is_file() or not (run / "samples.parquet").is_file():
        raise ValueError(f"{run} is not a finished run: run.json and samples.parquet are missing.")
    try:
        manifest = json.loads((run / "run.json").read_text())
        about = manifest["video"]
        shots = [(shot["start"], shot["end"]) for shot in manifest["shots"]]
        sha256, frames, width, height = (about[k] for k in ("sha256", "frames", "width", "height"))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{run / 'run.json'} is not what a run writes: {error!r}.") from error
    if frames != index.frames:
        raise ValueError(f"The run in {run} has {frames} frames, the video {video} has {index.frames}.")
    return Footage(video, index, width, height, shots, people_of(run / "samples.parquet")), sha256
