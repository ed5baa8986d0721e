"""Groups in which everybody is tied to everybody, over small sets written as bit masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def bits(mask: int) -> Iterator[int]:
    """Positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def maximal_cliques(neighbours: Sequence[int]) -> list[int]:
    """All maximal cliques with at least two members, as bit masks.

    `neighbours[i]` is the mask of the nodes tied to node i (never i itself). Bron-Kerbosch with pivoting.
    """
    found: list[int] = []

    def grow(clique: int, candidates: int, excluded: int) -> None:
        if not candidates and not excluded:
            if clique & (clique - 1):
                found.append(clique)
            return
        pivot = max(bits(candidates | excluded), key=lambda node: (candidates & neighbours[node]).bit_count())
        for node in bits(candidates & ~neighbours[pivot]):
            grow(clique | 1 << node, candidates & neighbours[node], excluded & neighbours[node])
            candidates &= ~(1 << node)
            excluded |= 1 << node

    rest = 0
    for node, ties in enumerate(neighbours):
        # Mostly everybody who is tied is tied to all: then the neighbourhood is a clique, found at its lowest node.
        whole = ties | 1 << node
        if not ties or rest >> node & 1:
            continue
        if any(neighbours[other] | 1 << other != whole for other in bits(ties)):
            rest |= 1 << node
        elif ties >> node << node == ties:
            found.append(whole)
    grow(0, rest, 0)
    return found


def close_under_intersection(sets: set[int], most: int = 2000) -> set[int]:
    """The sets and all intersections of them that keep at least two members.

    Crowds may share endlessly many parts: past `most` sets no further intersections are added.
    """
    closed = set(sets)
    fresh = set(sets)
    while fresh and len(closed) <= most:
        fresh = {a & b for a in fresh for b in closed if (a & b) & ((a & b) - 1)} - closed
        closed |= fresh
    return closed
