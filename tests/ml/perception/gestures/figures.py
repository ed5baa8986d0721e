"""Jointed figures made by formula: people with arms that move from place to place in known times, and things they hold.

Space is in metres, x to the right of the picture, y down, z away from the camera; a figure's origin is the middle of
its shoulders. The camera sees it from `yaw` degrees round the vertical axis, without perspective. Moves follow the
minimum-jerk law 10 s^3 - 15 s^4 + 6 s^5, as people's do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.perception.gestures.window import Window

Array = NDArray[Any]

UPPER, FORE = 0.30, 0.26
FINE = 0.1  # seconds between two looks of the fine pass
FPS = 30
REST = np.array([0.0, 0.54, 0.0])  # of a hand, from its own shoulder: hanging
LAP = np.array([0.0, 0.42, -0.20])


def jerk(share: Array) -> Array:
    s = np.clip(share, 0, 1)
    return np.asarray(10 * s**3 - 15 * s**4 + 6 * s**5)


@dataclass
class Path:
    """A place over time: `stops` are (arrival begins, arrival ends, place) after the first place."""

    first: Any
    stops: list[tuple[float, float, Array]] = field(default_factory=list)

    def go(self, start: float, end: float, place: Any) -> Path:
        self.stops.append((start, end, np.asarray(place, float)))
        return self

    def at(self, t: Array) -> Array:
        """T x 3."""
        here = np.repeat(np.asarray(self.first, float)[None], len(t), 0)
        before = np.asarray(self.first, float)
        for start, end, place in self.stops:
            here = here + jerk((t - start) / (end - start))[:, None] * (place - before)
            before = place
        return here


Shape = Callable[[float], str]  # name of the hand's shape at a time


@dataclass
class Figure:
    """One person. `at`: of the shoulders' middle in metres of the scene; `hands`: paths of left and right wrist from
    the own shoulder; `shapes`: what each hand looks like (pointing | open | fist | none) at a time."""

    at: tuple[float, float] = (2.0, 1.0)
    yaw: float = 0.0
    hands: list[Path] = field(default_factory=lambda: [Path(REST), Path(REST)])
    shapes: list[Shape] = field(default_factory=lambda: [lambda t: "open", lambda t: "open"])
    visible: float = 0.95
    walk: Array = field(default_factory=lambda: np.zeros(3))  # metres per second

    def shoulders(self) -> Array:
        """2 x 3, left and right: somebody who faces the camera has the left one on the picture's right."""
        return np.array([[0.18, 0, 0], [-0.18, 0, 0]])

    def wrist(self, side: int, t: Array) -> Array:
        return np.asarray(self.shoulders()[side] + self.hands[side].at(t))

    def seen_from(self, points: Array, t: Array) -> Array:
        """Figure to picture, in metres of the scene: ... x 3 -> ... x 2, with T first."""
        c, s = np.cos(np.radians(self.yaw)), np.sin(np.radians(self.yaw))
        x = points[..., 0] * c - points[..., 2] * s
        shift = (t[:, None] * self.walk[:2]).reshape(len(t), *[1] * (points.ndim - 2), 2)
        return np.stack([x, points[..., 1]], -1) + np.array(self.at) + shift


def elbow(shoulder: Array, wrist: Array) -> Array:
    """Where the elbow of a two-bone arm is: bent downwards and a little outwards."""
    along = wrist - shoulder
    d = np.clip(np.linalg.norm(along, axis=-1, keepdims=True), 1e-6, UPPER + FORE - 1e-6)
    along = along / np.linalg.norm(along, axis=-1, keepdims=True)
    a = (UPPER**2 - FORE**2 + d**2) / (2 * d)
    h = np.sqrt(np.maximum(UPPER**2 - a**2, 0))
    pole = np.broadcast_to(np.array([0.0, 1.0, 0.3]), along.shape)
    bend = pole - (pole * along).sum(-1, keepdims=True) * along
    norm = np.linalg.norm(bend, axis=-1, keepdims=True)
    bend = np.where(norm > 1e-6, bend / np.maximum(norm, 1e-9), np.array([0.0, 0, 1]))
    return np.asarray(shoulder + a * along + h * bend)


FINGERS = {"open": (1.0,) * 4, "pointing": (1.0, 0.42, 0.4, 0.38), "fist": (0.45,) * 4}


def hand_points(wrist: Array, along: Array, across: Array, shape: str) -> Array:
    """21 x 3 of a hand whose middle finger points `along`; fingers that are not out fold back to the palm."""
    points = np.zeros((21, 3))
    points[0] = wrist
    for finger, spread in enumerate((-0.045, -0.03, -0.01, 0.01, 0.03)):
        reach = (0.05, 0.09, 0.095, 0.09, 0.08)[finger]
        knuckle = wrist + along * reach + across * spread
        out = 1.0 if finger == 0 else FINGERS[shape][finger - 1]
        for joint in range(4):
            if joint == 0:
                points[1 + 4 * finger] = knuckle
            elif out > 0.9:
                points[1 + 4 * finger + joint] = knuckle + along * 0.028 * joint
            else:
                bent = (0.03, 0.015, -0.02)[joint - 1]
                points[1 + 4 * finger + joint] = knuckle + along * bent * (1 if out > 0.2 else 0)
    return points


