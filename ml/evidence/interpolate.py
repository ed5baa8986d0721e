"""The shape of one thing on frames between and around those where a human drew it.

No pixel of the picture is looked at: a heuristic, and its results are marked as such until somebody accepts them.

Between two drawn frames the two shapes are moved so that their centres lie on the straight line between the centres,
and the signed distances to their outlines (pixels, above 0 inside) are blended by the share of frames that has passed;
inside is what stays above 0. A shape that moves steadily is then moved exactly, one that grows steadily grows exactly
(Raya and Udupa 1990, shape-based interpolation, with a translation). Distances of large shapes are worked out on a
coarser grid. Masks are packed as COCO run lengths; `size` is (height, width). Light: NumPy and the codec alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ml.formats import coco_rle
from ml.formats.coco_rle import Size

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Point = NDArray[np.float64]  # x, y

LEAST_OVERLAP = 0.5  # share of the overlap at the drawn frame that must be left further on
FINEST = 256  # cells on a side of the grid of distances
ROOM = 3  # pixels around a shape
FAR = 1e9


def between(keys: Mapping[int, bytes], frames: Sequence[int], size: Size) -> dict[int, bytes]:
    """Counts for each of `frames`: between two keys their blend, outside of all the nearest key; a key is itself.

    Frames on which nothing is left are not in the result. An empty mask among the keys is a frame on which the thing is
    not there: nothing is blended with it, and the nearer of the two decides. Raises ValueError without a key.
    """
    if not keys:
        raise ValueError("There is no drawn shape to go by.")
    order = sorted(keys)
    there = dict(zip(order, (coco_rle.area([keys[frame] for frame in order], size) > 0).tolist(), strict=True))
    found: dict[int, bytes] = {}
    for frame in frames:
        if frame <= order[0] or frame >= order[-1] or frame in keys:
            nearest = min(max(frame, order[0]), order[-1])
            if there[nearest]:
                found[frame] = keys[nearest]
    for first, last in pairwise(order):
        inner = [frame for frame in frames if first < frame < last]
        if not inner:
            continue
        if not (there[first] and there[last]):
            near = [frame for frame in inner if there[first if frame - first <= last - frame else last]]
            found |= {frame: keys[first if frame - first <= last - frame else last] for frame in near}
            continue
        one, other = outlines([coco_rle.decode(keys[frame], size) for frame in (first, last)])  # two at a time
        for frame in inner:
            share = (frame - first) / (last - first)
            here = one.centre + share * (other.centre - one.centre)
            shape = placed((1 - share) * one.about(here) + share * other.about(here), one, here, size)
            if shape.any():
                found[frame] = coco_rle.encode(shape)
    return {frame: found[frame] for frame in sorted(found)}


def filled(
    keys: Mapping[int, bytes], frames: Sequence[int], size: Size, *, masks: Mapping[int, bytes] | None = None
) -> dict[int, bytes]:
    """Counts for each of `frames`: between two keys their blend (`between`); beyond the outermost these are carried on
    (`spread`), along with the machine's masks of the same thing where there are any. Raises ValueError without a key.
    """
    if not keys:
        raise ValueError("There is no drawn shape to go by.")
    first, last = min(keys), max(keys)
    found = between(keys, [frame for frame in frames if first <= frame <= last], size)
    for key, beyond in ((first, [f for f in frames if f < first]), (last, [f for f in frames if f > last])):
        if beyond and coco_rle.area([keys[key]], size)[0]:
            found |= spread(key, keys[key], beyond, size, masks=masks)
    return {frame: found[frame] for frame in sorted(found)}


def spread(
    frame: int,
    counts: bytes,
    frames: Sequence[int],
    size: Size,
    *,
    masks: Mapping[int, bytes] | None = None,
    least: float = LEAST_OVERLAP,
) -> dict[int, bytes]:
    """A drawn shape carried to the neighbouring `frames`, each way until it no longer fits.

    `masks`: the machine's masks of the same thing. With them the shape goes along with their centre, and ends at the
    first frame that has none or on which the overlap (IoU) of shape and mask is less than `least` of that at the drawn
    frame. Without them, or where the drawn frame has none, the shape stays where it is and goes to all of `frames`.
    """
    ahead = sorted(f for f in frames if f > frame)
    back = sorted((f for f in frames if f < frame), reverse=True)
    if not masks or frame not in masks:
        return dict.fromkeys(sorted([*ahead, *back]), counts)
    shape, machine = (coco_rle.decode(c, size) for c in (counts, masks[frame]))
    wanted = least * _overlap(shape, machine)
    (outline,), home = outlines([shape]), centre(machine)
    found: dict[int, bytes] = {}
    for way in (ahead, back):
        for other in way:
            there = coco_rle.decode(masks[other], size) if other in masks else np.zeros(size, bool)
            if not there.any():
                break
            here = outline.centre + centre(there) - home
            carried = placed(outline.about(here), outline, here, size)
            if not carried.any() or _overlap(carried, there) < wanted:
                break
            found[other] = coco_rle.encode(carried)
    return {f: found[f] for f in sorted(found)}


# ---------------------------------------------------------------------------------------------------------------------
# Signed distances


@dataclass(frozen=True, eq=False)
class Outline:
    """Signed distances to one shape's outline on a patch: pixel (row, column) of `distances` is the picture's pixel
    `corner` + (column, row). `centre`: x, y of the shape's middle, in pixels of the picture."""

    distances: Floats
    corner: Point
    centre: Point

    def about(self, here: Point) -> Floats:
        """The distances with the shape's centre moved to `here`, on the patch whose corner is `self.at(here)`."""
        return shifted(self.distances, self.at(here) - here + self.centre - self.corner)

    def at(self, here: Point) -> Point:
        """Corner, in whole pixels, of the patch for a shape with its centre there."""
        return np.floor(here) - np.round(self.centre - self.corner)


