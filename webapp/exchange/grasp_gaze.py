"""A GRASP gaze file becomes a run: of a video that is here, or of a video known from this file only.

The file's frame numbers are trusted. A video without pictures takes its frame times from the file: between two samples
they are interpolated, outside them extrapolated at the file's `video_fps` (a note of the run says so). Persons of the
file become raw tracks, one for each shot they appear in, and keep their numbers where those are free. Runs in a worker
or on the command line: it writes Parquet.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.db import transaction
from numpy.typing import NDArray

from ml.formats.grasp_gaze import GazeFile, parse
from ml.social.display import write_display
from ml.social.grasp import ASSUMED_ASPECT
from webapp.accounts.models import User
from webapp.lib.errors import Refused
from webapp.library import frames
from webapp.library.models import Project, Video
from webapp.tracks import acceptance, services
from webapp.tracks.models import Run

METHOD = "imported: GRASP gaze file"
ASSUMED_HEIGHT = 720
NAMESPACE = uuid.UUID("6f1b0c56-3c0c-4f0e-9a1c-6d1f7f3a2b10")


def import_file(*, path: Path, project: Project, user: User | None, video: Video | None = None) -> Run:
    """Bring a gaze file in. Without `video` one without pictures is made. The same file again is the same run.

    Raises FormatError (the file), Refused (it does not fit the video).
    """
    data = path.read_bytes()
    gaze = parse(data)
    if not len(gaze.frames):
        raise Refused(f"{path.name}: there is no frame in this file.", "file")
    with transaction.atomic():
        sha256 = hashlib.sha256(data).hexdigest()
        if video is None:
            video_id = uuid.uuid5(NAMESPACE, f"{project.id} {sha256}")
            known_video = Video.objects.filter(id=video_id).first()
            video = known_video or _video_without_pixels(video_id, gaze, path, project, user)
        elif gaze.frames[-1] >= video.frames:
            raise Refused(
                f"{path.name}: frame_idx {gaze.frames[-1]} lies outside {video.name!r} ({video.frames} frames).",
                "file",
            )
        run_id = uuid.uuid5(NAMESPACE, f"{video.id} {sha256}")
        known = Run.objects.filter(id=run_id).first()
        if known is None:
            with tempfile.TemporaryDirectory(prefix="sightline-") as scratch:
                manifest = write_run(gaze, video, Path(scratch), sha256)
                known = services.add_run(
                    run_id=run_id,
                    video=video,
                    job=None,
                    profile="grasp-gaze",
                    origin="grasp-gaze",
                    manifest=manifest,
                    folder=Path(scratch),
                )
    acceptance.settle(run=known, user=user)
    return Run.objects.get(id=run_id)


def _video_without_pixels(id: uuid.UUID, gaze: GazeFile, path: Path, project: Project, user: User | None) -> Video:
    name = Path(gaze.video_path.replace("\\", "/")).name or path.name
    seconds = frame_seconds(gaze)
    width, height = picture_size(gaze)
    return Video.objects.create(
        id=id,
        project=project,
        name=name[:255],
        state=Video.State.READY,
        has_pixels=False,
        frames=len(seconds) - 1,
        duration_s=float(seconds[-1] - seconds[0]),
        width=width,
        height=height,
        created_by=user,
        warnings=["This video is known from a gaze file only: there are no pictures."],
    )


def picture_size(gaze: GazeFile) -> tuple[int, int]:
    """Width and height in pixels: the file's, else an assumed 16:9."""
    if gaze.width and gaze.height:
        return gaze.width, gaze.height
    return round(ASSUMED_HEIGHT * ASSUMED_ASPECT), ASSUMED_HEIGHT


def frame_seconds(gaze: GazeFile) -> NDArray[np.float64]:
    """Seconds of every frame and of the end of the last one, N + 1 values."""
    count = max(int(gaze.frames[-1]) + 1, gaze.total_frames or 0)
    at = np.arange(count + 1)
    inside = np.interp(at, gaze.frames, gaze.times)
    before = gaze.times[0] + (at - gaze.frames[0]) / gaze.video_fps
    after = gaze.times[-1] + (at - gaze.frames[-1]) / gaze.video_fps
    seconds = np.where(at < gaze.frames[0], before, np.where(at > gaze.frames[-1], after, inside))
    return np.asarray(seconds - min(0.0, float(seconds[0])))


