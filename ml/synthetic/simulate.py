"""Seeded scenes: people who look, meet eyes, follow, attend together, are captured, and gesture to each other.

Every event lasts at least half a second, so that whoever looks twice a second sees it.

`simulate(seed)` gives the same scene for ever. Small plays that tie gaze to gesture come first, so that they find room;
then single events of every kind, at random moments; last the idle looks, which are no event.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ml.synthetic.script import Stage
from ml.synthetic.truth import HANDS, Truth

OBJECTS = ("a red cup", "a book", "a green box", "a ball", "a phone", "a plate", "a letter", "a lamp")
LOCATIONS = ("the door", "the window", "the corner of the room", "the far end of the table")


def simulate(
    seed: int,
    *,
    persons: int = 5,
    seconds: float = 60.0,
    fps: float = 25.0,
    variable: bool = False,
    cuts: int = 0,
    come_and_go: bool = False,
    density: float = 1.0,
) -> Truth:
    """A scene of `persons` people (at least 3). `variable`: irregular frame times; `come_and_go`: some enter late or
    leave early; `density`: how much happens, 1 being about one event per person and 4 seconds.
    """
    rng = np.random.default_rng(seed)
    count = round(seconds * fps)
    places = sorted(rng.choice(np.arange(1, cuts * 4 + 4), cuts, replace=False).tolist()) if cuts else []
    starts = (0, *(round(count * place / (cuts * 4 + 4)) for place in places))
    numbers = tuple(int(n) for n in rng.permutation(np.arange(0, persons + 3))[:persons])  # numbers may have gaps
    ids = tuple(f"id-{seed}-{name}" for name in rng.permutation(persons).tolist())
    stage = Stage(frame_times(rng, count, fps, variable), ids, numbers, cuts=starts)
    if come_and_go:
        _come_and_go(stage, rng)
    play(stage, rng, density)
    return stage.truth()


def frame_times(rng: np.random.Generator, count: int, fps: float, variable: bool) -> NDArray[np.float64]:
    """float64[count + 1] from 0: even, or each frame 0.4 to 1.6 times as long as usual."""
    lengths = np.ones(count) if not variable else rng.uniform(0.4, 1.6, count)
    return np.asarray(np.concatenate([[0.0], np.cumsum(lengths)]) / fps)


def play(stage: Stage, rng: np.random.Generator, density: float = 1.0) -> None:
    """Fill the stage."""
    tries = round(density * stage.persons * float(stage.seconds[-1]) / 10)
    for _ in range(tries):
        _PLAYS[int(rng.integers(len(_PLAYS)))](stage, rng)
    for _ in range(4 * tries):
        _SINGLES[int(rng.integers(len(_SINGLES)))](stage, rng)
    for _ in range(4 * tries):
        a, b = _some(stage, rng, 2)
        start, end = _span(stage, rng, 0.6, 2.0)
        stage.stare(a, b, start, end)


def _come_and_go(stage: Stage, rng: np.random.Generator) -> None:
    for person in range(stage.persons):
        if person and rng.random() < 0.3:
            stage.hide(person, 0, int(rng.integers(1, stage.frames // 3)))
        elif person and rng.random() < 0.3:
            stage.hide(person, int(rng.integers(2 * stage.frames // 3, stage.frames - 1)), stage.frames)


def _some(stage: Stage, rng: np.random.Generator, count: int) -> list[int]:
    return [int(person) for person in rng.permutation(stage.persons)[:count]]


def _span(stage: Stage, rng: np.random.Generator, low_s: float, high_s: float) -> tuple[int, int]:
    """A random span that is `low_s` to `high_s` long."""
    length = float(rng.uniform(low_s, high_s))
    start = float(rng.uniform(0, max(0.1, stage.seconds[-1] - length)))
    return stage.at(start), stage.at(start + length)


def _later(stage: Stage, frame: int, seconds: float) -> int:
    return stage.at(float(stage.seconds[min(frame, stage.frames)]) + seconds)


def _place(stage: Stage, rng: np.random.Generator) -> int:
    """A place of its own for every event: two groups never share one by accident."""
    if rng.random() < 0.7:
        return stage.add_place("object", str(rng.choice(OBJECTS)))
    return stage.add_place("location", str(rng.choice(LOCATIONS)))


# -- single events -----------------------------------------------------------------------------------------------------


def _meet(stage: Stage, rng: np.random.Generator) -> None:
    a, b = _some(stage, rng, 2)
    stage.meet(a, b, *_span(stage, rng, 1.0, 4.0))


def _attend(stage: Stage, rng: np.random.Generator) -> None:
    group = _some(stage, rng, int(rng.integers(2, stage.persons)))
    watched = _some(stage, rng, 1)[0]
    code = watched if rng.random() < 0.25 and watched not in group else _place(stage, rng)
    stage.attend(group, code, *_span(stage, rng, 1.0, 3.5))


def _lead(stage: Stage, rng: np.random.Generator) -> None:
    leader, follower = _some(stage, rng, 2)
    start, arrival = _span(stage, rng, 1.0, 2.0)
    together = float(rng.choice([0.0, rng.uniform(0.8, 2.0)]))  # with or without joint attention afterwards
    leave = _later(stage, arrival, together)
    stage.lead(leader, follower, _place(stage, rng), start, arrival, leave, _later(stage, arrival, max(0.6, together)))


def _catch(stage: Stage, rng: np.random.Generator) -> None:
    group = _some(stage, rng, int(rng.integers(3, stage.persons + 1)))
    start, caught = _span(stage, rng, 0.6, 1.2)
    stage.catch(group, _place(stage, rng), start, caught, _later(stage, caught, float(rng.uniform(0.8, 2.5))))


def _jump(stage: Stage, rng: np.random.Generator) -> None:
    stage.jump(_some(stage, rng, 1)[0], *_span(stage, rng, 0.6, 1.5))


def _gesture(stage: Stage, rng: np.random.Generator) -> None:
    a, b = _some(stage, rng, 2)
    kind = str(rng.choice(HANDS))
    to_person = kind in ("showing", "giving") or rng.random() < 0.4
    stage.gesture(kind, a, b if to_person else _place(stage, rng), *_span(stage, rng, 0.8, 3.0))


# -- small plays -------------------------------------------------------------------------------------------------------


def _point_and_follow(stage: Stage, rng: np.random.Generator) -> None:
    """One points somewhere and looks there, another follows."""
    a, b = _some(stage, rng, 2)
    code = _place(stage, rng)
    start, end = _span(stage, rng, 2.4, 3.8)
    arrival = _later(stage, start, float(rng.uniform(1.0, 1.6)))
    if stage.gesture("pointing", a, code, start, end):
        stage.lead(a, b, code, start, arrival, end, end)


def _give_and_meet(stage: Stage, rng: np.random.Generator) -> None:
    """A thing is given, eyes meet over it; sometimes it is given back, sometimes passed on."""
    a, b, c = _some(stage, rng, 3)
    start, end = _span(stage, rng, 1.5, 2.5)
    if not stage.gesture("giving", a, b, start, end):
        return
    stage.meet(a, b, _later(stage, start, float(rng.uniform(-0.8, 0.8))), _later(stage, end, float(rng.uniform(0, 1))))
    then = _later(stage, end, float(rng.uniform(1.0, 2.5)))
    target = a if rng.random() < 0.5 else c
    stage.gesture(str(rng.choice(["giving", "showing"])), b, target, then, _later(stage, then, 1.5))


def _show_to_all(stage: Stage, rng: np.random.Generator) -> None:
    """Somebody shows a thing and three or more turn to it."""
    group = _some(stage, rng, int(rng.integers(4, stage.persons + 1)) if stage.persons > 3 else 3)
    code = _place(stage, rng)
    start, end = _span(stage, rng, 2.0, 3.5)
    if stage.gesture("showing", group[0], group[1], start, end):
        turn = _later(stage, start, float(rng.uniform(0.5, 1.5)))
        caught = _later(stage, turn, 0.6)
        stage.catch(group[1:] if len(group) > 3 else group, code, turn, caught, _later(stage, caught, 1.5))


def _reach_then_meet(stage: Stage, rng: np.random.Generator) -> None:
    """Somebody reaches for a thing; soon after, two people look at each other."""
    a, b, c = _some(stage, rng, 3)
    start, end = _span(stage, rng, 1.0, 2.0)
    if stage.gesture("reaching", a, _place(stage, rng), start, end):
        then = _later(stage, end, float(rng.uniform(0.8, 2.0)))
        stage.meet(*((a, b) if rng.random() < 0.5 else (b, c)), then, _later(stage, then, float(rng.uniform(1.0, 2.5))))


_SINGLES: tuple[Callable[[Stage, np.random.Generator], None], ...] = (
    _meet, _meet, _attend, _lead, _lead, _catch, _jump, _gesture, _gesture,
)  # fmt: skip
_PLAYS: tuple[Callable[[Stage, np.random.Generator], None], ...] = (
    _point_and_follow, _give_and_meet, _give_and_meet, _show_to_all, _reach_then_meet,
)  # fmt: skip
