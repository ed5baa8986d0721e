"""The scene that is drawn for the demo: five people at a table, 64 seconds, every gaze event and all four gestures.

Written by hand with the verbs of `Stage`; `PROPS` and `SPOTS` say where the things lie, in pixels of a picture of
1280 x 720.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ml.synthetic.script import Stage
from ml.synthetic.truth import Truth

WIDTH, HEIGHT, FPS, SECONDS = 1280, 720, 25, 64
NAMES = ("Ada", "Bo", "Cleo", "Dev", "Eli")
NUMBERS = (1, 2, 3, 4, 5)
SEATS = ((196.0, 316.0, 1.12), (420.0, 268.0, 1.0), (640.0, 252.0, 0.96), (860.0, 268.0, 1.0), (1084.0, 316.0, 1.12))
SPOTS = {"the window": (530.0, 88.0), "the door": (1190.0, 200.0)}
PROPS = {"the red cup": (262.0, 560.0), "the blue book": (800.0, 548.0), "the green box": (668.0, 540.0)}


@dataclass(frozen=True)
class Grip:
    """A thing in a hand: which prop a gesture moves; `give` leaves it at the other person's place."""

    prop: str
    person: int
    start: int
    end: int
    to: int | None = None


@dataclass(frozen=True)
class Scene:
    truth: Truth
    grips: tuple[Grip, ...]


def table_talk() -> Scene:
    """The scene; frames are even, there is one shot and everybody is there all the time."""
    seconds = np.arange(SECONDS * FPS + 1) / FPS
    stage = Stage(seconds, [f"person-{number}" for number in NUMBERS], NUMBERS, gap_s=0.2)
    places = {name: stage.add_place("location", name) for name in SPOTS}
    places |= {name: stage.add_place("object", name) for name in PROPS}
    writer = _Writer(stage, places)
    _first_half(writer)
    _second_half(writer)
    return Scene(stage.truth(), tuple(writer.grips))


class _Writer:
    """The verbs in seconds and names; a verb that is refused is a mistake in this file."""

    def __init__(self, stage: Stage, places: dict[str, int]) -> None:
        self.stage, self.places = stage, places
        self.grips: list[Grip] = []

    def do(self, verb: str, who: object, *seconds: float, at: str | int | None = None) -> None:
        frames = [self.stage.at(second) for second in seconds]
        code = [] if at is None else [self.places[at] if isinstance(at, str) else at]
        people = [who] if verb in ("catch", "attend") or isinstance(who, int) else list(who)  # type: ignore[call-overload]
        if not getattr(self.stage, verb)(*people, *code, *frames):
            raise ValueError(f"The scene asks too much of somebody: {verb} {who} at {seconds[0]:g} s.")

    def gesture(
        self, kind: str, person: int, at: str | int, start: float, end: float, *, prop: str | None = None
    ) -> None:
        code = self.places[at] if isinstance(at, str) else at
        span = self.stage.at(start), self.stage.at(end)
        if not self.stage.gesture(kind, person, code, *span):
            raise ValueError(f"The scene asks too much of somebody: {kind} by {person} at {start:g} s.")
        if prop is not None:
            self.grips.append(Grip(prop, person, *span, code if kind == "giving" else None))


def _first_half(play: _Writer) -> None:
    play.do("meet", (0, 1), 2.0, 5.2)
    play.gesture("giving", 0, 1, 3.0, 5.0, prop="the red cup")
    play.do("lead", (2, 3), 6.4, 7.8, 9.6, 9.6, at="the window")
    play.gesture("pointing", 2, "the window", 6.6, 9.0)
    play.do("meet", (0, 4), 6.0, 9.0)
    play.do("meet", (0, 1), 11.0, 13.6)
    play.gesture("giving", 1, 0, 11.4, 13.2, prop="the red cup")
    play.do("jump", 4, 11.0, 12.0)
    play.do("meet", (2, 3), 11.6, 14.0)
    play.gesture("showing", 3, 2, 15.0, 18.4, prop="the blue book")
    play.do("catch", [0, 1, 4], 15.8, 16.6, 18.6, at="the blue book")
    play.gesture("reaching", 2, "the green box", 20.0, 21.8)
    play.do("meet", (2, 4), 22.6, 25.4)
    play.do("attend", [0, 1], 20.6, 23.6, at="the window")
    play.do("jump", 3, 21.0, 22.0)
    play.do("lead", (4, 0), 26.6, 28.0, 30.0, 30.0, at="the door")
    play.gesture("pointing", 4, "the door", 26.8, 29.4)
    play.do("meet", (1, 2), 27.0, 29.6)


def _second_half(play: _Writer) -> None:
    play.gesture("giving", 2, 3, 31.0, 32.8, prop="the green box")
    play.do("meet", (0, 1), 31.0, 33.0)
    play.gesture("giving", 3, 4, 35.0, 37.0, prop="the green box")
    play.do("meet", (3, 4), 35.4, 38.0)
    play.gesture("pointing", 0, 2, 36.4, 38.6)
    play.do("meet", (0, 2), 37.0, 41.8)
    play.gesture("pointing", 2, 0, 39.8, 41.8)
    play.do("jump", 3, 39.6, 40.8)
    play.do("attend", [1, 4], 39.2, 41.6, at="the door")
    play.gesture("showing", 0, 1, 43.4, 46.4, prop="the red cup")
    play.do("catch", [2, 3, 4], 44.2, 45.0, 46.8, at="the red cup")
    play.gesture("reaching", 4, "the green box", 48.0, 49.8)
    play.do("meet", (3, 4), 48.4, 51.0)
    play.do("lead", (1, 2), 50.0, 51.6, 51.6, 53.0, at="the window")
    play.gesture("pointing", 1, "the window", 50.2, 52.4)
    play.do("jump", 0, 50.6, 51.6)
    play.gesture("giving", 4, 3, 54.2, 56.2, prop="the green box")
    play.do("attend", [2, 3, 4], 54.4, 56.8, at="the green box")
    play.do("meet", (0, 1), 55.0, 58.4)
    play.gesture("pointing", 2, 4, 58.4, 60.8)
    play.do("meet", (2, 3), 59.0, 61.6)
    play.do("stare", 0, 61.0, 62.6, at=4)
