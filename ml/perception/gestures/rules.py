"""Gestures from landmark sequences: pure functions on a `Window`.

Each arm's path falls into moves and holds (`arms`). A gesture is read off a hold and the moves around it:

pointing   begins with the move that brings the arm out, ends when the hold ends (the retraction begins). In the hold
           the index finger is out, away from the own face; or, where the hand itself is not to be seen or open, the arm
           is stretched and raised and touches nobody.
showing    the hold: an object that came up with the hand is kept up at the chest or above, away from the own face.
giving     begins with the move that takes a held object towards another person's hand, ends with the release (the
           object parts from the giver's hand, or the hand goes back).
reaching   begins with the move that stretches the arm towards an object that the hand does not hold, ends with the
           contact, or where there is none with the retraction.

Silent on arms that rest (no move brought them where they are), beats (moves without holds, or holds in a rhythm of
moves), holding (an object that is not brought up) and handling (the hand begins at the object, or never leaves it).
Per arm, giving goes before showing, showing before reaching; a pointing finger before all but giving.

The confidences are heuristics, not probabilities; each formula stands with its rule, and every term is kept in
`details`. `seen` is the mean visibility of wrist and elbow over the gesture; an arm whose hand may be somebody else's
counts `UNSURE` of it. `ramp(x, a, b)` rises from 0 at a to 1 at b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ml.perception.gestures.aim import CONE_DEG, Aim, pick, place
from ml.perception.gestures.arms import Arm, Phase, arm_of, phases
from ml.perception.gestures.grasp import NEAR_M, Things, things_of
from ml.perception.gestures.protocol import Gesture
from ml.perception.gestures.window import WRISTS, Array, Window, box_distance, scales

LEAST = 0.35  # confidence below which nothing is proposed
UNSURE = 0.7  # factor for a hand that may be somebody else's
RAISED = 0.12  # metres out of the resting region, or above the elbow
BROUGHT_M = 0.12  # a move that brings a hand somewhere is at least this long
POINT_HOLD_S, SHOW_HOLD_S = 0.2, 0.45
LONGEST_HOLD_S = 8.0  # longer it is a posture
STRETCHED, STRETCH_M, STRETCH_DEG = 0.85, 0.38, 40.0  # a stretched arm
BEAT_HOLD_S, BEAT_MOVES, BEAT_AROUND_S = 0.4, 4, 1.0  # short holds among so many moves are beats
SAME_POINT_S = 0.4  # two pointings at the same target no further apart are one
FACE_M = 0.04  # an object nearer to the own face is used, not shown
GIVE_M, OFFER_M = 0.20, 0.50  # from the object to the other's hand: at a hand-over, and when it is held out
TAKEN_M = 0.10  # beyond NEAR_M the object has left the hand
REACH_FROM_M, TOUCH_M, REACH_SHARE, REACH_DEG = 0.20, 0.05, 0.5, 30.0


@dataclass(frozen=True)
class Candidate:
    """A gesture over looks [start, end) of a window."""

    type: str
    arm: Arm
    start: int
    end: int
    aim: Aim
    description: str
    confidence: float
    terms: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Scene:
    """A prepared window and all of its arms."""

    window: Window
    arms: list[Arm]
    phases: list[list[Phase]]
    things: list[Things]

    def span_s(self, phase: Phase) -> float:
        """Seconds from a phase's first look to the first one after it."""
        seconds = self.window.seconds
        return float(seconds[min(phase.end, len(seconds) - 1)] - seconds[phase.start])


def find(window: Window, *, end: int) -> list[Gesture]:
    """The gestures of a window, sorted by start. `end`: first frame after the window, where what lasts to its last look
    ends."""
    scene = scene_of(window)
    found = [best for arm in range(len(scene.arms)) for best in of_arm(scene, arm)]
    gestures = [gesture_of(scene, c, end) for c in one_per_person(found) if c.confidence >= LEAST]
    return sorted(gestures, key=lambda g: (g.start, g.initiator, g.type))


def scene_of(window: Window) -> Scene:
    prepared = window.prepared()
    each = scales(prepared)
    arms = [
        arm_of(prepared, person, side, float(each[person]))
        for person in range(len(window.persons))
        for side in (0, 1)
        if np.isfinite(each[person])
    ]
    return Scene(
        prepared, arms, [phases(arm, window.seconds) for arm in arms], [things_of(prepared, arm) for arm in arms]
    )


