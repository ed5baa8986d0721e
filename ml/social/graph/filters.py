"""Which events the released graph keeps: links protect, duplicates go, then a cap.

The order is that of the released code: find links and protect the events they join; drop duplicates; cap; the links are
then found again among what is left. A duplicate has the same source, type and set of participants as another and
overlaps it; the one with the lower confidence goes (of equals the later). Where the description leaves it open, we read
it so: a protected event never goes, so of a protected and an unprotected duplicate the latter does; and only protected
events may exceed the cap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ml.social.graph.links import find_links
from ml.social.graph.model import GraphEvent, spans
from ml.social.graph.presets import GraphPreset

Flags = NDArray[np.bool_]


def filter_events(events: Sequence[GraphEvent], preset: GraphPreset) -> list[GraphEvent]:
    """The events that stay, in their order."""
    links = find_links(events, preset)
    protected = np.zeros(len(events), dtype=bool)
    protected[links.gaze] = protected[links.gesture] = True
    keep = distinct(events, protected)
    if preset.cap is not None:
        keep &= capped(events, protected, keep, preset.cap)
    return [event for event, stays in zip(events, keep, strict=True) if stays]


def distinct(events: Sequence[GraphEvent], protected: Flags) -> Flags:
    """bool[N]: False for duplicates. Protected events come first, then by confidence; each stays if none before it
    that stays is the same thing over an overlapping span."""
    start, end = spans(events)
    alike: dict[tuple[str, str, frozenset[str]], list[int]] = defaultdict(list)
    for position in np.lexsort((-np.array([e.confidence for e in events]), ~protected)) if len(events) else ():
        event = events[position]
        alike[event.source, event.type, event.persons].append(int(position))
    keep = np.zeros(len(events), dtype=bool)
    for group in alike.values():
        at = np.array(group)
        stays = np.zeros(len(at), dtype=bool)
        for n, position in enumerate(group):
            same = (start[at[:n]] < end[position]) & (start[position] < end[at[:n]])
            stays[n] = protected[position] or not (same & stays[:n]).any()
        keep[at[stays]] = True
    return keep


def capped(events: Sequence[GraphEvent], protected: Flags, there: Flags, cap: int) -> Flags:
    """bool[N]: the events under the cap: the protected ones, the best of each type that has none, then the best."""
    keep = protected & there
    candidates: list[int] = np.flatnonzero(there & ~protected).tolist()
    candidates.sort(key=lambda n: -events[n].confidence)  # stable: of equals the earlier
    types = {(events[n].source, events[n].type) for n in np.flatnonzero(keep).tolist()}
    first: list[int] = []
    others: list[int] = []
    for position in candidates:
        kind = (events[position].source, events[position].type)
        (others if kind in types else first).append(position)
        types.add(kind)
    room = max(0, cap - int(keep.sum()))
    keep[(first + others)[:room]] = True
    return keep
