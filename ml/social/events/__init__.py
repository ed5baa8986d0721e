"""The five social gaze events of a scene, by a preset.

    python -m ml.social.events IN.json OUT.json --preset grasp-compat|strict [--min-confidence C]

reads a GRASP gaze file and writes its events file (see `ml.formats.grasp_gaze` and `grasp_events`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from ml.social import compat, strict
from ml.social.event import TYPES, SocialEvent
from ml.social.presets import GraspCompat, Preset
from ml.social.presets import preset as choose
from ml.social.scene import Correction, Floats, Scene

__all__ = ["TYPES", "SocialEvent", "detect", "detect_samples"]


def detect(scene: Scene, preset: str | Preset = "strict", min_confidence: float | None = None) -> list[SocialEvent]:
    """All events of at least `min_confidence` (the preset's own default when None), by start, end, type and persons.

    Shots are looked at one by one, so no event crosses a cut. The same scene gives the same list: nothing is random.
    """
    return _detect(scene.split(), choose(preset), min_confidence)


def detect_samples(
    columns: Mapping[str, NDArray[Any]],
    *,
    person_of: NDArray[Any],
    seconds: Floats,
    aspect: float,
    corrections: Sequence[Correction] = (),
    shot_ends: Sequence[int] | None = None,
    preset: str | Preset = "strict",
    min_confidence: float | None = None,
) -> list[SocialEvent]:
    """The events of one perception run: `detect` on `Scene.from_samples`, in the memory of the largest shot."""
    shots = Scene.each_shot(
        columns,
        person_of=person_of,
        seconds=seconds,
        aspect=aspect,
        corrections=corrections,
        shot_ends=shot_ends,
    )
    return _detect(shots, choose(preset), min_confidence)


def _detect(shots: Iterable[Scene], rules: Preset, min_confidence: float | None) -> list[SocialEvent]:
    least = rules.min_confidence if min_confidence is None else min_confidence
    events: list[SocialEvent] = []
    for shot in shots:
        found = compat.detect(shot, rules) if isinstance(rules, GraspCompat) else strict.detect(shot, rules)
        events += [event for event in found if event.confidence >= least]
    return sorted(events, key=lambda event: (event.start, event.end, TYPES.index(event.type), event.roles))
