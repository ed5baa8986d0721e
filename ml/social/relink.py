"""Who is who when a video is analysed again: tracks of a new run to the persons known from an older one.

1. The new tracks are cut where a human cut the old ones (a split by hand is a statement about the picture).
2. Every piece is compared with every known person by the overlap of their boxes in the frames both have; boxes of the
   older run are interpolated to the new run's frames, so the two may have looked at different frames.
3. Hungarian assignment, round after round, so that a person broken into several pieces gets them all; two pieces seen
   in one frame never become one person.
4. Pieces nobody claims follow their faces: a piece the new run calls the same as a claimed one takes its person.

Frames are source frames, spans half-open, boxes x1, y1, x2, y2 normalised. Pure NumPy and SciPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

LEAST_OVERLAP = 0.3  # mean IoU below which two boxes are not taken for one person
LEAST_FRAMES = 1  # shared frames needed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Boxes:
    """Body boxes of one run, sorted by (frame, track): frame int64[n], track int64[n], box float64[n, 4]."""

    frame: Ints
    track: Ints
    box: Floats

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]]) -> Boxes:
        box = np.stack([columns[f"body_{side}"] for side in ("x1", "y1", "x2", "y2")], axis=1).astype(np.float64)
        return cls(columns["frame"].astype(np.int64), columns["track"].astype(np.int64), box)


@dataclass(frozen=True)
class Piece:
    """A raw track, or part of one, that is one person: [start, end)."""

    track: int
    start: int
    end: int


def cut_pieces(tracks: Iterable[Piece], cuts: Iterable[int]) -> list[Piece]:
    """The tracks, cut at these frames where they run across one."""
    edges = np.unique(np.fromiter(cuts, np.int64))
    pieces = []
    for piece in tracks:
        inside = edges[(edges > piece.start) & (edges < piece.end)].tolist()
        bounds = [piece.start, *inside, piece.end]
        pieces += [Piece(piece.track, a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    return pieces


def iou(a: Floats, b: Floats) -> Floats:
    """Intersection over union of box pairs [n, 4] and [n, 4]."""
    low, high = np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=1)
    areas = np.prod(a[:, 2:] - a[:, :2], axis=1) + np.prod(b[:, 2:] - b[:, :2], axis=1)
    return np.asarray(common / np.maximum(areas - common, 1e-12))


def rows_of(boxes: Boxes, piece: Piece) -> NDArray[np.intp]:
    """Row numbers of a piece."""
    return np.flatnonzero((boxes.track == piece.track) & (boxes.frame >= piece.start) & (boxes.frame < piece.end))


def overlap(new: Boxes, old: Boxes, piece: Piece, known: Sequence[Piece]) -> tuple[float, int]:
    """Mean IoU of a new piece with one person's old pieces over their common frames, and the number of those."""
    rows = rows_of(new, piece)
    frames, total, shared = new.frame[rows], 0.0, 0
    for other in known:
        if other.end <= piece.start or other.start >= piece.end:
            continue
        theirs = rows_of(old, other)
        if not len(theirs):
            continue
        at, box = old.frame[theirs], old.box[theirs]
        inside = (frames >= at[0]) & (frames <= at[-1])
        there = np.stack([np.interp(frames[inside], at, box[:, side]) for side in range(4)], axis=1)
        values = iou(new.box[rows][inside], there)
        total, shared = total + float(values.sum()), shared + int(inside.sum())
    return (total / shared if shared else 0.0), shared


def assign(new: Boxes, pieces: Sequence[Piece], old: Boxes, persons: Mapping[str, Sequence[Piece]]) -> dict[Piece, str]:
    """Piece -> person, for every piece that overlaps one well enough."""
    names = sorted(persons)
    table = np.zeros((len(pieces), len(names)))
    for row, piece in enumerate(pieces):
        for column, name in enumerate(names):
            mean, shared = overlap(new, old, piece, persons[name])
            table[row, column] = mean * min(shared, 1000) if mean >= LEAST_OVERLAP and shared >= LEAST_FRAMES else 0
    result: dict[Piece, str] = {}
    while table.any():
        rows, columns = linear_sum_assignment(-table)
        taken = [(int(r), int(c)) for r, c in zip(rows, columns, strict=True) if table[r, c] > 0]
        for r, c in taken:
            result[pieces[r]] = names[c]
            table[r] = 0
        for r, c in taken:
            at_once = [i for i, other in enumerate(pieces) if together(other, pieces[r])]
            table[at_once, c] = 0
    return result


def together(a: Piece, b: Piece) -> bool:
    """The two pieces share time, so they cannot be one person."""
    return a.start < b.end and b.start < a.end


def follow_faces(
    pieces: Sequence[Piece], found: Mapping[Piece, str], alike: Sequence[tuple[int, int, float]]
) -> dict[Piece, str]:
    """Give every piece a person: known ones, then by face, then "new-0", "new-1", ... in the order of `pieces`.

    `alike`: (track, track, similarity) pairs that the new run counts as the same person; the strongest are taken first,
    and never for two pieces that share time.
    """
    owner: dict[Piece, str] = dict(found)
    groups: dict[Piece, Piece] = {piece: piece for piece in pieces}

    def root(piece: Piece) -> Piece:
        while groups[piece] != piece:
            piece = groups[piece]
        return piece

    def members(of: Piece) -> list[Piece]:
        person = owner.get(of)
        return [p for p in pieces if root(p) == of or (person is not None and owner.get(root(p)) == person)]

    for a, b, _ in sorted(alike, key=lambda pair: -pair[2]):
        for first in (p for p in pieces if p.track == a):
            for second in (p for p in pieces if p.track == b):
                x, y = root(first), root(second)
                if x == y or (x in owner and y in owner):
                    continue
                if any(together(p, q) for p in members(x) for q in members(y)):
                    continue
                if y in owner:
                    x, y = y, x
                groups[y] = x
    numbers: dict[Piece, str] = {}
    for piece in pieces:
        top = root(piece)
        if top not in owner and top not in numbers:
            numbers[top] = f"new-{len(numbers)}"
    return {piece: owner.get(root(piece)) or numbers[root(piece)] for piece in pieces}
