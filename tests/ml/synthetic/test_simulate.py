from __future__ import annotations

import numpy as np
import pytest

from ml.social.event import GESTURES, TYPES
from ml.synthetic import marks
from ml.synthetic.script import Stage
from ml.synthetic.simulate import simulate
from ml.synthetic.truth import Happening, Truth, happenings, runs

SEEDS = range(12)


def scene(seed: int) -> Truth:
    return simulate(
        seed, persons=3 + seed % 4, cuts=seed % 3, variable=seed % 2 == 1, come_and_go=seed % 4 == 0, seconds=50
    )


def stage(persons: int = 4, seconds: float = 10.0) -> Stage:
    return Stage(np.arange(round(seconds * 10) + 1) / 10, [f"p{k}" for k in range(persons)], range(persons))


def test_a_seed_gives_the_same_scene_for_ever() -> None:
    one, two = scene(5), scene(5)
    for name in ("seconds", "look", "follow", "capture", "shift", "hand", "reach", "visible"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert (one.ids, one.numbers, one.places) == (two.ids, two.numbers, two.places)
    assert not np.array_equal(one.look, scene(9).look)


def test_every_type_of_event_happens() -> None:
    found = {event.type for seed in SEEDS for event in happenings(scene(seed))}
    assert found == {*TYPES, *GESTURES}


@pytest.mark.parametrize("seed", SEEDS)
def test_an_event_is_a_maximal_run_of_what_the_arrays_say(seed: int) -> None:
    """Read frame by frame, without runs: which events hold on each frame."""
    truth = scene(seed)
    listed: list[set[tuple[str, tuple[tuple[int, str], ...]]]] = [set() for _ in range(truth.frames)]
    for event in happenings(truth):
        for frame in range(event.start, event.end):
            assert (event.type, event.roles) not in listed[frame]
            listed[frame].add((event.type, event.roles))
    for frame in range(truth.frames):
        assert listed[frame] == set(on_frame(truth, frame)), frame


def on_frame(truth: Truth, frame: int) -> list[tuple[str, tuple[tuple[int, str], ...]]]:
    found = []
    look = truth.look[frame].tolist()
    for code in set(look) - {-1}:
        group = [k for k, its in enumerate(look) if its == code]
        if len(group) > 1:
            found.append(("joint_attention", tuple((k, "member") for k in group)))
    for a, its in enumerate(look):
        if a < its < truth.persons and look[its] == a:
            found.append(("mutual_gaze", ((a, "member"), (its, "member"))))
        if truth.follow[frame, a] >= 0:
            found.append(("gaze_following", ((int(truth.follow[frame, a]), "leader"), (a, "follower"))))
        if truth.shift[frame, a]:
            found.append(("sudden_gaze_shift", ((a, "member"),)))
        if truth.hand[frame, a] >= 0:
            to = int(truth.reach[frame, a])
            target = ((to, "target"),) if 0 <= to < truth.persons else ()
            found.append((GESTURES[truth.hand[frame, a]], ((a, "initiator"), *target)))
    for number in set(truth.capture[frame].tolist()) - {-1}:
        group = np.flatnonzero(truth.capture[frame] == number).tolist()
        found.append(("attention_capture", tuple((k, "member") for k in group)))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_is_part_of_anything_while_out_of_the_picture_and_nothing_crosses_a_cut(seed: int) -> None:
    truth = scene(seed)
    for event in happenings(truth):
        assert truth.visible[event.start : event.end, sorted(event.columns)].all(), event
        assert not any(event.start < cut < event.end for cut in truth.cuts), event


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_arrives_first_and_the_follower_is_elsewhere_until_the_end_of_following(seed: int) -> None:
    truth = scene(seed)
    for event in happenings(truth):
        if event.type == "gaze_following":
            (leader, _), (follower, _) = event.roles
            place = truth.look[event.start, leader]
            assert (truth.look[event.start : event.end, leader] == place).all()
            assert (truth.look[event.start : event.end, follower] != place).all()
            assert truth.look[event.end, follower] == place


def test_a_verb_is_refused_while_somebody_is_busy_and_leaves_nothing_behind() -> None:
    play = stage()
    assert play.meet(0, 1, 10, 40)
    before = play.look.copy()
    assert not play.meet(1, 2, 20, 30)
    assert not play.attend([0, 2], play.add_place("object", "a cup"), 42, 60)  # within the gap of 0.4 s
    assert not play.stare(2, 1, 15, 30)  # would be joint attention with person 0
    assert np.array_equal(play.look, before)
    assert play.gesture("giving", 0, 1, 20, 40)  # the hand is another lane
    assert happenings(play.truth()) == [
        Happening("gaze", "mutual_gaze", 10, 40, ((0, "member"), (1, "member"))),
        Happening("gesture", "giving", 20, 40, ((0, "initiator"), (1, "target")), 1),
    ]


def test_runs_end_at_cuts_and_at_both_ends_of_the_scene() -> None:
    assert runs(np.array([1, 1, 0, 1, 1, 1], bool), (0, 4)) == [(0, 2), (3, 4), (4, 6)]
    assert runs(np.zeros(3, bool)) == []


def test_marks_leave_out_only_what_no_coverage_speaks_of() -> None:
    for seed in SEEDS:
        truth = scene(seed)
        coverage = marks.partial(truth, seed)
        known = marks.facts(truth, coverage=coverage, forget=1.0)
        expected = [event for event in happenings(truth) if any(each.speaks_of(event) for each in coverage)]
        assert [(e.type, e.start, e.end) for e in known.events] == [(e.type, e.start, e.end) for e in expected]
        assert len(known.coverage) == len(coverage)
        assert len(marks.facts(truth).events) == len(happenings(truth))


def test_looks_put_the_true_boundary_between_the_look_before_and_the_first_that_saw_it() -> None:
    truth = scene(1)
    by_id = {f"event-{k}": event for k, event in enumerate(happenings(truth))}
    seen = marks.facts(truth, step=10, looks=True).events
    assert len(seen) > len(by_id) * 0.9
    for event in seen:
        true = by_id[event.id]
        assert event.onset_after is not None and event.onset_after < true.start <= event.start
        assert event.end - 10 < true.end <= event.end


@pytest.mark.parametrize("seed", SEEDS)
def test_every_event_lasts_long_enough_to_be_seen_by_two_looks_a_second(seed: int) -> None:
    truth = scene(seed)
    for event in happenings(truth):
        assert truth.seconds[event.end] - truth.seconds[event.start] >= 0.5, event
