"""Drawing of one picture: a room, a table, things on it and people who look and gesture. Flat colours, smooth edges.

Colours are BGR. Coordinates are pixels; they go to OpenCV with 4 fractional bits, so slow motion does not jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Floats = NDArray[np.float64]
Colour = tuple[int, int, int]

BITS = 4


@dataclass(frozen=True)
class Look:
    """How one person looks."""

    skin: Colour
    hair: Colour
    shirt: Colour
    style: str  # bob, short, bun, curls, bald


LOOKS = (
    Look((150, 186, 226), (38, 52, 84), (130, 118, 52), "bob"),
    Look((110, 148, 198), (30, 30, 34), (72, 132, 208), "short"),
    Look((84, 118, 164), (24, 26, 32), (120, 90, 168), "bun"),
    Look((164, 198, 234), (52, 96, 158), (86, 142, 96), "curls"),
    Look((140, 176, 216), (150, 152, 156), (168, 116, 74), "bald"),
)


def fixed(*values: float) -> tuple[int, ...]:
    return tuple(round(value * (1 << BITS)) for value in values)


def disc(image: Image, at: Floats | Sequence[float], axes: Sequence[float], colour: Colour, angle: float = 0.0,
         arc: tuple[float, float] = (0, 360)) -> None:  # fmt: skip
    """A filled ellipse, or the piece of it between two angles."""
    size = fixed(*(max(axis, 0.1) for axis in axes))
    cv2.ellipse(image, fixed(at[0], at[1]), size, angle, arc[0], arc[1], colour, -1, cv2.LINE_AA, BITS)


def curve(image: Image, at: Sequence[float], axes: Sequence[float], colour: Colour, width: int,
          arc: tuple[float, float], angle: float = 0.0) -> None:  # fmt: skip
    cv2.ellipse(image, fixed(*at), fixed(*axes), angle, arc[0], arc[1], colour, width, cv2.LINE_AA, BITS)


def shape(image: Image, points: Sequence[Sequence[float] | Floats] | Floats, colour: Colour) -> None:
    """A filled polygon."""
    corners = np.round(np.asarray(points, np.float64) * (1 << BITS)).astype(np.int32)
    cv2.fillPoly(image, [corners], colour, cv2.LINE_AA, BITS)


def limb(image: Image, a: Floats, b: Floats, colour: Colour, wide: float, narrow: float) -> None:
    """A rounded, tapering bar from a to b."""
    along = (b - a) / max(float(np.linalg.norm(b - a)), 1e-6)
    across = np.array([-along[1], along[0]])
    shape(image, [a + across * wide, b + across * narrow, b - across * narrow, a - across * wide], colour)
    disc(image, a, (wide, wide), colour)
    disc(image, b, (narrow, narrow), colour)


def shade(colour: Colour, share: float) -> Colour:
    """Darker below 1, lighter above."""
    if share <= 1:
        return tuple(round(value * share) for value in colour)  # type: ignore[return-value]
    return tuple(round(value + (255 - value) * (share - 1)) for value in colour)  # type: ignore[return-value]


# -- people ------------------------------------------------------------------------------------------------------------


def body(image: Image, head: Floats, scale: float, look: Look) -> None:
    """Shoulders and neck; the table covers the rest."""
    x, y, s = head[0], head[1], scale
    angles = np.linspace(np.pi, 2 * np.pi, 24)
    top = np.stack([x + 82 * s * np.cos(angles), y + 118 * s + 50 * s * np.sin(angles)], axis=1)
    shape(image, [*top.tolist(), (x + 92 * s, y + 330 * s), (x - 92 * s, y + 330 * s)], look.shirt)
    fold = [(x - 30 * s, y + 330 * s), (x - 8 * s, y + 100 * s), (x + 8 * s, y + 100 * s), (x + 30 * s, y + 330 * s)]
    shape(image, fold, shade(look.shirt, 0.93))
    disc(image, (x, y + 74 * s), (31 * s, 17 * s), shade(look.shirt, 0.8))
    disc(image, (x, y + 70 * s), (24 * s, 15 * s), shade(look.skin, 0.86))
    neck = [(x - 19 * s, y + 34 * s), (x + 19 * s, y + 34 * s), (x + 22 * s, y + 72 * s), (x - 22 * s, y + 72 * s)]
    shape(image, neck, shade(look.skin, 0.86))


def directed(head: Floats, point: Floats) -> Floats:
    """Direction of a point seen from the head: x and y in [-1, 1], softly limited."""
    return np.asarray(np.tanh((point - head) / np.array([330.0, 300.0]) * 1.15))


def face(image: Image, head: Floats, scale: float, look: Look, turn: Floats, eyes: Floats, blink: float) -> None:
    """Head, hair and features: `turn` and `eyes` are directions; `blink` 0 open to 1 shut."""
    x, y, s = head[0], head[1], scale
    yaw, pitch = turn[0], turn[1]
    dx, dy = yaw * 20 * s, pitch * 17 * s
    _hair_behind(image, x, y, s, look, dx, dy)
    for side in (-1, 1):  # ears
        ear = x + side * 45 * s - dx * 0.55
        disc(
            image, (ear, y + 6 * s - dy * 0.3), (9 * s * (1 - 0.5 * max(0, side * yaw)), 14 * s), shade(look.skin, 0.88)
        )
    disc(image, (x, y), (46 * s, 58 * s), look.skin)
    disc(image, (x + dx * 0.5, y + 22 * s + dy * 0.4), (37 * s, 36 * s), look.skin)
    for side in (-1, 1):
        cheek = (x + dx * 1.1 + side * 25 * s * (1 - 0.3 * abs(yaw)), y + 20 * s + dy)
        disc(image, cheek, (9 * s, 6 * s), tuple(np.array(look.skin) * 0.86 + np.array((150, 130, 235)) * 0.14))
    _hair_front(image, x, y, s, look, dx, dy)
    _features(image, x + dx, y + dy, s, look, yaw, eyes - 0.45 * turn, blink)


def _features(image: Image, x: float, y: float, s: float, look: Look, yaw: float, eyes: Floats, blink: float) -> None:
    dark = shade(look.hair, 0.7) if look.style != "bald" else (92, 94, 98)
    for side in (-1, 1):
        narrow = 1 - 0.32 * max(0.0, side * yaw)  # the far eye is foreshortened
        at = (x + side * 19 * s * (1 - 0.12 * abs(yaw)), y - 3 * s)
        open_ = (1 - blink) * (1 - 0.5 * max(0.0, float(eyes[1])))  # lids sink as the eyes do
        if open_ > 0.25:
            disc(image, at, (11.5 * s * narrow, 8.6 * s * open_), (248, 248, 250))
            pupil = (at[0] + eyes[0] * 8.4 * s * narrow, at[1] + eyes[1] * 7.0 * s)
            disc(image, pupil, (5.2 * s * narrow, 5.6 * s * min(1.0, open_ + 0.1)), (38, 34, 32))
            disc(image, (pupil[0] + 1.6 * s, pupil[1] - 1.8 * s), (1.5 * s, 1.5 * s), (245, 245, 245))
            curve(
                image, at, (12 * s * narrow, 9 * s * open_), shade(look.skin, 0.55), max(1, round(1.6 * s)), (190, 350)
            )
        else:
            curve(image, at, (11 * s * narrow, 3 * s), shade(look.skin, 0.5), max(1, round(2 * s)), (10, 170))
        brow = (at[0], at[1] - 15 * s + min(0.0, eyes[1]) * 4 * s)
        curve(image, brow, (12 * s * narrow, 5 * s), dark, max(2, round(3 * s)), (205, 335))
    nose = [(x + yaw * 9 * s - 5 * s, y + 15 * s), (x + yaw * 15 * s, y + 2 * s), (x + yaw * 9 * s + 5 * s, y + 15 * s)]
    shape(image, nose, shade(look.skin, 0.9))
    disc(image, (x + yaw * 10 * s, y + 15 * s), (6 * s, 4.2 * s), shade(look.skin, 0.9))
    curve(
        image,
        (x + yaw * 4 * s, y + 25 * s),
        (12 * s * (1 - 0.2 * abs(yaw)), 7 * s),
        (92, 84, 168),
        max(2, round(2.6 * s)),
        (20, 160),
    )


def _hair_behind(image: Image, x: float, y: float, s: float, look: Look, dx: float, dy: float) -> None:
    if look.style == "bob":
        disc(image, (x - dx * 0.45, y + 6 * s), (62 * s, 70 * s), look.hair)
        shape(image, [(x - 62 * s - dx * 0.45, y), (x + 62 * s - dx * 0.45, y), (x + 54 * s - dx * 0.45, y + 72 * s),
                      (x - 54 * s - dx * 0.45, y + 72 * s)], look.hair)  # fmt: skip
    elif look.style == "bun":
        disc(image, (x - dx * 0.5, y - 66 * s + dy * 0.2), (27 * s, 25 * s), look.hair)
        disc(image, (x - dx * 0.35, y - 8 * s), (54 * s, 60 * s), look.hair)
    elif look.style == "curls":
        for k, angle in enumerate(np.linspace(np.pi * 0.86, np.pi * 2.14, 11)):
            at = (x - dx * 0.4 + 50 * s * np.cos(angle), y - 12 * s + 52 * s * np.sin(angle))
            disc(image, at, ((19 + 2 * (k % 2)) * s, (19 + 2 * (k % 2)) * s), look.hair)
    elif look.style == "short":
        disc(image, (x - dx * 0.35, y - 10 * s), (52 * s, 58 * s), look.hair)


def _hair_front(image: Image, x: float, y: float, s: float, look: Look, dx: float, dy: float) -> None:
    """The fringe: an arch between the crown and the hair line, which turns with the head."""
    if look.style == "bald":
        for side in (-1, 1):
            near = 1 - 0.85 * max(0.0, side * dx / (20 * s))
            disc(image, (x + side * 44 * s - dx * 0.55, y - 6 * s), (9 * s * near, 22 * s), look.hair)
        curve(image, (x + dx, y + 26 * s + dy), (22 * s, 20 * s), look.hair, round(11 * s), (15, 165))  # a beard
        return
    low = {"bob": -24.0, "short": -30.0, "bun": -34.0, "curls": -30.0}[look.style]
    angles = np.linspace(np.pi * 1.04, np.pi * 1.96, 20)
    crown = np.stack([x + 48 * s * np.cos(angles), y + 4 * s + 64 * s * np.sin(angles)], axis=1)
    part = x + dx * 1.2 + (14 * s if look.style == "bob" else 0)
    wide = 46 * s * np.sqrt(max(0.1, 1 - ((low * s + dy - 4 * s) / (60 * s)) ** 2))  # of the head at the hair line
    across = [min(x + wide, part + 22 * s), np.clip(part, x - wide, x + wide), max(x - wide, part - 24 * s)]
    line = [(x + 46 * s, y - 12 * s), (across[0], y + low * s + dy), (across[1], y + (low - 6) * s + dy),
            (across[2], y + low * s + dy), (x - 46 * s, y - 12 * s)]  # fmt: skip
    shape(image, [*crown.tolist(), *line], look.hair)
    curve(image, (x - dx * 0.2, y + 2 * s), (38 * s, 52 * s), shade(look.hair, 1.18), max(1, round(3 * s)), (222, 262))


def arm(image: Image, joint: Floats, hand: Floats, scale: float, look: Look, side: int, length: float) -> None:
    """Upper arm and forearm: the elbow falls outwards and down."""
    s = scale
    away = hand - joint
    reach = float(np.linalg.norm(away))
    half = min(reach / 2, length * s * 0.999)
    bend = float(np.sqrt(max((length * s) ** 2 - half**2, 0.0))) * 0.55
    along = away / max(reach, 1e-6)
    outwards = np.array([-along[1], along[0]])
    if outwards[1] < 0:
        outwards = -outwards
    if abs(outwards[0]) > 0.35 and np.sign(outwards[0]) != (1 if side else -1):
        outwards = -outwards
    elbow = joint + away / 2 + outwards * bend
    limb(image, joint, elbow, shade(look.shirt, 0.9), 24 * s, 19 * s)
    wrist = hand - (hand - elbow) / max(float(np.linalg.norm(hand - elbow)), 1e-6) * 20 * s
    limb(image, elbow, wrist, shade(look.shirt, 0.97), 19 * s, 13 * s)


def hand(image: Image, at: Floats, scale: float, look: Look, towards: Floats | None) -> None:
    """A fist, or a hand whose finger points towards a point."""
    s = scale
    if towards is not None:
        along = (towards - at) / max(float(np.linalg.norm(towards - at)), 1e-6)
        limb(image, at + along * 6 * s, at + along * 35 * s, look.skin, 6.4 * s, 4.4 * s)
    disc(image, at, (16 * s, 14 * s), look.skin)
    for k in (-1, 0, 1):
        curve(image, (at[0] + 5 * k * s, at[1] + 4 * s), (2.4 * s, 6 * s), shade(look.skin, 0.85), 1, (200, 340))


# -- things ------------------------------------------------------------------------------------------------------------


def cup(image: Image, at: Floats) -> None:
    x, y = at
    curve(image, (x + 17, y), (10, 11), (44, 48, 186), 5, (-90, 90))
    shape(image, [(x - 18, y - 20), (x + 18, y - 20), (x + 14, y + 20), (x - 14, y + 20)], (52, 56, 206))
    disc(image, (x, y + 20), (14, 4), (52, 56, 206))
    disc(image, (x, y - 20), (18, 5.5), (40, 42, 150))
    shape(image, [(x - 13, y - 13), (x - 8, y - 13), (x - 7, y + 15), (x - 10, y + 15)], (110, 116, 236))


def book(image: Image, at: Floats) -> None:
    x, y = at
    shape(image, [(x - 26, y - 30), (x + 24, y - 34), (x + 28, y + 26), (x - 22, y + 30)], (150, 92, 40))
    shape(image, [(x + 24, y - 34), (x + 30, y - 31), (x + 34, y + 28), (x + 28, y + 26)], (236, 240, 244))
    shape(image, [(x - 15, y - 18), (x + 14, y - 20), (x + 15, y - 8), (x - 14, y - 6)], (220, 190, 130))
    shape(image, [(x - 26, y - 30), (x - 20, y - 30.5), (x - 16, y + 29.5), (x - 22, y + 30)], (120, 70, 28))


def box(image: Image, at: Floats) -> None:
    x, y = at
    shape(image, [(x - 26, y - 14), (x + 22, y - 14), (x + 22, y + 24), (x - 26, y + 24)], (92, 158, 78))
    shape(image, [(x - 26, y - 14), (x - 14, y - 25), (x + 34, y - 25), (x + 22, y - 14)], (128, 192, 112))
    shape(image, [(x + 22, y - 14), (x + 34, y - 25), (x + 34, y + 12), (x + 22, y + 24)], (66, 122, 56))
    shape(image, [(x - 6, y - 14), (x + 2, y - 14), (x + 2, y + 24), (x - 6, y + 24)], (70, 84, 214))
    shape(image, [(x - 6, y - 14), (x + 6, y - 25), (x + 14, y - 25), (x + 2, y - 14)], (96, 110, 232))


THINGS = (cup, book, box)  # in the order of `table_talk.PROPS`


# -- the room ----------------------------------------------------------------------------------------------------------


def room(width: int, height: int) -> Image:
    """The wall, the window, the door, a picture and a plant."""
    shadeof = np.linspace(1.0, 0.86, height)[:, None, None]
    image = np.ascontiguousarray((np.full((height, width, 3), (206, 224, 232)) * shadeof).astype(np.uint8))
    shape(image, [(0, 470), (width, 470), (width, height), (0, height)], (150, 170, 186))
    shape(image, [(0, 462), (width, 462), (width, 472), (0, 472)], (226, 234, 240))
    _window(image, 430, 22, 200, 132)
    shape(image, [(1120, 60), (1262, 60), (1262, 470), (1120, 470)], (70, 104, 146))
    shape(image, [(1130, 70), (1252, 70), (1252, 470), (1130, 470)], (96, 136, 184))
    for top in (88, 270):
        shape(image, [(1146, top), (1236, top), (1236, top + 150), (1146, top + 150)], (84, 122, 168))
    disc(image, (1142, 268), (6, 6), (60, 190, 220))
    shape(image, [(206, 56), (356, 56), (356, 160), (206, 160)], (58, 84, 110))
    shape(image, [(214, 64), (348, 64), (348, 152), (214, 152)], (232, 222, 200))
    shape(image, [(214, 152), (214, 124), (252, 96), (288, 128), (316, 108), (348, 136), (348, 152)], (120, 160, 120))
    disc(image, (322, 86), (11, 11), (90, 190, 245))
    for k, angle in enumerate((-60, -30, 0, 28, 58)):
        turn = np.deg2rad(angle)
        disc(image, (58 + 46 * np.sin(turn), 372 - 52 * np.cos(turn)), (15, 44), (72 + 8 * k, 132 + 6 * k, 66), angle)
    shape(image, [(30, 402), (88, 402), (80, 470), (38, 470)], (80, 112, 190))
    return image


def _window(image: Image, x: float, y: float, w: float, h: float) -> None:
    shape(
        image, [(x - 10, y - 10), (x + w + 10, y - 10), (x + w + 10, y + h + 10), (x - 10, y + h + 10)], (244, 248, 250)
    )
    left, top, right, bottom = round(x), round(y), round(x + w), round(y + h)
    sky = np.linspace(0, 1, bottom - top)[:, None, None]
    image[top:bottom, left:right] = ((1 - sky) * (232, 190, 140) + sky * (246, 226, 196)).astype(np.uint8)
    pane = image[top:bottom, left:right]
    disc(pane, (w * 0.2, h * 0.3), (30, 12), (250, 248, 246))
    disc(pane, (w * 0.32, h * 0.36), (26, 10), (250, 248, 246))
    disc(pane, (w * 0.25, h + 30), (90, 70), (120, 176, 120))
    disc(pane, (w * 0.8, h + 34), (100, 66), (104, 160, 104))
    shape(
        image, [(x + w / 2 - 4, y), (x + w / 2 + 4, y), (x + w / 2 + 4, y + h), (x + w / 2 - 4, y + h)], (244, 248, 250)
    )


def table(image: Image) -> None:
    """The table top in front of everybody."""
    height, width = image.shape[:2]
    edge = np.stack([np.linspace(-20, width + 20, 40), 506 + 62 * (np.linspace(-1, 1, 40)) ** 2], axis=1)
    shape(image, [*edge.tolist(), (width + 20, height), (-20, height)], (108, 150, 190))
    shape(image, [*(edge + (0, 8)).tolist(), (width + 20, height), (-20, height)], (122, 166, 206))
    for k, share in enumerate((0.2, 0.42, 0.63, 0.84)):
        y = 560 + share * 150
        curve(image, (width / 2, y + 340), (900 + 60 * k, 340), (114, 157, 197), 2, (200, 340))
