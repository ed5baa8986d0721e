"""Who is where on any frame, and what is drawn there: boxes, printed tags, a time stamp.

Coordinates are normalised to [0, 1] of the upright picture; boxes are x1, y1, x2, y2. Drawing is the same on every
machine with the same OpenCV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]  # h x w x 3, BGR
Box = NDArray[np.float64]  # 4
Corners = tuple[int, int, int, int]

COLUMNS = ["frame", "track", *(f"{part}_{side}" for part in ("body", "face") for side in ("x1", "y1", "x2", "y2"))]
REACH = 1.5  # looks of a run: how far one tells about the frames beside it

# BGR; light enough for black letters, and told apart by people who see red and green alike
COLOURS = ((255, 191, 95), (80, 200, 255), (150, 230, 140), (200, 160, 255), (240, 240, 110), (150, 190, 220),
           (120, 140, 255), (235, 235, 235))  # fmt: skip
FONT = cv2.FONT_HERSHEY_SIMPLEX
LETTERS = 0.035  # height of a tag's letters as a share of the picture's shorter side
LEAST_LETTERS = 9  # pixels


@dataclass(frozen=True)
class Seen:
    """Somebody on a frame. `faces`: the face boxes of the looks before and after it, none where neither saw one.

    `held`: only one look at the face is near, and it is of another frame.
    """

    person: str
    body: Box
    faces: tuple[Box, ...]
    held: bool = False


@dataclass(frozen=True, eq=False)
class Tracks:
    """Where people were found, on the frames that were looked at.

    frame int64[n]; person int64[n], position in `persons`; body, face float[n, 4], NaN where there is no face.
    seconds float64[N + 1] of the video's frames. cuts: first frames of the shots. reach_s: a look tells about frames
    so far from it, within its shot.
    """

    persons: Sequence[str]
    frame: NDArray[np.int64]
    person: NDArray[np.int64]
    body: NDArray[Any]
    face: NDArray[Any]
    seconds: NDArray[np.float64]
    cuts: Sequence[int] = (0,)
    reach_s: float = 0.75

    @classmethod
    def from_samples(
        cls,
        columns: Mapping[str, NDArray[Any]],
        tracklets: Sequence[tuple[int, int, int, str]],
        *,
        seconds: NDArray[np.float64],
        cuts: Sequence[int],
        reach_s: float,
    ) -> Tracks:
        """From columns of a run's samples.parquet (`COLUMNS`). `tracklets`: raw track, [start, end), person."""
        frame, track = columns["frame"].astype(np.int64), columns["track"]
        persons = sorted({person for *_, person in tracklets})
        person = np.full(len(frame), -1, np.int64)
        for number, start, end, name in tracklets:
            person[(track == number) & (frame >= start) & (frame < end)] = persons.index(name)
        kept = person >= 0
        body, face = (
            np.stack([columns[f"{part}_{side}"][kept] for side in ("x1", "y1", "x2", "y2")], axis=1)
            for part in ("body", "face")
        )
        return cls(persons, frame[kept], person[kept], body, face, seconds, cuts, reach_s)

    @cached_property
    def _rows(self) -> list[NDArray[np.int64]]:
        """For each person, the rows in order of frames."""
        order = np.lexsort((self.frame, self.person))
        edges = np.searchsorted(self.person[order], np.arange(len(self.persons) + 1))
        return [order[low:high] for low, high in zip(edges, edges[1:], strict=False)]

    @cached_property
    def _face_rows(self) -> list[NDArray[np.int64]]:
        """The same, only rows with a face."""
        there = np.isfinite(self.face).all(axis=1)
        return [rows[there[rows]] for rows in self._rows]

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        return np.unique([0, *self.cuts, len(self.seconds) - 1])

    def at(self, frame: int) -> list[Seen]:
        """Everybody on a frame: on a straight line between the looks before and after it, or where the one look that
        is near saw them."""
        shot = int(np.searchsorted(self._edges, frame, side="right"))
        low, high = self._edges[shot - 1], self._edges[shot]
        return [seen for k in range(len(self.persons)) if (seen := self._one(k, frame, low, high)) is not None]

    def _one(self, k: int, frame: int, low: int, high: int) -> Seen | None:
        near = self._near(self._rows[k], frame, low, high)
        if not near:
            return None
        looked = self._near(self._face_rows[k], frame, low, high)  # faces are looked for less often than bodies
        held = len(looked) == 1 and int(self.frame[looked[0]]) != frame
        faces = tuple(np.asarray(self.face[row], np.float64) for row in looked)
        return Seen(self.persons[k], self._between(near, frame), faces, held)

    def _near(self, rows: NDArray[np.int64], frame: int, low: int, high: int) -> list[int]:
        """The last of these rows at or before a frame and the first after it, in its shot and within reach."""
        frames = self.frame[rows]
        here = int(np.searchsorted(frames, frame, side="right"))
        return [
            int(rows[j])
            for j in (here - 1, here)
            if 0 <= j < len(rows)
            and low <= frames[j] < high
            and abs(self.seconds[frames[j]] - self.seconds[frame]) <= self.reach_s
        ]

    def _between(self, near: list[int], frame: int) -> Box:
        first, last = (np.asarray(self.body[j], np.float64) for j in (near[0], near[-1]))
        start, end = (self.seconds[self.frame[j]] for j in (near[0], near[-1]))
        share = 0.0 if end <= start else (self.seconds[frame] - start) / (end - start)
        return np.asarray(first + share * (last - first))


