"""Who is who when a video is analysed again: tracks of a new run to the persons known from an older one.

1. The new tracks are cut where a human cut the old ones (a split by hand is a statement about the picture).
2. Every piece is compared with every known person by the overlap of their boxes in the frames both have; boxes of the
   older run are interpolated to the new run's frames, so the two may have looked at different frames.
3. Hungarian assignment, round after round, so that a person broken into several pieces gets them all; two pieces seen
   in one frame never become one person.
4. Pieces nobody claims follow their faces: a piece the new run calls the same as a claimed one takes its person.

Frames are source frames, spans half-open, boxes x1, y1, x2, y2 normalised. Pure functions.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.assignment import least_cost_pairs
from ml.social.runs import components, spread

LEAST_OVERLAP = 0.3  # mean IoU below which two boxes are not taken for one person
LEAST_FRAMES = 1  # shared frames needed
ROWS_AT_ONCE = 200_000  # boxes compared together, which bounds the memory

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

    @cached_property
    def span(self) -> int:
        """One more than the last frame."""
        return int(self.frame.max(initial=-1)) + 1

    @cached_property
    def by_track(self) -> Boxes:
        """The same boxes sorted by (track, frame)."""
        order = np.lexsort((self.frame, self.track))
        return Boxes(self.frame[order], self.track[order], self.box[order])

    @cached_property
    def key(self) -> Ints:
        """track * span + frame of each row."""
        return self.track * self.span + self.frame


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


def spans_of(pieces: Iterable[Piece]) -> Ints:
    """int64[N, 3]: track, start, end."""
    return np.array([(p.track, p.start, p.end) for p in pieces], dtype=np.int64).reshape(-1, 3)


def rows_of(boxes: Boxes, spans: Ints) -> tuple[Ints, Ints]:
    """Where the rows of each span int64[N, 3] begin and end in `boxes.by_track`."""
    track, start, end = spans.T
    key = boxes.by_track.key
    first = np.searchsorted(key, track * boxes.span + np.minimum(start, boxes.span))
    return first, np.searchsorted(key, track * boxes.span + np.minimum(end, boxes.span))


def overlap(new: Boxes, old: Boxes, spans: Ints, known: Ints) -> tuple[Floats, Ints]:
    """Sum of the IoU of new spans int64[N, 3] with N old ones, one to one, over their common frames, and the number of
    those. An old box is interpolated between the frames that have one."""
    own, theirs = new.by_track, old.by_track
    begin, stop = rows_of(new, spans)
    first, last = rows_of(old, known)
    low, high = np.zeros((2, len(spans)), dtype=np.int64)
    there = np.flatnonzero((stop > begin) & (last > first))
    from_frame = spans[there, 0] * new.span + theirs.frame[first[there]]
    to_frame = spans[there, 0] * new.span + theirs.frame[last[there] - 1]
    low[there] = np.clip(np.searchsorted(own.key, from_frame), begin[there], stop[there])
    high[there] = np.clip(np.searchsorted(own.key, to_frame, side="right"), begin[there], stop[there])
    pair, row = spread(low, high)
    wanted = known[pair, 0] * old.span + own.frame[row]
    after = np.searchsorted(theirs.key, wanted)
    before = after - (theirs.key[after] > wanted)
    share = (wanted - theirs.key[before]) / np.maximum(theirs.key[after] - theirs.key[before], 1)
    box = theirs.box[before] + (theirs.box[after] - theirs.box[before]) * share[:, None]
    total = np.bincount(pair, iou(own.box[row], box), len(spans))
    return total.astype(np.float64), np.bincount(pair, minlength=len(spans)).astype(np.int64)


def assign(new: Boxes, pieces: Sequence[Piece], old: Boxes, persons: Mapping[str, Sequence[Piece]]) -> dict[Piece, str]:
    """Piece -> person, for every piece that overlaps one well enough."""
    names = sorted(persons)
    row, column, likeness = _likeness(new, pieces, old, [persons[name] for name in names])
    _, start, end = spans_of(pieces).T
    result: dict[Piece, str] = {}
    for chosen in _connected(row, column):
        own, r = np.unique(row[chosen], return_inverse=True)
        people, c = np.unique(column[chosen], return_inverse=True)
        table = np.zeros((len(own), len(people)))
        table[r, c] = likeness[chosen]
        for at, person in _rounds(table, start[own], end[own]):
            result[pieces[own[at]]] = names[people[person]]
    return result


def _connected(row: Ints, column: Ints) -> Iterator[Ints]:
    """The pairs (row, column), by number, in parts that share no row and no column: they cannot compete, and small
    tables are assigned far sooner than one with everybody."""
    if not len(row):
        return
    beside = int(row.max()) + 1
    part = np.empty(beside + int(column.max()) + 1, dtype=np.int64)
    for number, nodes in enumerate(components(len(part), np.stack([row, column + beside], axis=1))):
        part[nodes] = number
    order = np.argsort(part[row], kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(part[row][order])) + 1)


def _likeness(
    new: Boxes, pieces: Sequence[Piece], old: Boxes, persons: Sequence[Sequence[Piece]]
) -> tuple[Ints, Ints, Floats]:
    """Which piece overlaps which person well enough, by place, and how much: mean IoU x shared frames (up to 1000)."""
    spans, known = spans_of(pieces), spans_of(piece for own in persons for piece in own)
    person = np.repeat(np.arange(len(persons)), [len(own) for own in persons])
    piece, other = _at_once(spans, known)
    begin, stop = rows_of(new, spans)
    part = np.cumsum((stop - begin)[piece]) // ROWS_AT_ONCE
    parts = np.split(np.arange(len(piece)), np.flatnonzero(np.diff(part)) + 1)
    sums = [overlap(new, old, spans[piece[each]], known[other[each]]) for each in parts]
    total, common = (np.concatenate(each) for each in zip(*sums, strict=True))
    both, number = np.unique(piece * max(len(persons), 1) + person[other], return_inverse=True)
    shared = np.bincount(number, common, len(both))
    mean = np.bincount(number, total, len(both)) / np.maximum(shared, 1)
    well = (mean >= LEAST_OVERLAP) & (shared >= LEAST_FRAMES)
    row, column = np.divmod(both[well], max(len(persons), 1))
    return row, column, (mean * np.minimum(shared, 1000))[well]


def _at_once(spans: Ints, known: Ints) -> tuple[Ints, Ints]:
    """All pairs of a span and a known one, by place, that share time."""
    order = np.argsort(known[:, 1], kind="stable")
    start, end = known[order, 1], known[order, 2]
    # Of the known in order of their start: from the first that reaches the span to the last that starts within it.
    first = np.searchsorted(np.maximum.accumulate(end), spans[:, 1], side="right")
    span, place = spread(first, np.searchsorted(start, spans[:, 2]))
    meet = end[place] > spans[span, 1]
    return span[meet], order[place[meet]]


def _rounds(table: Floats, start: Ints, end: Ints) -> Iterator[tuple[int, int]]:
    """(piece, person) pairs: the best assignment for `table` [pieces, persons], then the best of what is left, and so
    on. The pieces last from `start` to `end`; pieces that share time never get one person."""
    piece, person = np.arange(table.shape[0]), np.arange(table.shape[1])
    while table.any():
        rows, columns = least_cost_pairs(-table)
        taken = table[rows, columns] > 0
        table[rows[taken]] = 0
        for r, c in zip(rows[taken].tolist(), columns[taken].tolist(), strict=True):
            table[(start < end[r]) & (end > start[r]), c] = 0
            yield int(piece[r]), int(person[c])
        left, open_to = table.any(axis=1), table.any(axis=0)
        table, piece, person = table[np.ix_(left, open_to)], piece[left], person[open_to]
        start, end = start[left], end[left]


def follow_faces(
    pieces: Sequence[Piece], found: Mapping[Piece, str], alike: Sequence[tuple[int, int, float]]
) -> dict[Piece, str]:
    """Give every piece a person: known ones, then by face, then "new-0", "new-1", ... in the order of `pieces`.

    `alike`: (track, track, similarity) pairs that the new run counts as the same person; the strongest are taken first,
    and never for two pieces that share time.
    """
    # Pieces of one person, so far: under the name of a known person, or under one of the pieces.
    group_of: dict[Piece, str | Piece] = {piece: found.get(piece, piece) for piece in pieces}
    members: dict[str | Piece, list[Piece]] = defaultdict(list)
    times: dict[str | Piece, list[tuple[int, int]]] = defaultdict(list)
    of_track: dict[int, list[Piece]] = defaultdict(list)
    for piece in pieces:
        members[group_of[piece]].append(piece)
        insort(times[group_of[piece]], (piece.start, piece.end))
        of_track[piece.track].append(piece)
    for a, b, _ in sorted(alike, key=lambda pair: -pair[2]):
        for first in of_track[a]:
            for second in of_track[b]:
                x, y = group_of[first], group_of[second]
                if x == y or (isinstance(x, str) and isinstance(y, str)) or _meet(times[x], times[y]):
                    continue
                if isinstance(y, str) or (not isinstance(x, str) and len(members[y]) > len(members[x])):
                    x, y = y, x
                for piece in members[y]:
                    group_of[piece] = x
                members[x] += members.pop(y)
                for time in times.pop(y):
                    insort(times[x], time)
    numbers: dict[Piece, str] = {}
    for piece in pieces:
        group = group_of[piece]
        if not isinstance(group, str) and group not in numbers:
            numbers[group] = f"new-{len(numbers)}"
    return {piece: group if isinstance(group, str) else numbers[group] for piece, group in group_of.items()}


def _meet(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    """Whether any of some (start, end) shares time with any of others. Each list is sorted and without overlaps."""
    if len(some) > len(others):
        some, others = others, some
    for start, end in some:
        at = bisect_left(others, (end,))  # those before it start before this one ends
        if at and others[at - 1][1] > start:
            return True
    return False
