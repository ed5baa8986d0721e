"""Shapes between drawn ones, held against discs whose place and size are known on every frame."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from ml.evidence.interpolate import between, nearest, spread
from ml.formats import coco_rle

SIZE = (120, 200)  # height, width


def disc(x: float, y: float, radius: float) -> bytes:
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    return coco_rle.encode((columns - x) ** 2 + (rows - y) ** 2 <= radius**2)


def overlap(one: bytes, other: bytes) -> float:
    return float(coco_rle.iou([one], [other], SIZE)[0, 0])


@pytest.mark.parametrize(
    ("first", "last", "least"),
    [
        ((40, 50, 20), (160, 70, 20), 0.97),  # moves by six radii: the two do not touch
        ((100, 60, 15), (100, 60, 44), 0.96),  # grows
        ((50, 40, 15), (140, 80, 35), 0.95),  # both
        ((60, 60, 20), (60, 60, 20), 0.99),  # stays
    ],
)
def test_discs_between_two_discs_are_where_they_must_be(
    first: tuple[float, float, float], last: tuple[float, float, float], least: float
) -> None:
    keys = {10: disc(*first), 50: disc(*last)}
    found = between(keys, range(10, 51), SIZE)
    assert list(found) == list(range(10, 51))
    for frame, counts in found.items():
        share = (frame - 10) / 40
        x, y, radius = (a + share * (b - a) for a, b in zip(first, last, strict=True))
        assert overlap(counts, disc(x, y, radius)) >= least, frame


def test_drawn_frames_stay_as_drawn_and_the_outermost_reach_on() -> None:
    keys = {10: disc(40, 50, 20), 20: disc(60, 50, 20), 30: disc(100, 50, 10)}
    found = between(keys, [0, 10, 20, 30, 40], SIZE)
    assert found == {0: keys[10], 10: keys[10], 20: keys[20], 30: keys[30], 40: keys[30]}
    assert between({7: keys[10]}, [3, 9], SIZE) == {3: keys[10], 9: keys[10]}


def test_two_lobes_stay_two_and_a_hole_stays_a_hole() -> None:
    left, right = (coco_rle.decode(disc(x, 60, 15), SIZE) for x in (40, 90))
    moved = [coco_rle.decode(disc(x, 60, 15), SIZE) for x in (80, 130)]
    found = between({0: coco_rle.encode(left | right), 10: coco_rle.encode(moved[0] | moved[1])}, [5], SIZE)
    expected = coco_rle.decode(disc(60, 60, 15), SIZE) | coco_rle.decode(disc(110, 60, 15), SIZE)
    assert overlap(found[5], coco_rle.encode(expected)) > 0.95
    ring = coco_rle.decode(disc(60, 60, 30), SIZE) & ~coco_rle.decode(disc(60, 60, 12), SIZE)
    kept = coco_rle.decode(between({0: coco_rle.encode(ring), 10: coco_rle.encode(ring)}, [5], SIZE)[5], SIZE)
    assert not kept[60, 60]


def test_nothing_is_blended_with_a_frame_on_which_it_is_not_there() -> None:
    there, gone = disc(60, 60, 20), coco_rle.encode(np.zeros(SIZE, bool))
    assert between({0: there, 10: gone}, range(11), SIZE) == dict.fromkeys(range(6), there)
    assert between({0: gone}, [0, 5], SIZE) == {}


def test_without_a_drawn_shape_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no drawn shape"):
        between({}, [1], SIZE)


def test_a_shape_at_the_border_does_not_come_in_from_beyond_it() -> None:
    """A disc half outside moves inwards: nothing is known of its other half, and nothing is made up."""
    found = between({0: disc(0, 60, 20), 10: disc(100, 60, 20)}, [5], SIZE)[5]
    columns = np.flatnonzero(coco_rle.decode(found, SIZE).any(axis=0))
    assert columns.min() > 20
    assert columns.max() < 90


def test_a_carried_shape_goes_along_with_the_machines_mask_until_it_no_longer_fits() -> None:
    """The machine's disc is too small; the drawn one is right. At frame 8 the thing turns into something else."""
    masks = {frame: disc(30 + 5 * frame, 60, 14) for frame in range(11)}
    masks |= {8: disc(70, 60, 50)}
    found = spread(3, disc(45, 60, 18), range(0, 15), SIZE, masks=masks)
    assert list(found) == [0, 1, 2, 4, 5, 6, 7]
    for frame, counts in found.items():
        assert overlap(counts, disc(30 + 5 * frame, 60, 18)) > 0.97
    assert list(spread(3, disc(45, 60, 18), range(0, 15), SIZE, masks={3: masks[3], 5: masks[5]})) == []
    stays = disc(45, 60, 18)
    assert spread(3, stays, [1, 2, 3, 4], SIZE) == {1: stays, 2: stays, 4: stays}


def test_distances_are_those_of_an_independent_method() -> None:
    """Against every pixel's distance to every other one."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        target = rng.random((17, 23)) < 0.06
        target[3, 4] = True
        spots = np.argwhere(target)
        every = np.argwhere(np.ones_like(target))
        expected = ((every[:, None] - spots[None]) ** 2).sum(-1).min(1).reshape(target.shape)
        assert (nearest(target) == expected).all()


def test_large_shapes_are_right_within_two_pixels_and_quick() -> None:
    size = (1080, 1920)
    rows, columns = np.mgrid[: size[0], : size[1]]

    def large(x: float, radius: float) -> NDArray[np.bool_]:
        return (columns - x) ** 2 + (rows - 500) ** 2 <= radius**2

    began = time.process_time()
    found = between({0: coco_rle.encode(large(500, 300)), 10: coco_rle.encode(large(1300, 450))}, [5], size)
    assert time.process_time() - began < 3
    middle = coco_rle.decode(found[5], size)
    assert not (middle & ~large(900, 377)).any()
    assert not (large(900, 373) & ~middle).any()


def test_a_shape_as_large_as_the_picture_stays_it() -> None:
    size = (1080, 1920)
    everything = coco_rle.encode(np.ones(size, bool))
    found = coco_rle.decode(between({0: everything, 2: everything}, [1], size)[1], size)
    assert found[10:-10, 10:-10].all()
