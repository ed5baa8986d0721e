"""A made-up video to judge claims about: 10 s at 10 frames a second, cut at 6 s, looked at on every fifth frame.

Persons 1, 2 and 3 (ids a, b, c): 1 and 2 are there from 0 to 6 s, 3 from 6 to 10 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ml.evidence.grounding.protocol import Grounded, Masks, Query, Window
from ml.evidence.grounding.windows import queries_of
from ml.evidence.package import Claim, ClaimTime, Phrase, Statement
from ml.evidence.statements import GazeLooks, Truth
from ml.evidence.verdicts import Verdict, judge
from ml.media.index import FrameIndex
from ml.questions.clip import ClipClock
from ml.questions.facts import Covered, Event, Facts, Person

FRAMES = 100
SHOTS = ((0, 60), (60, 100))
INDEX = FrameIndex(np.arange(FRAMES + 1) * 100, Fraction(1, 1000))
CLOCK = ClipClock(np.arange(FRAMES), np.arange(FRAMES) / 10, 0, FRAMES, 10.0)
VISIBLE = {1: ((0, 60),), 2: ((0, 60),), 3: ((60, 100),)}
IDS = {1: "a", 2: "b", 3: "c"}
EVERYWHERE = (Covered("gaze", 0, FRAMES), Covered("gesture", 0, FRAMES))
GRID = np.arange(0, FRAMES, 5)


def facts(events: Sequence[Event] = (), coverage: Sequence[Covered] = EVERYWHERE, step: int = 5) -> Facts:
    persons = [Person(IDS[n], n, VISIBLE[n]) for n in VISIBLE]
    return Facts(INDEX.seconds, step, persons, list(events), coverage=list(coverage), cuts=(0, 60))


def gesture(type: str, start: int, end: int, initiator: int, target: int | None = None, id: str = "e1") -> Event:
    roles = ((IDS[initiator], "initiator"), *(((IDS[target], "target"),) if target else ()))
    return Event(id, "gesture", type, start, end, roles)


def looks(*rows: tuple[int, int, int, int, bool]) -> GazeLooks:
    """Rows of start, end, person, target, human."""
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return GazeLooks(columns[0], columns[1], columns[2], columns[3], columns[4].astype(bool))


def truth(
    events: Sequence[Event] | None = None,
    *,
    coverage: Sequence[Covered] = EVERYWHERE,
    gaze: GazeLooks | None = None,
    visible: Mapping[int, Any] | None = VISIBLE,
) -> Truth:
    return Truth(INDEX, SHOTS, None if events is None else facts(events, coverage), gaze, visible)


Row = tuple[str, int, Iterable[int], int, float]  # query, object, frames, person, score


def masks(*rows: Row, tracker: float = np.nan) -> Masks:
    """Masks of one pixel; `tracker`: score of the tracker on all of them."""
    flat = sorted((q, o, f, p, s) for q, o, frames, p, s in rows for f in frames)
    n = len(flat)
    column = [list(c) for c in zip(*flat, strict=True)] if n else [[]] * 5
    return Masks(
        (4, 4),
        np.array(column[0], np.str_),
        np.array(column[1], np.int64),
        np.array(column[2], np.int64),
        np.array(column[3], np.int64),
        np.array(column[4], np.float32),
        np.full(n, tracker, np.float32),
        np.tile(np.array([0, 0, 0.25, 0.25], np.float32), (n, 1)),
        np.ones(n, np.int64),
        np.full(n, "mask"),
        [b"01?"] * n,
    )


def claim(text: str = "it is there", type: Any = "object", **more: Any) -> Claim:
    if isinstance(more.get("time"), tuple):
        more["time"] = ClaimTime(more["time"][0], more["time"][1], more.pop("basis", "stated"))
    if "phrase" in more:
        more["phrases"] = (Phrase(more.pop("phrase"), "cup"),)
    return Claim("c1", (0, len(text)), text, type, **more)


def looks_at(looker: int, target: int) -> Statement:
    return Statement("gaze", (), (("looker", looker), ("looked_at", target)))


def window(span: tuple[int, int], inside: Sequence[int], outside: Sequence[int] = ()) -> Window:
    frame = np.array(sorted([*inside, *outside]), np.int64)
    return Window(frame, np.isin(frame, inside), span)


# a claim about 2 to 3 s: frames 20-30, with the tolerance 10-40; five frames inside and five outside were looked at
AT_2 = (2.0, 3.0)
INSIDE, OUTSIDE = (10, 15, 20, 25, 30, 35), (0, 5, 40, 45, 50, 55)


def judged(
    one: Claim,
    found: Masks | None = None,
    *,
    status: Mapping[str, str] | None = None,
    known: Truth | None = None,
    inside: Sequence[int] = INSIDE,
    outside: Sequence[int] = OUTSIDE,
    checked: Mapping[str, tuple[str, ...]] | None = None,
    persons: Mapping[int, int] | None = None,
    queries: list[Query] | None = None,
    looked: Sequence[int] | None = None,
) -> Verdict:
    """The verdict on a claim, with `found` for its queries."""
    queries = queries_of(one, persons) if queries is None else queries
    if one.time.start_s is None:
        inside, outside = GRID.tolist(), ()
    grounded = None
    if found is not None:
        by = {q.id: "ok" if (found.query == q.id).any() else "empty" for q in queries}
        seen = np.array(sorted([*inside, *outside]) if looked is None else looked, np.int64)
        grounded = Grounded(found, {**by, **(status or {})}, {}, seen, dict(checked or {}))  # type: ignore[dict-item]
    span = CLOCK.source_span(*AT_2) if one.time.start_s is not None else (0, FRAMES)
    return judge(
        one, queries=queries, window=window(span, inside, outside), grounded=grounded,
        truth=truth() if known is None else known, clock=CLOCK, persons=persons,
    )  # fmt: skip


def negated(one: Claim) -> Claim:
    return replace(one, polarity="negated")
