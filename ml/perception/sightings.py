"""What one stage of a run saw on its frames, for the next: faces, and poses as they were asked for.

Masks and gestures look at the same samples with the same models. Whichever comes first leaves `sightings.npz` beside
the run's samples, and the other one takes from it what it would have computed, to the last bit: a pose is taken only
for the very box and face it was asked for, on the same frame of the same video, in a picture of the same size, by the
same weights. Anything else is computed, and so is everything where the file is missing (an older run), damaged, or
about something else: it saves time and decides nothing.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ml.media.files import whole
from ml.perception.placed import POINTS, Placed
from ml.perception.protocols import Array, Face, Image

FILE, SUFFIX = "sightings.npz", ".sightings.npz"  # beside a run's samples; parts, in work folders
VERSION = 1
BACKENDS = ("centerface", "blazepose")
FACE = 15  # numbers of a face: box, score, five points
ASKED = 21  # numbers a pose is asked for with: frame, height, width, box, the face's box and points (NaN without one)

About = dict[str, Any]
Frame = tuple[int, int, int]  # number, height and width of the picture


def about(sha256: str, frames: int) -> About:
    """What the sightings of a video depend on besides what they were asked for with."""
    from ml.perception import registry
    from ml.weights.manifest import MODELS

    backends = [registry.backend_class(name) for name in BACKENDS]
    return {
        "v": VERSION,
        "video": {"sha256": sha256, "frames": frames},
        "backends": [[b.name, b.version, *(MODELS[model].sha256 for model in b.weights)] for b in backends],
    }


class Sightings:
    """Faces by frame, and poses by frame and question. What is not in here is looked up in `base`, and only then
    computed and added here. Several threads may ask at once."""

    def __init__(self, about: About, base: Sightings | None = None) -> None:
        self.about = about
        self._base = base
        self._faces: dict[Frame, list[Face]] = {}
        self._poses: dict[bytes, Placed | None] = {}
        self._sizes: dict[int, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        """Whether anything was added."""
        return bool(self._faces or self._poses)

    def faces(self, bgr: Image, frame: int, detect: Callable[[Image], list[Face]]) -> list[Face]:
        """The faces of a frame's picture, by `detect` where they are not known."""
        key = (frame, bgr.shape[0], bgr.shape[1])
        for layer in self._layers():
            if key in layer._faces:
                return layer._faces[key]
        found = self._faces[key] = detect(bgr)
        self._sizes[frame] = key[1:]
        return found

    def size_of(self, frame: int) -> tuple[int, int] | None:
        """Height and width of the picture in which the faces of a frame were seen; None where they were not."""
        for layer in self._layers():
            if frame in layer._sizes:
                return layer._sizes[frame]
        return None

    def pose(
        self, bgr: Image, frame: int, box: Array, face: Face | None, find: Callable[[], Placed | None]
    ) -> Placed | None:
        """The pose of the person with this box and face on a frame's picture, by `find` where it is not known."""
        key = question(frame, bgr, box, face)
        for layer in self._layers():
            if key in layer._poses:
                return layer._poses[key]
        found = self._poses[key] = find()
        return found

    def _layers(self) -> Iterable[Sightings]:
        layer: Sightings | None = self
        while layer is not None:
            yield layer
            layer = layer._base

    def take(self, other: Sightings) -> None:
        """Add what another one has, without its base."""
        self._faces |= other._faces
        self._sizes |= other._sizes
        self._poses |= other._poses

    def save(self, path: Path) -> None:
        """Write what was added here, complete or not at all."""
        faces = [(at, face) for at, found in sorted(self._faces.items()) for face in found]
        poses = sorted(self._poses.items(), key=lambda item: item[0])
        found = [placed for _, placed in poses if placed is not None]
        arrays = {
            "about": np.array(json.dumps(self.about)),
            "looked": np.array(sorted(self._faces), np.int64).reshape(-1, 3),
            "face_at": np.array([at for at, _ in faces], np.int64).reshape(-1, 3),
            "face": np.array([np.r_[f.box, f.score, f.points.ravel()] for _, f in faces]).reshape(-1, FACE),
            "asked": np.frombuffer(b"".join(key for key, _ in poses)).reshape(-1, ASKED),
            "found": np.array([placed is not None for _, placed in poses], bool),
            "marks": np.array([p.marks for p in found], np.float32).reshape(-1, POINTS, 4),
            "crop": np.array([np.r_[p.flag, p.roi[0], p.roi[1:]] for p in found]).reshape(-1, 5),
        }
        with whole(path) as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: Path | None, about: About) -> Sightings:
        """What `save` wrote about the same; empty where there is nothing of that kind."""
        result = cls(about)
        try:
            if path is not None:
                with np.load(path, allow_pickle=False) as data:
                    if json.loads(str(data["about"])) == json.loads(json.dumps(about)):
                        result._fill({name: data[name] for name in data.files if name != "about"})
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error):
            return cls(about)
        return result

    def _fill(self, data: dict[str, Any]) -> None:
        faces: dict[Frame, list[Face]] = {(n, h, w): [] for n, h, w in data["looked"].tolist()}
        for (n, h, w), row in zip(data["face_at"].tolist(), data["face"].reshape(-1, FACE), strict=True):
            faces[n, h, w].append(Face(row[:4], float(row[4]), row[5:].reshape(5, 2)))
        marks = data["marks"].astype(np.float32).reshape(-1, POINTS, 4)
        found = iter([
            Placed(points, float(row[0]), (row[1:3], float(row[3]), float(row[4])))
            for points, row in zip(marks, data["crop"].reshape(-1, 5), strict=True)
        ])  # fmt: skip
        keys = [row.tobytes() for row in data["asked"].astype(np.float64).reshape(-1, ASKED)]
        self._poses = {k: next(found) if has else None for k, has in zip(keys, data["found"].tolist(), strict=True)}
        self._faces = faces
        self._sizes = {number: (height, width) for number, height, width in faces}


def question(frame: int, bgr: Image, box: Array, face: Face | None) -> bytes:
    """All that decides a pose but the video and the weights."""
    own = np.full(14, np.nan) if face is None else np.r_[face.box, face.points.ravel()]
    return np.r_[frame, bgr.shape[:2], box, own].astype(np.float64).tobytes()


def joined(about: About, known: Sightings, parts: Iterable[Path]) -> Sightings | None:
    """What was known and what the parts of a stage add to it; None where they add nothing."""
    added = Sightings(about)
    for part in sorted(parts):
        added.take(Sightings.load(part, about))
    if not added:
        return None
    result = Sightings(about)
    result.take(known)
    result.take(added)
    return result
