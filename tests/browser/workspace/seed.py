"""Videos for the workspace's tests: real clips through the real import, and made-up scenes of any size.

A made-up scene is people in a row who look at one another by turns, at things, at the camera and away, in several
shots. It is written as perception would write it (samples.parquet and the display files), taken in as a run and
accepted; its events come from the real rules, or, where a test needs thousands, are made up as well.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ml.media.index import FrameIndex
from ml.social.display import write_display
from ml.social.scene import CAMERA, KINDS, NONE, OBJECT, OFF, PERSON, SCENE

TYPES = ("mutual_gaze", "joint_attention", "gaze_following", "attention_capture", "sudden_gaze_shift")
ROLES = {
    "mutual_gaze": ("member", "member"),
    "joint_attention": ("member", "member", "member"),
    "gaze_following": ("leader", "follower"),
    "attention_capture": ("member", "member", "member"),
    "sudden_gaze_shift": ("member",),
}


@dataclass(frozen=True)
class Scene:
    """How large a made-up scene is. `rate`: gaze samples a second; `shots`: first frame of each."""

    people: int
    seconds: NDArray[np.float64]  # N + 1
    rate: float = 4.0
    shots: tuple[int, ...] = (0,)
    seed: int = 7
    aspect: float = 16 / 9

    @property
    def frames(self) -> int:
        return len(self.seconds) - 1


def uniform(frames: int, rate: Fraction = Fraction(25)) -> NDArray[np.float64]:
    """float64[N+1] times of a constant rate."""
    return np.arange(frames + 1, dtype=np.float64) * float(1 / rate)


def samples_of(scene: Scene) -> dict[str, NDArray[Any]]:
    """Columns of samples.parquet; track number = shot * people + place."""
    rng = np.random.default_rng(scene.seed)
    ends = [*scene.shots[1:], scene.frames]
    parts = [_shot(scene, rng, number, span) for number, span in enumerate(zip(scene.shots, ends, strict=True))]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((joined["track"], joined["frame"]))
    return {name: values[order] for name, values in joined.items()}


def _shot(scene: Scene, rng: np.random.Generator, number: int, span: tuple[int, int]) -> dict[str, NDArray[Any]]:
    start, end = span
    wanted = np.arange(scene.seconds[start], scene.seconds[end], 1 / scene.rate)
    frames = np.unique(np.searchsorted(scene.seconds[:-1], wanted - 1e-9).clip(start, end - 1))
    times, people, count = scene.seconds[frames], scene.people, len(frames)
    places = np.arange(people)
    sway = 0.01 * np.sin(times[:, None] * 0.7 + rng.uniform(0, 6, people))
    centre = (places + 1) / (people + 1) + sway
    top = np.broadcast_to(0.16 + 0.1 * rng.random(people), (count, people)) + 0.006 * np.sin(times[:, None])
    half, face = 0.32 / (people + 1), 0.1 / (people + 1)
    kind, target = _schedule(rng, times, people)
    eye = np.stack([centre, top + 1.1 * face * scene.aspect], axis=-1)
    gaze = _points(rng, eye, kind, target)
    measured = np.isfinite(gaze[..., 0])
    nan = np.full((count, people), np.nan)
    columns = {
        "frame": np.broadcast_to(frames[:, None], (count, people)).astype(np.int32),
        "shot": np.full((count, people), number, np.int16),
        "track": np.broadcast_to(number * people + places, (count, people)).astype(np.int32),
        "sampled": np.ones((count, people), bool),
        "body_x1": centre - half,
        "body_y1": top,
        "body_x2": centre + half,
        "body_y2": np.full((count, people), 0.96),
        "body_score": np.full((count, people), 0.9),
        "body_derived": np.zeros((count, people), bool),
        "face_x1": centre - face,
        "face_y1": top + 0.01,
        "face_x2": centre + face,
        "face_y2": top + 0.01 + 2.4 * face * scene.aspect,
        "face_score": 0.8 + 0.2 * rng.random((count, people)),
        "face_flag": np.ones((count, people)),
        "yaw": np.where(measured, 60 * np.tanh(2 * (gaze[..., 0] - centre)), nan),
        "pitch": np.where(measured, 20 * np.tanh(eye[..., 1] - gaze[..., 1]), nan),
        "eye_x": np.where(measured, eye[..., 0], nan),
        "eye_y": np.where(measured, eye[..., 1], nan),
        "gaze_x": gaze[..., 0],
        "gaze_y": gaze[..., 1],
        "inframe": np.isin(kind, (PERSON, OBJECT, SCENE)).astype(float),
        "confidence": np.where(kind == NONE, 0, 0.45 + 0.55 * rng.random((count, people))),
        "target_kind": kind.astype(np.uint8),
        "target_track": np.where(kind == PERSON, number * people + target, -1).astype(np.int32),
    }
    flat = {name: np.asarray(values).reshape(-1) for name, values in columns.items()}
    return {name: v.astype(np.float32) if v.dtype == np.float64 else v for name, v in flat.items()}


def _schedule(
    rng: np.random.Generator, times: NDArray[np.float64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Kind and target person of every sample: each person keeps a target for a while, then takes another."""
    kind = np.zeros((len(times), people), np.int64)
    target = np.zeros((len(times), people), np.int64)
    kinds = np.array([PERSON, SCENE, OBJECT, CAMERA, OFF, NONE])
    odds = np.array([0.66, 0.12, 0.07, 0.05, 0.06, 0.04]) if people > 1 else np.array([0, 0.5, 0.2, 0.1, 0.1, 0.1])
    for person in range(people):
        length = times[-1] - times[0] + 1
        switch = times[0] + np.cumsum(rng.gamma(2.0, 0.9, int(length / 0.9) + 8))
        segment = np.searchsorted(switch, times)
        kinds_of = rng.choice(kinds, len(switch) + 1, p=odds)
        others = np.array([p for p in range(people) if p != person] or [0])
        near = 1 / (1 + np.abs(others - person))
        popular = near * (1 + 2 * (others % 3 == 0))
        target_of = rng.choice(others, len(switch) + 1, p=popular / popular.sum())
        kind[:, person], target[:, person] = kinds_of[segment], target_of[segment]
    return kind, target


