"""A run folder that perception wrote elsewhere (`python -m ml.perception.run`) becomes a run of the video it names.

The folder holds run.json and samples.parquet. The video is found by its file's sha256. Reads Parquet: used by workers
and commands only. Nothing of the folder is trusted before it was checked.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ml.formats.errors import FormatError
from ml.social.display import write_display
from webapp.accounts.models import User
from webapp.lib.errors import Refused
from webapp.library import frames
from webapp.library.models import Project, Video
from webapp.tracks import acceptance, services
from webapp.tracks.models import Run

NAMESPACE = uuid.UUID("b6c9d3d2-6e8e-4a53-9a0e-0d9f0f1f5c41")
KEYS = ("v", "video", "profile", "backends", "parameters", "rate", "shots", "tracks", "gaze_samples")
WHOLE = ("frame", "shot", "track", "target_track")
NUMBERS = (
    *(f"{part}_{side}" for part in ("body", "face") for side in ("x1", "y1", "x2", "y2")),
    "body_score", "face_score", "yaw", "pitch", "eye_x", "eye_y", "gaze_x", "gaze_y", "inframe", "confidence",
)  # fmt: skip
FLAGS = ("sampled", "body_derived")
TEXTS = ("method", "target_kind", "target_object")


def import_folder(*, folder: Path, user: User | None, project: Project | None = None) -> Run:
    """Bring a run folder in. The same folder again is the same run. Raises FormatError and Refused."""
    manifest = read_manifest(folder / "run.json")
    video = video_of(manifest, project)
    digest = hashlib.sha256((folder / "run.json").read_bytes() + check_samples(folder, manifest, video)).hexdigest()
    run_id = uuid.uuid5(NAMESPACE, f"{video.id} {digest}")
    run = Run.objects.filter(id=run_id).first() or _add(run_id, video, manifest, folder)
    acceptance.settle(run=run, user=user)
    return Run.objects.select_related("video", "job").get(id=run_id)


def _add(run_id: uuid.UUID, video: Video, manifest: dict[str, Any], folder: Path) -> Run:
    with tempfile.TemporaryDirectory(prefix="sightline-") as scratch:
        copy = Path(scratch)
        for name in ("run.json", "samples.parquet"):  # and nothing else that may lie there
            shutil.copyfile(folder / name, copy / name)
        seconds = frames.frame_seconds(video)
        aspect = video.width / video.height
        ends = {int(t["track"]): int(t["end"]) for t in manifest["tracks"]}
        write_display(
            copy, copy / "samples.parquet", seconds=seconds, frames=video.frames, aspect=aspect, track_ends=ends
        )
        return services.add_run(
            run_id=run_id,
            video=video,
            job=None,
            profile=str(manifest["profile"])[:40],
            origin="folder",
            manifest=manifest,
            folder=copy,
        )


def read_manifest(path: Path) -> dict[str, Any]:
    """run.json with the keys that are used later checked. Raises FormatError."""
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise FormatError(f"{path.parent} is no run folder: it has no run.json.") from error
    except ValueError as error:
        raise FormatError(f"{path} is not JSON: {error}.") from error
    if not isinstance(manifest, dict):
        raise FormatError(f"{path} holds no object.")
    for key in KEYS:
        if key not in manifest:
            raise FormatError(f"{path} has no key {key!r}.")
    if manifest["v"] != 1:
        raise FormatError(f"{path} has version {manifest['v']!r}; only 1 is known.")
    try:
        spans = [(int(s["start"]), int(s["end"]), int(s["persons"]), int(s["faces"])) for s in manifest["shots"]]
        tracks = [(int(t["track"]), int(t["shot"]), int(t["start"]), int(t["end"])) for t in manifest["tracks"]]
        total = int(manifest["video"]["frames"])
        pairs = [(int(i["a"]), int(i["b"]), float(i["similarity"]), i["band"]) for i in manifest.get("identity", [])]
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path}: shots, tracks, identity or video are not as a run writes them ({error})."
        ) from error
    ends = [end for _, end, _, _ in spans]
    if not spans or [0, *ends[:-1]] != [start for start, *_ in spans] or ends[-1] != total:
        raise FormatError(f"{path}: the shots do not cover the {total} frames one after the other.")
    known = {track for track, *_ in tracks}
    if len(known) != len(tracks):
        raise FormatError(f"{path}: a track is listed twice.")
    for track, shot, start, end in tracks:
        if not (0 <= shot < len(spans) and spans[shot][0] <= start < end <= spans[shot][1]):
            raise FormatError(f"{path}: track {track} does not lie within its shot.")
    if any(a not in known or b not in known or band not in ("same", "ask") for a, b, _, band in pairs):
        raise FormatError(f"{path}: an identity pair names a track that is not there, or an unknown band.")
    return manifest


def video_of(manifest: dict[str, Any], project: Project | None) -> Video:
    """The video the run was made from. Raises Refused."""
    sha256 = str(manifest["video"].get("sha256", ""))
    found = Video.objects.filter(blob_id=sha256, state=Video.State.READY).select_related("project", "blob", "run")
    if project is not None:
        found = found.filter(project=project)
    videos = list(found[:2])
    if not videos:
        raise Refused(f"The run's video (sha256 {sha256[:12]}...) is not here; import the file first.", "video")
    if len(videos) > 1:
        raise Refused("The run's video is in more than one project; name one with --project.", "project")
    if videos[0].frames != manifest["video"]["frames"]:
        counted = manifest["video"]["frames"]
        raise Refused(f"The run counts {counted} frames, the video {videos[0].name!r} has {videos[0].frames}.", "video")
    return videos[0]


def check_samples(folder: Path, manifest: dict[str, Any], video: Video) -> bytes:
    """Digest of samples.parquet after a look at every row. Raises FormatError."""
    path = folder / "samples.parquet"
    try:
        table = pq.read_table(path, columns=[*WHOLE, *NUMBERS, *FLAGS, *TEXTS])
    except FileNotFoundError as error:
        raise FormatError(f"{folder} is no run folder: it has no samples.parquet.") from error
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path} cannot be read as samples: {str(error).splitlines()[0]}.") from error
    kinds = {**dict.fromkeys(WHOLE, pa.types.is_integer), **dict.fromkeys(NUMBERS, pa.types.is_floating)}
    kinds |= dict.fromkeys(FLAGS, pa.types.is_boolean)
    for name, fits in kinds.items():
        if not fits(table.schema.field(name).type) or table[name].null_count:
            raise FormatError(f"{path}: the column {name} has type {table.schema.field(name).type} or empty places.")
    frame, track = (table[name].to_numpy().astype(np.int64) for name in ("frame", "track"))
    order = frame * (1 << 20) + track
    if len(order) and (frame.min() < 0 or frame.max() >= video.frames or np.any(np.diff(order) <= 0)):
        raise FormatError(
            f"{path}: the rows are not sorted by frame and track within the video's {video.frames} frames."
        )
    known = {int(t["track"]): t for t in manifest["tracks"]}
    strangers = set(np.unique(track).tolist()) - set(known)
    if strangers:
        raise FormatError(f"{path}: track {min(strangers)} is not in run.json.")
    return hashlib.sha256(path.read_bytes()).digest()
