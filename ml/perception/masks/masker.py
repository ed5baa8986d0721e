"""Masks of the people of a picture: what comes with a pose that is surely theirs, if it covers their face;
else the selfie model's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ml.evidence.grounding.protocol import Masks
from ml.media import masks as packed
from ml.perception import registry
from ml.perception.geometry import ious, transform
from ml.perception.masks import labels
from ml.perception.masks.selfie import rough_skeleton
from ml.perception.matching import assign_faces
from ml.perception.placed import Placed
from ml.perception.protocols import Array, Face, Image, Patch
from ml.perception.sightings import Sightings
from ml.weights import cache
from ml.weights.manifest import MODELS

NAME, VERSION = "person-masks", "1"  # raise the version when the same pictures give other masks
BACKENDS = ("blazepose", "selfie", "centerface")
COVERED = 0.5  # share of the own face below which the mask that came with a pose is not used: it fails on close-ups
SAME_FACE = 0.3  # IoU from which a face found here is the face that is known of a person
QUERY = "person"
LONGEST = 1280  # pixels of the longer side of the pictures that masks are made of


class Masker:
    """The loaded backends. Safe to use from several threads. Raises MissingWeights."""

    def __init__(self, weights: Path | None = None) -> None:
        self._pose, self._selfie, self._faces = (registry.load(name, weights) for name in BACKENDS)

    @staticmethod
    def describe() -> dict[str, Any]:
        """Name, version, sha256 by weights file, settings: all that decides a result."""
        names = [model for name in BACKENDS for model in registry.backend_class(name).weights]
        return {
            "name": NAME,
            "version": VERSION,
            "weights": {MODELS[name].file: MODELS[name].sha256 for name in names},
            "settings": {
                "background": labels.BACKGROUND, "step": labels.STEP, "reduced_side": labels.LONGEST,
                "picture_side": LONGEST, "same_face": SAME_FACE, "covered": COVERED,
            },
        }  # fmt: skip

    @staticmethod
    def need(weights: Path | None) -> None:
        """Raise MissingWeights where a file of weights is missing or damaged."""
        for name in BACKENDS:
            for model in registry.backend_class(name).weights:
                cache.find(model, weights)

    def look(
        self, bgr: Image, frame: int, persons: Array, body: Array, face: Array, score: Array | None = None,
        known: Sightings | None = None,
    ) -> Masks:  # fmt: skip
        """Masks of one picture. `persons` int[P] become objects and persons; `body`, `face` P x 4 in [0, 1], NaN where
        no face is known; `score` float[P] of the detections becomes the tracker score; `known` is asked first and added
        to. Who gets no pixel is left out.
        """
        seen = Sightings({}) if known is None else known
        height, width = bgr.shape[:2]
        scale = np.array([width, height, width, height])
        boxes = np.clip(body, 0, 1) * scale
        found = own_faces(seen.faces(bgr, frame, self._faces.detect) if len(persons) else [], face * scale, boxes)
        outlines = [self._outline(bgr, frame, box, own, seen) for box, own in zip(boxes, found, strict=True)]
        picture, sure = labels.labels(outlines, height, width)
        rows = [k for k in range(len(persons)) if (picture == k + 1).any()]
        counts = [packed.encode(picture == k + 1) for k in rows]
        who = np.asarray(persons, np.int64)[rows]
        detected = np.full(len(persons), np.nan) if score is None else score
        size = (height, width)
        return Masks(
            size=size,
            query=np.full(len(rows), QUERY),
            object=who,
            frame=np.full(len(rows), frame, np.int64),
            person=who,
            score=np.array(sure, np.float32)[rows],
            tracker_score=np.asarray(detected, np.float32)[rows],
            box=packed.boxes(counts, size),
            area=packed.area(counts, size),
            kind=np.full(len(rows), "mask"),
            counts=counts,
        )

    def _outline(self, bgr: Image, frame: int, box: Array, face: Face | None, seen: Sightings) -> labels.Outline:
        own = None if face is None else face.box
        patch: Patch | None = None

        def find() -> Placed | None:
            nonlocal patch
            found = self._pose.outlined(bgr, box, face)
            if found is None:
                return None
            patch = found[1]
            return found[0]

        posed = seen.pose(bgr, frame, box, face, find)
        if posed is None:
            return labels.Outline(box, own, rough_skeleton(box, own), self._selfie.outline(bgr, box))
        patch = self._pose.outline(bgr, posed) if patch is None else patch
        if own is not None and share_of(patch, own) <= COVERED:
            patch = self._selfie.outline(bgr, box)
        return labels.Outline(box, own, posed.pose.points[:, :2], patch)


def share_of(patch: Patch, face: Array) -> float:
    """Share of the middle of a face box (half its width and height) that a mask claims."""
    to_patch = cv2.invertAffineTransform(patch.matrix)
    across = np.linspace(0.25, 0.75, 12)
    x, y = (face[k] + across * (face[k + 2] - face[k]) for k in (0, 1))
    points = transform(to_patch, np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)).astype(np.float32)
    claimed = cv2.remap(patch.share.astype(np.float32), points[:, :1], points[:, 1:], cv2.INTER_LINEAR)
    return float((claimed > labels.BACKGROUND).mean())


def own_faces(faces: list[Face], known: Array, body: Array) -> list[Face | None]:
    """The face of each person, None for none: the one that is known to be theirs, found again; for those of whom none
    is known (NaN), one that nobody else has, if it fits the body."""
    owner = np.full(len(body), -1)
    boxes = np.array([f.box for f in faces]).reshape(-1, 4)
    with_face = np.flatnonzero(np.isfinite(known).all(1))
    if len(faces) and len(with_face):
        overlap = ious(known[with_face], boxes)
        best = overlap.argmax(1)
        owner[with_face] = np.where(overlap.max(1) >= SAME_FACE, best, -1)
    free = np.setdiff1d(np.arange(len(faces)), owner)
    rest = np.flatnonzero(owner < 0)
    if len(free) and len(rest):
        assigned = assign_faces(boxes[free], body[rest])
        owner[rest] = np.where(assigned >= 0, free[assigned], -1)
    return [faces[k] if k >= 0 else None for k in owner]
