"""Gestures from landmark sequences: pure functions on a `Window`.

Each arm's path falls into moves and holds (`arms`); a gesture is read off a hold and the moves around it by four rules
(`pointing`, `showing`, `giving`, `reaching`, each with its onset, offset and confidence).

Silent on arms that rest (no move brought them where they are), beats (moves without holds, or holds in a rhythm of
moves), holding (an object that is not brought up) and handling (the hand begins at the object, or never leaves it).
Per arm, giving goes before showing, showing before reaching, reaching before pointing; a pointing finger goes before
all but giving.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ml.perception.gestures.giving import giving
from ml.perception.gestures.pointing import pointing
from ml.perception.gestures.protocol import Gesture
from ml.perception.gestures.reaching import reaching
from ml.perception.gestures.scene import Candidate, Scene, formula, is_unsure, scene_of, seen
from ml.perception.gestures.showing import showing
from ml.perception.gestures.window import Window

LEAST = 0.35  # confidence below which nothing is proposed
CLEAR_FORM = 0.6  # a finger that points on so many looks goes before an object near the hand
SAME_POINT_S = 0.4  # two pointings at the same target no further apart are one


def find(window: Window, *, end: int) -> list[Gesture]:
    """The gestures of a window, sorted by start. `end`: first frame after the window, where what lasts to its last look
    ends."""
    scene = scene_of(window)
    found = [best for arm in range(len(scene.arms)) for best in of_arm(scene, arm)]
    gestures = [gesture_of(scene, c, end) for c in one_per_person(found) if c.confidence >= LEAST]
    return sorted(gestures, key=lambda g: (g.start, g.initiator, g.type))


def of_arm(scene: Scene, number: int) -> list[Candidate]:
    """What one arm does, without overlaps, by the order of the rules."""
    pointings = list(pointing(scene, number))
    clear = [c for c in pointings if (c.facts["finger_seen"] or 0) >= CLEAR_FORM]
    order = [*giving(scene, number), *clear, *showing(scene, number), *reaching(scene, number), *pointings]
    kept: list[Candidate] = []
    for candidate in order:
        if all(candidate.end <= other.start or other.end <= candidate.start for other in kept):
            kept.append(candidate)
    return joined(scene, sorted(kept, key=lambda c: c.start))


def joined(scene: Scene, found: list[Candidate]) -> list[Candidate]:
    """Pointings at one target that hardly part are one."""
    seconds, result = scene.window.seconds, list[Candidate]()
    for c in found:
        last = result[-1] if result else None
        if (
            last is not None
            and c.type == last.type == "pointing"
            and (c.aim.kind, c.aim.index) == (last.aim.kind, last.aim.index)
            and seconds[c.start] - seconds[last.end - 1] <= SAME_POINT_S
        ):
            surer = max(c, last, key=lambda x: x.confidence)
            result[-1] = replace(surer, start=last.start, end=c.end)
        else:
            result.append(c)
    return result


def one_per_person(found: list[Candidate]) -> list[Candidate]:
    """Of two arms that do the same to the same at one time, the surer one."""

    def doubles(a: Candidate, b: Candidate) -> bool:
        same = (a.arm.person, a.type, a.aim.kind, a.aim.index) == (b.arm.person, b.type, b.aim.kind, b.aim.index)
        return same and a.start < b.end and b.start < a.end

    kept: list[Candidate] = []
    for c in sorted(found, key=lambda c: -c.confidence):
        if not any(doubles(c, k) for k in kept):
            kept.append(c)
    return kept


def gesture_of(scene: Scene, found: Candidate, end: int) -> Gesture:
    """In frames, persons and normalised coordinates, with the numbers behind it."""
    window, frame = scene.window, scene.window.frame
    inside = found.end < len(frame)
    person = found.aim.index if found.aim.kind == "person" else None
    box = window.body[(found.start + found.end) // 2, found.arm.person]
    return Gesture(
        type=found.type,
        start=int(frame[found.start]),
        end=int(frame[found.end]) if inside else end,
        initiator=int(window.persons[found.arm.person]),
        target_kind=found.aim.kind,
        target_person=None if person is None else int(window.persons[person]),
        target_description=found.description,
        initiator_box=normalised(window, box),
        confidence=round(min(1.0, max(0.0, found.confidence)), 4),
        details=details_of(scene, found),
    )


def details_of(scene: Scene, found: Candidate) -> dict[str, Any]:
    """`formula` and `terms` of the confidence; `ray`: from the hand to what the gesture is about, x1, y1, x2, y2."""
    window, arm = scene.window, found.arm
    looks = slice(found.start, found.end)
    hand = np.nanmedian(arm.palm[looks], axis=0) if np.isfinite(arm.palm[looks]).any() else np.full(2, np.nan)
    ray = None if found.to is None else normalised(window, np.r_[hand, found.to])
    return {
        "hand": "unsure" if is_unsure(arm, found.start, found.end) else ("left", "right")[arm.side],
        "formula": formula(found.weights),
        "seen": round(seen(arm, found.start, found.end), 3),
        "terms": found.terms,
        **found.facts,
        "angle_deg": None if found.aim.angle is None else round(found.aim.angle, 1),
        "distance_m": None if found.aim.distance is None else round(found.aim.distance, 2),
        "ray": None if ray is None else list(ray),
        "looks": found.end - found.start,
        "onset_after": int(window.frame[found.start - 1]) if found.start else None,
        "offset_before": int(window.frame[found.end]) if found.end < len(window.frame) else None,
    }


def normalised(window: Window, box: Any) -> tuple[float, float, float, float] | None:
    """Four pixel coordinates (x, y, x, y) as shares of the picture; None where one is not known."""
    if not np.isfinite(box).all():
        return None
    x1, y1, x2, y2 = (round(float(v), 4) for v in box / np.array([*(window.width, window.height) * 2]))
    return x1, y1, x2, y2