@dataclass
class Thing:
    """An object: its path in metres of the scene's picture (x, y, ignored), or the hand it follows (figure, side) over
    time: pairs (from second, holder or None)."""

    name: str
    path: Path | None = None
    holders: list[tuple[float, tuple[int, int] | None]] = field(default_factory=list)
    side: float = 0.12
    score: float = 0.8


def window(
    figures: list[Figure],
    *,
    seconds: float = 6.0,
    things: list[Thing] | None = None,
    scale: float = 220.0,
    noise: float = 0.0,
    every: float = FINE,
    jitter: float = 0.0,
    missing: float = 0.0,
    seed: int = 0,
) -> Window:
    """Look at a scene. `noise`: metres of each point's error; `jitter`: share of the step by which looks are late;
    `missing`: share of hands and poses that are not found."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, every)
    t = t + rng.uniform(0, jitter * every, len(t))
    T, P = len(t), len(figures)
    pose, hand = np.full((T, P, 33, 3), np.nan), np.full((T, P, 2, 21, 2), np.nan)
    body, face = np.full((T, P, 4), np.nan), np.full((T, P, 4), np.nan)
    palms = np.full((T, P, 2, 2), np.nan)
    for p, figure in enumerate(figures):
        frame(figure, p, t, pose, hand, body, face, palms)
    pose[..., :2] += rng.normal(0, noise, pose[..., :2].shape)
    hand += rng.normal(0, noise / 2, hand.shape)
    pose[rng.random((T, P)) < missing] = np.nan
    hand[rng.random((T, P, 2)) < missing] = np.nan
    listed = things or []
    boxes = [thing_boxes(thing, t, palms) + rng.normal(0, noise, (T, 4)) for thing in listed]
    scaled = np.ones(3)
    scaled[:2] = scale
    return Window(
        frame=np.round(t * FPS).astype(np.int64), seconds=t, persons=np.arange(1, P + 1),
        pose=pose * scaled, hand=hand * scale, unsure=np.zeros((T, P, 2), bool),
        body=body * scale, face=face * scale,
        thing=(np.stack(boxes, 1) if boxes else np.zeros((T, 0, 4))) * scale,
        names=[thing.name for thing in listed], scores=np.array([thing.score for thing in listed]),
        width=int(6 * scale), height=int(3 * scale),
    )  # fmt: skip


def frame(figure: Figure, p: int, t: Array, pose: Array, hand: Array, body: Array, face: Array, palms: Array) -> None:
    """Fill in one person."""
    points = np.zeros((len(t), 33, 3))
    points[:, :11] = (0, -0.22, -0.1)
    points[:, 11], points[:, 12] = figure.shoulders()
    points[:, 23], points[:, 24] = (0.12, 0.5, 0), (-0.12, 0.5, 0)
    points[:, 25:] = (0, 0.9, 0)
    for side in (0, 1):
        wrist = figure.wrist(side, t)
        joint = elbow(np.broadcast_to(figure.shoulders()[side], wrist.shape), wrist)
        along = (wrist - joint) / FORE
        across = np.cross(along, np.array([0.3, 0.2, 1.0]))
        across = across / np.linalg.norm(across, axis=1, keepdims=True)
        points[:, 13 + side], points[:, 15 + side] = joint, wrist
        for k, spread in ((17 + side, 0.03), (19 + side, -0.03)):
            points[:, k] = wrist + along * 0.08 + across * spread
        for k, moment in enumerate(t):
            shape = figure.shapes[side](float(moment))
            form = hand_points(wrist[k], along[k], across[k], "open" if shape == "none" else shape)
            seen = figure.seen_from(form[None], t[k : k + 1])[0]
            palms[k, p, side] = seen[[0, 5, 9, 13, 17]].mean(0)
            if shape != "none":
                hand[k, p, side] = seen
    pose[:, p, :, :2] = figure.seen_from(points, t)
    pose[:, p, :, 2] = figure.visible
    middle = figure.seen_from(np.zeros((len(t), 1, 3)), t)[:, 0]
    body[:, p] = np.concatenate([middle + (-0.25, -0.36), middle + (0.25, 1.2)], 1)
    face[:, p] = np.concatenate([middle + (-0.065, -0.30), middle + (0.065, -0.13)], 1)


def thing_boxes(thing: Thing, t: Array, palms: Array) -> Array:
    """T x 4 in metres of the scene. In a hand it lies at the palm; let go, it stays where it is."""
    middle = np.full((len(t), 2), np.nan)
    if thing.path is not None:
        middle = thing.path.at(t)[:, :2]
    for k, moment in enumerate(t):
        now = [holder for since, holder in thing.holders if since <= moment]
        if now and now[-1] is not None:
            middle[k] = palms[k, now[-1][0], now[-1][1]]
        elif now and k:
            middle[k] = middle[k - 1]
    half = thing.side / 2
    return np.concatenate([middle - half, middle + half], 1)