def _points(
    rng: np.random.Generator, eye: NDArray[np.float64], kind: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.float64]:
    gaze = np.take_along_axis(eye, np.broadcast_to(target[..., None], eye.shape), axis=1)
    gaze = np.where((kind == OBJECT)[..., None], [0.5, 0.8], gaze)
    gaze = np.where((kind == SCENE)[..., None], eye + [0.12, 0.3], gaze)
    gaze = gaze + rng.normal(0, 0.006, eye.shape)
    return np.where(np.isin(kind, (PERSON, OBJECT, SCENE))[..., None], gaze, np.nan)


# ---------------------------------------------------------------------------------------------------------------------
# Into the database and the store


def clip_video(project: Any, clip: Path, *, name: str = "clip.mp4") -> Any:
    """A video of a real file, through the real import."""
    from ml.media.importer import prepare
    from ml.progress import silent
    from webapp.lib import storage
    from webapp.library.models import Blob, Video

    with tempfile.TemporaryDirectory() as folder:
        done = prepare(clip, Path(folder), silent)
        facts = json.loads((Path(folder) / "import.json").read_text())
        blob = Blob.objects.create(
            sha256=done.sha256, bytes=clip.stat().st_size, suffix=".mp4", ready=True, facts=facts
        )
        storage.put_folder(Path(folder), blob.folder)
    copied = {key: facts[key] for key in ("width", "height", "frames", "duration_s", "has_audio")}
    return Video.objects.create(project=project, blob=blob, name=name, state="ready", shots=[0], **copied)


def bare_video(project: Any, scene: Scene, *, name: str = "scene") -> Any:
    """A video without pictures: times and, with `add_scene`, features only."""
    from webapp.library.models import Video

    seconds = scene.seconds
    return Video.objects.create(
        project=project,
        name=name,
        state="ready",
        width=1280,
        height=720,
        frames=scene.frames,
        duration_s=float(seconds[-1] - seconds[0]),
        has_pixels=False,
        shots=list(scene.shots),
    )


def add_scene(video: Any, scene: Scene, *, link_shots: bool = True, accepted: bool = True) -> Any:
    """Take a made-up scene in as the video's run. `link_shots`: the same places are the same people in every shot."""
    from webapp.tracks import services

    columns = samples_of(scene)
    run_id = uuid.uuid4()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_parquet(folder / "samples.parquet", columns)
        write_display(folder, columns, seconds=scene.seconds, frames=scene.frames, aspect=scene.aspect)
        np.save(folder / "seconds.npy", scene.seconds)
        manifest = _manifest(scene, columns)
        run = services.add_run(
            run_id=run_id, video=video, job=None, profile="embedded", origin="folder", manifest=manifest, folder=folder
        )
    services.save_report(run=run, plan=_plan(manifest, scene.people, link_shots), revision=video.revision)
    if accepted:
        services.accept_run(run=run, user=None)
    video.refresh_from_db()
    return run


def add_masks(video: Any, masks: NDArray[np.bool_] | list[bytes], size: tuple[int, int], rows: dict[str, Any]) -> None:
    """Masks of people as the run's: one for each of `rows` (frame, track), as pictures or as run lengths."""
    from ml.formats import coco_rle
    from webapp.lib import storage
    from webapp.tracks.masking import note_masks
    from webapp.tracks.masks import write_blocks

    counts = [m if isinstance(m, bytes) else coco_rle.encode(m) for m in masks]
    frame, track = (np.asarray(rows[name], np.int64) for name in ("frame", "track"))
    with tempfile.TemporaryDirectory() as name:
        write_blocks(
            Path(name), frame=frame, track=track, score=np.full(len(frame), 0.9),
            box=coco_rle.boxes(counts, size), counts=counts,
        )  # fmt: skip
        storage.put_folder(Path(name), video.run.folder)
    counted = {"frames": len(np.unique(frame)), "masks": len(frame)}
    about = {"masker": {"name": "made up", "version": "1"}, "size": list(size), "counts": counted}
    note_masks(run_id=video.run.id, about=about)


