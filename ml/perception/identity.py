"""Which tracks show the same person: proposals from face embeddings, for a human to accept.

A track's vector is the mean of its BEST most frontal, largest faces, of unit length; similarity is the dot product. Two
tracks that are visible in one frame are two persons, whatever their faces say, and so are all tracks joined to them.
Bands: SAME and above is proposed as the same person, ASK and above as a question. Measured on 21 and 54 labelled faces:
the same person 0.52 or more, median 0.80; two children 0.65, other strangers 0.61 at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ml.perception.protocols import Array
from ml.perception.records import Piece

BEST = 5
SAME, ASK = 0.70, 0.50
BLOCK = 1024  # rows of the similarity table that are in memory at once


@dataclass(frozen=True)
class Link:
    """Two tracks (a < b), their similarity, and "same" or "ask"."""

    a: int
    b: int
    similarity: float
    band: str


class Gallery:
    """The best faces of each track, and which tracks were ever visible together."""

    def __init__(self) -> None:
        self._faces: dict[int, list[tuple[float, Array]]] = {}
        self._together: set[tuple[int, int]] = set()

    def add(self, piece: Piece, rows: Array) -> None:
        """`rows`: the track of each row of the piece, -1 for none."""
        embedded = zip(piece.embedded_row.tolist(), piece.quality.tolist(), piece.embedding, strict=True)
        for row, quality, vector in embedded:
            track = int(rows[row])
            if track >= 0:
                faces = self._faces.setdefault(track, [])
                faces.append((quality, vector))
                faces.sort(key=lambda face: -face[0])
                del faces[BEST:]
        self._together |= together(piece.position, rows)

    def links(self) -> list[Link]:
        """Proposals, as few as needed: see `join`."""
        tracks = sorted(self._faces)
        if len(tracks) < 2:
            return []
        means = np.array([np.mean([vector for _, vector in self._faces[t]], axis=0) for t in tracks])
        return join(np.array(tracks), means / np.linalg.norm(means, axis=1, keepdims=True), self._together)


def together(position: Array, rows: Array) -> set[tuple[int, int]]:
    """Pairs (a < b) of tracks that share a frame."""
    kept = rows >= 0
    position, tracks = position[kept], rows[kept]
    bounds = np.flatnonzero(np.diff(position)) + 1
    return {
        (a, b)
        for group in {tuple(sorted(g.tolist())) for g in np.split(tracks, bounds)}
        for k, a in enumerate(group)
        for b in group[k + 1 :]
    }


def join(tracks: Array, vectors: Array, apart: set[tuple[int, int]]) -> list[Link]:
    """Links between tracks by unit vectors, most similar first; `apart` holds pairs (a < b) of different persons.

    Pairs at SAME or above join their groups unless that would put two tracks of `apart` into one, or the groups'
    mean similarity is below ASK: a lucky pair does not merge two people. Each join is one link. What is left is asked:
    the most similar pair of each two groups that may be one person and have a pair at ASK or above.
    """
    pairs = similar_pairs(vectors)
    group = {int(t): Group({int(t)}, vector) for t, vector in zip(tracks, vectors, strict=True)}
    enemies: dict[int, set[int]] = {}
    for a, b in apart:
        enemies.setdefault(a, set()).add(b)
        enemies.setdefault(b, set()).add(a)
    links, asked = [], set()
    for i, j, similarity in pairs:
        a, b = int(tracks[i]), int(tracks[j])
        one, other = group[a], group[b]
        if one is other or any(enemies.get(t, set()) & other.members for t in one.members):
            continue
        if similarity >= SAME and one.similarity(other) >= ASK:
            merged = Group(one.members | other.members, one.total + other.total)
            group.update(dict.fromkeys(merged.members, merged))
            links.append(Link(a, b, similarity, "same"))
        elif similarity < SAME:
            key = frozenset((min(one.members), min(other.members)))
            if key not in asked:
                asked.add(key)
                links.append(Link(a, b, similarity, "ask"))
    return links


@dataclass(frozen=True, eq=False)
class Group:
    """Tracks of one person: their numbers and the sum of their vectors."""

    members: set[int]
    total: Array

    def similarity(self, other: Group) -> float:
        """Mean similarity of all pairs across two groups."""
        return float(self.total @ other.total) / (len(self.members) * len(other.members))


def similar_pairs(vectors: Array) -> list[tuple[int, int, float]]:
    """Pairs (i < j) of rows with similarity ASK or above, most similar first."""
    found: list[tuple[int, int, float]] = []
    for start in range(0, len(vectors), BLOCK):
        table = vectors[start : start + BLOCK] @ vectors.T
        rows, columns = np.nonzero(table >= ASK)
        later = columns > rows + start
        rows, columns = rows[later], columns[later]
        found += zip((rows + start).tolist(), columns.tolist(), table[rows, columns].tolist(), strict=True)
    return sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))
