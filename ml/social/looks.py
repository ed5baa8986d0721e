"""What the strict detectors share: usable gaze in equal units, whom it is on, runs in seconds, the event they make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.social import runs
from ml.social.event import Roles, SocialEvent
from ml.social.features import look_targets, rows
from ml.social.gaps import Filled, fill_strict, not_in_scene
from ml.social.presets import Strict
from ml.social.scene import Bools, Floats, Ints, Scene


@dataclass
class Runs:
    """Runs of samples: all `samples` int64[K], where each run begins among them, its `first` and `last` sample and its
    `seconds` (to the end of what the last sample speaks for), each [R]; `sizes` int64[R] are numbers of samples."""

    samples: Ints
    begin: Ints
    first: Ints
    last: Ints
    seconds: Floats

    def __post_init__(self) -> None:
        self.sizes = np.diff(np.append(self.begin, len(self.samples)))

    def highest(self, values: Floats) -> Floats:
        """Largest of `values` [K] in each run."""
        return np.maximum.reduceat(values, self.begin) if len(self.begin) else np.zeros(0)

    def mean(self, values: Floats) -> Floats:
        """Mean of `values` [K] over each run."""
        return np.add.reduceat(values, self.begin) / self.sizes if len(self.begin) else np.zeros(0)

    def listed(self, kept: Bools, *columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
        """First sample, last sample and the given columns [R] of the runs `kept`, as plain numbers."""
        chosen = (self.first, self.last, *columns)
        return zip(*(column[kept].tolist() for column in chosen), strict=True)


@dataclass
class Clock:
    """Frames and times of the samples as plain lists, which are quicker to look up one by one: `before` is the frame of
    the sample before, or the last frame before the shot."""

    frames: list[int]
    times: list[float]
    ends: list[int]
    end_times: list[float]
    before: list[int]

    @classmethod
    def of(cls, scene: Scene) -> Clock:
        before = scene.frames - 1
        within = scene.shots[1:] == scene.shots[:-1]
        before[1:][within] = scene.frames[:-1][within]
        columns = scene.frames, scene.times, scene.ends, scene.end_times, before
        return cls(*(column.tolist() for column in columns))


@dataclass
class Looks:
    """Gaze as the strict rules see it. Here the samples are the last axis, so that one person's are contiguous.

    `x`, `y` float64[P, T] gaze points in longer sides (NaN unknown), `target` int64[P, T] column of the person looked
    at (-1 nobody), `confidence` float64[P, T], `sure` bool[P, T] measured, `usable` bool[P, T] measured or filled with
    enough confidence, `elsewhere` bool[P, T] known to be no gaze into the scene.
    """

    scene: Scene
    preset: Strict
    filled: Filled
    x: Floats
    y: Floats
    target: Ints
    confidence: Floats
    sure: Bools
    usable: Bools
    elsewhere: Bools
    clock: Clock

    @classmethod
    def of(cls, scene: Scene, preset: Strict) -> Looks:
        filled = fill_strict(scene, preset)
        pointed = np.isfinite(filled.gaze[..., 0])
        usable = rows(filled.measured | (pointed & (filled.confidence >= preset.filled_confidence)))
        x, y = np.where(usable, rows(filled.gaze * scene.scale), np.nan)
        return cls(
            scene=scene,
            preset=preset,
            filled=filled,
            x=x,
            y=y,
            target=np.where(usable, look_targets(scene, filled, preset), -1),
            confidence=rows(filled.confidence),
            sure=rows(filled.measured),
            usable=usable,
            elsewhere=rows(not_in_scene(scene)),
            clock=Clock.of(scene),
        )

    def person(self, column: int) -> int:
        """The id of a column."""
        return int(self.scene.persons[column])

    def runs(self, positive: Ints, bridge_s: float, cut: Bools | None = None) -> Runs:
        """The runs of `positive`: pauses up to `bridge_s`, one shot, no `cut` bool[K - 1] between neighbours."""
        scene = self.scene
        apart = scene.times[positive[1:]] - scene.end_times[positive[:-1]] > bridge_s + self.preset.time_slack_s
        apart |= np.diff(scene.shots[positive]) != 0
        begin, stop = runs.split(apart if cut is None else apart | cut, len(positive))
        return Runs(positive, begin, positive[begin], positive[stop], self.seconds(positive[begin], positive[stop]))

    def seconds(self, first: Ints, last: Ints) -> Floats:
        """Seconds from first samples to the end of what the last ones speak for."""
        return self.scene.end_times[last] - self.scene.times[first]

    def event(
        self, kind: str, first: int, last: int, confidence: float, roles: Roles, details: dict[str, Any]
    ) -> SocialEvent:
        """The event that lasts from one sample to the end of what another speaks for."""
        clock = self.clock
        end, end_s = clock.ends[last], clock.end_times[last]
        return self.spanning(kind, first, end, end_s, clock.frames[last], confidence, roles, details)

    def spanning(
        self,
        kind: str,
        first: int,
        end: int,
        end_s: float,
        last_sample: int,
        confidence: float,
        roles: Roles,
        details: dict[str, Any],
    ) -> SocialEvent:
        """An event with a given end; its true end lies in (last_sample, end]."""
        clock = self.clock
        start_s = clock.times[first]
        details["duration"] = end_s - start_s
        details["onset_after"] = clock.before[first]
        details["last_sample"] = last_sample
        details["offset_before"] = end
        sure = min(max(confidence, 0.0), 1.0)
        return SocialEvent(kind, clock.frames[first], end, start_s, end_s, sure, roles, details)


def closeness(distance: float, limit: float) -> float:
    """Share of the confidence a distance leaves: 1 at zero, one half at the limit."""
    return 1.0 - 0.5 * min(1.0, distance / limit)
