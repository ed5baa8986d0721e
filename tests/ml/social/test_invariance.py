"""Strict events belong to the scene, not to how it was sampled, placed in time, mirrored or numbered."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, TYPES, SocialEvent
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


def everybody() -> World:
    """Each kind of event once, at moments on no sampling grid: following from left to right and from right to left,
    capture and joint attention of three, mutual gaze of two, a glance."""
    faces = {name: (0.14 + 0.24 * at, 0.35) for at, name in enumerate(NAMES)}
    left, middle, right = SPOTS
    turns: list[tuple[float, dict[str, tuple[float, Look]]]] = [
        (3.13, {"Ann": (0.0, left), "Dee": (1.5, left)}),
        (9.47, {"Dee": (0.0, left), "Ann": (1.5, left)}),
        (15.81, {"Ann": (0.0, right), "Bob": (0.05, right), "Dee": (0.02, right)}),
        (22.29, {"Bob": (0.0, middle), "Cid": (1.5, middle), "Dee": (1.55, middle)}),
        (29.67, {"Bob": (0.0, "Cid"), "Cid": (0.4, "Bob")}),
        (35.91, {"Cid": (0.0, right)}),
    ]
    looks: dict[str, list[tuple[float, Look]]] = {name: [(0.0, (faces[name][0], 0.08))] for name in NAMES}
    for now, who in turns:
        for name, (later, look) in who.items():
            looks[name] += [(now + later, look), (now + 4, (faces[name][0], 0.08))]
    return World({name: Figure(looks[name], faces[name]) for name in NAMES}, 42.0, aspect=16 / 9)


def roles_of(events: list[SocialEvent], kind: str) -> list[tuple[float, list[tuple[str, str]]]]:
    """Start and (name, role) of the events of a kind."""
    return [(e.start_s, [(NAMES[person], role) for person, role in e.roles]) for e in events if e.type == kind]


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("rate", [2, 5, 10])
def test_who_leads_and_who_belongs_is_the_same_at_every_rate(rate: float, mirrored: bool) -> None:
    """By the script, whichever way it is sampled or mirrored: within one step, every part of it and nothing else."""
    found = keyed(detect(replace(everybody(), mirrored=mirrored).sample(rate)))

    def near(seconds: float) -> Any:
        return pytest.approx(seconds + 0.5 / rate, abs=0.5 / rate + 0.04)  # a sample sees it up to one step later

    def together(*names: str) -> list[tuple[str, str]]:
        return [(name, "member") for name in names]

    def after(leader: str, follower: str) -> list[tuple[str, str]]:
        return [(leader, "leader"), (follower, "follower")]

    assert sorted(roles_of(found, FOLLOWING)) == [
        (near(3.13), after("Ann", "Dee")),
        (near(9.47), after("Dee", "Ann")),
        (near(22.29), after("Bob", "Cid")),
        (near(22.29), after("Bob", "Dee")),
    ]
    assert roles_of(found, CAPTURE) == [(near(15.81), together("Ann", "Bob", "Dee"))]
    joint = sorted(roles_of(found, JOINT))
    assert [who for _, who in joint if len(who) == 3] == [
        together("Ann", "Bob", "Dee"),
        together("Bob", "Cid", "Dee"),
    ]
    assert [who for _, who in joint if len(who) == 2] == [together("Ann", "Dee")] * 2
    assert roles_of(found, MUTUAL) == [(near(30.07), together("Bob", "Cid"))]


@pytest.mark.parametrize("numbers", [(3, 17, 256, 9), (4, 3, 2, 1)])
@pytest.mark.parametrize("rate", [2, 5, 10])
def test_every_kind_of_event_outlives_renumbering_and_a_shift_in_time(rate: float, numbers: tuple[int, ...]) -> None:
    of_name = dict(zip(NAMES, numbers, strict=True))
    name_of = {number: at for at, number in enumerate(numbers)}

    def plain(event: SocialEvent) -> tuple[object, ...]:
        """As if the persons still had their first numbers and the video began where it did."""
        roles = sorted((name_of[person], role) for person, role in event.roles)
        return event.type, event.start - 30_000, event.end - 30_000, roles

    first = detect(everybody().sample(rate))
    assert {event.type for event in first} == set(TYPES)
    second = detect(replace(everybody().renumbered(of_name), shift=1000.0).sample(rate))
    assert sorted(plain(event) for event in second) == sorted((e.type, e.start, e.end, sorted(e.roles)) for e in first)


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