def of_arm(scene: Scene, number: int) -> list[Candidate]:
    """What one arm does, without overlaps, by the order of the rules."""
    pointings = list(pointing(scene, number))
    clear = [c for c in pointings if c.terms["form"] is not None and c.terms["form"] >= 0.6]
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
    kept: list[Candidate] = []
    for c in sorted(found, key=lambda c: -c.confidence):
        if all(
            c.arm.person != k.arm.person or c.type != k.type or c.end <= k.start or k.end <= c.start
            or (c.aim.kind, c.aim.index) != (k.aim.kind, k.aim.index)
            for k in kept
        ):  # fmt: skip
            kept.append(c)
    return kept


# ---------------------------------------------------------------------------------------------------------------------
# Pointing


def pointing(scene: Scene, number: int) -> Iterator[Candidate]:
    """seen x (0.30 form + 0.25 straight + 0.25 aim + 0.20 still); at most 0.6 unless the finger was seen out.

    form: share of the hold's looks with a pointing finger (0.5 where the hand was never seen); straight: ramp of the
    arm's mean straightness from 0.7 to 0.95; aim: 1 - angle / CONE_DEG (0.4 for a place); still: ramp of the hold from
    0 to 0.6 s.
    """
    arm, all_phases = scene.arms[number], scene.phases[number]
    for k, hold in enumerate(all_phases):
        here = slice(hold.start, hold.end)
        if hold.kind != "hold" or not POINT_HOLD_S <= scene.span_s(hold) <= LONGEST_HOLD_S:
            continue
        if not brought(scene, number, k) or beats(scene, number, k):
            continue
        finger = arm.pointing[here] & (arm.out[here] >= RAISED)
        stretched = is_stretched(arm, here) & ~touches_others(scene, arm, here)
        form = float(finger.sum() / arm.hand[here].sum()) if arm.hand[here].any() else None
        if form is not None and form < 0.5 and folded(scene, arm, here):
            stretched[:] = False  # the hand is seen, and it is a fist around something or nothing
        if (finger | stretched).mean() < 0.6:
            continue
        if (form is None or form < 0.6) and scene.things[number].held(hold.start, hold.end) is not None:
            continue
        by_finger = form is not None and form >= 0.5
        aim, direction = aimed(scene, arm, hold, by_finger)
        terms = {
            "form": None if form is None else round(form, 3),
            "straight": round(ramp(mean(arm.straight[here]), 0.7, 0.95), 3),
            "aim": 0.4 if aim.angle is None else round(1 - aim.angle / CONE_DEG, 3),
            "still": round(ramp(scene.span_s(hold), 0, 0.6), 3),
        }
        start = all_phases[k - 1].start if k and all_phases[k - 1].end == hold.start else hold.start
        weighted = 0.30 * (0.5 if form is None else form) + 0.25 * terms["straight"] + 0.25 * terms["aim"]  # type: ignore[operator]
        confidence = seen(arm, start, hold.end) * (weighted + 0.20 * terms["still"])  # type: ignore[operator]
        confidence = confidence if by_finger else min(confidence, 0.6)
        yield Candidate("pointing", arm, start, hold.end, aim, described(scene, aim, direction), confidence, terms)


def is_stretched(arm: Arm, here: slice) -> Array:
    """Looks on which the arm is stretched out and raised."""
    return (arm.straight[here] >= STRETCHED) & (arm.reach[here] >= STRETCH_M) & (arm.elevation[here] >= STRETCH_DEG)


def touches_others(scene: Scene, arm: Arm, here: slice) -> Array:
    """Looks on which the wrist is in front of somebody else's body, as an arm around a shoulder is."""
    away = box_distance(arm.wrist[here, None], scene.window.body[here])
    away[:, arm.person] = np.inf
    return np.asarray((away == 0).any(1))


def folded(scene: Scene, arm: Arm, here: slice) -> bool:
    """The hand's points are there and show a closed hand on most looks: the fingertips are near the wrist."""
    from ml.perception.gestures.shapes import ratios

    hand = scene.window.hand[here, arm.person, arm.side][arm.hand[here]]
    return bool((np.median(ratios(hand), axis=-1) < 1.4).mean() > 0.5) if len(hand) else False


