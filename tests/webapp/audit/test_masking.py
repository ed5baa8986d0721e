"""Corrections of masks: steps, versions, undo, filling by shape, and whose they are."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from ml.formats import coco_rle
from tests.webapp.audit.made import FULL, SIZE, Scene, columns
from webapp.audit import masking, rating, reporting
from webapp.audit.masking import Wanted
from webapp.audit.models import MaskEdit
from webapp.lib import storage
from webapp.lib.errors import Refused, Stale

pytestmark = pytest.mark.django_db


def counts(*columns: int) -> str:
    """A mask of 4 x 6 whose given columns are inside."""
    mask = np.zeros(SIZE, bool)
    mask[:, list(columns)] = True
    return coco_rle.encode(mask).decode()


@pytest.fixture
def held(scene: Scene, people: SimpleNamespace) -> Scene:
    rating.next_response(audit=scene.audit, user=people.rita)
    return scene


def draw(scene: Scene, user: Any, frame: int, *columns: int, version: int | None = None, id: UUID | None = None) -> Any:
    wanted = Wanted(id or uuid4(), "phrase-1", 1, frame, "draw", version, SIZE, counts(*columns))
    return masking.edit(claim=scene.claims[0], user=user, id=uuid4(), kind="brush", edits=[wanted])


def now(user: Any) -> list[tuple[int, str, str]]:
    rows = MaskEdit.objects.filter(user=user).order_by("frame")
    return [(row.frame, row.action, row.counts) for row in rows]


def test_steps_are_undone_one_after_another(held: Scene, people: SimpleNamespace) -> None:
    rita = people.rita
    row = draw(held, rita, 125, 0).edits[0]
    draw(held, rita, 125, 0, 1, version=1)
    delete = [Wanted(row.id, "phrase-1", 1, 125, "delete", 2), Wanted(uuid4(), "phrase-1", 1, 130, "delete")]
    done = masking.edit(claim=held.claims[0], user=rita, id=uuid4(), kind="delete", edits=delete)
    assert now(rita) == [(125, "delete", ""), (130, "delete", "")] and done.steps == 3
    back = masking.undo(claim=held.claims[0], user=rita, named=done.step)
    assert now(rita) == [(125, "draw", counts(0, 1))] and len(back.gone) == 1 and back.steps == 2
    again = masking.undo(claim=held.claims[0], user=rita, named=done.step)  # the answer was lost: the same request
    assert again.steps == 2 and now(rita) == [(125, "draw", counts(0, 1))]
    assert (again.edits, again.gone) == (back.edits, back.gone)
    masking.undo(claim=held.claims[0], user=rita)
    assert now(rita) == [(125, "draw", counts(0))]
    masking.undo(claim=held.claims[0], user=rita)
    assert now(rita) == [] and masking.undo(claim=held.claims[0], user=rita).step is None


def test_a_step_sent_again_is_the_same_and_a_stale_one_says_what_is_there(held: Scene, people: SimpleNamespace) -> None:
    id, edit = uuid4(), Wanted(uuid4(), "phrase-1", 1, 125, "draw", None, SIZE, counts(2))
    for _ in range(2):
        done = masking.edit(claim=held.claims[0], user=people.rita, id=id, kind="brush", edits=[edit])
    assert done.steps == 1 and [row.version for row in done.edits] == [1]
    draw(held, people.rita, 125, 3, version=1)
    with pytest.raises(Stale) as conflict:
        draw(held, people.rita, 125, 4, version=1)
    assert conflict.value.theirs is not None
    assert (conflict.value.theirs["version"], conflict.value.theirs["counts"]) == (2, counts(3))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"query": "phrase-9"}, "no query 'phrase-9'"),
        ({"frame": 200}, "outside the clip"),
        ({"counts": FULL + "1"}, "cannot be read"),
        ({"counts": "0h"}, "cannot be read"),
        ({"size": [4]}, r"\[height, width\]"),
        ({"action": "explode"}, "no action"),
    ],
)
def test_a_mask_that_cannot_be_is_refused(
    held: Scene, people: SimpleNamespace, wrong: dict[str, Any], sentence: str
) -> None:
    fields: dict[str, Any] = {
        "id": uuid4(), "query": "phrase-1", "object": 1, "frame": 125, "action": "draw", "size": SIZE, "counts": FULL,
    }  # fmt: skip
    with pytest.raises(Refused, match=sentence):
        masking.edit(
            claim=held.claims[0], user=people.rita, id=uuid4(), kind="brush", edits=[Wanted(**(fields | wrong))]
        )
    assert not MaskEdit.objects.exists()


def test_frames_between_two_drawn_masks_are_filled_and_undone_as_one(held: Scene, people: SimpleNamespace) -> None:
    """A square that moves 16 pixels to the right in 4 frames: half way it has moved 8."""

    def square(left: int) -> str:
        mask = np.zeros((40, 60), bool)
        mask[10:30, left : left + 20] = True
        return coco_rle.encode(mask).decode()

    for frame, left in ((120, 5), (124, 21)):
        drawn = [Wanted(uuid4(), "phrase-1", 1, frame, "draw", None, (40, 60), square(left))]
        masking.edit(claim=held.claims[0], user=people.rita, id=uuid4(), kind="polygon", edits=drawn)
    propagate: dict[str, Any] = {"query": "phrase-1", "object": 1, "frames": [121, 122, 123, 124]}
    done = masking.propagate(claim=held.claims[0], user=people.rita, id=uuid4(), **propagate)
    rows = {row.frame: row for row in MaskEdit.objects.filter(user=people.rita)}
    assert sorted(rows) == [120, 121, 122, 123, 124] and rows[124].origin == "polygon"  # what was drawn stays
    assert {rows[frame].origin for frame in (121, 122, 123)} == {"shapes"}
    assert coco_rle.iou([rows[122].counts.encode()], [square(13).encode()], (40, 60))[0, 0] > 0.9
    masking.undo(claim=held.claims[0], user=people.rita, named=done.step)
    assert [frame for frame, *_ in now(people.rita)] == [120, 124]


def test_beside_what_was_drawn_the_shape_goes_along_with_the_machines_masks(
    scene: Scene, people: SimpleNamespace
) -> None:
    """The machine's square moves 3 pixels to the right a frame and is gone at frame 106; what a person drew lies 2
    pixels below it, and goes along."""

    def square(left: int, top: int) -> str:
        mask = np.zeros((40, 60), bool)
        mask[top : top + 20, left : left + 20] = True
        return coco_rle.encode(mask).decode()

    frames = list(range(100, 106))
    found = columns(frames) | {"size": [40, 60], "counts": [square(3 * n, 10) for n in range(6)]}
    claim = scene.claims[0]
    target = storage.local_path(f"{scene.response.folder}/c1.json")
    assert target is not None
    target.write_text(json.dumps(found))
    rating.next_response(audit=scene.audit, user=people.rita)
    drawn = [Wanted(uuid4(), "phrase-1", 1, 102, "draw", None, (40, 60), square(6, 12))]
    masking.edit(claim=claim, user=people.rita, id=uuid4(), kind="brush", edits=drawn)
    wanted: dict[str, Any] = {"query": "phrase-1", "object": 1, "frames": [100, 101, 103, 104, 105, 106, 107]}
    masking.propagate(claim=claim, user=people.rita, id=uuid4(), **wanted)
    assert [(row[0], row[2]) for row in now(people.rita)] == [(100 + n, square(3 * n, 12)) for n in range(6)]


def test_two_people_correct_the_same_mask_without_meeting(held: Scene, people: SimpleNamespace) -> None:
    rating.next_response(audit=held.audit, user=people.cora)
    draw(held, people.rita, 125, 0)
    draw(held, people.cora, 125, 0, 1, 2)
    assert now(people.rita) != now(people.cora)
    with pytest.raises(Refused, match="not yours to rate"):
        draw(held, people.alice, 125, 0)


def test_the_overlap_is_that_of_what_people_drew(held: Scene, people: SimpleNamespace) -> None:
    """The machine's mask is all 24 pixels: 8 of them drawn is an IoU of 1/3; one accepted is 1: 2/3 on average."""
    draw(held, people.rita, 125, 0, 1)
    wanted = Wanted(uuid4(), "phrase-1", 1, 130, "accept")
    masking.edit(claim=held.claims[0], user=people.rita, id=uuid4(), kind="accept", edits=[wanted])
    assert reporting.overlaps_of(held.audit) == {}  # of a place that nobody completed
    for claim in held.claims:
        rating.say(claim=claim, user=people.rita, id=uuid4(), version=None, verdict="mask_wrong")
    rating.complete(response=held.response, user=people.rita)
    assert reporting.overlaps_of(held.audit) == {held.claims[0].id: pytest.approx(2 / 3, abs=1e-4)}
