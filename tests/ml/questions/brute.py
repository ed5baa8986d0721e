"""Proofs evaluated the slow way: one concrete world at a time, straight from JSON, sharing nothing with the evaluator.

A world is a list of events whose boundaries are certain and besides which there is nothing. Worlds are made from marked
facts by moving boundaries and by adding an event that coverage does not forbid.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from ml.questions.facts import Event, Facts

Tree = list[Any]
PERSONS_OF = {
    "sudden_gaze_shift": (1, 1),
    "mutual_gaze": (2, 2),
    "gaze_following": (2, 3),
    "joint_attention": (2, 4),
    "attention_capture": (2, 4),
    "pointing": (1, 2),
    "showing": (1, 2),
    "giving": (1, 2),
    "reaching": (1, 2),
}


def select(tree: Tree, world: list[Event], facts: Facts) -> list[Event]:
    word = tree[0]
    if word == "event":
        return [e for e in world if e.id == tree[1]]
    if word == "either":
        ids = {e.id for part in tree[1:] for e in select(part, world, facts)}
        return [e for e in world if e.id in ids]
    if word == "events":
        return [e for e in world if _matches(tree[1], e)]
    a = select(tree[1], world, facts)
    if word == "first":
        return [e for e in a if e.start == min(o.start for o in a)]
    if word == "last":
        return [e for e in a if e.start == max(o.start for o in a)]
    if word == "longest":
        lasts = {e.id: facts.seconds[e.end] - facts.seconds[e.start] for e in a}
        return [e for e in a if lasts[e.id] >= max(lasts.values()) - 1e-9]
    b = select(tree[2], world, facts)
    if word == "overlapping":
        return [e for e in a if any(e.id != o.id and e.start < o.end and o.start < e.end for o in b)]
    assert word == "after"
    limit = float("inf") if tree[3] is None else tree[3] + 1e-9
    return [
        e
        for e in a
        if any(e.id != o.id and e.start >= o.end and facts.seconds[e.start] - facts.seconds[o.end] <= limit for o in b)
    ]


def _matches(wanted: dict[str, Any], event: Event) -> bool:
    types = wanted.get("type")
    types = types if isinstance(types, list) or types is None else [types]
    if event.modality != wanted["modality"] or (types and event.type not in types):
        return False
    for role, persons in (wanted.get("roles") or {}).items():
        for person in persons if isinstance(persons, list) else [persons]:
            if not any(who == person and role in (its, "person") for who, its in event.roles):
                return False
    span = wanted.get("during")
    return span is None or (event.start < span[1] and span[0] < event.end)


def right(ask: Tree, value: Any, world: list[Event], facts: Facts) -> bool:
    """Whether the value is right for the expression in this world."""
    if isinstance(value, dict) and "claim" in value:
        return right(value["claim"], True, world, facts)
    word = ask[0]
    if word == "is":
        return right(ask[1], ask[2], world, facts) is value
    if word == "order":
        return _order(select(ask[1], world, facts), select(ask[2], world, facts), value)
    if word == "others":
        events = select(ask[2], world, facts)
        return _among(set(ask[1]) - {p for e in events for p, _ in e.roles}, value)
    events = select(ask[1], world, facts)
    if word == "exists":
        return bool(events) is value
    if word == "count":
        return len(events) == value
    if word == "type":
        return _among({e.type for e in events}, value)
    if word == "who":
        return _among({p for e in events for p, role in e.roles if ask[2] in (role, "person")}, value)
    if word == "most":
        counts = Counter(
            name
            for e in events
            for name in ({e.type} if ask[2] == "type" else {p for p, role in e.roles if ask[2] in (role, "person")})
        )
        top = counts.most_common(2)
        leader = top[0][0] if top and (len(top) == 1 or top[0][1] > top[1][1]) else None
        return _among({leader} if leader else set(), value)
    assert word == "duration_s"
    frames = {f for e in events for f in range(e.start, e.end)}
    seconds = sum(facts.seconds[f + 1] - facts.seconds[f] for f in frames)
    x, within = (value["seconds"], value["within"]) if isinstance(value, dict) else (value, 0.05)
    return bool(abs(seconds - x) <= within + 1e-9)


def _among(names: set[str], value: Any) -> bool:
    if isinstance(value, str):
        return value in names
    return names == set(value or [])


def _order(a: list[Event], b: list[Event], value: str | None) -> bool:
    if value is None:
        return not a or not b
    pairs = [(x, y) for x in a for y in b if x.id != y.id]
    if value == "overlap":
        return any(x.start < y.end and y.start < x.end for x, y in pairs)
    return bool(pairs) and all((x.end <= y.start) if value == "before" else (y.end <= x.start) for x, y in pairs)


def moved(facts: Facts, by: tuple[int, ...] | None = None) -> Iterator[list[Event]]:
    """Every world in which each boundary moves by one of `by` frames (a step either way), by itself."""
    offsets = by or (-facts.step, 0, facts.step)
    places = [
        [
            (s, e)
            for ds, de in product(offsets, offsets)
            if 0 <= (s := event.start + ds) < (e := event.end + de) <= facts.frames
        ]
        for event in facts.events
    ]
    for chosen in product(*places):
        yield [replace(event, start=s, end=e) for event, (s, e) in zip(facts.events, chosen, strict=True)]


def hidden(facts: Facts, rng: random.Random, reach: int = 0) -> Event | None:
    """An event that nobody marked and coverage does not forbid; it may reach `reach` frames into coverage."""
    everybody = [person.id for person in facts.persons]
    type = rng.choice(list(PERSONS_OF))
    least, most = PERSONS_OF[type]
    who = rng.sample(everybody, min(rng.randint(least, most), len(everybody)))
    modality = "gesture" if type in ("pointing", "showing", "giving", "reaching") else "gaze"
    open_frames = [
        frame
        for frame in range(facts.frames)
        if not any(
            row.modality == modality
            and row.start <= frame < row.end
            and (row.persons is None or set(who) <= row.persons)
            for row in facts.coverage
        )
    ]
    if not open_frames:
        return None
    start = end = rng.choice(open_frames)
    while rng.random() < 0.9 and start - 1 in open_frames:
        start -= 1
    while rng.random() < 0.9 and end + 1 in open_frames:
        end += 1
    start, end = max(0, start - rng.randint(0, reach)), min(facts.frames, end + 1 + rng.randint(0, reach))
    first = {"gaze_following": "leader", "gesture": "initiator"}.get(type if modality == "gaze" else modality, "member")
    rest = {"gaze_following": "follower", "gesture": "target"}.get(type if modality == "gaze" else modality, "member")
    roles = tuple((person, first if at == 0 else rest) for at, person in enumerate(who))
    return Event("hidden", modality, type, start, end, roles)
