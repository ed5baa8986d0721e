from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ml.evidence.grounding import registry
from ml.evidence.grounding.linking import link, resized
from ml.evidence.grounding.protocol import Masks
from ml.media import masks as packed
from ml.media.index import FrameIndex
from ml.perception.gestures.protocol import People

SIZE = (40, 80)  # height, width
INDEX = FrameIndex(np.arange(201), Fraction(1, 20))


def rectangle(x1: float, y1: float, x2: float, y2: float) -> bytes:
    return packed.of_box((x1, y1, x2, y2), SIZE)


def rows(*found: tuple[int, bytes], person: list[int] | None = None, size: tuple[int, int] = SIZE) -> Masks:
    """Masks of one query: frame and counts of each."""
    counts = [c for _, c in found]
    n = len(found)
    return Masks(
        size, np.full(n, "phrase-1"), np.arange(n), np.array([f for f, _ in found]),
        np.array(person or [-1] * n), np.ones(n, np.float32), np.full(n, np.nan, np.float32),
        packed.boxes(counts, size), packed.area(counts, size), np.full(n, "mask"), counts,
    )  # fmt: skip


def people(*known: tuple[int, int, tuple[float, float, float, float]]) -> People:
    order = sorted(known)
    body = np.array([box for _, _, box in order], np.float32).reshape(-1, 4)
    frames, persons = (np.array([row[k] for row in order], np.int64) for k in (0, 1))
    return People(frames, persons, body, np.full_like(body, np.nan))


LEFT, RIGHT = (0.0, 0.0, 0.4, 1.0), (0.6, 0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("shape", "owner"),
    [
        pytest.param((0.05, 0.0, 0.35, 1.0), 4, id="a person fills their box"),
        pytest.param((0.65, 0.5, 0.75, 0.7), 9, id="a thing in the box"),
        pytest.param((0.3, 0.5, 0.7, 0.7), -1, id="half in nobody's"),
        pytest.param((0.35, 0.5, 0.42, 0.6), 4, id="most of it"),
        pytest.param((0.45, 0.5, 0.55, 0.6), -1, id="outside"),
    ],
)
def test_a_mask_belongs_to_the_person_it_overlaps_on_that_frame(shape: Any, owner: int) -> None:
    where = people((10, 4, LEFT), (10, 9, RIGHT), (100, 4, RIGHT))
    assert link(rows((10, rectangle(*shape))), where, INDEX).tolist() == [owner]


def test_boxes_are_taken_from_the_frame_itself_and_between_looks_from_both() -> None:
    where = people((10, 4, LEFT), (20, 4, RIGHT))
    found = link(
        rows((10, rectangle(*LEFT)), (15, rectangle(0.32, 0, 0.68, 1)), (20, rectangle(*LEFT)), (80, rectangle(*LEFT))),
        where,
        INDEX,
    )
    assert found.tolist() == [4, 4, -1, -1]  # at 15 it is half-way; at 20 gone from the left; at 80 unknown


def test_what_two_people_overlap_alike_is_nobodys() -> None:
    where = people((10, 1, (0.0, 0.0, 0.6, 1.0)), (10, 2, (0.4, 0.0, 1.0, 1.0)))
    assert link(rows((10, rectangle(0.45, 0.4, 0.55, 0.5))), where, INDEX).tolist() == [-1]
    in_front = people((10, 1, (0.3, 0.2, 0.5, 1.0)), (10, 2, (0.0, 0.0, 1.0, 1.0)))
    assert link(rows((10, rectangle(0.3, 0.2, 0.5, 1.0))), in_front, INDEX).tolist() == [1]


def test_masks_of_people_decide_where_all_have_one_in_any_size() -> None:
    where = people((10, 1, (0.0, 0.0, 0.6, 1.0)), (10, 2, (0.0, 0.0, 0.6, 1.0)))
    half = (SIZE[0] // 2, SIZE[1] // 2)
    shapes = [packed.of_box(box, half) for box in ((0.0, 0.0, 0.3, 1.0), (0.3, 0.0, 0.6, 1.0))]
    known = rows((10, shapes[0]), (10, shapes[1]), person=[1, 2], size=half)
    cup = rows((10, rectangle(0.4, 0.4, 0.5, 0.5)))
    assert link(cup, where, INDEX).tolist() == [-1]
    assert link(cup, where, INDEX, known).tolist() == [2]
    assert link(cup, None, INDEX, known).tolist() == [2]
    assert link(cup, where, INDEX, packed.picked(known, [0])).tolist() == [-1]  # boxes for both, not one of each


def test_without_people_nobody_owns_a_mask() -> None:
    assert link(rows((10, rectangle(*LEFT))), None, INDEX).tolist() == [-1]
    assert link(packed.empty(SIZE), people((10, 4, LEFT)), INDEX).shape == (0,)


def test_a_resized_mask_covers_the_same_part() -> None:
    box = (0.25, 0.5, 0.75, 1.0)
    assert resized(rectangle(*box), SIZE, (80, 160)) == packed.of_box(box, (80, 160))
    assert resized(rectangle(*box), SIZE, SIZE) == rectangle(*box)


def test_an_unknown_grounder_is_refused_with_the_known_names() -> None:
    with pytest.raises(ValueError, match="no grounder 'sam4'; known are embedded, sam3, sam3-official"):
        registry.load("sam4")