def derive(video: Any, preset: str = "strict") -> None:
    """The events that the real rules find."""
    from tests.webapp import runs
    from webapp.events import derivation

    derivation.apply(derivation=runs.derive(video, preset), user=None)
    video.refresh_from_db()


def add_events(video: Any, count: int, *, seed: int = 11, shares: tuple[float, float, float] = (0.6, 0.3, 0.1)) -> None:
    """Made-up events of all five types in the states proposed, confirmed and rejected by `shares`."""
    from webapp.events.models import Event, Participation
    from webapp.events.rows import set_of
    from webapp.tracks.models import Person

    rng = np.random.default_rng(seed)
    people = list(Person.objects.filter(video=video, merged_into=None))
    shots = np.array([*video.shots, video.frames])
    proposal, working = set_of(video, "proposal"), set_of(video, "working")
    sets = {"proposed": proposal, "confirmed": working, "rejected": working}
    events, roles = [], []
    for _ in range(count):
        type_ = str(rng.choice(TYPES))
        start = int(rng.integers(0, video.frames - 12))
        last = int(shots[np.searchsorted(shots, start, side="right")])
        end = min(last, start + 8 + int(rng.gamma(2, 14)))
        status = str(rng.choice(["proposed", "confirmed", "rejected"], p=shares))
        who = rng.choice(len(people), min(len(ROLES[type_]), len(people)), replace=False)
        pairs = sorted([str(people[i].id), role] for i, role in zip(who, ROLES[type_], strict=False))
        confidence = round(float(rng.uniform(0.3, 1)), 3)
        machine = {"type": type_, "start": start, "end": end, "confidence": confidence, "roles": pairs, "details": {}}
        machine |= {"preset": "strict", "run": str(video.run_id)}
        if rng.random() < 0.1:
            machine["start"] = max(0, start - 5)
        event = Event(
            set=sets[status], video=video, modality="gaze", type=type_,
            start=start, end=end, confidence=confidence, origin="rule", status=status, machine=machine,
        )  # fmt: skip
        events.append(event)
        roles += [Participation(event=event, person_id=person, role=role) for person, role in pairs]
    Event.objects.bulk_create(events, batch_size=2000)
    Participation.objects.bulk_create(roles, batch_size=4000)
    proposed = sum(e.status == "proposed" for e in events)
    type(video).objects.filter(id=video.id).update(proposed_count=proposed, reviewed_count=count - proposed)
    video.refresh_from_db()


def _manifest(scene: Scene, columns: dict[str, NDArray[Any]]) -> dict[str, Any]:
    spans = list(zip(scene.shots, [*scene.shots[1:], scene.frames], strict=True))
    tracks = [
        {"track": shot * scene.people + place, "shot": shot, "start": start, "end": end}
        for shot, (start, end) in enumerate(spans)
        for place in range(scene.people)
    ]
    return {
        "v": 1,
        "rate": scene.rate,
        "tracking_rate": scene.rate,
        "profile": "embedded",
        "backends": [],
        "parameters": {},
        "shots": [{"start": s, "end": e, "persons": scene.people, "faces": scene.people} for s, e in spans],
        "tracks": tracks,
        "identity": [],
        "gaze_samples": int((columns["target_kind"] != NONE).sum()),
        "notes": [],
    }


def _plan(manifest: dict[str, Any], people: int, link_shots: bool) -> Any:
    """Who is who: by place in the row, or everybody anew in every shot with a question about the first two shots."""
    from webapp.tracks.services import Plan

    key = (lambda track: track % people) if link_shots else (lambda track: track)
    rows = [(t["track"], t["start"], t["end"], f"new-{key(t['track'])}", False) for t in manifest["tracks"]]
    asked = [] if link_shots else [(f"new-{place}", f"new-{people + place}", 0.62) for place in range(people)]
    return Plan(tracklets=sorted(rows), identity=asked)


def _write_parquet(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    table = dict(columns)
    table["target_kind"] = np.array(KINDS, dtype=object)[columns["target_kind"]]
    table["target_object"] = np.where(columns["target_kind"] == OBJECT, "cup", "").astype(object)
    table["method"] = np.full(len(columns["frame"]), "made up", dtype=object)
    pq.write_table(pa.table({name: pa.array(values) for name, values in table.items()}), path)


def index_of(seconds: NDArray[np.float64]) -> FrameIndex:
    """A frame index in microseconds, for a video that is made without an import."""
    return FrameIndex(np.rint(seconds * 1e6).astype(np.int64), Fraction(1, 1_000_000))