def shots_of(gaze: GazeFile, frames: int) -> list[tuple[int, int]]:
    """[start, end) of every shot; the whole video when the file names none. Gaps between them are shots, too."""
    if not gaze.shots:
        return [(0, frames)]
    edges = sorted({0, frames, *(edge for shot in gaze.shots for edge in shot if 0 < edge < frames)})
    return list(zip(edges[:-1], edges[1:], strict=True))


def columns_of(gaze: GazeFile, shots: list[tuple[int, int]]) -> dict[str, NDArray[Any]]:
    """The sample columns of a run (see the run folder's layout), sorted by (frame, track)."""
    frame = gaze.frames[gaze.row_sample]
    shot = np.searchsorted([start for start, _ in shots], frame, side="right") - 1
    _, track = np.unique(np.stack([shot, gaze.row_person]), axis=1, return_inverse=True)
    area = np.prod(gaze.face[:, 2:] - gaze.face[:, :2], axis=1)
    has_face = (area > 0) & (gaze.face_detected != 0.0)
    face = np.where(has_face[:, None], gaze.face, np.nan)
    body = np.where(np.isnan(gaze.body), face, gaze.body)
    pointed = has_face & np.isfinite(gaze.gaze).all(axis=1)
    inframe = np.where(np.isnan(gaze.inout), pointed.astype(float), gaze.inout)
    target = targets_of(gaze.row_sample, track, np.where(pointed[:, None], gaze.gaze, np.nan), face)
    inside = np.where(target >= 0, "person", "scene")
    kind = np.where(pointed & (inframe >= 0.5), inside, np.where(has_face & (gaze.inout < 0.5), "off", ""))
    empty = np.full(len(frame), np.nan)
    values: dict[str, NDArray[Any]] = {
        "frame": frame.astype(np.int32),
        "shot": shot.astype(np.int16),
        "track": track.astype(np.int32),
        "sampled": np.ones(len(frame), bool),
        **{f"body_{side}": body[:, i] for i, side in enumerate(("x1", "y1", "x2", "y2"))},
        "body_score": empty,
        "body_derived": np.asarray(np.isnan(gaze.body).any(axis=1)),
        **{f"face_{side}": face[:, i] for i, side in enumerate(("x1", "y1", "x2", "y2"))},
        "face_score": empty,
        "face_flag": empty,
        "yaw": empty,
        "pitch": empty,
        "eye_x": (face[:, 0] + face[:, 2]) / 2,
        "eye_y": (face[:, 1] + face[:, 3]) / 2,
        "gaze_x": np.where(pointed, gaze.gaze[:, 0], np.nan),
        "gaze_y": np.where(pointed, gaze.gaze[:, 1], np.nan),
        "inframe": inframe,
        "confidence": np.where(kind != "", 1.0, 0.0),
        "method": np.full(len(frame), METHOD, object),
        "target_kind": kind.astype(object),
        "target_track": np.where(kind == "person", target, -1).astype(np.int32),
        "target_object": np.full(len(frame), "", object),
    }
    order = np.lexsort((values["track"], values["frame"]))
    return {
        name: (column.astype(np.float32) if column.dtype == np.float64 else column)[order]
        for name, column in values.items()
    }


