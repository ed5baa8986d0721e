"""Objects followed through a window: detections of some looks linked into boxes over time. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ml.assignment import least_cost_pairs
from ml.perception.geometry import ious, middle, size
from ml.perception.gestures.window import Array
from ml.perception.protocols import Detection

GONE_S = 1.0  # seen again after this it is another one
FAR = 1.5  # middles further apart than this many of the object's sizes are two objects
SURE = 0.5  # the best look at an object, below which it is none
LOOKS = 2  # on which it was seen at least


def follow(seconds: Array, found: Sequence[list[Detection] | None]) -> tuple[Array, list[str], Array]:
    """T x O x 4 boxes, O names, O mean scores. `found`: the detections of each look, None where nobody looked."""
    tracks: list[dict[int, Detection]] = []
    open_: list[int] = []
    for look, detections in enumerate(found):
        if detections is None:
            continue
        open_ = [k for k in open_ if seconds[look] - seconds[max(tracks[k])] <= GONE_S]
        owner = link([tracks[k][max(tracks[k])] for k in open_], detections)
        for detection, known in zip(detections, owner, strict=True):
            if known is None:
                open_.append(len(tracks))
                tracks.append({look: detection})
            else:
                tracks[open_[known]][look] = detection
    kept = [t for t in tracks if len(t) >= LOOKS and max(d.score for d in t.values()) >= SURE]
    boxes = np.full((len(seconds), len(kept), 4), np.nan)
    for k, track in enumerate(kept):
        for look, detection in track.items():
            boxes[look, k] = detection.box
    names = [next(iter(track.values())).name for track in kept]
    scores = np.array([np.mean([d.score for d in track.values()]) for track in kept])
    return boxes, names, scores


def link(known: list[Detection], fresh: list[Detection]) -> list[int | None]:
    """For each fresh detection the known object of the same name it continues: best overlap, else nearest middle."""
    owner: list[int | None] = [None] * len(fresh)
    if not known or not fresh:
        return owner
    a, b = np.array([d.box for d in known]), np.array([d.box for d in fresh])
    away = np.linalg.norm(middle(a)[:, None] - middle(b)[None], axis=-1) / np.maximum(size(a).max(1)[:, None], 1)
    cost = 1 - ious(a, b) + away
    same = np.array([[k.name == f.name for f in fresh] for k in known])
    cost = np.where(same & (away <= FAR), cost, 1e6)
    for row, column in zip(*least_cost_pairs(cost), strict=True):
        if cost[row, column] < 1e6:
            owner[int(column)] = int(row)
    return owner
