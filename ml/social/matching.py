"""Which new event is which old one: the same type and roles, and enough overlap in time, one to one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from ml.assignment import least_cost_pairs
from ml.social.runs import components, spread
from ml.social.scene import Floats, Ints


class Spanned(Protocol):
    """What is matched: an event with a type, roles and a half-open span of source frames."""

    @property
    def type(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def roles(self) -> Sequence[tuple[int, str]]: ...


def match_events(new: Sequence[Spanned], old: Sequence[Spanned], min_tiou: float = 0.5) -> list[tuple[int, int, float]]:
    """Matched events as (index in new, index in old, tIoU), by the first.

    Only events of one type with the same persons in the same roles match, with a tIoU of at least `min_tiou` (above 0).
    Among all one-to-one matchings the one with the largest sum of tIoU is taken (Hungarian method). Grouping by type
    and roles, and looking only at spans that can reach the overlap, keeps this near linear for thousands of events.
    """
    if not 0 < min_tiou <= 1:
        raise ValueError(f"min_tiou: expected a share above 0 and at most 1, found {min_tiou}.")
    old_groups: dict[Hashable, list[int]] = {}
    for index, event in enumerate(old):
        old_groups.setdefault(_key(event), []).append(index)
    new_groups: dict[Hashable, list[int]] = {}
    for index, event in enumerate(new):
        new_groups.setdefault(_key(event), []).append(index)
    matched: list[tuple[int, int, float]] = []
    for key, group in new_groups.items():
        if key in old_groups:
            matched += _match_group(new, old, np.array(group), np.array(old_groups[key]), min_tiou)
    return sorted(matched)


def _key(event: Spanned) -> Hashable:
    return event.type, frozenset((int(person), str(role)) for person, role in event.roles)


def _match_group(
    new: Sequence[Spanned], old: Sequence[Spanned], new_index: Ints, old_index: Ints, least: float
) -> list[tuple[int, int, float]]:
    a, b, share = _overlapping(_spans(new, new_index), _spans(old, old_index), least)
    matched = []
    for edges in _touching(a, b):
        rows, columns = np.unique(a[edges]), np.unique(b[edges])
        gain = np.zeros((len(rows), len(columns)))
        gain[np.searchsorted(rows, a[edges]), np.searchsorted(columns, b[edges])] = share[edges]
        for row, column in zip(*least_cost_pairs(-gain), strict=True):
            if gain[row, column] > 0:
                pair = int(new_index[rows[row]]), int(old_index[columns[column]])
                matched.append((*pair, float(gain[row, column])))
    return matched


def _spans(events: Sequence[Spanned], index: Ints) -> Ints:
    return np.array([(events[at].start, events[at].end) for at in index], dtype=np.int64)


def _overlapping(new: Ints, old: Ints, least: float) -> tuple[Ints, Ints, Floats]:
    """Pairs of spans [N, 2] and [M, 2] with a tIoU of at least `least`, and that tIoU.

    A union is at most the new length / least, so an old start lies within (1 - least) of that of the new one.
    """
    order = np.argsort(old[:, 0], kind="stable")
    reach = np.ceil((new[:, 1] - new[:, 0]) * (1 - least) / least).astype(np.int64) + 1
    low = np.searchsorted(old[order, 0], new[:, 0] - reach)
    high = np.searchsorted(old[order, 0], np.minimum(new[:, 0] + reach, new[:, 1]), side="right")
    a, place = spread(low, high)
    b = order[place]
    shared = np.minimum(new[a, 1], old[b, 1]) - np.maximum(new[a, 0], old[b, 0])
    union = np.maximum(new[a, 1], old[b, 1]) - np.minimum(new[a, 0], old[b, 0])
    share = np.maximum(shared, 0) / union
    kept = share >= least
    return a[kept], b[kept], share[kept]


def _touching(a: Ints, b: Ints) -> list[Ints]:
    """Positions of the edges (a, b) by connected component."""
    if len(a) == 0:
        return []
    beside = int(a.max()) + 1
    nodes = components(beside + int(b.max()) + 1, np.stack([a, b + beside], axis=1))
    component = np.zeros(beside + int(b.max()) + 1, dtype=np.int64)
    for number, group in enumerate(nodes):
        component[group] = number
    order = np.argsort(component[a], kind="stable")
    return np.split(order, np.flatnonzero(np.diff(component[a][order])) + 1)
