"""Strict events belong to the scene, not to how it was sampled, placed in time, mirrored or numbered."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ml.social.event import TYPES, SocialEvent
from ml.social.events import detect
from tests.ml.social.scenes import Figure, Look, World

NAMES = ("Ann", "Bob", "Cid", "Dee")
SPOTS = ((0.15, 0.85), (0.5, 0.9), (0.85, 0.85))


def episodes(seed: int) -> World:
    """Four persons in a row; one social episode after another, with rest between, at moments on no sampling grid.

    Each episode keeps clear of the detectors' limits by more than the coarsest step (0.5 s): what lasts for less than
    half a second or just about a limit is not seen alike at 2 Hz, by any rule.
    """
    rng = random.Random(seed)
    faces = {name: (0.14 + 0.24 * at, 0.35) for at, name in enumerate(NAMES)}
    looks: dict[str, list[tuple[float, Look]]] = {name: [] for name in NAMES}
    now = 0.0
    for _ in range(6):
        for name in NAMES:  # rest: everybody looks up, each to a place of their own
            looks[name].append((now, (faces[name][0], 0.08)))
        now += rng.uniform(3.0, 4.0)
        now += _episode(rng, looks, now)
    return World(
        {name: Figure(looks[name], faces[name]) for name in NAMES}, now + 2, aspect=rng.choice([16 / 9, 1.0, 0.75])
    )


def _episode(rng: random.Random, looks: dict[str, list[tuple[float, Look]]], now: float) -> float:
    """Let some persons do something from `now` on; how long it takes."""
    who = rng.sample(NAMES, 4)
    spot = rng.choice(SPOTS)
    lasts = rng.uniform(3.0, 5.0)
    kind = rng.choice(["mutual", "joint", "follow", "capture", "glances"])
    if kind == "mutual":
        looks[who[0]].append((now, who[1]))
        looks[who[1]].append((now + rng.uniform(0, 0.6), who[0]))
    elif kind == "joint":
        for name in who[:2]:
            looks[name].append((now + rng.uniform(0, 0.2), (spot[0] + rng.uniform(-0.02, 0.02), spot[1])))
    elif kind == "follow":
        looks[who[0]].append((now, spot))
        looks[who[1]].append((now + rng.uniform(1.25, 1.75), (spot[0] + 0.02, spot[1])))
    elif kind == "capture":
        for name in who[:3]:
            looks[name].append((now + rng.uniform(0, 0.05), (spot[0] + rng.uniform(-0.02, 0.02), spot[1])))
    else:
        looks[who[0]].append((now, spot))
    return lasts


def keyed(events: list[SocialEvent]) -> list[SocialEvent]:
    return sorted(events, key=lambda event: (TYPES.index(event.type), event.roles, event.start))


@pytest.mark.parametrize("seed", range(40))
def test_events_are_the_same_at_2_5_and_10_samples_per_second(seed: int) -> None:
    world = episodes(seed)
    found = {rate: keyed(detect(world.sample(rate))) for rate in (2, 5, 10)}
    assert len(found[10]) >= 6
    for coarse, fine in ((2, 10), (5, 10), (2, 5)):
        assert [(event.type, event.roles) for event in found[coarse]] == [
            (event.type, event.roles) for event in found[fine]
        ]
        for a, b in zip(found[coarse], found[fine], strict=True):
            assert abs(a.start_s - b.start_s) <= 1 / coarse + 1e-6, (a, b)
            assert abs(a.end_s - b.end_s) <= 1 / coarse + 1e-6, (a, b)


@pytest.mark.parametrize("fps", [23.976, 29.97, 59.94])
def test_odd_frame_rates_change_nothing(fps: float) -> None:
    # Samples fall on the first frame at or after their moment: their distance is not quite constant.
    world = episodes(3)
    even, odd = keyed(detect(world.sample(2))), keyed(detect(world.sample(2, fps)))
    assert [(event.type, event.roles) for event in even] == [(event.type, event.roles) for event in odd]
    assert all(
        abs(a.start_s - b.start_s) <= 0.5 and abs(a.end_s - b.end_s) <= 0.5 for a, b in zip(even, odd, strict=True)
    )


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rate", [2, 10])
def test_a_shift_in_time_shifts_the_events(seed: int, rate: float) -> None:
    world = episodes(seed)
    plain, later = detect(world.sample(rate)), detect(replace(world, shift=1000.0).sample(rate))
    assert [(event.type, event.roles, event.start + 30_000, event.end + 30_000) for event in plain] == [
        (event.type, event.roles, event.start, event.end) for event in later
    ]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rate", [2, 10])
def test_a_mirrored_picture_has_the_same_events(seed: int, rate: float) -> None:
    world = episodes(seed)
    plain, mirrored = detect(world.sample(rate)), detect(replace(world, mirrored=True).sample(rate))
    assert [(event.type, event.roles, event.start, event.end) for event in plain] == [
        (event.type, event.roles, event.start, event.end) for event in mirrored
    ]
    assert [event.confidence for event in plain] == pytest.approx([event.confidence for event in mirrored])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rate", [2, 10])
def test_roles_follow_the_persons_when_they_are_renumbered(seed: int, rate: float) -> None:
    world = episodes(seed)
    numbers = dict(zip(NAMES, random.Random(seed).sample([3, 17, 256, 9], 4), strict=True))
    name_of = {number: at for at, number in enumerate(numbers.values())}

    def plain(event: SocialEvent) -> tuple[object, ...]:
        roles = {(name_of.get(person, person), role) for person, role in event.roles}
        return event.type, event.start, event.end, sorted(roles)

    first = detect(world.sample(rate))
    second = detect(world.renumbered(numbers).sample(rate))
    assert sorted(plain(event) for event in second) == sorted(
        (event.type, event.start, event.end, sorted(set(event.roles))) for event in first
    )


@pytest.mark.parametrize("seed", range(5))
def test_stated_targets_give_the_same_events_as_face_boxes(seed: int) -> None:
    world = episodes(seed)
    boxes, stated = detect(world.sample(5)), detect(replace(world, stated=True).sample(5))
    assert [(event.type, event.roles, event.start, event.end) for event in boxes] == [
        (event.type, event.roles, event.start, event.end) for event in stated
    ]
