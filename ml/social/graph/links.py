"""Links between gaze events and gestures, and the order of events, over whole arrays at once.

For two spans within `gap_s` of each other, the one that starts later starts inside [start, end + gap_s] of the other.
So with both lists sorted by start every pair lies in one contiguous run of one list or the other: two binary searches a
list, and work in proportion to the number of links found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ml.social.graph.model import Floats, GraphEvent, Ints, Links, lasting, spans
from ml.social.graph.presets import GraphPreset

ROUNDING_S = 1e-9  # a gap of 3 s between two decimal times may come out a rounding error longer
MOST = 5_000_000  # links; a table of more is of no use to anybody, and would fill the memory
_AT_ONCE = 1 << 20  # pairs whose persons are compared in one go


class TooDense(ValueError):
    """So many events at once that their links cannot be listed. The message is a sentence."""


def find_links(events: Sequence[GraphEvent], preset: GraphPreset) -> Links:
    """Every gaze event and gesture that overlap, or else lie at most `preset.gap_s` seconds apart.

    Raises TooDense.
    """
    start, end = spans(events)
    is_gaze = np.array([event.source == "gaze" for event in events], dtype=bool)
    gaze, gesture = np.flatnonzero(is_gaze), np.flatnonzero(~is_gaze)
    first, second = near_pairs(start[gaze], end[gaze], start[gesture], end[gesture], preset.gap_s + ROUNDING_S)
    a, b = gaze[first], gesture[second]
    order = np.lexsort((b, a))
    a, b = a[order], b[order]
    common = np.minimum(end[a], end[b]) - np.maximum(start[a], start[b])
    over = lasting(start, end) if preset.half_open else end
    overlap = (start[a] < over[b]) & (start[b] < over[a])
    links = Links(
        gaze=a,
        gesture=b,
        overlap=overlap,
        seconds=np.where(overlap, np.maximum(common, 0.0), np.maximum(-common, 0.0)),
        shared=share_person(events, a, b),
    )
    return links.where(links.shared) if preset.shared_person else links


def near_pairs(start_a: Floats, end_a: Floats, start_b: Floats, end_b: Floats, gap: float) -> tuple[Ints, Ints]:
    """Positions (i in a, j in b) of all spans at most `gap` apart, each pair once, in no particular order."""
    a, b = np.argsort(start_a, kind="stable"), np.argsort(start_b, kind="stable")
    later_b = _runs(
        np.searchsorted(start_b[b], start_a, side="left"), np.searchsorted(start_b[b], end_a + gap, side="right")
    )
    later_a = _runs(  # a starts after b: those that start together are above
        np.searchsorted(start_a[a], start_b, side="right"), np.searchsorted(start_a[a], end_b + gap, side="right")
    )
    return np.concatenate([later_b[0], a[later_a[1]]]), np.concatenate([b[later_b[1]], later_a[0]])


def _runs(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """(row, place) for every place in [low[row], high[row])."""
    counts = np.maximum(high - low, 0)
    if counts.sum() > MOST:
        raise TooDense(f"More than {MOST:,} pairs of events lie within reach of each other: take a shorter span.")
    row = np.repeat(np.arange(len(low)), counts)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    return row, low[row] + offset


def share_person(events: Sequence[GraphEvent], first: Ints, second: Ints) -> NDArray[np.bool_]:
    """bool[K]: whether somebody takes part in both events of each pair."""
    numbers: dict[str, int] = {}
    taking_part = [(n, numbers.setdefault(p, len(numbers))) for n, event in enumerate(events) for p in event.persons]
    present = np.zeros((len(events), len(numbers)), dtype=bool)
    if taking_part:
        present[tuple(np.array(taking_part).T)] = True
    bits = np.packbits(present, axis=1)
    step = max(1, _AT_ONCE // max(1, bits.shape[1]))
    parts = [
        (bits[first[at : at + step]] & bits[second[at : at + step]]).any(axis=1) for at in range(0, len(first), step)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)


def before(events: Sequence[GraphEvent]) -> Ints:
    """int64[B, 2]: (earlier, later) where the later begins at or after the earlier's end and none lies wholly between.

    The transitive reduction of "before": every other pair of the order is a path of these. Events come sorted by start.
    For event a, what may follow directly starts no earlier than a ends and before the first end of all that do.
    """
    start, end = spans(events)
    end = lasting(start, end)
    if not len(start):
        return np.zeros((0, 2), dtype=np.int64)
    low = np.searchsorted(start, end, side="left")
    first_end = np.append(np.minimum.accumulate(end[::-1])[::-1], np.inf)[low]
    row, place = _runs(low, np.searchsorted(start, first_end, side="left"))
    return np.stack([row, place], axis=1)