def targets_of(
    sample: NDArray[Any], track: NDArray[Any], point: NDArray[np.float64], face: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Raw track whose face box holds each row's gaze point, in the same sample; -1 for none.

    The file names no targets. Of several boxes the one whose centre is nearest wins; one's own face never counts.
    """
    target = np.full(len(sample), -1, np.int64)
    bounds = np.searchsorted(sample, np.arange(sample[-1] + 2)) if len(sample) else np.zeros(1, np.int64)
    widest = int(np.diff(bounds).max(initial=0))
    best = np.full(len(sample), np.inf)
    for offset in range(widest):  # the k-th person of every sample at once
        other = np.minimum(bounds[sample] + offset, len(sample) - 1)
        there = (bounds[sample] + offset < bounds[sample + 1]) & (track[other] != track)
        box = face[other]
        away = np.abs(point - (box[:, :2] + box[:, 2:]) / 2).sum(axis=1)
        hit = there & (point >= box[:, :2]).all(axis=1) & (point <= box[:, 2:]).all(axis=1) & (away < best)
        target[hit], best[hit] = track[other][hit], away[hit]
    return target


def write_run(gaze: GazeFile, video: Video, folder: Path, sha256: str) -> dict[str, Any]:
    """Write the run folder; returns its manifest."""
    shots = shots_of(gaze, video.frames)
    columns = columns_of(gaze, shots)
    pq.write_table(pa.table(columns), folder / "samples.parquet")
    if video.has_pixels:
        seconds = frames.frame_seconds(video)
    else:
        seconds = frame_seconds(gaze)
        np.save(folder / "seconds.npy", seconds)
    tracks, aspect = _tracks(gaze, columns, shots), video.width / video.height
    ends = {track["track"]: track["end"] for track in tracks}
    write_display(folder, columns, seconds=seconds, frames=video.frames, aspect=aspect, track_ends=ends)
    manifest = {
        "v": 1,
        "video": {"sha256": video.blob_id, "frames": video.frames, "width": video.width, "height": video.height},
        "profile": "grasp-gaze",
        "backends": [{"name": METHOD, "version": "", "weights": {}, "file_sha256": sha256}],
        "parameters": {"video_fps": gaze.video_fps, "sample_fps": gaze.sample_fps, "video_path": gaze.video_path},
        "rate": gaze.sample_fps,
        "tracking_rate": gaze.sample_fps,
        "shots": [{"start": start, "end": end, **_seen(columns, start, end)} for start, end in shots],
        "tracks": tracks,
        "identity": _identity(gaze, shots),
        "gaze_samples": int((columns["target_kind"] != "").sum()),
        "seconds": {},
        "notes": _notes(gaze, video),
    }
    (folder / "run.json").write_text(json.dumps(manifest))
    return manifest


def _notes(gaze: GazeFile, video: Video) -> list[str]:
    notes = ["Gaze comes from a GRASP gaze file; its method and confidence are not in the file."]
    if not video.has_pixels:
        notes.append("Frame times are interpolated between the file's samples.")
    if not (gaze.width and gaze.height):
        notes.append("The file does not give the picture's size; 16:9 is assumed.")
    return notes


def _seen(columns: dict[str, NDArray[Any]], start: int, end: int) -> dict[str, int]:
    """Median number of persons and faces over the shot's samples."""
    inside = (columns["frame"] >= start) & (columns["frame"] < end)
    if not inside.any():
        return {"persons": 0, "faces": 0}
    _, sample = np.unique(columns["frame"][inside], return_inverse=True)
    faces = np.bincount(sample, weights=np.isfinite(columns["face_x1"][inside]))
    return {"persons": int(np.median(np.bincount(sample))), "faces": int(np.median(faces))}


def _tracks(gaze: GazeFile, columns: dict[str, NDArray[Any]], shots: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """One entry per raw track, ending one sample step after its last sample, and never after its shot."""
    samples = np.unique(columns["frame"])
    step = int(np.median(np.diff(samples))) if len(samples) > 1 else 1
    numbers = track_persons(gaze, shots)
    tracks = []
    for track in np.unique(columns["track"]):
        rows = columns["track"] == track
        frames, shot = columns["frame"][rows], int(columns["shot"][rows][0])
        tracks.append(
            {
                "track": int(track),
                "shot": shot,
                "number": int(numbers[track]),  # what the file calls the person
                "start": int(frames[0]),
                "end": min(int(frames[-1]) + step, shots[shot][1]),
                "samples": int(rows.sum()),
                "face_samples": int(np.isfinite(columns["face_x1"][rows]).sum()),
                "mean_confidence": float(columns["confidence"][rows].mean()),
            }
        )
    return tracks


def track_persons(gaze: GazeFile, shots: list[tuple[int, int]]) -> NDArray[np.int64]:
    """The file's person id of each raw track: tracks are counted by shot, then by person."""
    frame = gaze.frames[gaze.row_sample]
    shot = np.searchsorted([start for start, _ in shots], frame, side="right") - 1
    return np.asarray(np.unique(np.stack([shot, gaze.row_person]), axis=1)[1])


def _identity(gaze: GazeFile, shots: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """The file says who is who across its shots: tracks of one person id in a row are the same person."""
    persons = track_persons(gaze, shots)
    found = []
    for person in np.unique(persons):
        tracks = np.flatnonzero(persons == person).tolist()
        found += [
            {"a": a, "b": b, "similarity": 1.0, "band": "same"} for a, b in zip(tracks[:-1], tracks[1:], strict=True)
        ]
    return found
