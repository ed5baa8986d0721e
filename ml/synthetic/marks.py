"""What a reviewer marked of a simulated scene: the facts that questions are asked of, and the coverage beside them.

Coverage may be partial; then events that no coverage speaks of may be missing from the marks although they happened.
A coverage of some persons speaks of the events whose participants are all among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ml.questions.facts import Covered, Event, Facts, Person
from ml.synthetic.truth import Happening, Truth, happenings, runs


@dataclass(frozen=True)
class Marked:
    """Somebody says: all events of `modality` among those columns (None: everybody) are marked over [start, end)."""

    modality: str
    start: int
    end: int
    columns: frozenset[int] | None = None

    def speaks_of(self, event: Happening) -> bool:
        among = self.columns is None or event.columns <= self.columns
        return among and event.modality == self.modality and event.start < self.end and self.start < event.end


def whole(truth: Truth) -> list[Marked]:
    """Everything is marked."""
    return [Marked(modality, 0, truth.frames) for modality in ("gaze", "gesture")]


def partial(truth: Truth, seed: int) -> list[Marked]:
    """Some spans, some of them for some persons only."""
    rng = np.random.default_rng(seed)
    found = []
    for modality in ("gaze", "gesture"):
        edges = np.sort(rng.integers(0, truth.frames + 1, 4)).tolist()
        for start, end in ((0, edges[1]), (edges[2], truth.frames)):
            chosen = rng.permutation(truth.persons)[: max(2, truth.persons - 1)].tolist()
            columns = frozenset(int(c) for c in chosen) if rng.random() < 0.4 else None
            if start < end:
                found.append(Marked(modality, start, end, columns))
    return found


def facts(
    truth: Truth,
    *,
    step: int = 12,
    coverage: Sequence[Marked] | None = None,
    forget: float = 0.0,
    seed: int = 0,
    looks: bool = False,
) -> Facts:
    """The facts of a scene at `step` frames between two looks. Ids are the truth's.

    `forget`: share of the events outside coverage that nobody marked. `looks`: boundaries are those a detector sees
    that looks every `step` frames: a start is the first look on which the event is seen, an end the first on which it
    is not, and an event between two looks is not seen at all; otherwise boundaries are exact.
    """
    rng = np.random.default_rng(seed)
    marked = list(whole(truth) if coverage is None else coverage)
    events = []
    for position, event in enumerate(happenings(truth)):
        covered = any(each.speaks_of(event) for each in marked)
        forgotten = bool(rng.random() < forget)
        if covered or not forgotten:
            seen = _event(truth, event, position, step if looks else 0)
            if seen is not None:
                events.append(seen)
    persons = [
        Person(id, truth.numbers[column], tuple(runs(truth.visible[:, column], truth.cuts)))
        for column, id in enumerate(truth.ids)
    ]
    return Facts(
        seconds=truth.seconds,
        step=step,
        persons=persons,
        events=events,
        coverage=[_covered(truth, each) for each in marked],
        cuts=truth.cuts,
        set="simulated",
        revision=1,
    )


def _covered(truth: Truth, marked: Marked) -> Covered:
    among = None if marked.columns is None else frozenset(truth.ids[column] for column in marked.columns)
    return Covered(marked.modality, marked.start, marked.end, among)


def _event(truth: Truth, event: Happening, position: int, step: int) -> Event | None:
    place = truth.place(event.reach)
    kind = "" if event.modality == "gaze" else place.kind if place else "person"
    start, end, before, after = event.start, event.end, None, None
    if step:
        shot_end = min(cut for cut in (*truth.cuts, truth.frames) if cut > event.start)
        start, end = -(-start // step) * step, min(-(-end // step) * step, shot_end)
        before, after = start - step, end
        if start >= end:
            return None
    return Event(
        id=f"event-{position}",
        modality=event.modality,
        type=event.type,
        start=start,
        end=end,
        roles=tuple((truth.ids[column], role) for column, role in event.roles),
        target=kind,
        description=place.description if place else "",
        onset_after=before,
        offset_before=after,
    )