@dataclass
class Pen:
    """Draws tags and a stamp into pictures of one size. `taken`: where labels lie in the picture at hand."""

    width: int
    height: int
    taken: list[Corners] = field(default_factory=list)

    @cached_property
    def letters(self) -> int:
        """Height of the letters in pixels."""
        return max(LEAST_LETTERS, round(LETTERS * min(self.width, self.height)))

    @cached_property
    def scale(self) -> float:
        height = cv2.getTextSize("P0", FONT, 1.0, 1)[0][1]
        return self.letters / height

    @property
    def line(self) -> int:
        return max(1, round(self.letters / 10))

    def tags(
        self,
        picture: Picture,
        seen: Sequence[Seen],
        labels: Mapping[str, str],
        clear: Sequence[Corners] = (),
        boxes: bool = True,
    ) -> None:
        """Box and tag of everybody who has a label, by person id; in place. `clear`: where no tag may lie."""
        self.taken = list(clear)
        for one in sorted((s for s in seen if s.person in labels), key=lambda s: _natural(labels[s.person])):
            colour = colour_of(labels[one.person])
            x1, y1, x2, y2 = self._pixels(one.body)
            if boxes:
                cv2.rectangle(picture, (x1, y1), (x2, y2), colour, self.line, cv2.LINE_AA)
            top = one.faces[0] if one.faces else one.body
            above = self._pixels(np.minimum(top, 1.0))
            self._label(picture, labels[one.person], (above[0] + above[2]) // 2, min(above[1], y1), colour)

    def stamp(self, picture: Picture, text: str) -> None:
        """A line of text at the top left, white on black; in place. Draw it last."""
        width, height, pad = self._size(text)
        cv2.rectangle(picture, (0, 0), (width + 2 * pad, height + 2 * pad), (0, 0, 0), cv2.FILLED)
        self._write(picture, text, pad, pad + height, (255, 255, 255))

    def stamp_place(self, text: str) -> Corners:
        """Where a stamp lies: tags keep clear of it."""
        width, height, pad = self._size(text)
        return 0, 0, width + 2 * pad, height + 2 * pad

    def _label(self, picture: Picture, text: str, x: int, y: int, colour: tuple[int, int, int]) -> None:
        width, height, pad = self._size(text)
        wide, high = width + 2 * pad, height + 2 * pad
        left = min(max(0, x - wide // 2), max(0, self.width - wide))
        top = min(max(0, y - high), max(0, self.height - high))
        while any(_touch((left, top, left + wide, top + high), other) for other in self.taken):
            lower = top + high // 2 + 1
            if lower + high > self.height:
                break  # no room is left below; a covered tag is better than none
            top = lower
        self.taken.append((left, top, left + wide, top + high))
        cv2.rectangle(picture, (left, top), (left + wide, top + high), colour, cv2.FILLED)
        self._write(picture, text, left + pad, top + pad + height, (0, 0, 0))

    def _size(self, text: str) -> tuple[int, int, int]:
        """Width of a text, height of its letters, and the margin around it, in pixels."""
        (width, _), _ = cv2.getTextSize(text, FONT, self.scale, 2 * self.line)
        return width, self.letters, max(2, self.letters // 3)

    def _write(self, picture: Picture, text: str, x: int, y: int, colour: tuple[int, int, int]) -> None:
        cv2.putText(picture, text, (x, y), FONT, self.scale, colour, 2 * self.line, cv2.LINE_AA)

    def _pixels(self, box: Box) -> Corners:
        corner = [self.width - 1, self.height - 1]
        x1, y1, x2, y2 = (np.clip(box, 0, 1) * [*corner, *corner]).round().astype(int).tolist()
        return x1, y1, x2, y2


def colour_of(label: str) -> tuple[int, int, int]:
    """The colour of a tag, by the number in it: a person keeps it in every clip."""
    digits = "".join(c for c in label if c.isdecimal())
    return COLOURS[int(digits or 0) % len(COLOURS)]


def _natural(label: str) -> tuple[int, str]:
    digits = "".join(c for c in label if c.isdecimal())
    return int(digits or 0), label


def _touch(a: Corners, b: Corners) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
