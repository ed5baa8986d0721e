"""Whose mask is it: masks to persons by overlap on the same frame.

A mask belongs to the person with the highest (share of the mask inside the person) + (intersection over union with the
person), when at least LEAST_SHARE of it lies inside, and when that is CLEAR more than for anybody else: what two people
overlap alike, a cup between them, is nobody's. The share tells a dress from the person beside it, the other term tells
the one in front from a large box behind. A person is their mask on that frame where everybody there has one, otherwise
their body box. The three numbers are a rule of thumb; they were not fitted to anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Masks
from ml.media import masks as packed
from ml.media.index import FrameIndex
from ml.perception.gestures.protocol import People

LEAST_SHARE, CLEAR = 0.5, 0.1
REACH_S = 0.75  # how far from a frame a person's box may be known


def link(
    masks: Masks, people: People | None, index: FrameIndex, person_masks: Masks | None = None
) -> NDArray[np.int64]:
    """Number of the person each row belongs to, int64[n], -1 for none or unsure.

    `people`: who is where, None where nobody knows. `person_masks`: masks by person (their `person` column), of the
    frames that have any; another size than that of `masks` is brought to it.
    """
    owner = np.full(len(masks.frame), -1, np.int64)
    reach = max(1, round(REACH_S * index.frames / max(index.duration_s, 1e-9)))
    for frame in np.unique(masks.frame).tolist():
        persons, regions = regions_on(frame, reach, people, person_masks, masks.size)
        rows = np.flatnonzero(masks.frame == frame)
        if persons:
            found = [masks.counts[k] for k in rows.tolist()]
            owner[rows] = np.array([*persons, -1])[best(found, regions, masks.size)]
    return owner


def best(masks: list[bytes], regions: list[bytes], size: tuple[int, int]) -> NDArray[np.int64]:
    """For each mask the position of its region; -1 for none or unsure."""
    iou = packed.iou(masks, regions, size)
    areas = packed.area(masks, size)[:, None]
    common = iou / (1 + iou) * (areas + packed.area(regions, size)[None])
    share = common / np.maximum(areas, 1)
    score = np.where(share >= LEAST_SHARE, share + iou, 0.0)
    first = score.argmax(1)
    ranked = np.sort(np.c_[np.zeros(len(masks)), score], axis=1)
    sure = (ranked[:, -1] > 0) & (ranked[:, -1] - ranked[:, -2] >= CLEAR)
    return np.where(sure, first, -1)


def regions_on(
    frame: int, reach: int, people: People | None, person_masks: Masks | None, size: tuple[int, int]
) -> tuple[list[int], list[bytes]]:
    """Who is on a frame, ascending, and the region of each."""
    boxes = {} if people is None else {p: body for p, (body, _) in people.at(frame, reach).items()}
    shapes: dict[int, bytes] = {}
    if person_masks is not None:
        for k in np.flatnonzero((person_masks.frame == frame) & (person_masks.person >= 0)).tolist():
            shapes[int(person_masks.person[k])] = person_masks.counts[k]
    if shapes and boxes.keys() <= shapes.keys():
        persons = sorted(shapes)
        assert person_masks is not None
        return persons, [resized(shapes[p], person_masks.size, size) for p in persons]
    persons = sorted(boxes)
    return persons, [packed.of_box(np.clip(boxes[p], 0, 1).tolist(), size) for p in persons]


def resized(counts: bytes, size: tuple[int, int], wanted: tuple[int, int]) -> bytes:
    """A mask in another size: each pixel takes the nearest one's value."""
    if size == wanted:
        return counts
    rows, columns = (np.arange(new) * old // new for old, new in zip(size, wanted, strict=True))
    return packed.encode(packed.decode(counts, size)[np.ix_(rows, columns)])