def aimed(scene: Scene, arm: Arm, hold: Phase, by_finger: bool) -> tuple[Aim, Array]:
    """What the arm points at in a hold, and the direction: the target that most looks agree on.

    The ray starts at the fingertip; its direction is the finger's (knuckle to tip) mixed with the forearm's, or the
    forearm's alone where no finger was seen: the forearm is longer, so its direction shakes less.
    """
    votes: dict[tuple[str, int | None], list[Aim]] = {}
    rays = []
    for look in range(hold.start, hold.end):
        forearm = unit(arm.wrist[look] - arm.elbow[look])
        finger = unit(arm.tip[look] - arm.knuckle[look])
        ray = unit(forearm + finger) if by_finger and arm.pointing[look] else forearm
        if not np.isfinite(ray).all() or not np.isfinite(arm.tip[look]).all():
            continue
        rays.append(ray)
        aim = pick(scene.window, look, arm.tip[look], ray, arm.person, arm.scale)
        votes.setdefault((aim.kind, aim.index), []).append(aim)
    direction = unit(np.mean(rays, axis=0)) if rays else np.array([1.0, 0.0])
    if not votes:
        return Aim("location"), direction
    most = max(votes.values(), key=len)
    if most[0].angle is None:
        return most[0], direction
    return replace(most[0], angle=mean([a.angle for a in most]), distance=mean([a.distance for a in most])), direction


# ---------------------------------------------------------------------------------------------------------------------
# Showing


def showing(scene: Scene, number: int) -> Iterator[Candidate]:
    """seen x (0.30 held + 0.30 up + 0.20 still + 0.20 score).

    held: share of the hold's looks with the object in the hand; up: ramp of how far the move brought it from rest, 0.1
    to 0.3 m; still: ramp of the hold from 0.3 to 1.0 s; score: the detector's mean score of the object.
    """
    arm, all_phases, things = scene.arms[number], scene.phases[number], scene.things[number]
    for k, hold in enumerate(all_phases):
        if hold.kind != "hold" or not SHOW_HOLD_S <= scene.span_s(hold) <= LONGEST_HOLD_S:
            continue
        thing = things.held(hold.start, hold.end)
        if thing is None or not is_held_up(scene, number, hold, thing) or not brought(scene, number, k, thing):
            continue
        here = slice(hold.start, hold.end)
        terms = {
            "object": scene.window.names[thing],
            "held": round(float((things.distance[here, thing] <= NEAR_M).mean()), 3),
            "up": round(ramp(moved_m(scene, number, k), 0.1, 0.3), 3),
            "still": round(ramp(scene.span_s(hold), 0.3, 1.0), 3),
            "score": round(float(scene.window.scores[thing]), 3),
        }
        weighted = 0.30 * terms["held"] + 0.30 * terms["up"] + 0.20 * terms["still"] + 0.20 * terms["score"]  # type: ignore[operator]
        aim, words = shown_to(scene, arm, hold, thing)
        confidence = seen(arm, hold.start, hold.end) * weighted
        yield Candidate("showing", arm, hold.start, hold.end, aim, words, confidence, terms)


def is_held_up(scene: Scene, number: int, hold: Phase, thing: int) -> bool:
    """The object is at the chest or above, or held out, and not at the own face."""
    arm, here = scene.arms[number], slice(hold.start, hold.end)
    height = (arm.wrist[here, 1] - arm.shoulder[here, 1]) / arm.scale
    up = (height <= 0.30) & (arm.out[here] >= 0.05) | (arm.reach[here] >= STRETCH_M) & (height <= 0.15)
    boxes, face = scene.window.thing[here, thing], scene.window.face[here, arm.person]
    gap = np.maximum(np.maximum(boxes[:, :2] - face[:, 2:], face[:, :2] - boxes[:, 2:]), 0)
    at_face = np.linalg.norm(gap, axis=1) / arm.scale < FACE_M
    return bool(np.mean(up) >= 0.6 and np.mean(at_face) < 0.4)


def shown_to(scene: Scene, arm: Arm, hold: Phase, thing: int) -> tuple[Aim, str]:
    """The person beyond the object as seen from the own shoulder; nobody there: the viewer."""
    name = spoken(scene.window.names[thing])
    look = (hold.start + hold.end) // 2
    middle = scene.things[scene.arms.index(arm)].middle[look, thing]
    ray = unit(middle - arm.shoulder[look])
    across = abs(middle[0] - arm.shoulder[look, 0]) / arm.scale
    aim = pick(scene.window, look, middle, ray, arm.person, arm.scale) if across >= 0.2 else Aim("location")
    if aim.kind == "person":
        return aim, f"shows {name}"
    return Aim("location"), f"shows {name} towards the viewer"


