"""The burnt-in number must be readable from any size, and only from an upright picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from tests import clips


@pytest.mark.parametrize("number", [0, 1, 255, 256, 12345, 65535])
@pytest.mark.parametrize("size", [(320, 180), (180, 320), (67, 51), (1920, 1080)])
def test_it_reads_the_number_that_was_drawn(number: int, size: tuple[int, int]) -> None:
    assert clips.read_number(clips.draw_number(number, *size)) == number


@pytest.mark.parametrize("size", [(1280, 720), (160, 90), (333, 187), (66, 50)])
def test_it_reads_scaled_pictures(size: tuple[int, int]) -> None:
    picture = cv2.resize(clips.draw_number(40961, 320, 180), size, interpolation=cv2.INTER_AREA)
    assert clips.read_number(picture) == 40961


@pytest.mark.parametrize(
    "turn",
    [
        lambda p: np.rot90(p),
        lambda p: np.rot90(p, 2),
        lambda p: np.rot90(p, 3),
        lambda p: p[:, ::-1],
        lambda p: p[::-1],
        lambda p: np.swapaxes(p, 0, 1),
        lambda p: np.full_like(p, 128),
    ],
)
def test_it_refuses_turned_mirrored_and_grey_pictures(turn: Callable[[Any], Any]) -> None:
    for number in (0, 7, 0x1234, 0xFFFF):
        with pytest.raises(ValueError):
            clips.read_number(turn(clips.draw_number(number, 320, 180)))


def test_the_layout_is_as_documented() -> None:
    """Read the cells of 0b1000_0000_0000_0011 at the documented places of a 1000 x 1000 picture."""
    picture = clips.draw_number(0x8003, 1000, 1000)
    cells = [
        [int(picture[round(1000 * (0.2 + 0.2 * r)), round(1000 * (0.14 + 0.08 * c)), 0] > 127) for c in range(10)]
        for r in range(4)
    ]
    assert cells == [
        [1, 1, 0, 0, 0, 0, 0, 0, 0, 1],
        [1, 0, 0, 0, 0, 0, 0, 1, 1, 0],
        [0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
        [0, 1, 1, 1, 1, 1, 1, 0, 0, 0],
    ]
