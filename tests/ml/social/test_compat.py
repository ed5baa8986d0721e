"""The released detectors: hand-worked cases, artefacts included, and a slow reference on random scenes."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, SHIFT
from ml.social.events import detect
from ml.social.presets import GraspCompat
from ml.social.scene import Scene
from tests.ml.social import slow_reference
from tests.ml.social.scenes import Figure, Look, World, of_type

LEFT, RIGHT = (0.2, 0.5), (0.8, 0.5)
AWAY, BELOW = (0.5, 0.95), (0.5, 0.05)


def compat(scene: Scene) -> list[Any]:
    return detect(scene, "grasp-compat")


def pair(a: list[tuple[float, Look]], b: list[tuple[float, Look]], seconds: float = 6.0) -> World:
    return World({"Ann": Figure(a, LEFT), "Bob": Figure(b, RIGHT)}, seconds)


# --- hand-worked cases


def test_mutual_gaze_runs_from_first_to_last_sample() -> None:
    world = pair([(0, AWAY), (1, "Bob"), (3, AWAY)], [(0, "Ann")])
    (event,) = of_type(compat(world.sample(2)), MUTUAL)
    # Samples 1.0 ... 2.5: duration 1.5 s, 4 samples: 0.5 + 0.1 x 4 = 0.9. The span takes in the last sample's frame.
    assert (event.start_s, event.end_s, event.start, event.end) == (1.0, 2.5, 30, 76)
    assert event.confidence == pytest.approx(0.9)
    assert (event.details["duration"], event.details["num_frames"]) == (1.5, 4)


def test_mutual_gaze_needs_three_samples_and_bridges_one() -> None:
    def runs(a: list[tuple[float, Look]]) -> list[tuple[float, float]]:
        return [(event.start_s, event.end_s) for event in of_type(compat(pair(a, [(0, "Ann")]).sample(2)), MUTUAL)]

    assert runs([(0, AWAY), (1, "Bob"), (2, AWAY)]) == []  # 1.0 and 1.5: half a second
    assert runs([(0, AWAY), (1, "Bob"), (2.5, AWAY)]) == [(1.0, 2.0)]
    # One sample elsewhere: neighbours 1.0 s apart < 1.5; two elsewhere: 1.5 s, not below the limit.
    assert runs([(0, "Bob"), (2, AWAY), (2.5, "Bob")]) == [(0.0, 5.5)]
    assert runs([(0, "Bob"), (2, AWAY), (3, "Bob")]) == [(0.0, 1.5), (3.0, 5.5)]


def test_joint_attention_lets_two_points_lie_a_third_of_the_frame_apart() -> None:
    def found(apart: float) -> list[Any]:
        return of_type(compat(pair([(0, (0.3, 0.9))], [(0, (0.3 + apart, 0.9))]).sample(2)), JOINT)

    # exp(-3 d) >= 0.6 for d <= 0.1703, half the distance of the two.
    assert found(0.34) and not found(0.342)
    (event,) = found(0.2)
    assert event.confidence == pytest.approx(math.exp(-0.3))
    assert event.details["attention_center"] == pytest.approx([0.4, 0.9])
    assert (event.start_s, event.end_s) == (0.0, 5.5)


def test_joint_members_are_those_near_the_centre_at_the_peak() -> None:
    world = pair([(0, (0.30, 0.9))], [(0, (0.32, 0.9))])
    world.figures["Cid"] = Figure([(0, (0.34, 0.9))], (0.4, 0.5))
    world.figures["Dee"] = Figure([(0, (0.64, 0.9))], (0.6, 0.5))
    (event,) = of_type(compat(world.sample(2)), JOINT)
    # Centre 0.40; distances 0.10, 0.08, 0.06, 0.24: median 0.09, and Dee is further than 0.20 away.
    assert event.persons == (0, 1, 2)
    assert event.details["max_convergence"] == pytest.approx(math.exp(-0.27))


def test_two_who_stare_follow_each_other_and_the_lower_number_leads() -> None:
    events = of_type(compat(pair([(0, AWAY)], [(0, AWAY)], 4.0).sample(2)), FOLLOWING)
    (event,) = events
    # Hits at 0.0 ... 2.5 (lag 1.0, the shortest of equals) are merged: 0.0 to 3.5.
    assert event.roles == ((0, "leader"), (1, "follower"))
    assert (event.start_s, event.end_s, event.confidence) == (0.0, 3.5, 1.0)
    assert event.details["lag_seconds"] == 1.0


def test_following_the_higher_number_is_never_tried() -> None:
    leads = pair([(0, LEFT), (3, AWAY)], [(0, AWAY), (2, BELOW)], 8.0)
    # Bob looks there before 2.0, Ann from 3.0: at 1.5 Bob, at 3.0 Ann. Only "Ann leads" is looked for.
    assert not of_type(compat(leads.sample(2)), FOLLOWING)
    swapped = replace(leads, ids={"Ann": 1, "Bob": 0})
    assert of_type(compat(swapped.sample(2)), FOLLOWING)


def test_following_means_three_thousandths_in_effect() -> None:
    def found(apart: float) -> list[Any]:
        return of_type(compat(pair([(0, AWAY)], [(0, (0.5 + apart, 0.95))]).sample(2)), FOLLOWING)

    assert found(0.0029) and not found(0.0031)


def test_a_one_sample_saccade_is_dropped_and_two_fast_samples_are_a_shift() -> None:
    def found(looks: list[tuple[float, Look]]) -> list[Any]:
        return of_type(compat(World({"Ann": Figure(looks)}, 5).sample(2)), SHIFT)

    assert found([(0, (0.1, 0.5)), (2, (0.9, 0.5))]) == []
    (event,) = found([(0, (0.1, 0.5)), (2, (0.5, 0.5)), (2.5, (0.95, 0.5))])
    # 0.40 / 0.5 = 0.8 and 0.45 / 0.5 = 0.9 per second; 0.9 / 1.4 = 0.643.
    assert (event.start_s, event.end_s) == (2.0, 2.5)
    assert event.confidence == pytest.approx(0.9 / 1.4)
    assert event.details["max_velocity"] == pytest.approx(0.9)


def test_a_camera_pan_counts_as_a_shift() -> None:
    def pan(second: float) -> tuple[float, float]:
        return (0.1 + 0.4 * (second >= 2) + 0.4 * (second >= 2.5), 0.5)

    looks: list[tuple[float, Look]] = [(0, (0.1, 0.5)), (2, (0.5, 0.5)), (2.5, (0.9, 0.5))]
    scene = World({"Ann": Figure(looks, pan)}, 5).sample(2)
    assert of_type(compat(scene), SHIFT) and not of_type(detect(scene), SHIFT)


def test_capture_has_no_place_and_no_length() -> None:
    corners = [(0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.5, 0.5)]
    figures = {
        f"P{at}": Figure([(0, (0.5, 0.5)), (2, corner)], (0.2 + 0.2 * at, 0.4)) for at, corner in enumerate(corners)
    }
    (event,) = of_type(compat(World(figures, 4).sample(2)), CAPTURE)
    # Three jump 0.5657 in half a second (1.131 per second) to three corners, the fourth stays: mean 0.849 > 0.4.
    assert (event.start_s, event.end_s, event.start, event.end) == (2.0, 2.0, 60, 61)
    assert event.persons == (0, 1, 2) and event.confidence == 1.0
    assert event.details["mean_velocity"] == pytest.approx(3 * math.hypot(0.4, 0.4) / 0.5 / 4)


def test_late_entry_slips_the_velocity() -> None:
    looks: list[tuple[float, Look]] = [(0, (0.1, 0.5)), (4, (0.5, 0.5)), (4.5, (0.95, 0.5))]
    world = World({"Ann": Figure(looks, (0.2, 0.5), enters=1.5), "Bob": Figure([(0, AWAY)], RIGHT)}, 6)
    (event,) = of_type(compat(world.sample(2)), SHIFT)
    # Ann is listed from 1.5 s, three samples late: entry 5 of her history (4.0 s) is read at sample 5, 2.5 s.
    assert (event.start_s, event.end_s) == (2.5, 3.0)
    (right,) = of_type(detect(world.sample(2), GraspCompat(velocity_by_history=False)), SHIFT)
    assert (right.start_s, right.end_s) == (4.0, 4.5)


def test_gaze_out_of_the_frame_is_a_gap_that_is_filled() -> None:
    scene = pair([(0, AWAY)], [(0, AWAY)]).sample(2)
    scene.inframe[4:6, 0] = 0.0
    (event,) = of_type(compat(scene), JOINT)
    # Two filled samples with confidence 1 - 0.1 x 2 = 0.8: their mean confidence with Bob's is 0.9; 10 others are 1.
    assert event.confidence == pytest.approx((10 + 2 * 0.9) / 12)


# --- the slow reference


def random_samples(seed: int) -> list[dict[str, Any]]:
    """A rough scene: jumping looks, faces that vanish and jump, gaze out of frame, late entries, uneven times."""
    rng = random.Random(seed)
    persons = rng.sample(range(20), rng.randint(1, 5))
    step = rng.choice([0.1, 0.2, 0.5, 0.5])
    face = {person: (rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9)) for person in persons}
    enters = {person: rng.choice([0, 0, rng.randint(1, 15)]) for person in persons}
    leaves = {person: rng.choice([99, 99, rng.randint(20, 60)]) for person in persons}
    spots = [(rng.random(), rng.random()) for _ in range(2)]
    look: dict[int, tuple[float, float]] = {}
    unseen = dict.fromkeys(persons, 0)
    samples, now = [], 0.0
    for at in range(rng.randint(1, 70)):
        entries = {}
        for person in persons:
            if person not in look or rng.random() < 0.15:
                look[person] = rng.choice([*spots, *face.values()])
            if rng.random() < 0.02:
                face[person] = (rng.random(), rng.random())
            if unseen[person] == 0 and rng.random() < 0.06:
                unseen[person] = rng.choice([1, 2, 3, 4, 5, 7, 11, 14])
            unseen[person] = max(0, unseen[person] - 1)
            if not enters[person] <= at < leaves[person] or rng.random() < 0.03:
                continue
            x, y = face[person]
            jitter = rng.choice([0.0, 0.0, 0.002, 0.02])
            point = (look[person][0] + rng.uniform(-jitter, jitter), look[person][1] + rng.uniform(-jitter, jitter))
            entries[person] = {
                "face": None if rng.random() < 0.04 else (x - 0.05, y - 0.06, x + 0.05, y + 0.06),
                "gaze": None if rng.random() < 0.02 else point,
                "in": unseen[person] == 0,
            }
        samples.append({"t": now, "persons": entries})
        now = round(now + step * rng.choice([1, 1, 1, 1, 1, 1, 2, 1.3]), 3)
    return samples


def scene_of(samples: list[dict[str, Any]]) -> Scene:
    persons = np.array(sorted({person for sample in samples for person in sample["persons"]}), dtype=np.int64)
    times = np.array([sample["t"] for sample in samples])
    frames = np.arange(len(samples)) * 3
    scene = Scene.empty(frames, times, np.zeros(len(samples), np.int32), persons, 16 / 9)
    for row, sample in enumerate(samples):
        for column, person in enumerate(persons.tolist()):
            entry = sample["persons"].get(person)
            scene.present[row, column] = entry is not None
            if entry is None:
                continue
            scene.confidence[row, column] = 1.0
            scene.face[row, column] = entry["face"] or np.nan
            scene.gaze[row, column] = entry["gaze"] or np.nan
            scene.inframe[row, column] = entry["in"] and entry["gaze"] is not None
    return scene


def plain(event: Any) -> tuple[Any, ...]:
    return event.type, round(event.start_s, 4), round(event.end_s, 4), event.persons, round(event.confidence, 6)


@pytest.mark.parametrize("block", range(20))
def test_it_finds_what_the_slow_reference_finds(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        samples = random_samples(seed)
        expected = sorted(
            (k, round(a, 4), round(b, 4), who, round(c, 6)) for k, a, b, who, c in slow_reference.find(samples)
        )
        assert sorted(plain(event) for event in compat(scene_of(samples))) == expected, seed


def test_the_random_scenes_hold_every_type() -> None:
    kinds = {found[0] for seed in range(100) for found in slow_reference.find(random_samples(seed))}
    assert kinds == {SHIFT, JOINT, FOLLOWING, CAPTURE, MUTUAL}
