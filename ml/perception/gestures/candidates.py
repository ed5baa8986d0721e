"""Where in a shot it is worth looking ten times a second: at arms that move and come out of rest.

The coarse pass takes a pose of everybody twice a second. An arm is of interest on a look where it is away from where
arms rest and moved lately, or on either side of a step between two looks that took it there or back. An arm that stays
where it is (on the back of a chair, in a picture of a picture) is of no interest however far out it is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from ml.media.files import whole
from ml.perception.gestures.arms import arm_of
from ml.perception.gestures.window import Array, Window, scales

STEP_M = 0.12  # between two looks: the arm moved
OUT_M = 0.10  # out of rest
LATELY_S = 8.0  # a pose held for longer is no gesture (see rules.LONGEST_HOLD_S)
MARGIN_S = 1.0  # looked at before and after, so that both ends of a gesture are seen
LONGEST_S, OVERLAP_S = 60.0, 6.0  # windows are cut to this length, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class Arms:
    """What the coarse pass keeps: one row per look, person and side. `x`, `y`: metres from shoulder to wrist."""

    frame: Array
    seconds: Array
    person: Array
    side: Array
    x: Array
    y: Array
    out: Array  # metres

    def save(self, path: Path) -> None:
        with whole(path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, **{f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, paths: list[Path]) -> Arms:
        """The rows of several files in order."""
        loaded = []
        for path in paths:
            with np.load(path, allow_pickle=False) as data:
                loaded.append({f.name: data[f.name] for f in fields(cls)})
        return cls(**{f.name: np.concatenate([part[f.name] for part in loaded]) for f in fields(cls)})


def arms_in(window: Window) -> Arms:
    """The arms of a coarse window."""
    prepared = window.prepared()
    each = scales(prepared)
    rows = []
    for person in np.flatnonzero(np.isfinite(each)):
        for side in (0, 1):
            arm = arm_of(prepared, int(person), side, float(each[person]))
            rel = (arm.wrist - arm.shoulder) / arm.scale
            known = np.flatnonzero(np.isfinite(rel).all(1))
            who = np.full(len(known), window.persons[person])
            rows.append(
                [window.frame[known], window.seconds[known], who, np.full(len(known), side), rel[known, 0],
                 rel[known, 1], arm.out[known]]
            )  # fmt: skip
    kinds = (np.int64, np.float64, np.int64, np.int8, np.float32, np.float32, np.float32)
    columns = zip(*rows, strict=True) if rows else [[np.zeros(0)]] * len(kinds)
    return Arms(*(np.concatenate(list(column)).astype(kind) for column, kind in zip(columns, kinds, strict=True)))


@dataclass(frozen=True)
class Stretch:
    """Seconds [start, end) worth a closer look, and the persons whose arms are of interest in them."""

    start: float
    end: float
    persons: tuple[int, ...]


def stretches(arms: Arms, start: float, end: float) -> list[Stretch]:
    """The stretches of a shot from second `start` to `end`, none longer than LONGEST_S, sorted."""
    times: list[float] = []
    who: list[int] = []
    for person in np.unique(arms.person):
        for side in (0, 1):
            here = (arms.person == person) & (arms.side == side)
            order = np.argsort(arms.seconds[here])
            t, place = arms.seconds[here][order], np.stack([arms.x[here], arms.y[here]], 1)[order]
            found = t[interesting(t, place, arms.out[here][order])]
            times += found.tolist()
            who += [int(person)] * len(found)
    return [part for whole_ in merged(times, who, start, end) for part in shorter(whole_)]


def interesting(seconds: Array, place: Array, out: Array) -> Array:
    """Looks (bool) on which one arm is of interest; `place`: T x 2 metres, looks on which it was not seen left out."""
    if not len(seconds):
        return np.zeros(0, bool)
    step = np.r_[0.0, np.linalg.norm(np.diff(place, axis=0), axis=1)]
    away = out >= OUT_M
    moved = (step >= STEP_M) & (away | np.r_[False, away[:-1]])
    result = moved | np.r_[moved[1:], False]
    last = np.maximum.accumulate(np.where(moved, seconds, -np.inf))
    return np.asarray(result | away & (seconds - last <= LATELY_S))


def merged(times: list[float], who: list[int], start: float, end: float) -> list[Stretch]:
    """Looks widened by the margin, and joined where they touch."""
    found: list[tuple[float, float, set[int]]] = []
    for time, person in sorted(zip(times, who, strict=True)):
        low, high = max(start, time - MARGIN_S), min(end, time + MARGIN_S)
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]), found[-1][2] | {person})
        else:
            found.append((low, high, {person}))
    return [Stretch(low, high, tuple(sorted(persons))) for low, high, persons in found]


def shorter(stretch: Stretch) -> list[Stretch]:
    """A stretch in parts of at most LONGEST_S that overlap by OVERLAP_S, so that what one cuts another holds whole."""
    length = stretch.end - stretch.start
    if length <= LONGEST_S:
        return [stretch]
    count = int(np.ceil((length - OVERLAP_S) / (LONGEST_S - OVERLAP_S)))
    step = (length - OVERLAP_S) / count
    starts = [stretch.start + k * step for k in range(count)]
    return [Stretch(low, low + step + OVERLAP_S, stretch.persons) for low in starts]
