"""Gestures in the workspace: their lane, why they were proposed, what is drawn over the picture, and triage."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settle, wait_saved
from tests.browser.workspace import seed
from tests.browser.workspace.test_editing import select
from webapp.events import gesturing
from webapp.events.gesturing import Snapshot
from webapp.library.models import Video

RULES = {"name": "rules", "version": "1", "origin": "rule", "weights": {}, "settings": {}}


def point(**more: Any) -> dict[str, Any]:
    row = {
        "type": "pointing",
        "start": 100,
        "end": 160,
        "initiator": 1,
        "target_kind": "person",
        "target_person": 2,
        "target_description": "",
        "initiator_box": [0.35, 0.15, 0.6, 0.96],
        "confidence": 0.72,
        "details": {
            "hand": "left",
            "formula": "seen x (0.30 form + 0.25 straight + 0.25 aim + 0.20 still)",
            "seen": 0.9,
            "terms": {"form": 0.8, "straight": 1.0, "aim": 0.55, "still": 1.0},
            "angle_deg": 6.7,
            "ray": [0.55, 0.5, 0.75, 0.4],
        },
    }
    return row | more


@pytest.fixture
def scene(crew: Any) -> Any:
    """Three people over 1000 frames; one points at another, another reaches for a cup with somebody's hand."""
    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500))
    video = seed.bare_video(crew.project, made)
    seed.add_scene(video, made)
    cup = point(type="reaching", start=300, end=330, target_kind="object", target_person=None, confidence=0.4)
    cup |= {"target_description": "a cup", "details": cup["details"] | {"hand": "unsure", "terms": {"touch": 0.5}}}
    fresh = Video.objects.get(id=video.id)
    gesturing.settle(video=fresh, snapshot=Snapshot.of(fresh), about=RULES, gestures=[point(), cup])
    return fresh


@pytest.fixture
def desk(visit: Any, crew: Any, scene: Any) -> Any:
    return visit(crew.bob).open(scene)


def test_a_gesture_says_why_and_is_drawn(desk: Any, scene: Any) -> None:
    expect(desk.locator(".tl-name-lane", has_text="Point")).to_be_visible()
    select(desk, scene.events.get(type="pointing"))
    inspector = desk.locator("#inspector")
    expect(inspector).to_contain_text("Pointing at Person 2 with the left hand, for 2.40 s; the ray misses by 7°.")
    expect(inspector).to_contain_text("seen x (0.30 form + 0.25 straight + 0.25 aim + 0.20 still)")
    expect(inspector.locator(".meter")).to_have_count(5)
    expect(inspector.locator(".meter", has_text="aim")).to_contain_text("0.55")


def test_the_initiators_box_and_the_ray_are_over_the_picture(desk: Any, scene: Any) -> None:
    """The pixels inside the dashed box's edge and under the ray change when the gesture is selected."""
    probe = """([x, y]) => { const c = document.querySelector('#overlay'); const r = c.getContext('2d');
        const d = r.getImageData(x * c.width - 12, y * c.height - 12, 24, 24).data;
        return d.filter((v, i) => i % 4 === 3 && v > 0).length; }"""
    event = scene.events.get(type="pointing")
    select(desk, event)
    expect(desk.locator("#inspector")).to_contain_text("the ray misses")
    settle(desk)
    assert desk.evaluate(probe, [0.65, 0.45]) > 20  # the middle of the ray
    desk.keyboard.press("Escape")
    settle(desk)


def test_whose_hand_it_is_may_be_unsure(desk: Any, scene: Any) -> None:
    select(desk, scene.events.get(type="reaching"))
    inspector = desk.locator("#inspector")
    expect(inspector).to_contain_text("Reaching for a cup with a hand that may be another's")
    expect(inspector).to_contain_text("Whose hand it is, is unsure")


def test_gestures_are_reviewed_like_gaze(desk: Any, scene: Any) -> None:
    desk.keyboard.press("n")
    desk.keyboard.press("Enter")
    wait_saved(desk)
    confirmed = scene.events.get(status="confirmed")
    assert confirmed.modality == "gesture" and confirmed.set.kind == "working"
