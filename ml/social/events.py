"""The five social gaze events of a scene, by a preset.

    python -m ml.social.events IN.json OUT.json --preset grasp-compat|strict [--min-confidence C]

reads a GRASP gaze file and writes its events file (see `ml.formats.grasp_gaze` and `grasp_events`).
"""

from __future__ import annotations

from ml.social import compat, strict
from ml.social.event import TYPES, SocialEvent
from ml.social.presets import GraspCompat, Preset
from ml.social.presets import preset as choose
from ml.social.scene import Scene

__all__ = ["TYPES", "SocialEvent", "detect"]


def detect(scene: Scene, preset: str | Preset = "strict", min_confidence: float | None = None) -> list[SocialEvent]:
    """All events of at least `min_confidence` (the preset's own default when None), by start, type and persons.

    The same scene gives the same list: nothing is random and no event depends on the order of persons.
    """
    rules = choose(preset)
    found = compat.detect(scene, rules) if isinstance(rules, GraspCompat) else strict.detect(scene, rules)
    least = rules.min_confidence if min_confidence is None else min_confidence
    kept = [event for event in found if event.confidence >= least]
    return sorted(kept, key=lambda event: (event.start, event.end, TYPES.index(event.type), event.roles))


if __name__ == "__main__":
    import sys

    from ml.social.cli import main

    sys.exit(main(sys.argv[1:]))
