"""Scenes for the tests: a small continuous world, and ways to look at it.

A `World` says at every moment where each person's face is and what they look at, so that it can be sampled at any rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ml.social.event import SocialEvent
from ml.social.scene import NONE, PERSON, Scene, hold

Point = tuple[float, float]
# What somebody looks at: a point, another person by name, a kind code without a point (camera, off, unusable), nothing.
Look = Point | str | int | None
HALF = (0.03, 0.05)


@dataclass
class Figure:
    """A person: where the face is (fixed, or a function of time), and looks as (from second, look), in order."""

    looks: Sequence[tuple[float, Look]]
    face: Point | Callable[[float], Point] = (0.5, 0.5)
    enters: float = 0.0
    faceless: Sequence[tuple[float, float]] = ()

    def face_at(self, second: float) -> Point:
        return self.face(second) if callable(self.face) else self.face

    def look_at(self, second: float) -> Look:
        current: Look = None
        for since, look in self.looks:
            if since <= second + 1e-9:
                current = look
        return current


@dataclass
class World:
    """Figures by name, for `seconds`; `cuts` are seconds at which a new shot starts."""

    figures: dict[str, Figure]
    seconds: float
    cuts: Sequence[float] = ()
    aspect: float = 1.0
    stated: bool = False  # whether looks at persons come with kind and target, as from a perception run
    ids: dict[str, int] = field(default_factory=dict)
    shift: float = 0.0
    mirrored: bool = False

    def number(self, name: str) -> int:
        return self.ids.get(name, list(self.figures).index(name))

    def sample(self, rate: float, fps: float = 30.0) -> Scene:
        """The world seen `rate` times a second, at the first frame of `fps` at or after each moment."""
        shift = round(self.shift * fps)
        wanted = np.arange(0, self.seconds - 1e-9, 1 / rate)
        frames = np.unique(np.ceil(wanted * fps - 1e-6).astype(np.int64))
        moments = frames / fps
        names = sorted(self.figures, key=self.number)
        shots = np.searchsorted(np.array(self.cuts), moments + 1e-9, side="right").astype(np.int32)
        ids = np.array([self.number(name) for name in names])
        scene = Scene.empty(frames + shift, moments + self.shift, shots, ids, self.aspect)
        edges = np.ceil(np.array([*self.cuts, self.seconds]) * fps - 1e-6).astype(np.int64) + shift
        scene.ends, scene.end_times = hold(scene.frames, scene.times, shots, bounds=edges[shots])
        for column, name in enumerate(names):
            self._place(scene, column, self.figures[name], moments)
        return scene

    def _place(self, scene: Scene, column: int, figure: Figure, moments: NDArray[np.float64]) -> None:
        for row, second in enumerate(moments):
            if second < figure.enters:
                continue
            scene.present[row, column] = True
            scene.confidence[row, column] = 1.0
            if not any(start <= second < end for start, end in figure.faceless):
                x, y = self._seen(figure.face_at(second))
                scene.face[row, column] = x - HALF[0], y - HALF[1], x + HALF[0], y + HALF[1]
            look = figure.look_at(second)
            if isinstance(look, int):
                scene.kind[row, column] = look
            elif look is not None:
                point = self.figures[look].face_at(second) if isinstance(look, str) else look
                scene.gaze[row, column] = self._seen(point)
                scene.inframe[row, column] = 1.0
                if isinstance(look, str) and self.stated:
                    scene.kind[row, column] = PERSON
                    scene.target[row, column] = self.number(look)

    def _seen(self, point: Point) -> Point:
        return (1.0 - point[0], point[1]) if self.mirrored else point

    def renumbered(self, ids: dict[str, int]) -> World:
        return replace(self, ids=ids)


def of_type(events: Sequence[SocialEvent], kind: str) -> list[SocialEvent]:
    return [event for event in events if event.type == kind]


def rows_scene(gaze: NDArray[np.float64], face: NDArray[np.float64], times: NDArray[np.float64]) -> Scene:
    """A scene in which all is measured where `gaze` [T, P, 2] is known; `face` [T, P, 4]; frames at 30 per second."""
    samples, persons = gaze.shape[:2]
    frames = np.rint(times * 30).astype(np.int64)
    scene = Scene.empty(frames, times, np.zeros(samples, np.int32), np.arange(persons), 1.0)
    scene.gaze[:], scene.face[:] = gaze, face
    scene.inframe[:] = np.isfinite(gaze[..., 0])
    scene.confidence[:] = 1.0
    scene.kind[:] = NONE
    scene.present[:] = True
    return scene
