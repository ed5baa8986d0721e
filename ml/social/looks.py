"""What the strict detectors share: usable gaze in equal units, whom it is on, runs in seconds, the event they make."""

from __future__ import annotations

from collections.abc import Iterable
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

    def only(self, kept: Bools, *columns: NDArray[Any]) -> tuple[Any, ...]:
        """First sample, last sample and the given columns [R] of the runs `kept`."""
        return tuple(column[kept] for column in (self.first, self.last, *columns))


@dataclass
class Looks:
    """Gaze as the strict rules see it. Here the samples are the last axis, so that one person's are contiguous.

    `x`, `y` float64[P, T] gaze points in longer sides (NaN unknown), `target` int64[P, T] column of the person looked
    at (-1 nobody), `confidence` float64[P, T], `sure` bool[P, T] measured, `usable` bool[P, T] measured or filled with
    enough confidence, `elsewhere` bool[P, T] known to be no gaze into the scene. `before` int64[T] is the frame of the
    sample before, or the last frame before the shot.
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
    before: Ints

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
            before=_frame_before(scene),
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

    def events(
        self,
        kind: str,
        first: Ints,
        last: Ints,
        confidence: Floats,
        roles: Iterable[Roles],
        details: Iterable[dict[str, Any]],
    ) -> list[SocialEvent]:
        """The events that last from first samples to the end of what last ones speak for."""
        scene = self.scene
        ends = scene.ends[last], scene.end_times[last], scene.frames[last]
        return self.spanning(kind, first, *ends, confidence, roles, details)

    def spanning(
        self,
        kind: str,
        first: Ints,
        end: Ints,
        end_s: Floats,
        last_sample: Ints,
        confidence: Floats,
        roles: Iterable[Roles],
        details: Iterable[dict[str, Any]],
    ) -> list[SocialEvent]:
        """Events with given ends; the true end of each lies in (last_sample, end]."""
        start, start_s = self.scene.frames[first], self.scene.times[first]
        sure = np.clip(confidence, 0.0, 1.0)
        columns = (start, end, start_s, end_s, sure, end_s - start_s, self.before[first], last_sample)
        numbers = zip(*(each.tolist() for each in columns), strict=True)
        events = []
        for part, detail, (begin, until, begin_s, until_s, certain, seconds, after, last) in zip(
            roles, details, numbers, strict=True
        ):
            detail["duration"] = seconds
            detail["onset_after"] = after
            detail["last_sample"] = last
            detail["offset_before"] = until
            events.append(SocialEvent(kind, begin, until, begin_s, until_s, certain, part, detail))
        return events


def _frame_before(scene: Scene) -> Ints:
    before = scene.frames - 1
    within = scene.shots[1:] == scene.shots[:-1]
    before[1:][within] = scene.frames[:-1][within]
    return before


def closeness(distance: Floats | float, limit: float) -> Floats:
    """Share of the confidence a distance leaves: 1 at zero, one half at the limit."""
    return np.asarray(1.0 - 0.5 * np.minimum(1.0, distance / limit))
