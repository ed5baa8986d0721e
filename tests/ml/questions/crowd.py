"""A busy scene drawn by chance: six people, all nine kinds of event, some of it not covered."""

from __future__ import annotations

import random

from ml.questions.facts import Covered, Event, Facts
from tests.ml.questions.scenes import facts, gaze, gesture

KINDS = {
    "mutual_gaze": (2, 2),
    "gaze_following": (2, 2),
    "joint_attention": (2, 4),
    "attention_capture": (3, 4),
    "sudden_gaze_shift": (1, 1),
    "pointing": (2, 2),
    "showing": (2, 2),
    "giving": (2, 2),
    "reaching": (1, 2),
}
GESTURES = ("pointing", "showing", "giving", "reaching")


def crowd(seed: int, *, events: int = 45, frames: int = 3000, covered: bool = True) -> Facts:
    rng = random.Random(seed)
    people = "abcdef"
    made: list[Event] = []
    for n in range(events):
        kind = rng.choice([*KINDS, "giving", "pointing", "mutual_gaze"])
        who = rng.sample(people, rng.randint(*KINDS[kind]))
        start = rng.randint(0, frames - 100)
        end = start + rng.randint(8, 70)
        if kind in GESTURES:
            made.append(gesture(f"e{n}", kind, start, end, who[0], who[1] if len(who) > 1 else None))
        else:
            made.append(gaze(f"e{n}", kind, start, end, *who))
    rows = None
    if not covered:
        rows = [Covered("gaze", 0, 1800), Covered("gesture", 600, 2400), Covered("gesture", 0, 600, frozenset("abc"))]
    return facts(made, frames=frames, persons=6, coverage=rows)
