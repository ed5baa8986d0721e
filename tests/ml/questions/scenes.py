"""Small fact tables to ask about: 10 frames a second, two looks a second (a step is 5 frames)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ml.questions.facts import Covered, Event, Facts, Person

FPS = 10


def facts(
    events: Sequence[Event],
    *,
    frames: int = 600,
    persons: int = 5,
    coverage: Sequence[Covered] | None = None,
    step: int = 5,
    cuts: Sequence[int] = (0,),
) -> Facts:
    """Persons "a" to "e", numbered from 1, always visible; everything covered unless said otherwise."""
    people = [Person("abcdefghij"[i], i + 1, ((0, frames),)) for i in range(persons)]
    whole = [Covered("gaze", 0, frames), Covered("gesture", 0, frames)]
    times = np.arange(frames + 1) / FPS
    return Facts(times, step, people, events, whole if coverage is None else coverage, cuts, set="s", revision=1)


def gaze(id: str, type: str, start: int, end: int, *persons: str) -> Event:
    """Members, or leader and followers."""
    roles = ["leader", *["follower"] * len(persons)] if type == "gaze_following" else ["member"] * len(persons)
    return Event(id, "gaze", type, start, end, tuple(zip(persons, roles, strict=False)))


def gesture(id: str, type: str, start: int, end: int, initiator: str, target: str | None = None) -> Event:
    roles = [(initiator, "initiator"), *([(target, "target")] if target else [])]
    return Event(id, "gesture", type, start, end, tuple(roles), target="person" if target else "object")


def proof(
    ask: Any, options: Mapping[str, Any], key: str | list[str], span: tuple[int, int] = (0, 600)
) -> dict[str, Any]:
    keys = [key] if isinstance(key, str) else key
    rows = [{"id": id, "value": value} for id, value in options.items()]
    return {
        "v": 1,
        "set": "s",
        "revision": 1,
        "persons": [],
        "span": list(span),
        "ask": ask,
        "options": rows,
        "key": keys,
    }
