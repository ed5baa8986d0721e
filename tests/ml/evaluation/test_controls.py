"""Controls take one thing away and leave the rest, the same by seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.evaluation import controls
from ml.evaluation.frames import Look
from ml.formats.errors import FormatError
from ml.text import persons
from tests.ml.evaluation.samples import GAZE, bench, item

NAMED = item(
    question="Does Person 0 look at Persons 1 and 2, or at P3?",
    options=("Persons 1 to 3", "person 2", "Person 0", "no one"),
    answer_text="person 2",
    events=(GAZE,),
    visible=frozenset({0, 1, 2, 3}),
    person_map=((0, "anna"), (2, "ben")),
    context=("P1: Look at Person 2.",),
)


def test_tags_change_everywhere_in_the_same_way() -> None:
    told = controls.applied(bench(NAMED), "permuted-tags", 4)
    found = told.items[0]
    new = dict(zip(persons.in_order(NAMED.question), persons.in_order(found.question), strict=True))
    assert sorted(new) == sorted(new.values()) == [0, 1, 2, 3] and all(a != b for a, b in new.items())
    assert found.options[0] == persons.listed([new[1], new[2], new[3]])  # a range no longer is one
    assert found.options[1:] == (f"person {new[2]}", f"Person {new[0]}", "no one")
    assert found.answer_text == f"person {new[2]}" and found.context == (f"P{new[1]}: Look at Person {new[2]}.",)
    assert found.events[0].persons == {new[0], new[2]} and found.events[0].span == GAZE.span
    assert found.visible == NAMED.visible and dict(found.person_map) == {new[0]: "anna", new[2]: "ben"}
    assert found.key == NAMED.key and found.video == NAMED.video and found.id == NAMED.id
    assert told.control == {"name": "permuted-tags", "seed": 4, "of": bench(NAMED).sha256(), "unchanged": 0}


@given(st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_tags_are_exchanged_back_by_the_inverse(seed: int) -> None:
    plain = replace(NAMED, options=("Persons 1 and 3", *NAMED.options[1:]))
    new = controls._cycle(plain, seed)
    back = {b: a for a, b in new.items()}
    assert controls.permuted(controls.permuted(plain, new), back) == plain
    assert controls.applied(bench(plain), "permuted-tags", seed) == controls.applied(
        bench(plain), "permuted-tags", seed
    )


def test_an_item_of_one_person_stays_and_is_counted() -> None:
    alone = item("alone", question="Who is Person 0?", options=("the host", "a guest"))
    told = controls.applied(bench(NAMED, alone), "permuted-tags", 0)
    assert told.items[1] == alone and told.control is not None and told.control["unchanged"] == 1
    with pytest.raises(FormatError, match="No item of hand-made names two persons"):
        controls.applied(bench(alone), "permuted-tags", 0)
    with pytest.raises(FormatError, match="'Player3'; only Person 2 and P2"):
        controls.applied(bench(item(question="Is Player3 there?")), "permuted-tags", 0)


@pytest.mark.parametrize("sizes", [[1, 1], [2, 2, 2], [5, 3, 2], [1] * 30])
def test_videos_are_exchanged_between_recordings(sizes: list[int]) -> None:
    items = [item(f"{r}.{k}", recording=f"r{r}", video=f"r{r}.{k}.mp4") for r, n in enumerate(sizes) for k in range(n)]
    for seed in range(5):
        told = controls.applied(bench(*items), "shuffled-video", seed).items
        assert all(
            new.video and not new.video.startswith(old.recording + ".") for old, new in zip(items, told, strict=True)
        )
        assert Counter(one.video for one in told) == Counter(one.video for one in items)
        assert [(one.question, one.key) for one in told] == [(one.question, one.key) for one in items]
    assert controls.applied(bench(*items), "shuffled-video", 1) == controls.applied(bench(*items), "shuffled-video", 1)


def test_a_recording_of_more_than_half_draws_from_the_others() -> None:
    items = [
        item(str(k), recording="big" if k < 7 else "small", video=f"{'big' if k < 7 else 'small'}{k}") for k in range(9)
    ]
    told = controls.applied(bench(*items), "shuffled-video", 0).items
    assert all(not str(new.video).startswith(old.recording) for old, new in zip(items, told, strict=True))
    with pytest.raises(FormatError, match="all items|All items of hand-made are of one recording"):
        controls.applied(bench(*items[:7]), "shuffled-video", 0)


def test_what_is_shown_under_a_control() -> None:
    plain = Look()
    assert controls.look("text-only", plain, 3) is None and controls.look(None, plain, 3) == plain
    assert controls.look("shuffled-frames", plain, 3) == Look(shuffled=3)
    with pytest.raises(FormatError, match="There is no control 'none'"):
        controls.applied(bench(NAMED), "none", 0)
