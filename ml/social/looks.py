"""What the strict detectors share: usable gaze in equal units, whom it is on, runs in seconds, and the event they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ml.social import runs
from ml.social.event import Roles, SocialEvent
from ml.social.features import look_targets
from ml.social.gaps import Filled, fill_strict, not_in_scene
from ml.social.presets import Strict
from ml.social.scene import Bools, Floats, Ints, Scene


@dataclass
class Looks:
    """Gaze as the strict rules see it.

    `points` float64[T, P, 2] in longer sides (NaN unknown), `target` int64[T, P] column of the person looked at (-1
    nobody), `sure` bool[T, P] measured, `usable` bool[T, P] measured or filled with enough confidence, `elsewhere`
    bool[T, P] known to be no gaze into the scene.
    """

    scene: Scene
    preset: Strict
    filled: Filled
    points: Floats
    target: Ints
    sure: Bools
    usable: Bools
    elsewhere: Bools

    @classmethod
    def of(cls, scene: Scene, preset: Strict) -> Looks:
        filled = fill_strict(scene, preset)
        usable = filled.measured | (
            np.isfinite(filled.gaze[..., 0]) & (filled.confidence >= preset.filled_confidence)
        )
        return cls(
            scene=scene,
            preset=preset,
            filled=filled,
            points=np.where(usable[..., None], filled.gaze * scene.scale, np.nan),
            target=np.where(usable, look_targets(scene, filled, preset), -1),
            sure=filled.measured,
            usable=usable,
            elsewhere=not_in_scene(scene),
        )

    def person(self, column: int) -> int:
        """The id of a column."""
        return int(self.scene.persons[column])

    def runs(self, positive: Ints, bridge_s: float, cut: Bools | None = None) -> list[Ints]:
        """Samples of each run: pauses up to `bridge_s`, one shot, and no `cut` bool[K - 1] between neighbours."""
        pause = runs.pauses(positive, self.scene.times, self.scene.end_times)
        apart = pause > bridge_s + self.preset.time_slack_s
        apart |= np.diff(self.scene.shots[positive]) != 0
        return runs.groups(positive, apart if cut is None else apart | cut)

    def duration(self, first: int, last: int) -> float:
        """Seconds from the first sample to the end of what the last one speaks for."""
        return float(self.scene.end_times[last] - self.scene.times[first])

    def before(self, sample: int) -> int:
        """Frame of the sample before, or the last frame before the shot."""
        scene = self.scene
        inside = sample > 0 and scene.shots[sample - 1] == scene.shots[sample]
        return int(scene.frames[sample - 1]) if inside else int(scene.frames[sample]) - 1

    def event(
        self, kind: str, first: int, last: int, confidence: float, roles: Roles, details: dict[str, Any]
    ) -> SocialEvent:
        """The event that lasts from one sample to the end of what another speaks for."""
        scene = self.scene
        end, end_s = int(scene.ends[last]), float(scene.end_times[last])
        return self.spanning(kind, first, end, end_s, int(scene.frames[last]), confidence, roles, details)

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
        start, start_s = int(self.scene.frames[first]), float(self.scene.times[first])
        details |= {
            "duration": end_s - start_s,
            "onset_after": self.before(first),
            "last_sample": last_sample,
            "offset_before": end,
        }
        return SocialEvent(kind, start, end, start_s, end_s, float(np.clip(confidence, 0, 1)), roles, details)


def closeness(distance: float, limit: float) -> float:
    """Share of the confidence a distance leaves: 1 at zero, one half at the limit."""
    return 1.0 - 0.5 * min(1.0, distance / limit)
