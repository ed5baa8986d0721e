"""Where in the picture: the words left, right and middle of a phrase, held against boxes. As the viewer sees it.

A thing is on the left when its middle lies in the left third; when nothing does, the leftmost thing is, if it lies in
the left half. The middle is the middle third. "to the left of Person 2" is no place in the picture: it stays unchecked.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

PLACES = {
    "left": "left", "leftmost": "left", "right": "right", "rightmost": "right", "middle": "middle", "center": "middle",
    "centre": "middle", "central": "middle",
}  # fmt: skip
_PICTURE = r"(?:frame|picture|image|screen|video|scene|shot|view)"
_RELATIVE = re.compile(rf"\b(?:left|right|middle|cent(?:er|re))\s+of\s+(?!(?:the\s+)?{_PICTURE}\b)")


def places_in(phrase: str) -> tuple[str, ...]:
    """The words of a phrase that name a place in the picture; () where they are relative to something."""
    small = phrase.lower()
    if _RELATIVE.search(small):
        return ()
    return tuple(dict.fromkeys(word for word in re.findall(r"[a-z]+", small) if word in PLACES))


def there(words: tuple[str, ...], x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of things with these middles (0 to 1 from the left) are where all the words say."""
    kept = np.ones(len(x), bool)
    for place in {PLACES[word] for word in words}:
        if place == "middle":
            kept &= (x >= 1 / 3) & (x <= 2 / 3)
        else:
            out = x if place == "left" else 1 - x
            third = out < 1 / 3
            kept &= third if third.any() else (out == out.min(initial=1.0)) & (out < 0.5)
    return kept
