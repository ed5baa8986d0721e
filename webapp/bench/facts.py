"""From the tables to `ml.questions.facts.Facts`: what is known of one video, in a fixed number of queries.

The consensus set counts where the video has one, else the working set. Only confirmed events are facts; where coverage
says that all is marked, proposals that nobody decided on are told beside them (`Facts.undecided`). Somebody merged
is whom they were merged into; an event of which a merge made two people one is no fact until somebody corrects it, and
until then nothing counts as fully marked while it goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from ml.questions.facts import Covered, Event, Facts, Person, Span
from webapp.events import models as events
from webapp.events.rows import differs
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks import models as tracks

SETS = ("consensus", "working")  # the first that a video has


def facts_of(video: Video) -> Facts:
    """What is known of a video. Its revision is read first: whoever writes what follows looks whether it still is that.

    Ten queries at most and one file (the frame times). Raises Refused for a video whose import is not done.
    """
    seen = Video.objects.select_related("run", "blob").get(id=video.id)
    if seen.state != Video.State.READY or (seen.run is None and not seen.has_pixels):
        raise Refused("This video has no frame times: its import is not done, or no run was accepted.", "video")
    home = _set_of(seen)
    people = list(tracks.Person.objects.filter(video=seen))
    roots = _roots(people)
    pieces = list(
        tracks.Tracklet.objects.filter(run=seen.run_id).values_list("person_id", "start", "end") if seen.run_id else []
    )
    seconds = frame_seconds(seen)
    cuts = tuple(seen.shots) or (0,)
    marked, undone = _events(home, roots) if home else ([], [])
    coverage = _without(_coverage(home, roots, pieces), undone) if home else []
    return Facts(
        seconds=seconds,
        step=step_of(seconds, cuts, seen.run.manifest.get("rate") if seen.run else None),
        persons=_persons(people, roots, pieces),
        events=marked,
        coverage=coverage,
        undecided=_undecided(seen, coverage, roots) if coverage else [],
        cuts=cuts,
        set=str(home.id) if home else "",
        revision=seen.revision,
    )


def _set_of(video: Video) -> events.AnnotationSet | None:
    found = {each.kind: each for each in events.AnnotationSet.objects.filter(video=video, kind__in=SETS)}
    return next((found[kind] for kind in SETS if kind in found), None)


def step_of(seconds: NDArray[np.float64], cuts: Iterable[int], rate: float | None) -> int:
    """Frames between two looks of a run that looked `rate` times a second, at most: the unit of a boundary's doubt.

    Looks are as perception takes them: the k-th of a shot is the first frame at or after its start + k / rate. 1 where
    no machine looked, as for a video whose events people made by hand.
    """
    if not rate or rate <= 0:
        return 1
    frames = len(seconds) - 1
    bounds = [*sorted({0, *cuts}), frames]
    widest = 1
    for start, end in zip(bounds, bounds[1:], strict=False):
        if end - start < 2:
            continue
        times = seconds[start:end] - seconds[start]
        due = np.arange(int(times[-1] * rate + 1e-6) + 1) / rate
        looks = np.unique(np.searchsorted(times, due - 1e-6))
        widest = max(widest, int(np.diff(np.append(looks, end - start)).max()))
    return widest


def _roots(people: Iterable[tracks.Person]) -> dict[UUID, UUID]:
    """Person id -> id of the person it was merged into, in the end."""
    parents = {person.id: person.merged_into_id for person in people}

    def root(person: UUID) -> UUID:
        while (parent := parents[person]) is not None:
            person = parent
        return person

    return {person: root(person) for person in parents}


Piece = tuple[UUID, int, int]  # person id as the tracklet names it, start, end


def _persons(people: Iterable[tracks.Person], roots: Mapping[UUID, UUID], pieces: Iterable[Piece]) -> list[Person]:
    spans: dict[UUID, list[Span]] = defaultdict(list)
    for person, start, end in pieces:
        spans[roots[person]].append((start, end))
    return [
        Person(id=str(person.id), number=person.number, visible=joined(spans[person.id]))
        for person in people
        if person.merged_into_id is None
    ]


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same frames as sorted, disjoint spans."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def _events(home: events.AnnotationSet, roots: Mapping[UUID, UUID]) -> tuple[list[Event], list[Event]]:
    """The events that are facts, and those of which a merge made two people one."""
    return _read(events.Event.objects.filter(set=home, status=events.Event.Status.CONFIRMED), roots)


def _undecided(video: Video, coverage: Iterable[Covered], roots: Mapping[UUID, UUID]) -> list[Event]:
    """Proposals without a word that lie where somebody says that all is marked; elsewhere nothing is known anyway. One
    of which a merge made two people one says nothing.
    """
    spans = [(row.modality, row.start, row.end) for row in coverage]
    start, end = min(start for _, start, _ in spans), max(end for _, _, end in spans)
    waiting = events.Event.objects.filter(
        video=video,
        status=events.Event.Status.PROPOSED,
        set__kind__in=("proposal", *SETS),
        start__lt=end,
        end__gt=start,
    )
    found, _ = _read(waiting, roots)
    return [e for e in found if any(m == e.modality and e.start < b and a < e.end for m, a, b in spans)]


def _read(rows: QuerySet[events.Event], roots: Mapping[UUID, UUID]) -> tuple[list[Event], list[Event]]:
    found: list[Event] = []
    undone: list[Event] = []
    for row in rows.prefetch_related("participations").order_by("start", "end", "id"):
        parts = [(part.person_id, part.role) for part in row.participations.all()]
        roles = tuple(sorted({(str(roots[person]), role) for person, role in parts}))
        whole = len({person for person, _ in roles}) == len({person for person, _ in parts})
        listed = found if whole else undone
        listed.append(_event(row, roles, sorted([str(person), role] for person, role in parts)))
    return found, undone


def _event(row: events.Event, roles: tuple[tuple[str, str], ...], named: list[list[str]]) -> Event:
    told: Mapping[str, Any] = row.details
    # the looks beside the rules' own span say nothing of one that a human drew
    exact = row.machine is not None and not differs(row.machine, row.type, row.start, row.end, named)
    return Event(
        id=str(row.id),
        modality=row.modality,
        type=row.type,
        start=row.start,
        end=row.end,
        roles=roles,
        confidence=row.confidence,
        target=str(told.get("target_kind") or ""),
        description=str(told.get("target_description") or ""),
        onset_after=_frame(told.get("onset_after")) if exact else None,
        offset_before=_frame(told.get("offset_before")) if exact else None,
    )


def _frame(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _coverage(home: events.AnnotationSet, roots: Mapping[UUID, UUID], pieces: Iterable[Piece]) -> list[Covered]:
    pieces = list(pieces)
    return [
        Covered(row.modality, row.start, row.end, _covered(row, roots, pieces) if row.persons else None)
        for row in home.coverage.order_by("start", "id")
    ]


def _without(coverage: Iterable[Covered], undone: Iterable[Event]) -> list[Covered]:
    """The coverage but for the time of these events: something happens there, with whom has yet to be said."""
    rows = list(coverage)
    for event in undone:
        rows = [part for row in rows for part in _beside(row, event)]
    return rows


def _beside(row: Covered, event: Event) -> list[Covered]:
    if row.modality != event.modality or event.end <= row.start or row.end <= event.start:
        return [row]
    parts = (row.start, event.start), (event.end, row.end)
    return [replace(row, start=start, end=end) for start, end in parts if start < end]


def _covered(row: events.Coverage, roots: Mapping[UUID, UUID], pieces: Iterable[Piece]) -> frozenset[str]:
    """Whom a row covers: those it names. Somebody merged is covered as the whole person only where every part of that
    person who is to be seen then is named: of the others nobody said that all is marked.
    """
    named = {UUID(person) for person in row.persons}
    parts: dict[UUID, set[UUID]] = defaultdict(set)
    for person, start, end in pieces:
        if start < row.end and row.start < end:
            parts[roots[person]].add(person)
    whole = {roots[person] for person in named if person in roots}
    return frozenset(str(root) for root in whole if root in named or parts[root] <= named)
