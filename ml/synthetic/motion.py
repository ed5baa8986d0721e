"""How the figures of a scene move: from what is true on every frame to where eyes, hands and things are.

All positions are pixels of the picture, x and y; F frames, P persons, K things on the table, L places. A look changes
within 0.24 s centred on the frame from which the truth counts it. A hand sets out when its gesture starts, has arrived
0.4 s later, and returns within 0.4 s after the gesture has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ml.synthetic.table_talk import PROPS, SEATS, SPOTS, Grip, Scene
from ml.synthetic.truth import HANDS, runs

Floats = NDArray[np.float64]

SACCADE = 3  # frames before and after the change
MOVE = 10  # frames a hand takes
SMOOTH = 7.0  # frames, standard deviation by which the head smooths what the eyes do
ARM = 108.0  # pixels from shoulder to elbow and from elbow to hand, at scale 1


@dataclass
class Motion:
    """`head` [F, P, 2]: its centre, `scale` [P]: its size. `eyes` and `turn` [F, P, 2]: what the eyes and the head are
    directed at. `hands` [F, P, 2, 2]: left and right hand as seen; `finger` int8[F, P]: the hand that points (-1
    none). `props` [F, K, 2]; `holder` int8[F, K]: the person who holds it (-1 none), `grip` int8[F, K]: in which hand.
    """

    head: Floats
    scale: Floats
    eyes: Floats
    turn: Floats
    hands: Floats
    finger: NDArray[np.int8]
    props: Floats
    holder: NDArray[np.int8]
    grip: NDArray[np.int8]


def move(scene: Scene) -> Motion:
    """The motion of a scene at the table."""
    truth = scene.truth
    head = _heads(truth.frames)
    scale = np.array([seat[2] for seat in SEATS])
    hands, finger, side = _hands(scene, head, scale)
    props, holder, grip = _props(scene, hands, side)
    targets = np.concatenate([head, _still(truth.frames), props], axis=1)  # by target code
    eyes = _eyes(scene, targets, head)
    return Motion(head, scale, eyes, _smooth(eyes, SMOOTH), hands, finger, props, holder, grip)


def rest(person: int, side: int) -> Floats:
    """Where a hand lies on the table; side 0 left, 1 right, as seen."""
    x, y, scale = SEATS[person]
    return np.array([x + (-52 if side == 0 else 52) * scale, y + 244 * scale])


def shoulder(head: Floats, scale: float, side: int) -> Floats:
    return np.asarray(head + np.array([(-60 if side == 0 else 60) * scale, 92 * scale]))


def _heads(frames: int) -> Floats:
    """Seats with a little breathing and swaying, each person at their own pace."""
    t = np.arange(frames)[:, None] / 25
    pace = 0.6 + 0.07 * np.arange(len(SEATS))
    sway = np.stack([2.5 * np.sin(pace * t + 2.0 * pace), 1.8 * np.sin(1.9 * pace * t)], axis=-1)
    return np.asarray(np.array([seat[:2] for seat in SEATS])[None] + sway)


def _still(frames: int) -> Floats:
    return np.repeat(np.array(list(SPOTS.values()))[None], frames, axis=0)


def ease(share: Floats) -> Floats:
    """0 to 1, slow at both ends."""
    share = np.clip(share, 0.0, 1.0)
    return np.asarray(share * share * (3 - 2 * share))


def _smooth(path: Floats, deviation: float) -> Floats:
    """Gaussian smoothing along the first axis; the ends are held."""
    reach = int(3 * deviation)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    padded = np.concatenate([np.repeat(path[:1], reach, axis=0), path, np.repeat(path[-1:], reach, axis=0)])
    flat = padded.reshape(len(padded), -1)
    done = np.stack([np.convolve(column, kernel / kernel.sum(), "valid") for column in flat.T], axis=1)
    return np.asarray(done.reshape(path.shape))


# -- eyes --------------------------------------------------------------------------------------------------------------


def _eyes(scene: Scene, targets: Floats, head: Floats) -> Floats:
    truth = scene.truth
    eyes = _idle(truth.frames, head)
    for person in range(truth.persons):
        look = truth.look[:, person]
        seen = look >= 0
        eyes[seen, person] = targets[np.flatnonzero(seen), look[seen]]
        edges = np.flatnonzero(np.diff(look)) + 1
        eyes[:, person] = _saccades(eyes[:, person], edges.tolist())
        for start, end in runs(truth.shift[:, person]):
            eyes[start:end, person] = _sweep(eyes[:, person], head[0, person], start, end)
        for start, end in runs(truth.capture[:, person] >= 0):
            share = ease(np.linspace(0, 1.25, end - start))[:, None]
            eyes[start:end, person] = (1 - share) * eyes[start - SACCADE - 1, person] + share * eyes[
                end + SACCADE, person
            ]
            eyes[end : end + SACCADE + 1, person] = eyes[end + SACCADE, person]
    return eyes


def _idle(frames: int, head: Floats) -> Floats:
    """Down at the table before oneself, now here, now there."""
    rng = np.random.default_rng(11)
    path = np.empty_like(head)
    for person in range(head.shape[1]):
        frame = 0
        while frame < frames:
            length = int(rng.integers(30, 70))
            path[frame : frame + length, person] = head[0, person] + rng.uniform((-45, 170), (45, 250))
            frame += length
    return path


def _saccades(path: Floats, edges: list[int]) -> Floats:
    """Blend over every change of target and every jump."""
    jumps = (np.flatnonzero(np.abs(np.diff(path, axis=0)).sum(axis=1) > 12) + 1).tolist()
    done = path.copy()
    for edge in sorted({*edges, *jumps}):
        first, last = max(0, edge - SACCADE), min(len(path) - 1, edge + SACCADE)
        share = ease(np.linspace(0, 1, last - first + 1))[:, None]
        done[first : last + 1] = (1 - share) * done[first] + share * path[last]
    return done


def _sweep(path: Floats, head: Floats, start: int, end: int) -> Floats:
    """A look that flies over the room and back, at an even, high speed."""
    far = np.array([[200.0 if head[0] > 640 else 1080.0, 70.0], [640.0 + (640.0 - head[0]) * 0.2, 130.0]])
    stops = np.stack([path[start - 1], far[0], far[1], path[min(end, len(path) - 1)]])
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(stops, axis=0), axis=1))])
    at = np.linspace(0, lengths[-1], end - start)
    return np.stack([np.interp(at, lengths, stops[:, axis]) for axis in (0, 1)], axis=1)


# -- hands and things --------------------------------------------------------------------------------------------------


def _hands(scene: Scene, head: Floats, scale: Floats) -> tuple[Floats, NDArray[np.int8], NDArray[np.int8]]:
    """Paths of the hands, the pointing hand, and the hand that gestures on each frame (-1 none)."""
    truth = scene.truth
    hands = np.stack([np.stack([rest(p, side) for side in (0, 1)]) for p in range(truth.persons)])
    paths = np.repeat(hands[None], truth.frames, axis=0)
    finger = np.full((truth.frames, truth.persons), -1, np.int8)
    side = np.full((truth.frames, truth.persons), -1, np.int8)
    for person in range(truth.persons):
        for start, end in runs(truth.hand[:, person] >= 0):
            kind, code = HANDS[truth.hand[start, person]], int(truth.reach[start, person])
            goal = _position(scene, code, start)
            which = int(goal[0] >= SEATS[person][0])
            to = _goal(kind, goal, code, head[start, person], float(scale[person]), which)
            stop = min(truth.frames, end + MOVE)
            frames = np.arange(start, stop)
            share = np.minimum(ease((frames - start) / MOVE), 1 - ease((frames - end) / MOVE))[:, None]
            paths[start:stop, person, which] = (1 - share) * rest(person, which) + share * to
            paths[start:stop, person, which, 1] -= 34 * 4 * (share * (1 - share))[:, 0]  # an arc, not a slide
            side[start:stop, person] = which
            if kind == "pointing":
                finger[start + 3 : stop - 3, person] = which
    return paths, finger, side


def _goal(kind: str, goal: Floats, code: int, head: Floats, scale: float, side: int) -> Floats:
    """Where the gesturing hand goes."""
    joint = shoulder(head, scale, side)
    if kind == "showing":
        return np.asarray(head + np.array([(-92 if side == 0 else 92) * scale, 62 * scale]))
    if kind == "giving":
        return rest(code, 1 - side) + np.array([-30.0 if side else 30.0, 20.0])
    away = goal - joint
    far, longest = float(np.linalg.norm(away)), 1.85 * ARM * scale
    if kind == "reaching":
        return np.asarray(joint + away * min(1.0, longest / far))
    return np.asarray(joint + away / far * 0.78 * longest)


def _position(scene: Scene, code: int, frame: int) -> Floats:
    """Where a target is when a gesture to it starts."""
    truth = scene.truth
    if code < truth.persons:
        return np.array(SEATS[code][:2]) + np.array([0.0, 90.0])
    name = truth.places[code - truth.persons].description
    return np.array(SPOTS[name]) if name in SPOTS else lying(scene, name, frame)


def lying(scene: Scene, prop: str, frame: int) -> Floats:
    """Where a thing lies on the table at a frame at which nobody holds it."""
    spot = np.array(PROPS[prop])
    for grip in sorted(scene.grips, key=lambda grip: grip.start):
        if grip.prop == prop and grip.to is not None and grip.end <= frame:
            spot = _handed(grip)
    return spot


def _handed(grip: Grip) -> Floats:
    assert grip.to is not None
    from_left = SEATS[grip.person][0] < SEATS[grip.to][0]
    return rest(grip.to, 0 if from_left else 1) + np.array([-26.0 if from_left else 26.0, 14.0])


def _props(scene: Scene, hands: Floats, side: NDArray[np.int8]) -> tuple[Floats, NDArray[np.int8], NDArray[np.int8]]:
    """Paths of the things, who holds each and in which hand."""
    frames = scene.truth.frames
    paths = np.repeat(np.array(list(PROPS.values()))[None], frames, axis=0)
    holder, which = (np.full((frames, len(PROPS)), -1, np.int8) for _ in range(2))
    index = {prop: position for position, prop in enumerate(PROPS)}
    for grip in sorted(scene.grips, key=lambda grip: grip.start):
        column = index[grip.prop]
        hand = int(side[grip.start, grip.person])
        until = grip.end if grip.to is not None else min(frames, grip.end + MOVE)
        held = hands[grip.start : until, grip.person, hand] + np.array([0.0, -16.0])
        before = paths[grip.start, column].copy()
        after = _handed(grip) if grip.to is not None else before
        share = ease(np.arange(until - grip.start) / MOVE)[:, None]  # from where it lay into the hand
        path = (1 - share) * (before + held - held[0]) + share * held
        paths[until:, column] = after
        if grip.to is not None:  # the hand lets go, and it slides the last bit
            share = ease(np.arange(1, 7) / 6)[:, None]
            paths[until : until + 6, column] = ((1 - share) * held[-1] + share * after)[: frames - until]
        else:  # the hand comes back with it
            share = ease(np.arange(MOVE) / (MOVE - 1))[:, None]
            path[-MOVE:] = (1 - share) * path[-MOVE:] + share * after
        paths[grip.start : until, column] = path
        holder[grip.start : until, column], which[grip.start : until, column] = grip.person, hand
    return paths, holder, which
