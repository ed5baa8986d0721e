"""Masks as COCO run lengths: the compressed counts that pycocotools, SAM 3 and COCO files use, as ASCII bytes.

Pixels are counted down the columns, from the left column to the right one; the first run is of pixels outside, and runs
of outside and inside take turns. From the fourth run on the difference to the run two before is stored, five bits a
character, lowest first (character - 48; 0x20 says that more follow, 0x10 is the sign of the last). `size` is always
(height, width). Counts from elsewhere go through `check` first: the library's own reader trusts them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as coco

from ml.formats.errors import FormatError

Size = tuple[int, int]  # height, width
Runs = NDArray[np.int64]


def encode(mask: NDArray[np.bool_]) -> bytes:
    """Counts of a mask, bool[height, width]."""
    return coco.encode(np.asfortranarray(mask, np.uint8))["counts"]


def decode(counts: bytes, size: Size) -> NDArray[np.bool_]:
    """The mask of counts, bool[height, width]. Raises FormatError where they are none of this size."""
    check([counts], size)
    lengths, _ = runs([counts])
    flat = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    return flat.reshape(size[1], size[0]).T


def runs(counts: Sequence[bytes]) -> tuple[Runs, Runs]:
    """Lengths of all runs, one mask after another, and the bounds of each mask in them (one more than masks). A mask
    whose characters are no counts has the length -1 somewhere; see `check`."""
    ends = np.cumsum([0, *(len(c) for c in counts)])
    letters = np.frombuffer(b"".join(counts), np.uint8).astype(np.int64) - 48
    foreign = (letters < 0) | (letters > 63)
    last = (letters & 0x20) == 0
    last[ends[1:][np.diff(ends) > 0] - 1] = True  # cut off in the middle of a number: found by `check`
    final = np.flatnonzero(last)
    first = np.r_[0, final[:-1] + 1][: len(final)]
    number = np.repeat(np.arange(len(final)), final - first + 1)
    digit = np.arange(len(letters)) - first[number]
    value = np.zeros(len(final), np.int64)
    np.add.at(value, number, (letters & 0x1F) << (5 * np.minimum(digit, 11)))
    negative = (letters[final] & 0x10) != 0
    length = final - first + 1
    value -= np.where(negative, np.int64(1) << (5 * np.minimum(length, 12)), 0)
    bounds = np.searchsorted(final, ends)
    total = _undone(value, bounds)
    broken = np.zeros(len(final), bool)
    broken[number[foreign]] = True
    broken |= ((letters[final] & 0x20) != 0) | (length > 8)
    total[broken] = -1
    return total, bounds


def _undone(value: Runs, bounds: Runs) -> Runs:
    """Runs from differences to the run two before, mask by mask."""
    which = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    place = np.arange(len(value)) - bounds[which]
    total = value.copy()
    for kind in ((place % 2 == 1), (place % 2 == 0) & (place > 0)):
        rows = np.flatnonzero(kind)
        if len(rows):
            sums, mask = np.cumsum(value[rows]), which[rows]
            start = np.r_[True, mask[1:] != mask[:-1]]
            before = np.where(start, sums - value[rows], 0)
            total[rows] = sums - before[np.maximum.accumulate(np.where(start, np.arange(len(rows)), 0))]
    return total


def check(counts: Sequence[bytes], size: Size, where: str = "") -> None:
    """Raise FormatError unless all of these are whole counts of masks of this size."""
    if not len(counts):
        return
    lengths, bounds = runs(counts)
    which = np.repeat(np.arange(len(counts)), np.diff(bounds))
    sums = np.bincount(which, weights=lengths, minlength=len(counts)).astype(np.int64)
    impossible = np.bincount(which[lengths < 0], minlength=len(counts)) > 0
    pixels = size[0] * size[1]
    wrong = np.flatnonzero(impossible | (sums != pixels))
    if len(wrong):
        first = int(wrong[0])
        about = f"{where}mask {first + 1} of {len(counts)}"
        if impossible[first] or not len(counts[first]):
            raise FormatError(f"{about}: its run lengths cannot be read; they are damaged or cut off.")
        raise FormatError(
            f"{about}: its runs add up to {sums[first]} pixels, but a picture of {size[1]} x {size[0]} has {pixels}."
        )


def area(counts: Sequence[bytes], size: Size) -> NDArray[np.int64]:
    """Pixels inside each mask. (The library's own fails for more than 255 masks under NumPy 2.)"""
    del size  # as all others are called
    lengths, bounds = runs(counts)
    inside = (np.arange(len(lengths)) - np.repeat(bounds[:-1], np.diff(bounds))) % 2 == 1
    sums = np.r_[0, np.cumsum(lengths * inside)]
    return sums[bounds[1:]] - sums[bounds[:-1]]


def boxes(counts: Sequence[bytes], size: Size) -> NDArray[np.float32]:
    """N x 4 boxes around each mask: x1, y1, x2, y2 in [0, 1] of the picture; all 0 for a mask without a pixel."""
    found = np.asarray(coco.toBbox([_object(c, size) for c in counts]), np.float64).reshape(-1, 4)
    corners = np.c_[found[:, :2], found[:, :2] + found[:, 2:]]
    return (corners / [size[1], size[0], size[1], size[0]]).astype(np.float32)


def iou(a: Sequence[bytes], b: Sequence[bytes], size: Size) -> NDArray[np.float64]:
    """N x M intersections over unions; 0 where both masks are empty."""
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)))
    found = coco.iou([_object(c, size) for c in a], [_object(c, size) for c in b], [0] * len(b))
    return np.nan_to_num(np.asarray(found, np.float64).reshape(len(a), len(b)))


def union(counts: Sequence[bytes], size: Size) -> bytes:
    """All pixels of any of the masks (at least one)."""
    return coco.merge([_object(c, size) for c in counts], intersect=False)["counts"]


def intersection(counts: Sequence[bytes], size: Size) -> bytes:
    """The pixels that all masks (at least one) share."""
    return coco.merge([_object(c, size) for c in counts], intersect=True)["counts"]


def of_box(box: Sequence[float], size: Size) -> bytes:
    """The mask of a box x1, y1, x2, y2 in [0, 1]: the pixels whose middle lies in it, at least one."""
    height, width = size
    spans = []
    for low, high, count in ((box[0], box[2], width), (box[1], box[3], height)):
        first = min(max(int(np.ceil(low * count - 0.5)), 0), count - 1)
        spans.append((first, max(min(int(np.ceil(high * count - 0.5)), count), first + 1)))
    mask = np.zeros(size, bool)
    (left, right), (top, bottom) = spans
    mask[top:bottom, left:right] = True
    return encode(mask)


def png(counts: bytes, size: Size) -> bytes:
    """A black and white picture of the mask, one bit a pixel; the same bytes wherever it is made."""
    height, width = size
    rows = np.packbits(decode(counts, size), axis=1)
    data = np.c_[np.zeros((height, 1), np.uint8), rows].tobytes()  # each row begins with its filter: none
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(data, 9)),
        (b"IEND", b""),
    ]
    body = b"".join(struct.pack(">I", len(d)) + kind + d + struct.pack(">I", zlib.crc32(kind + d)) for kind, d in parts)
    return b"\x89PNG\r\n\x1a\n" + body


def _object(counts: bytes, size: Size) -> dict[str, Any]:
    return {"size": list(size), "counts": counts}
