"""Many scenes drawn at random within what a camera can see: how many gestures are found, and how exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ml.perception.gestures import rules
from ml.perception.gestures.window import Window
from tests.figures import Record
from tests.ml.perception.gestures.figures import FPS, window
from tests.ml.perception.gestures.test_rules import EXACT_S, hand_over, held, pointer, reach, shower

SCENES = 60
Drawn = tuple[Window, float, float]  # and the true start and end, seconds


def seen(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "noise": rng.uniform(0, 0.010),
        "jitter": rng.uniform(0, 0.6),
        "missing": float(rng.choice([0, 0.05, 0.1])),
        "scale": rng.uniform(90, 500),
        "seed": int(rng.integers(1 << 30)),
    }


def draw_pointing(rng: np.random.Generator) -> Drawn:
    """In any direction of which at least 0.44 m are seen: nearer to the line of sight an arm has no direction."""
    while True:
        side, up, yaw = rng.uniform(-50, 60), rng.uniform(-45, 25), rng.uniform(-50, 50)
        a, b, c = np.radians([side, up, yaw])
        to = rng.uniform(0.5, 0.555) * np.array([np.cos(b) * np.cos(a), np.sin(b), -np.cos(b) * np.sin(a)])
        if to[0] * np.cos(c) - to[2] * np.sin(c) >= 0.44:
            break
    move, hold = rng.uniform(0.3, 1.0), rng.uniform(0.4, 2.0)
    figure = pointer(to, yaw=yaw, move_s=move, hold_s=hold, shape=str(rng.choice(["pointing", "none"])))
    return window([figure], **seen(rng)), 1.0, 1 + move + hold


def draw_showing(rng: np.random.Generator) -> Drawn:
    """Beside the own face, which hides what is for showing from what is for drinking."""
    place = (rng.uniform(0.12, 0.4), rng.uniform(-0.15, 0.15), rng.uniform(-0.3, -0.2))
    move, hold = rng.uniform(0.35, 1.0), rng.uniform(0.8, 2.0)
    figure = shower(place, yaw=rng.uniform(-30, 20), move_s=move, hold_s=hold)
    return window([figure], things=[held()], **seen(rng)), 1 + move, 1 + move + hold


def draw_giving(rng: np.random.Generator) -> Drawn:
    move, wait = rng.uniform(0.35, 1.0), rng.uniform(0.4, 1.0)
    figures, things = hand_over(yaw=rng.uniform(-30, 30), gap=rng.uniform(1.0, 1.3), move_s=move, wait_s=wait)
    return window(figures, things=things, **seen(rng)), 1.0, 1 + move + wait


def draw_reaching(rng: np.random.Generator) -> Drawn:
    """Up to 0.8 s: of slower ones the fingers are at the object clearly before the wrist comes to rest."""
    at = (rng.uniform(0.4, 0.5), rng.uniform(0.15, 0.3), rng.uniform(-0.15, 0))
    move = rng.uniform(0.35, 0.8)
    figures, things = reach(yaw=rng.uniform(-30, 30), move_s=move, at=at)
    return window(figures, things=things, **seen(rng)), 1.0, 1 + move


@pytest.mark.parametrize("draw", [draw_pointing, draw_showing, draw_giving, draw_reaching])
def test_most_of_what_can_be_seen_is_found_and_nothing_else(
    draw: Callable[[np.random.Generator], Drawn], figure: Record
) -> None:
    type = draw.__name__.removeprefix("draw_")
    found, exact, others = 0, 0, []
    for seed in range(SCENES):
        scene, start, end = draw(np.random.default_rng(seed))
        gestures = rules.find(scene, end=6 * FPS)
        own = [g for g in gestures if g.type == type]
        others += [(seed, g.type) for g in gestures if g.type != type] + [(seed, "twice")] * (len(own) > 1)
        found += bool(own)
        exact += bool(own) and max(abs(own[0].start / FPS - start), abs(own[0].end / FPS - end)) <= EXACT_S
    figure(f"{type}, found of {SCENES} made-up scenes", found, budget=0.95 * SCENES, at_least=True)
    figure(f"{type}, both ends within {EXACT_S} s", exact, budget=0.9 * SCENES, at_least=True)
    assert others == []
    assert found >= 0.9 * SCENES and exact >= 0.85 * SCENES
