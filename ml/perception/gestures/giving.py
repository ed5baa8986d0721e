"""Giving: a move takes a held object towards another person's hand. Begins with the move, ends with the release (the
object parts from the giver's hand, or the hand goes back); that somebody takes it is not required.

Confidence: `WEIGHTS`. held: share of the move's looks with the object in the hand; meet: 1 - ramp of the least distance
between the object and the other's hand, 0.05 m to OFFER_M; way: ramp of how much nearer it came, 0.1 to 0.4 m; score:
the detector's mean score of the object. Hand-overs of things without a box (a sheet of paper) are missed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ml.perception.gestures.aim import Aim
from ml.perception.gestures.arms import Phase
from ml.perception.gestures.grasp import NEAR_M
from ml.perception.gestures.scene import (
    BROUGHT_M,
    STRETCH_M,
    Candidate,
    Scene,
    candidate,
    mean,
    ramp,
    restless,
    spoken,
    travelled_m,
)
from ml.perception.gestures.window import WRISTS, Array, box_distance

WEIGHTS = {"held": 0.30, "meet": 0.30, "way": 0.20, "score": 0.20}
GIVE_M, OFFER_M = 0.20, 0.40  # from the object to the other's hand: at a hand-over, and when it is held out
OFFER_HOLD_S = 0.4
OWN_WAY = 0.6  # share of BROUGHT_M that the object itself moves: it came, rather than the other's hand
PARTED_M = 0.10  # beyond NEAR_M the object has left the hand


def giving(scene: Scene, number: int) -> Iterator[Candidate]:
    """The givings of one arm."""
    things = scene.things[number]
    for k, move in enumerate(scene.phases[number]):
        thing = things.held(max(0, move.start - 2), move.start + 2) if move.kind == "move" else None
        offer = None if thing is None else offered(scene, number, k, thing)
        if offer is None or thing is None:
            continue
        other, least, way = offer
        end = release(scene, number, move, scene.after(number, k), thing)
        terms = {
            "held": float((things.distance[move.start : move.end, thing] <= NEAR_M).mean()),
            "meet": 1 - ramp(least, 0.05, OFFER_M),
            "way": ramp(way, 0.1, 0.4),
            "score": float(scene.window.scores[thing]),
        }
        yield candidate(
            scene, "giving", number, (move.start, end), Aim("person", other, distance=least),
            f"gives {spoken(scene.window.names[thing])}", terms, WEIGHTS,
            facts={"object": scene.window.names[thing], "nearer_m": round(way, 3)},
            to=np.nanmean(things.middle[move.start : end, thing], axis=0),
        )  # fmt: skip


def offered(scene: Scene, number: int, k: int, thing: int) -> tuple[int, float, float] | None:
    """Whom move k and the hold after it take the object to: person, least distance to that person's hand, and how much
    nearer it came, in metres. None when it comes near nobody."""
    arm, move, hold = scene.arms[number], scene.phases[number][k], scene.after(number, k)
    best: tuple[int, float, float] | None = None
    if travelled_m(scene, number, thing, move) < OWN_WAY * BROUGHT_M:
        return None
    reach = OFFER_M if holds_out(scene, number, hold) and not restless(scene, number, k) else GIVE_M
    for other in range(len(scene.window.persons)):
        gap = gap_to_hand(scene, other, thing, arm.scale)
        if other == arm.person or not np.isfinite(gap[move.start]):
            continue
        least = float(np.nanmin(gap[move.start : hold.end]))
        way = float(gap[move.start] - least)
        if least <= reach and way >= BROUGHT_M and (best is None or least < best[1]):
            best = other, least, way
    return best


def gap_to_hand(scene: Scene, other: int, thing: int, scale: float) -> Array:
    """T metres from an object's box to the nearer hand of a person."""
    wrists = scene.window.pose[:, other, list(WRISTS), :2]
    hands = scene.window.hand[:, other][:, :, [0, 5, 9, 13, 17]].mean(2)  # T x 2 x 2
    palms = np.where(np.isfinite(hands), hands, wrists)
    away = box_distance(palms, scene.window.thing[:, thing, None]) / scale
    return np.asarray(np.fmin(away[:, 0], away[:, 1]))


def holds_out(scene: Scene, number: int, hold: Phase) -> bool:
    """The arm is held out for a moment, as in an offer that nobody takes."""
    reach = scene.arms[number].reach[hold.start : hold.end]
    return hold.kind == "hold" and scene.span_s(hold) >= OFFER_HOLD_S and mean(reach) >= STRETCH_M


def release(scene: Scene, number: int, move: Phase, hold: Phase, thing: int) -> int:
    """First look after the move on which the object has parted from the giver's hand, or the hand goes back."""
    away = scene.things[number].distance[:, thing]
    later = [phase for phase in scene.phases[number] if phase.start >= move.end and phase.kind == "move"]
    back = later[0].start if later else hold.end
    parted = np.flatnonzero(away[move.end : back] > NEAR_M + PARTED_M)
    return int(move.end + parted[0]) if len(parted) else max(back, move.start + 1)