# ---------------------------------------------------------------------------------------------------------------------
# Giving


def giving(scene: Scene, number: int) -> Iterator[Candidate]:
    """seen x (0.30 held + 0.30 meet + 0.20 way + 0.20 score).

    held: share of the move's looks with the object in the hand; meet: 1 - ramp of the least distance between the object
    and the other's hand, 0.05 m to OFFER_M; way: ramp of how much nearer the move brought it, 0.1 to 0.4 m.
    """
    arm, all_phases, things = scene.arms[number], scene.phases[number], scene.things[number]
    for k, move in enumerate(all_phases):
        thing = things.held(max(0, move.start - 2), move.start + 2) if move.kind == "move" else None
        if thing is None:
            continue
        offer = offered(scene, number, k, thing)
        if offer is None:
            continue
        other, end, meet, way = offer
        held = float((things.distance[move.start : move.end, thing] <= NEAR_M).mean())
        terms = {
            "object": scene.window.names[thing],
            "held": round(held, 3),
            "meet": round(1 - ramp(meet, 0.05, OFFER_M), 3),
            "way": round(ramp(way, 0.1, 0.4), 3),
            "score": round(float(scene.window.scores[thing]), 3),
            "hand_distance_m": round(meet, 3),
        }
        weighted = 0.30 * held + 0.30 * terms["meet"] + 0.20 * terms["way"] + 0.20 * terms["score"]  # type: ignore[operator]
        aim = Aim("person", other, distance=meet)
        words = f"gives {spoken(scene.window.names[thing])}"
        yield Candidate("giving", arm, move.start, end, aim, words, seen(arm, move.start, end) * weighted, terms)


def offered(scene: Scene, number: int, k: int, thing: int) -> tuple[int, int, float, float] | None:
    """Whom the object is taken to, by the move k and the hold after it: person, look of the release, least distance to
    that person's hand and how much nearer it came, in metres. None when it comes near nobody."""
    arm, all_phases = scene.arms[number], scene.phases[number]
    move = all_phases[k]
    hold = all_phases[k + 1] if k + 1 < len(all_phases) and all_phases[k + 1].start == move.end else move
    best: tuple[int, int, float, float] | None = None
    for other in range(len(scene.window.persons)):
        if other == arm.person:
            continue
        gap = gap_to_hand(scene, other, thing, arm.scale)
        here = gap[move.start : hold.end]
        if not np.isfinite(here).any() or not np.isfinite(gap[move.start]):
            continue
        least = float(np.nanmin(here))
        way = float(gap[move.start] - least)
        near = least <= GIVE_M or (least <= OFFER_M and holds_out(scene, number, hold))
        if (
            near
            and way >= BROUGHT_M
            and own_way(scene, number, other, move, thing)
            and (best is None or least < best[2])
        ):
            best = other, release(scene, number, move, hold, thing), least, way
    return best


def gap_to_hand(scene: Scene, other: int, thing: int, scale: float) -> Array:
    """T metres from an object's box to the nearer hand of a person."""
    wrists = scene.window.pose[:, other, list(WRISTS), :2]
    hands = scene.window.hand[:, other, :, [0, 5, 9, 13, 17]].mean(0)  # T x 2 x 2
    palms = np.where(np.isfinite(hands), hands, wrists)
    away = box_distance(palms, scene.window.thing[:, thing, None]) / scale
    return np.asarray(np.fmin(away[:, 0], away[:, 1]))


def holds_out(scene: Scene, number: int, hold: Phase) -> bool:
    """The arm is held out for a moment, as an offer that nobody takes."""
    arm, here = scene.arms[number], slice(hold.start, hold.end)
    return hold.kind == "hold" and scene.span_s(hold) >= 0.4 and mean(arm.reach[here]) >= STRETCH_M


def own_way(scene: Scene, number: int, other: int, move: Phase, thing: int) -> bool:
    """Most of the way between the two was this arm's: the object came, rather than the other's hand."""
    path = scene.things[number].middle[move.start : move.end, thing] / scene.arms[number].scale
    known = path[np.isfinite(path).all(1)]
    return len(known) > 1 and float(np.linalg.norm(known[-1] - known[0])) >= 0.6 * BROUGHT_M


def release(scene: Scene, number: int, move: Phase, hold: Phase, thing: int) -> int:
    """First look after the move on which the object has parted from the giver's hand, or the hand goes back."""
    away = scene.things[number].distance[:, thing]
    after = [phase for phase in scene.phases[number] if phase.start >= move.end and phase.kind == "move"]
    back = after[0].start if after else hold.end
    parted = np.flatnonzero(away[move.end : back] > NEAR_M + TAKEN_M)
    return int(move.end + parted[0]) if len(parted) else max(back, move.start + 1)


