"""From stored samples, tracklets and corrections to proposals. Reads Parquet: imported by workers only."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml.social.events import detect

from ml.social.scene import CAMERA, OBJECT, OFF, PERSON, SCENE, UNUSABLE, Correction, Scene
from webapp.events.models import GazeCorrection
from webapp.lib import storage
from webapp.library.models import Video
from webapp.tracks.acceptance import roots_of, samples_of
from webapp.tracks.models import Tracklet

Row = dict[str, Any]
CODES = {"point": SCENE, "person": PERSON, "object": OBJECT, "camera": CAMERA, "off": OFF, "unusable": UNUSABLE}


def propose(*, video: Video, preset: str, min_confidence: float | None) -> list[Row]:
    """Social events of the accepted run, as machine rows: type, start, end, confidence, roles, details, preset, run."""
    run = video.run
    assert run is not None
    roots = roots_of(video)
    persons = sorted(set(roots.values()))
    number = {person: index for index, person in enumerate(persons)}
    tracklets = np.array(
        [
            (t.track, t.start, t.end, number[roots[str(t.person_id)]])
            for t in Tracklet.objects.filter(run=run).order_by("start", "track")
        ],
        np.int64,
    ).reshape(-1, 4)
    scene = Scene.from_samples(
        samples_of(run),
        person_of=tracklets,
        seconds=frame_seconds(video),
        shot_ends=[*video.shots[1:], video.frames],
        aspect=video.width / video.height,
        corrections=[_correction(c, number, roots) for c in GazeCorrection.objects.filter(video=video)],
    )
    found = detect(scene, preset=preset, min_confidence=min_confidence)
    return [
        {
            "type": event.type,
            "start": int(event.start),
            "end": int(event.end),
            "confidence": round(float(event.confidence), 6),
            "roles": sorted([persons[person], role] for person, role in event.roles),
            "details": event.details,
            "preset": preset,
            "run": str(run.id),
        }
        for event in found
    ]


def frame_seconds(video: Video) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Media seconds of every frame and the end of the last one, N + 1 values."""
    if video.blob is None:
        folder = video.run.folder if video.run else ""
        with storage.local(f"{folder}/seconds.npy") as path:
            return np.asarray(np.load(path, allow_pickle=False))
    with storage.local(f"{video.blob.folder}/frames.npz") as path, np.load(path, allow_pickle=False) as stored:
        numerator, denominator = (int(v) for v in stored["time_base"])
        return np.asarray(stored["pts"].astype(np.float64) * numerator / denominator)


def _correction(correction: GazeCorrection, number: dict[str, int], roots: dict[str, str]) -> Correction:
    target = correction.target_person_id
    return Correction(
        person=number[roots[str(correction.person_id)]],
        start=correction.start,
        end=correction.end,
        kind=CODES[correction.kind],
        x=correction.x,
        y=correction.y,
        target_person=number[roots[str(target)]] if target else None,
    )