def outlines(shapes: Sequence[Bools]) -> list[Outline]:
    """Outlines of shapes that are not empty, on patches of one size with the centres on the same pixel."""
    centres = [centre(shape) for shape in shapes]
    middles = [np.round(c).astype(int) for c in centres]
    bounds = [_bounds(shape) for shape in shapes]
    low = np.max([m - b[0] for m, b in zip(middles, bounds, strict=True)], axis=0) + ROOM
    high = np.max([b[1] - m for m, b in zip(middles, bounds, strict=True)], axis=0) + ROOM
    found = []
    for shape, own, middle, (first, last) in zip(shapes, centres, middles, bounds, strict=True):
        patch = np.zeros((low + high)[::-1], bool)
        x, y = first - (middle - low)
        inner = shape[first[1] : last[1], first[0] : last[0]]
        patch[y : y + inner.shape[0], x : x + inner.shape[1]] = inner
        found.append(Outline(distances(patch), (middle - low).astype(float), own))
    return found


def placed(patch: Floats, outline: Outline, here: Point, size: Size) -> Bools:
    """What lies inside, as a mask of the picture; what leaves the picture is cut off."""
    x, y = outline.at(here).astype(int).tolist()
    height, width = patch.shape
    top, left = max(0, -y), max(0, -x)
    bottom, right = min(height, size[0] - y), min(width, size[1] - x)
    mask = np.zeros(size, bool)
    if top < bottom and left < right:
        mask[y + top : y + bottom, x + left : x + right] = patch[top:bottom, left:right] > 0
    return mask


def distances(patch: Bools) -> Floats:
    """Pixels to the outline, above 0 inside. The outline runs between pixels, hence the half."""
    step = -(-max(patch.shape) // FINEST)
    coarse = patch if step == 1 else _reduced(patch, step)
    coarse = np.pad(coarse, 1)  # all around is outside, though the outermost cells may be more than half full
    inside, outside = np.sqrt(nearest(~coarse)), np.sqrt(nearest(coarse))
    signed = (np.where(coarse, inside - 0.5, 0.5 - outside) * step).astype(np.float32)[1:-1, 1:-1]
    return signed if step == 1 else _enlarged(signed, step, patch.shape)


def nearest(target: Bools) -> Floats:
    """Squared distance of each pixel to the nearest one of `target`, at least one; exact.

    First along the columns, then along the rows, one offset after another for all pixels at once, until no larger
    offset could bring anybody nearer.
    """
    rows = np.arange(len(target))[:, None]
    above = np.maximum.accumulate(np.where(target, rows, -FAR))
    below = np.minimum.accumulate(np.where(target, rows, FAR)[::-1])[::-1]
    column = np.minimum(np.minimum(rows - above, below - rows), FAR / 2).astype(np.float32) ** 2
    found = column.copy()
    for k in range(1, target.shape[1]):
        if k * k >= found.max():
            break
        np.minimum(found[:, k:], column[:, :-k] + k * k, out=found[:, k:])
        np.minimum(found[:, :-k], column[:, k:] + k * k, out=found[:, :-k])
    return found


def shifted(values: Floats, by: Point) -> Floats:
    """`values` read at each pixel + `by` (x, y), between pixels in proportion; beyond the edge the edge's value."""
    whole = np.floor(by).astype(int)
    x, y = (by - whole).tolist()
    room = int(np.abs(whole).max()) + 1
    wide = np.pad(values, room, mode="edge")
    top, left = room + whole[1], room + whole[0]
    height, width = values.shape
    rows = wide[top : top + height + 1, left : left + width + 1]
    rows = (1 - y) * rows[:-1] + y * rows[1:]
    return ((1 - x) * rows[:, :-1] + x * rows[:, 1:]).astype(np.float32)


def centre(shape: Bools) -> Point:
    """Mean x, y of a shape that is not empty, in pixels."""
    down, across = shape.sum(axis=1), shape.sum(axis=0)
    return np.array([across @ np.arange(len(across)), down @ np.arange(len(down))]) / down.sum()


def _bounds(shape: Bools) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First x, y with a pixel, and those after the last."""
    across, down = np.flatnonzero(shape.any(axis=0)), np.flatnonzero(shape.any(axis=1))
    return np.array([across[0], down[0]]), np.array([across[-1], down[-1]]) + 1


def _reduced(patch: Bools, step: int) -> Bools:
    """On cells of step x step pixels: those that are half full or more, at least the fullest one."""
    height, width = (-(-n // step) for n in patch.shape)
    padded = np.zeros((height * step, width * step), bool)
    padded[: patch.shape[0], : patch.shape[1]] = patch
    full = padded.reshape(height, step, width, step).mean(axis=(1, 3))
    return full >= min(0.5, full.max())


def _enlarged(values: Floats, step: int, shape: tuple[int, ...]) -> Floats:
    """Cell values as pixel values, between the cells' middles in proportion."""
    for axis, length in enumerate(shape):
        at = np.clip((np.arange(length) + 0.5) / step - 0.5, 0, values.shape[axis] - 1)
        first = np.minimum(at.astype(int), max(values.shape[axis] - 2, 0))
        last = np.minimum(first + 1, values.shape[axis] - 1)
        part = (at - first).astype(np.float32).reshape((-1, 1) if axis == 0 else (1, -1))
        values = (1 - part) * values.take(first, axis) + part * values.take(last, axis)
    return values


def _overlap(one: Bools, other: Bools) -> float:
    either = int((one | other).sum())
    return float((one & other).sum() / either) if either else 0.0
