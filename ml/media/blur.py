"""Faces made unrecognisable: every face is reduced to a few blocks, so that nothing can be taken back.

Where a face is on a frame nobody looked at is not known; the box that is blurred holds the faces of the looks before
and after, with a margin, a wider one where there is only one of them. Where neither look saw the face of somebody who
is there, the upper third of the body box is blurred instead, and counted: it is a guess. A face that perception did not
find at all stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from ml.media.tags import Box, Picture, Seen

MARGIN, HELD_MARGIN = 0.35, 0.7  # of the box's sides, on each side
HEAD = 1 / 3  # of the body box, from the top
BLOCKS = 5  # to a side of a blurred box


@dataclass
class Blurring:
    """Blurs the faces of one picture after the other. `guessed`: frames by person on which no face was known."""

    guessed: Counter[str] = field(default_factory=Counter)
    empty: int = 0  # frames on which nobody was found
    frames: int = 0

    def apply(self, picture: Picture, seen: Sequence[Seen]) -> None:
        """Blur everybody's face; in place."""
        self.frames += 1
        self.empty += not seen
        for one in seen:
            if not one.faces:
                self.guessed[one.person] += 1
            blur_box(picture, face_area(one))


def face_area(one: Seen) -> Box:
    """The part of the picture that hides this person's face, normalised; may reach beyond the picture."""
    if one.faces:
        faces = np.stack(one.faces)
        box = np.r_[faces[:, :2].min(0), faces[:, 2:].max(0)]
    else:
        x1, y1, x2, y2 = one.body
        box = np.array([x1, y1, x2, y1 + HEAD * (y2 - y1)])
    margin = (HELD_MARGIN if one.held else MARGIN) * (box[2:] - box[:2])
    return np.asarray(np.r_[box[:2] - margin, box[2:] + margin])


def blur_box(picture: Picture, box: Box) -> None:
    """Reduce a box to BLOCKS x BLOCKS mean colours, softly joined; in place."""
    height, width = picture.shape[:2]
    x1, y1 = np.floor(np.clip(box[:2], 0, 1) * [width, height]).astype(int).tolist()
    x2, y2 = np.ceil(np.clip(box[2:], 0, 1) * [width, height]).astype(int).tolist()
    if x2 <= x1 or y2 <= y1:
        return
    part = picture[y1:y2, x1:x2]
    blocks = cv2.resize(part, (min(BLOCKS, x2 - x1), min(BLOCKS, y2 - y1)), interpolation=cv2.INTER_AREA)
    picture[y1:y2, x1:x2] = cv2.resize(blocks, (x2 - x1, y2 - y1), interpolation=cv2.INTER_LINEAR)
