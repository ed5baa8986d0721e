"""Groups in which everybody is tied to everybody, over small sets written as bit masks."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

# The same few sets come up again and again while people talk.
_REMEMBERED = 4096


@lru_cache(maxsize=_REMEMBERED)
def bits(mask: int) -> tuple[int, ...]:
    """Positions of the set bits, lowest first."""
    return tuple(at for at in range(mask.bit_length()) if mask >> at & 1)


@lru_cache(maxsize=_REMEMBERED)
def pairs(mask: int) -> tuple[int, ...]:
    """All pairs of members, as bit masks."""
    return tuple(1 << one | 1 << other for one, other in combinations(bits(mask), 2))


@lru_cache(maxsize=_REMEMBERED)
def maximal_cliques(neighbours: tuple[int, ...]) -> tuple[int, ...]:
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

    rest = done = 0
    for node, ties in enumerate(neighbours):
        if not ties or (done | rest) >> node & 1:
            continue
        # Mostly everybody who is tied is tied to all: then the neighbourhood is the clique.
        whole = ties | 1 << node
        if all(neighbours[other] | 1 << other == whole for other in bits(ties)):
            found.append(whole)
            done |= whole
        else:
            rest |= 1 << node
    grow(0, rest, 0)
    return tuple(found)


def close_under_intersection(sets: set[int], most: int = 2000) -> set[int]:
    """The sets and all intersections of them that keep at least two members.

    Crowds may share endlessly many parts: past `most` sets no further intersections are added.
    """
    closed: set[int] = set()
    for each in sorted(sets):
        closed.add(each)
        if len(closed) < most:
            shared = {each & other for other in closed}
            closed.update(part for part in shared if part & (part - 1))
    return closed
