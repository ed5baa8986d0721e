"""Run folders of a made-up scene: people in a row who look at each other by a fixed plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.db import transaction

from webapp.events import derivation
from webapp.events.models import Derivation
from webapp.lib import storage
from webapp.library.models import Blob, Project, Video
from webapp.tracks import acceptance, services
from webapp.tracks.models import Run

FPS = 25
STEP = 5  # frames between samples: 5 per second
WIDTH = 0.12


def make_filmed_video(project: Project, frames: int = 1500) -> Video:
    """A ready video whose frame index is stored, at a constant 25 per second, in one shot."""
    sha256 = f"{frames:064x}"
    blob, _ = Blob.objects.get_or_create(sha256=sha256, defaults={"bytes": 1, "ready": True})
    target = storage.local_path(f"{blob.folder}/frames.npz")
    assert target is not None
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez(target, pts=np.arange(frames + 1), time_base=np.array([1, FPS]), counts=np.zeros(3, np.int64))
    return Video.objects.create(
        project=project,
        blob=blob,
        name="row.mp4",
        state="ready",
        frames=frames,
        width=1280,
        height=720,
        duration_s=frames / FPS,
    )


def targets_of(people: int, frames: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Whom each person looks at, on each sample: another one for two seconds, then the next, at random."""
    rng = np.random.default_rng(seed)
    samples = np.arange(0, frames, STEP)
    block = samples * 1 // (2 * FPS)
    plan = rng.integers(1, people, size=(block[-1] + 1, people))
    return (np.arange(people) + plan[block]) % people


def write_run_folder(
    folder: Path, *, people: int = 4, frames: int = 1500, seed: int = 1, first_track: int = 0, shift: float = 0.0
) -> dict[str, Any]:
    """samples.parquet and run.json. Raw tracks count from `first_track`; `shift` moves all boxes to the right."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = np.arange(0, frames, STEP)
    target = targets_of(people, frames, seed)
    centre = (np.arange(people) + 0.5) / people + shift
    frame, person = (a.ravel() for a in np.meshgrid(samples, np.arange(people), indexing="ij"))
    aim = target.ravel()
    nan = np.full(len(frame), np.nan, np.float32)
    x = centre[person]
    columns: dict[str, Any] = {
        "frame": frame.astype(np.int32),
        "shot": np.zeros(len(frame), np.int16),
        "track": (person + first_track).astype(np.int32),
        "sampled": np.ones(len(frame), bool),
        "body_x1": x - WIDTH / 2,
        "body_y1": np.full(len(frame), 0.2),
        "body_x2": x + WIDTH / 2,
        "body_y2": np.full(len(frame), 0.9),
        "body_score": np.full(len(frame), 0.9),
        "body_derived": np.zeros(len(frame), bool),
        "face_x1": x - 0.03,
        "face_y1": np.full(len(frame), 0.25),
        "face_x2": x + 0.03,
        "face_y2": np.full(len(frame), 0.35),
        "face_score": np.full(len(frame), 0.9),
        "face_flag": np.full(len(frame), 1.0),
        "yaw": nan,
        "pitch": nan,
        "eye_x": x,
        "eye_y": np.full(len(frame), 0.28),
        "gaze_x": centre[aim],
        "gaze_y": np.full(len(frame), 0.3),
        "inframe": np.full(len(frame), 1.0),
        "confidence": np.full(len(frame), 0.9),
        "method": np.full(len(frame), "made up", object),
        "target_kind": np.full(len(frame), "person", object),
        "target_track": (aim + first_track).astype(np.int32),
        "target_object": np.full(len(frame), "", object),
    }
    arrays = {n: (c.astype(np.float32) if c.dtype == np.float64 else c) for n, c in columns.items()}
    pq.write_table(pa.table(arrays), folder / "samples.parquet")
    manifest = {
        "v": 1,
        "profile": "embedded",
        "rate": FPS / STEP,
        "tracking_rate": FPS / STEP,
        "shots": [{"start": 0, "end": frames, "persons": people, "faces": people}],
        "tracks": [{"track": k + first_track, "shot": 0, "start": 0, "end": frames} for k in range(people)],
        "identity": [],
        "backends": [],
        "gaze_samples": len(frame),
        "seconds": {},
        "notes": [],
    }
    (folder / "run.json").write_text(json.dumps(manifest))
    return manifest


def compare(run: Run) -> None:
    """Make the report of what accepting a run would do now."""
    prepared = acceptance.prepare(run=run, accepting=False)
    services.save_report(run=run, plan=prepared.plan, revision=prepared.revision)


def derive(video: Video, preset: str = "strict") -> Derivation:
    """What the rules say now, kept and not applied."""
    draft = derivation.draft(video=video, preset=preset, min_confidence=None)
    with transaction.atomic():
        return derivation.store(draft=draft, video=video, job=None)
