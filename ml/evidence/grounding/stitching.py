"""Long shots are looked at in overlapping chunks, each with a memory of its own; here they become one again.

Two objects of one phrase in neighbouring chunks are the same when their masks on the shared frames overlap: Hungarian
on intersection over union of all those masks together, SAME_IOU at least. On shared frames the earlier chunk's mask is
kept. Somebody hidden on all shared frames is taken for somebody new. Nothing is carried over a cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ml.assignment import least_cost_pairs
from ml.evidence.grounding.protocol import Masks
from ml.media import masks as packed

LENGTH, OVERLAP = 125, 5  # frames, as in GRASP
SAME_IOU = 0.5

Ids = NDArray[np.int64]


def chunks(count: int, length: int = LENGTH, overlap: int = OVERLAP) -> list[tuple[int, int]]:
    """Half-open spans that cover `count` frames, each but the last `length` long, neighbours sharing `overlap`."""
    if not 0 <= overlap < length:
        raise ValueError(f"Chunks of {length} frames cannot share {overlap}.")
    spans = []
    start = 0
    while start < count:
        end = min(start + length, count)
        spans.append((start, end))
        if end == count:
            break
        start = end - overlap
    return spans


def stitched(parts: Sequence[tuple[Ids, Masks]], first_id: int = 0) -> Masks:
    """One shot from its chunks in order: the frames each looked at, int64[n], and what it found, with ids of its own.

    Ids of the result count from `first_id`, in order of appearance; no two phrases share one.
    """
    known, seen, next_id = packed.empty(parts[0][1].size), np.empty(0, np.int64), first_id
    for frames, found in parts:
        ids = same_objects(known, found, np.intersect1d(seen, frames))
        for own in by_appearance(found):
            if own not in ids:
                ids[own], next_id = next_id, next_id + 1
        renamed = replace(found, object=np.array([ids[own] for own in found.object.tolist()], np.int64))
        have = set(zip(known.object.tolist(), known.frame.tolist(), strict=True))
        new = [key not in have for key in zip(renamed.object.tolist(), renamed.frame.tolist(), strict=True)]
        known = packed.joined([known, packed.picked(renamed, np.array(new, bool))])
        seen = np.union1d(seen, frames)
    return known


def by_appearance(masks: Masks) -> list[int]:
    """The objects by first frame, then by id."""
    objects, place = np.unique(masks.object, return_inverse=True)
    first = np.full(len(objects), np.iinfo(np.int64).max)
    np.minimum.at(first, place, masks.frame)
    return objects[np.argsort(first, kind="stable")].tolist()


def same_objects(before: Masks, after: Masks, shared: Ids) -> dict[int, int]:
    """Object of `after` -> the object of `before` that it is, by their masks on the shared frames."""
    a, b = (packed.picked(masks, np.isin(masks.frame, shared)) for masks in (before, after))
    (old, old_at), (new, new_at) = (np.unique(masks.object, return_inverse=True) for masks in (a, b))
    if not len(old) or not len(new):
        return {}
    common = np.zeros((len(old), len(new)))
    for frame in shared.tolist():
        rows, columns = np.flatnonzero(a.frame == frame), np.flatnonzero(b.frame == frame)
        overlap = packed.iou([a.counts[k] for k in rows.tolist()], [b.counts[k] for k in columns.tolist()], a.size)
        both = overlap / (1 + overlap) * (a.area[rows][:, None] + b.area[columns][None])
        same_phrase = a.query[rows][:, None] == b.query[columns][None]
        np.add.at(common, (old_at[rows][:, None], new_at[columns][None]), both * same_phrase)
    areas = np.bincount(old_at, a.area)[:, None] + np.bincount(new_at, b.area)[None]
    overlap = common / np.maximum(areas - common, 1)
    rows, columns = least_cost_pairs(-overlap)
    sure = overlap[rows, columns] >= SAME_IOU
    return {int(new[c]): int(old[r]) for r, c in zip(rows[sure], columns[sure], strict=True)}