# ---------------------------------------------------------------------------------------------------------------------
# Reaching


def reaching(scene: Scene, number: int) -> Iterator[Candidate]:
    """seen x (0.30 approach + 0.30 touch + 0.20 straight + 0.20 score).

    approach: share of the first distance that the hand covered; touch: 1 - ramp of the least distance, TOUCH_M to
    REACH_FROM_M; straight: ramp of the arm's straightness at the nearest point from 0.6 to 0.9.
    """
    arm, all_phases, things = scene.arms[number], scene.phases[number], scene.things[number]
    for k, move in enumerate(all_phases):
        if move.kind != "move" or things.held(max(0, move.start - 2), move.end) is not None:
            continue
        hold = all_phases[k + 1] if k + 1 < len(all_phases) and all_phases[k + 1].start == move.end else move
        thing = reached(scene, number, move, hold)
        if thing is None:
            continue
        near = things.tip[move.start : hold.end, thing]
        least, first = float(np.nanmin(near)), float(near[0])
        touch = np.flatnonzero(near <= least + TOUCH_M / 3) if least <= TOUCH_M else np.zeros(0, int)
        end = move.start + int(touch[0]) if len(touch) else hold.end
        nearest = move.start + int(np.nanargmin(near))
        terms = {
            "object": scene.window.names[thing],
            "approach": round((first - least) / first, 3),
            "touch": round(1 - ramp(least, TOUCH_M, REACH_FROM_M), 3),
            "straight": round(ramp(float(arm.straight[nearest]), 0.6, 0.9), 3),
            "score": round(float(scene.window.scores[thing]), 3),
            "contact": bool(len(touch)),
        }
        weighted = 0.30 * terms["approach"] + 0.30 * terms["touch"] + 0.20 * terms["straight"] + 0.20 * terms["score"]  # type: ignore[operator]
        aim = Aim("object", thing, distance=least)
        words = spoken(scene.window.names[thing])
        end = max(end, move.start + 1)
        yield Candidate("reaching", arm, move.start, end, aim, words, seen(arm, move.start, end) * weighted, terms)


def reached(scene: Scene, number: int, move: Phase, hold: Phase) -> int | None:
    """The object a move stretches the arm towards: still, in nobody's hand, and approached from a distance."""
    arm, things = scene.arms[number], scene.things[number]
    here = slice(move.start, hold.end)
    stretch = max(float(np.nanmax(way[here]) - way[move.start]) for way in (arm.reach, arm.out))
    best: tuple[float, int] | None = None
    for thing in range(things.tip.shape[1]):
        near = things.tip[here, thing]
        if not np.isfinite(near).all() or near[0] < REACH_FROM_M:
            continue
        least = float(near.min())
        toward = angle_between(
            arm.palm[move.end - 1] - arm.palm[move.start], things.middle[move.start, thing] - arm.palm[move.start]
        )
        if (near[0] - least) / near[0] < REACH_SHARE or toward > REACH_DEG or stretch < BROUGHT_M:
            continue
        until = move.start + int(near.argmin())
        path = things.middle[move.start : until + 1, thing] / arm.scale
        if np.linalg.norm(path - path[0], axis=1).max() > 0.08 or in_a_hand(scene, number, thing, move.start):
            continue
        if best is None or least < best[0]:
            best = least, thing
    return None if best is None else best[1]


def in_a_hand(scene: Scene, number: int, thing: int, look: int) -> bool:
    """Whether any other hand has the object on this look."""
    return any(
        scene.things[k].distance[look, thing] <= NEAR_M and scene.things[k].movable[thing]
        for k in range(len(scene.arms))
        if k != number
    )


# ---------------------------------------------------------------------------------------------------------------------
# Shared by the rules


