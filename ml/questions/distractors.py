"""Answers to choose from: plausible, in the same form as the key, and each with a value that can be proven false.

Ranks: 0 has a part in the scene asked about, 1 is merely in the picture, 2 says that there is nobody or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from ml.questions import slots, words
from ml.questions.facts import Event
from ml.questions.idea import Choice
from ml.questions.scene import Scene
from ml.social.event import GESTURES, TYPES


def persons(scene: Scene, ids: Iterable[str], near: Iterable[str] = (), text: str = "{}") -> list[Choice]:
    """Persons as answers, those in `near` first; `text` holds the place of the person."""
    close = set(near)
    return [Choice(text.replace("{}", slots.person(id)), id, 0 if id in close else 1) for id in ids]


def nobody(text: str = "No one") -> Choice:
    return Choice(text, None, 2)


def pairs(scene: Scene, ids: Sequence[str], near: Iterable[str]) -> list[Choice]:
    """Pairs of persons, those that share somebody with `near` first."""
    close = set(near)
    return [
        Choice(words.people(scene.facts, pair), sorted(pair), 0 if close & set(pair) else 1)
        for pair in combinations(ids, 2)
    ]


def gaze_types(nothing: str = "") -> list[Choice]:
    """The five gaze events in plain words."""
    listed = [Choice(words.capital(words.TYPES[type]), type) for type in TYPES]
    return [*listed, Choice(nothing, None, 2)] if nothing else listed


def gesture_types() -> list[Choice]:
    """The four gestures, always the same."""
    return [Choice(words.capital(type), type) for type in GESTURES]


def durations(scene: Scene, event: Event) -> list[Choice]:
    """How long an event lasts, and lengths near it, each with the tolerance that the key needs to survive.

    The key is the duration to the nearest half second; all lie so far apart that no length the event may have is right
    for two of them.
    """
    seconds, step = scene.facts.seconds, scene.margin
    frames = scene.facts.frames
    true = float(seconds[event.end] - seconds[event.start])
    low_end, high_start = max(event.end - step, 1), min(event.start + step, frames - 1)
    low_start = min(event.start - step, event.start if event.onset_after is None else event.onset_after + 1)
    high_end = max(event.end + step, event.end if event.offset_before is None else event.offset_before)
    least = max(0.0, float(seconds[low_end] - seconds[high_start]))
    most = float(seconds[min(high_end, frames)] - seconds[max(low_start, 0)])
    key = max(0.5, round(true * 2) / 2)
    within = math.ceil(max(key - least, most - key) * 10) / 10
    gap = math.ceil((2 * within + 0.1) * 2) / 2
    below = [key - n * gap for n in (3, 2, 1) if key - n * gap >= 0.5]
    below = below[len(below) - scene.rng.randint(0, len(below)) :]
    ladder = [*below, key, *(key + n * gap for n in range(1, 4 - len(below)))]
    return [Choice(_about(value), {"seconds": value, "within": within}) for value in ladder]


def _about(value: float) -> str:
    return f"About {value:g} second{'s' * (value != 1)}"
