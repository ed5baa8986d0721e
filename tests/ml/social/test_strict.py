"""The strict detectors against small cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, SHIFT
from ml.social.events import detect
from ml.social.scene import CAMERA, OFF, PERSON, SCENE, UNUSABLE
from tests.ml.social.scenes import Figure, Look, World, of_type

LEFT, RIGHT = (0.2, 0.5), (0.8, 0.5)
AWAY, BELOW = (0.5, 0.95), (0.5, 0.1)


def pair(a: list[tuple[float, Look]], b: list[tuple[float, Look]], seconds: float = 6.0, **more: object) -> World:
    """Two persons, Ann on the left and Bob on the right."""
    return World({"Ann": Figure(a, LEFT), "Bob": Figure(b, RIGHT)}, seconds, **more)  # type: ignore[arg-type]


# --- mutual gaze


def test_mutual_gaze_lasts_while_each_looks_at_the_other() -> None:
    world = pair([(0, AWAY), (1, "Bob"), (4, AWAY)], [(0, BELOW), (2, "Ann")])
    (event,) = of_type(detect(world.sample(2)), MUTUAL)
    # Samples at 0, 0.5, ...: both look at each other at 2.0 ... 3.5; at 4.0 (frame 120) no more.
    assert (event.start, event.end, event.start_s, event.end_s) == (60, 120, 2.0, 4.0)
    assert event.roles == ((0, "member"), (1, "member"))
    assert event.details["num_samples"] == 4 and event.confidence == 1.0
    # It began after the sample at 1.5 s (frame 45), and ended after the one at 3.5 s (frame 105).
    assert (event.details["onset_after"], event.details["last_sample"], event.details["offset_before"]) == (
        45,
        105,
        120,
    )


def test_mutual_gaze_needs_a_second() -> None:
    # From 2.0 to 3.0: samples 2.0 and 2.5 speak for exactly 1 s. From 2.0 to 2.5: one sample, half a second.
    assert of_type(detect(pair([(0, AWAY), (2, "Bob"), (3, AWAY)], [(0, "Ann")]).sample(2)), MUTUAL)
    assert not of_type(detect(pair([(0, AWAY), (2, "Bob"), (2.5, AWAY)], [(0, "Ann")]).sample(2)), MUTUAL)


def test_mutual_gaze_bridges_one_lost_sample_but_not_two() -> None:
    def with_gap(end: float) -> list[tuple[int, int]]:
        world = pair([(0, "Bob"), (2, None), (end, "Bob")], [(0, "Ann")])
        return [(event.start, event.end) for event in of_type(detect(world.sample(2)), MUTUAL)]

    # Lost at 2.0 only: the pause is from 2.0 (where 1.5 stops speaking) to 2.5 = 0.5 s <= 0.6 s.
    assert with_gap(2.5) == [(0, 180)]
    # Lost at 2.0 and 2.5: 1.0 s.
    assert with_gap(3.0) == [(0, 60), (90, 180)]


@pytest.mark.parametrize("kind", [CAMERA, OFF, UNUSABLE])
def test_camera_off_and_unusable_never_count(kind: int) -> None:
    scene = pair([(0, "Bob")], [(0, "Ann")]).sample(2)
    assert of_type(detect(scene), MUTUAL)
    scene.kind[:, 0] = kind
    assert detect(scene) == []


def test_a_stated_target_beats_the_point() -> None:
    scene = pair([(0, "Bob")], [(0, "Ann")]).sample(2)
    scene.kind[:, 0] = SCENE  # the perception (or a human) says: not at a person
    assert not of_type(detect(scene), MUTUAL)
    scene.kind[:, 0], scene.target[:, 0] = PERSON, 1
    scene.gaze[:, 0] = 0.5  # nowhere near Bob's face
    assert of_type(detect(scene), MUTUAL)


def test_a_point_beside_the_face_counts_within_the_margin() -> None:
    def at(x: float) -> bool:
        return bool(of_type(detect(pair([(0, (x, 0.5))], [(0, "Ann")]).sample(2)), MUTUAL))

    # Bob's box reaches from 0.77 to 0.83, the margin is 0.02.
    assert at(0.751) and at(0.849) and not at(0.749) and not at(0.851)


def test_of_two_boxes_the_nearer_centre_is_looked_at() -> None:
    # Bob's box reaches from 0.77 to 0.83, Cid's from 0.81 to 0.87; the point 0.825 lies in both, nearer to Cid (0.84).
    world = pair([(0, (0.825, 0.5))], [(0, "Ann")])
    world.figures["Cid"] = Figure([(0, "Ann")], (0.84, 0.5))
    (event,) = of_type(detect(world.sample(2)), MUTUAL)
    assert event.persons == (0, 2)


# --- joint attention


def test_joint_attention_needs_every_pair_within_a_tenth() -> None:
    def together(x: float) -> bool:
        world = pair([(0, (0.4, 0.9))], [(0, (x, 0.9))])
        return bool(of_type(detect(world.sample(2)), JOINT))

    assert together(0.495) and not together(0.505)


def test_distances_are_the_same_in_both_directions() -> None:
    def together(aspect: float, x: float, y: float) -> bool:
        world = pair([(0, (0.4, 0.8))], [(0, (0.4 + x, 0.8 + y))], aspect=aspect)
        return bool(of_type(detect(world.sample(2)), JOINT))

    # Twice as wide as high: 0.18 of the height is 0.09 of the width; twice as high as wide: the other way round.
    assert (
        together(2.0, 0.09, 0) and together(2.0, 0, 0.18) and not together(2.0, 0.11, 0) and not together(2.0, 0, 0.22)
    )
    assert (
        together(0.5, 0.18, 0) and together(0.5, 0, 0.09) and not together(0.5, 0.22, 0) and not together(0.5, 0, 0.11)
    )


def test_joint_attention_has_the_whole_group_and_its_numbers() -> None:
    world = pair([(0, LEFT), (1, (0.40, 0.9))], [(0, RIGHT), (1, (0.46, 0.9))])
    world.figures["Cid"] = Figure([(0, BELOW), (1, (0.43, 0.9))], (0.5, 0.5))
    (group,) = of_type(detect(world.sample(2)), JOINT)
    assert group.persons == (0, 1, 2)
    assert (group.start, group.end) == (30, 180)
    # Distances 0.06, 0.03, 0.03: mean 0.04, so the confidence is 1 - 0.5 x 0.04 / 0.1 = 0.8; centre x 0.43.
    assert group.details["mean_distance"] == pytest.approx(0.04)
    assert group.details["max_distance"] == pytest.approx(0.06)
    assert group.confidence == pytest.approx(0.8)
    assert group.details["attention_center"] == pytest.approx([0.43, 0.9])
    assert group.details["num_samples"] == 10


def test_a_chain_of_near_points_is_no_group() -> None:
    # 0.40, 0.48, 0.56: neighbours 0.08 apart, the ends 0.16.
    world = pair([(0, (0.40, 0.9))], [(0, (0.48, 0.9))])
    world.figures["Cid"] = Figure([(0, (0.56, 0.9))], (0.5, 0.5))
    assert [event.persons for event in of_type(detect(world.sample(2)), JOINT)] == [(0, 1), (1, 2)]


def test_looking_at_one_person_is_joint_and_at_two_is_not() -> None:
    world = pair([(0, "Cid")], [(0, "Cid")], stated=True)
    world.figures["Cid"] = Figure([(0, AWAY)], (0.5, 0.3))
    world.figures["Dee"] = Figure([(0, BELOW)], (0.56, 0.3))
    (event,) = of_type(detect(world.sample(2)), JOINT)
    assert event.persons == (0, 1) and event.details["target_person"] == 2
    world.figures["Bob"].looks = [(0, "Dee")]  # 0.06 away, but somebody else
    assert not of_type(detect(world.sample(2)), JOINT)


def test_mutual_gaze_of_close_faces_is_not_joint() -> None:
    world = pair([(0, "Bob")], [(0, "Ann")])
    world.figures["Ann"].face, world.figures["Bob"].face = (0.46, 0.5), (0.54, 0.5)
    assert [event.type for event in detect(world.sample(2))] == [MUTUAL]


def test_who_joins_later_makes_a_second_event() -> None:
    world = pair([(0, AWAY)], [(0, AWAY)], 10.0)
    world.figures["Cid"] = Figure([(0, BELOW), (3, AWAY), (6, BELOW)], (0.5, 0.5))
    events = of_type(detect(world.sample(2)), JOINT)
    assert [(event.start, event.end, event.persons) for event in events] == [(0, 300, (0, 1)), (90, 180, (0, 1, 2))]


def test_a_part_of_a_group_is_not_repeated() -> None:
    # Cid joins half a second later than Ann and Bob: within the slack of 1 s their pair is part of the group's event.
    world = pair([(0, BELOW), (2, AWAY)], [(0, LEFT), (2, AWAY)])
    world.figures["Cid"] = Figure([(0, RIGHT), (2.5, AWAY)], (0.5, 0.5))
    events = of_type(detect(world.sample(2)), JOINT)
    assert [(event.start, event.end, event.persons) for event in events] == [(75, 180, (0, 1, 2))]


def test_turning_together_to_something_else_is_another_event() -> None:
    world = pair([(0, AWAY), (3, BELOW)], [(0, AWAY), (3, BELOW)])
    events = of_type(detect(world.sample(5)), JOINT)
    assert [(event.start, event.end) for event in events] == [(0, 90), (90, 180)]


# --- sudden shifts


def test_a_jump_between_two_samples_is_a_shift() -> None:
    world = World({"Ann": Figure([(0, (0.2, 0.5)), (2, (0.6, 0.5))])}, 5)
    (event,) = detect(world.sample(2))
    # The sample at 2.0 is 0.4 from where the gaze was at 1.5; at 2.5 it was there already at 2.0.
    assert (event.type, event.start, event.end, event.persons) == (SHIFT, 60, 75, (0,))
    assert event.details["max_displacement"] == pytest.approx(0.4)
    assert event.details["max_velocity"] == pytest.approx(0.8)
    assert event.confidence == pytest.approx(0.8)  # 0.4 / (2 x 0.25)


def test_the_window_is_half_a_second_at_every_rate() -> None:
    world = World({"Ann": Figure([(0, (0.2, 0.5)), (2, (0.6, 0.5))])}, 5)
    # At 10 Hz the samples 2.0 ... 2.4 are less than 0.5 s after the jump: five samples, 15 frames.
    (event,) = detect(world.sample(10))
    assert (event.start, event.end, event.details["num_samples"]) == (60, 75, 5)


def test_a_small_jump_and_a_slow_drift_are_no_shift() -> None:
    assert not of_type(detect(World({"Ann": Figure([(0, (0.2, 0.5)), (2, (0.44, 0.5))])}, 5).sample(2)), SHIFT)
    # 0.4 per second is 0.2 in half a second.
    drift: list[tuple[float, Look]] = [(at / 10, (0.1 + 0.04 * at, 0.5)) for at in range(20)]
    assert not of_type(detect(World({"Ann": Figure(drift)}, 2).sample(10)), SHIFT)


def test_following_something_fast_for_long_is_no_shift() -> None:
    # 0.6 per second is 0.3 in half a second. For 1 s that is a slow shift (seen for 1 s + the window), for 3 s pursuit.
    def moving(seconds: float) -> World:
        steps: list[tuple[float, Look]] = [(at / 10, (0.1 + 0.06 * at, 0.5)) for at in range(round(seconds * 10) + 1)]
        return World({"Ann": Figure(steps)}, 5)

    assert of_type(detect(moving(1.0).sample(10)), SHIFT)
    assert not of_type(detect(moving(3.0).sample(10)), SHIFT)


def test_a_camera_pan_is_no_shift() -> None:
    def pan(second: float) -> tuple[float, float]:
        return (0.2 + 0.3 * (second >= 2), 0.5)

    looks: list[tuple[float, Look]] = [
        (0, (0.3, 0.5)),
        (2, (0.6, 0.5)),
    ]  # the picture moves by 0.3, face and gaze with it
    assert not of_type(detect(World({"Ann": Figure(looks, pan)}, 5).sample(2)), SHIFT)
    assert of_type(detect(World({"Ann": Figure(looks, (0.2, 0.5))}, 5).sample(2)), SHIFT)


def test_a_shift_over_an_unmeasured_time_is_not_called_sudden() -> None:
    looks: list[tuple[float, Look]] = [(0, (0.2, 0.5)), (2, None), (3.5, (0.7, 0.5))]
    assert not of_type(detect(World({"Ann": Figure(looks)}, 6).sample(2)), SHIFT)


# --- following


def follow(
    lag: float, *, place: tuple[float, float] = AWAY, second: tuple[float, float] | None = None, **more: object
) -> World:
    """Ann turns to a place at 3 s, Bob to the same (or a second) one later."""
    bob: list[tuple[float, Look]] = [(0, (0.9, 0.1)), (3 + lag, second or place)]
    return pair([(0, (0.1, 0.1)), (3, place)], bob, 8.0, **more)


@pytest.mark.parametrize(
    ("lag", "found"), [(0.0, False), (0.5, False), (1.0, True), (1.5, True), (2.0, True), (2.5, False)]
)
def test_following_has_a_lag_of_one_to_two_seconds(lag: float, found: bool) -> None:
    events = of_type(detect(follow(lag).sample(2)), FOLLOWING)
    assert bool(events) is found
    if found:
        (event,) = events
        assert event.roles == ((0, "leader"), (1, "follower"))
        assert event.details["lag_seconds"] == lag
        # From Ann's arrival at 3.0 s (frame 90) to Bob's, whose frame is the last one.
        assert (event.start, event.end, event.end_s) == (90, 90 + round(lag * 30) + 1, 3 + lag)


def test_following_is_tested_both_ways() -> None:
    world = follow(1.0)
    world.figures["Ann"], world.figures["Bob"] = world.figures["Bob"], world.figures["Ann"]
    (event,) = of_type(detect(world.sample(2)), FOLLOWING)
    assert event.roles == ((1, "leader"), (0, "follower"))


def test_two_who_stare_at_one_spot_follow_nobody() -> None:
    assert not of_type(detect(pair([(0, AWAY)], [(0, AWAY)], 8.0).sample(2)), FOLLOWING)


def test_a_follower_who_was_there_before_follows_nobody() -> None:
    # Bob looks there from the start, glances away for half a second, and is back 1 s after Ann arrived.
    bob: list[tuple[float, Look]] = [(0, AWAY), (3.5, (0.9, 0.1)), (4, AWAY)]
    assert not of_type(detect(pair([(0, (0.1, 0.1)), (3, AWAY)], bob, 8.0).sample(2)), FOLLOWING)


def test_the_leader_must_arrive() -> None:
    # Ann has been there all the time: Bob turns to what she looks at, but she led nobody to it.
    assert not of_type(detect(pair([(0, AWAY)], [(0, (0.9, 0.1)), (3, AWAY)], 8.0).sample(2)), FOLLOWING)


def test_following_needs_the_same_place() -> None:
    assert of_type(detect(follow(1.0, second=(0.54, 0.95)).sample(2)), FOLLOWING)
    assert not of_type(detect(follow(1.0, second=(0.56, 0.95)).sample(2)), FOLLOWING)


def test_following_needs_the_follower_to_stay() -> None:
    world = follow(1.0)
    world.figures["Bob"].looks = [(0, (0.9, 0.1)), (4, AWAY), (4.2, BELOW)]  # passes through for 0.2 s
    assert not of_type(detect(world.sample(10)), FOLLOWING)


def test_following_to_one_face_needs_no_near_points() -> None:
    def walking(second: float) -> tuple[float, float]:
        return (0.4 + 0.1 * second, 0.2)

    world = pair([(0, (0.1, 0.9)), (3, "Cid")], [(0, (0.9, 0.9)), (4, "Cid")], 5.5, stated=True)
    world.figures["Cid"] = Figure([(0, CAMERA)], walking)
    # Between 3 and 4 s Cid walks on by 0.1, more than 0.05; at 0.1 per second the looks still settle on one person.
    (event,) = of_type(detect(world.sample(2)), FOLLOWING)
    assert event.details["target_person"] == 2 and event.details["gaze_distance"] == 0.0


def test_looking_at_the_leader_is_no_following() -> None:
    # Ann looks at a spot on Bob; he cannot follow her to himself, even if his point lies close to his own face.
    world = pair([(0, (0.1, 0.1)), (3, "Bob")], [(0, (0.9, 0.1)), (4, (0.8, 0.52))], 8.0)
    assert not of_type(detect(world.sample(2)), FOLLOWING)


# --- capture


def crowd(places: list[tuple[float, float]], moments: list[float], seconds: float = 8.0) -> World:
    """Persons in a row who look at different corners and then, at their moment, each at their place."""
    corners = [(0.05, 0.05), (0.95, 0.05), (0.05, 0.95), (0.95, 0.95), (0.05, 0.5)]
    figures = {
        f"P{at}": Figure([(0, corners[at]), (moment, place)], (0.2 + 0.15 * at, 0.35))
        for at, (place, moment) in enumerate(zip(places, moments, strict=True))
    }
    return World(figures, seconds)


def test_capture_is_three_who_turn_to_one_place_at_once() -> None:
    world = crowd([(0.5, 0.7), (0.53, 0.7), (0.5, 0.73)], [3, 3, 3])
    (event,) = of_type(detect(world.sample(2)), CAPTURE)
    assert event.persons == (0, 1, 2)
    # All arrive at 3.0 s; the event is padded by half a second.
    assert (event.start, event.end, event.end_s) == (90, 105, 3.5)
    # Distances 0.03, 0.03, 0.0424: mean 0.0341.
    mean = (0.03 + 0.03 + np.hypot(0.03, 0.03)) / 3
    assert event.details["mean_distance"] == pytest.approx(mean)
    assert event.confidence == pytest.approx(1 - 0.5 * mean / 0.1)


def test_capture_needs_three() -> None:
    assert not of_type(detect(crowd([(0.5, 0.7)] * 2, [3, 3]).sample(2)), CAPTURE)


def test_capture_needs_one_place() -> None:
    assert not of_type(detect(crowd([(0.3, 0.7), (0.5, 0.7), (0.7, 0.7)], [3, 3, 3]).sample(2)), CAPTURE)


def test_capture_leaves_out_who_did_not_turn() -> None:
    world = crowd([(0.5, 0.7)] * 5, [3, 3, 3, 0, 3])
    world.figures["P4"].looks = [(0, (0.5, 0.7)), (3, (0.05, 0.5))]  # turns away
    (event,) = of_type(detect(world.sample(2)), CAPTURE)
    assert event.persons == (0, 1, 2)


def test_capture_is_at_once_within_half_a_second() -> None:
    places = [(0.5, 0.7)] * 3
    (event,) = of_type(detect(crowd(places, [3, 3.2, 3.5]).sample(10)), CAPTURE)
    assert (event.start, event.end) == (90, 120)  # 3.0 s to the last arrival at 3.5 s and half a second more
    assert event.details["person_arrivals_s"] == pytest.approx({"0": 3.0, "1": 3.2, "2": 3.5})
    assert not of_type(detect(crowd(places, [3, 3.4, 3.8]).sample(10)), CAPTURE)


def test_a_group_turns_twice_in_two_events() -> None:
    world = crowd([(0.5, 0.7)] * 3, [3, 3, 3])
    for figure in world.figures.values():
        figure.looks = [*figure.looks, (5, (0.2, 0.8))]
    assert [event.start for event in of_type(detect(world.sample(2)), CAPTURE)] == [90, 150]


# --- cuts, corrections, thresholds


def test_no_event_crosses_a_cut() -> None:
    world = pair([(0, "Bob")], [(0, "Ann")], 8.0, cuts=(4.0,))
    events = of_type(detect(world.sample(2)), MUTUAL)
    assert [(event.start, event.end) for event in events] == [(0, 120), (120, 240)]
    # Within the second shot the onset is bounded by the cut.
    assert events[1].details["onset_after"] == 119


def test_a_turn_over_a_cut_is_no_shift_and_no_arrival() -> None:
    world = crowd([(0.5, 0.7)] * 3, [4, 4, 4])
    world.cuts = (4.0,)
    assert {event.type for event in detect(world.sample(2))} == {JOINT}


def test_the_last_sample_of_a_shot_speaks_up_to_the_cut() -> None:
    world = pair([(0, "Bob")], [(0, "Ann")], 8.0, cuts=(3.8,))
    first = of_type(detect(world.sample(2)), MUTUAL)[0]
    assert first.end == 114  # frame of 3.8 s, not the next sample's 120


def test_a_faceless_person_has_no_gaze() -> None:
    world = pair([(0, "Bob")], [(0, "Ann")])
    world.figures["Ann"].faceless = [(2.0, 4.0)]
    events = of_type(detect(world.sample(2)), MUTUAL)
    assert [(event.start, event.end) for event in events] == [(0, 60), (120, 180)]


def test_who_enters_late_is_timed_rightly() -> None:
    world = World(
        {"Ann": Figure([(0, (0.2, 0.9)), (6, (0.7, 0.9))], (0.2, 0.5), enters=3.0), "Bob": Figure([(0, BELOW)], RIGHT)},
        9.0,
    )
    (event,) = of_type(detect(world.sample(2)), SHIFT)
    assert (event.start_s, event.end_s) == (6.0, 6.5)


def test_unsure_gaze_does_not_count() -> None:
    scene = pair([(0, "Bob")], [(0, "Ann")]).sample(2)
    scene.confidence[:, 0] = 0.19
    assert detect(scene) == []
    scene.confidence[:, 0] = 0.4
    (event,) = detect(scene)
    assert event.confidence == pytest.approx(0.4)
    assert detect(scene, min_confidence=0.41) == []


def test_every_event_says_what_it_was_held_against() -> None:
    world = crowd([(0.5, 0.7)] * 3, [3, 3, 3])
    events = detect(world.sample(2))
    assert {event.type for event in events} == {SHIFT, JOINT, CAPTURE}
    for event in events:
        assert {"onset_after", "last_sample", "offset_before", "duration", "threshold"} <= event.details.keys()
        assert event.details["onset_after"] < event.start < event.end == event.details["offset_before"]