def brought(scene: Scene, number: int, k: int, thing: int | None = None) -> bool:
    """The phase before hold k is a move that took the hand there, from a lesser distance to rest; with an object, the
    object came along."""
    arm, all_phases = scene.arms[number], scene.phases[number]
    before = all_phases[k - 1] if k else None
    if before is None or before.kind != "move" or before.end != all_phases[k].start:
        return False
    if moved_m(scene, number, k) < BROUGHT_M:
        return False
    rest = [phase for phase in all_phases[:k] if phase.kind == "hold"]
    low = (
        arm.out[max(0, before.start - 1) : before.end].min() if not rest else arm.out[rest[0].start : before.end].min()
    )
    if not low < mean(arm.out[all_phases[k].start : all_phases[k].end]) - 0.05:
        return False
    if thing is None:
        return True
    path = scene.things[number].middle[before.start : before.end, thing] / arm.scale
    known = path[np.isfinite(path).all(1)]
    return len(known) < 2 or float(np.linalg.norm(known[-1] - known[0])) >= 0.5 * BROUGHT_M


def moved_m(scene: Scene, number: int, k: int) -> float:
    """Metres between where the move before hold k began and the hold."""
    arm, before, hold = scene.arms[number], scene.phases[number][k - 1], scene.phases[number][k]
    path = (arm.wrist - arm.shoulder) / arm.scale
    return float(np.linalg.norm(np.nanmedian(path[hold.start : hold.end], axis=0) - path[before.start]))


def beats(scene: Scene, number: int, k: int) -> bool:
    """Hold k is a short one in a rhythm of moves."""
    hold, seconds = scene.phases[number][k], scene.window.seconds
    if scene.span_s(hold) >= BEAT_HOLD_S:
        return False
    low, high = seconds[hold.start] - BEAT_AROUND_S, seconds[hold.end - 1] + BEAT_AROUND_S
    near = [p for p in scene.phases[number] if seconds[p.end - 1] >= low and seconds[p.start] <= high]
    return sum(phase.kind == "move" for phase in near) >= BEAT_MOVES


def seen(arm: Arm, start: int, end: int) -> float:
    """How well the arm is seen over looks [start, end): mean visibility of wrist and elbow; less when unsure."""
    return mean(arm.seen[start:end]) * (UNSURE if is_unsure(arm, start, end) else 1)


def is_unsure(arm: Arm, start: int, end: int) -> bool:
    """The hand may be somebody else's on most looks on which it is seen."""
    hands = arm.hand[start:end].sum()
    return bool(hands and arm.unsure[start:end].sum() > 0.5 * hands)


def described(scene: Scene, aim: Aim, direction: Array) -> str:
    if aim.kind == "object":
        assert aim.index is not None
        return spoken(scene.window.names[aim.index])
    return "" if aim.kind == "person" else place(direction)


def spoken(name: str) -> str:
    """An object's name in words."""
    words = name.replace("_", " ")
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def ramp(value: float, low: float, high: float) -> float:
    return float(np.clip((value - low) / (high - low), 0, 1))


def mean(values: Any) -> float:
    """Mean of what is known; 0 of nothing."""
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    return float(known.mean()) if known.size else 0.0


def unit(vector: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(vector / np.linalg.norm(vector))


def angle_between(a: Array, b: Array) -> float:
    """Degrees, 0 to 180."""
    return float(np.degrees(np.arccos(np.clip(unit(a) @ unit(b), -1, 1))))


def gesture_of(scene: Scene, found: Candidate, end: int) -> Gesture:
    """In frames and persons, with the numbers behind it."""
    window, arm = scene.window, found.arm
    frame = window.frame
    last = found.end < len(frame)
    person = found.aim.index if found.aim.kind == "person" else None
    middle = window.body[(found.start + found.end) // 2, arm.person] / [*(window.width, window.height) * 2]
    unsure = is_unsure(arm, found.start, found.end)
    details = {
        "hand": "unsure" if unsure else ("left", "right")[arm.side],
        "terms": found.terms,
        "seen": round(seen(arm, found.start, found.end), 3),
        "angle_deg": None if found.aim.angle is None else round(found.aim.angle, 1),
        "distance_m": None if found.aim.distance is None else round(found.aim.distance, 2),
        "looks": found.end - found.start,
        "onset_after": int(frame[found.start - 1]) if found.start else None,
        "offset_before": int(frame[found.end]) if last else None,
    }
    return Gesture(
        type=found.type,
        start=int(frame[found.start]),
        end=int(frame[found.end]) if last else end,
        initiator=int(window.persons[arm.person]),
        target_kind=found.aim.kind,
        target_person=None if person is None else int(window.persons[person]),
        target_description=found.description,
        initiator_box=tuple(round(float(v), 4) for v in middle) if np.isfinite(middle).all() else None,  # type: ignore[arg-type]
        confidence=round(min(1.0, max(0.0, found.confidence)), 4),
        details=details,
    )
