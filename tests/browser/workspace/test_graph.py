"""The social graph over the player: opened by button and key, brushed with the timeline, chosen from by hand or key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import settle
from tests.browser.workspace import seed

SHOTS = os.environ.get("SIGHTLINE_SCREENSHOTS")


@pytest.fixture
def scene(crew: Any) -> Any:
    """A video of 4 people over 1000 frames (25 a second) with what the rules find, and gestures by hand."""
    made = seed.Scene(people=4, seconds=seed.uniform(1000), shots=(0, 500))
    video = seed.bare_video(crew.project, made)
    seed.add_scene(video, made)
    seed.derive(video)
    people = list(video.persons.order_by("number"))
    for type_, start, end, who in (
        ("pointing", 100, 160, (0, 1)),
        ("showing", 220, 260, (1, 2)),
        ("giving", 610, 700, (2, 3)),
        ("reaching", 900, 930, (3,)),
    ):
        gesture(video, type_, start, end, [people[n] for n in who])
    return video


def gesture(video: Any, type: str, start: int, end: int, who: list[Any]) -> None:
    from webapp.events.models import Event, Participation
    from webapp.events.rows import set_of

    made = Event.objects.create(
        video=video, set=set_of(video, "working"), modality="gesture", type=type, start=start, end=end,
        origin="human", status="confirmed",
    )  # fmt: skip
    for person, role in zip(who, ("initiator", "target"), strict=False):
        Participation.objects.create(event=made, person=person, role=role)


def drawn(desk: Any) -> list[str]:
    """What each line of the picture is called."""
    found = desk.eval_on_selector_all(".graph-line", "lines => lines.map((line) => line.getAttribute('aria-label'))")
    return sorted(found)


def open_graph(desk: Any) -> None:
    with desk.expect_response(lambda answer: answer.url.endswith("/graph")):
        desk.keyboard.press("b")
    desk.wait_for_function("() => document.querySelectorAll('.graph-line').length > 0")


def shot(desk: Any, name: str) -> None:
    if SHOTS:
        desk.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


def test_the_graph_is_brushed_and_chosen_from(visit: Any, crew: Any, scene: Any) -> None:
    desk = visit(crew.bob).open(scene)
    assert not [url for url in loaded(desk) if "/js/graph/" in url]  # nobody asked for it yet
    open_graph(desk)
    assert desk.get_attribute("#graph-toggle", "aria-expanded") == "true"
    assert desk.locator(".graph-person").count() == 4
    lines = drawn(desk)
    assert "Giving, Person 2 to Person 3: 1 event, 3.6 s" in lines
    assert "Reaching, Person 3: 1 event, 1.2 s" in lines
    shot(desk, "graph-light")

    # the brush is the timeline's window: moved by keys, only the events of the part shown are drawn
    brush = desk.get_by_role("slider", name="Last moment shown")
    brush.focus()
    for _ in range(7):
        desk.keyboard.press("Shift+ArrowLeft")  # a tenth of the video each
    desk.wait_for_function("() => !document.querySelector('.graph-line[data-type=giving]')")
    desk.wait_for_selector("[role=slider][data-edge=end][aria-valuenow='300']")
    assert "to=300" in wait_address(desk, "to=300")
    assert "Pointing, Person 0 to Person 1: 1 event, 2.4 s" in drawn(desk)
    desk.get_by_role("button", name="Whole video", exact=True).click()
    desk.wait_for_function("() => document.querySelector('.graph-line[data-type=giving]')")

    # a line, with a key: its event is selected, and the player goes there
    desk.evaluate("document.querySelector('.graph-line[data-type=giving]').focus()")
    desk.keyboard.press("Enter")
    settle(desk)
    event = scene.events.get(type="giving")
    desk.wait_for_function("id => location.search.includes(id)", arg=str(event.id))
    assert desk.get_attribute("#player", "data-frame") == "610"
    assert desk.get_attribute(".graph-line[data-type=giving]", "aria-pressed") == "true"

    # a person, with the pointer
    desk.locator(".graph-person").nth(1).click()
    desk.wait_for_function("() => location.search.includes('sel=person')")

    # the table says the same, and selects all events of a row
    desk.get_by_role("button", name="Table").click()
    assert desk.locator(".graph-table tbody tr").count() == len(lines)
    row = desk.locator(".graph-table tbody tr", has_text="Select 1 event").filter(has_text="Reaching")
    assert row.inner_text().split("\t")[:3] == ["Reaching", "Person 3", "alone"]
    row.get_by_role("button").focus()
    desk.keyboard.press("Enter")
    settle(desk)
    assert desk.get_attribute("#player", "data-frame") == "900"
    shot(desk, "graph-table")
    desk.keyboard.press("Escape")
    assert desk.locator("#graph").is_hidden()
    assert desk.evaluate("document.activeElement.id") == "graph-toggle"


def test_it_follows_edits_and_filters(visit: Any, crew: Any, scene: Any) -> None:
    desk = visit(crew.bob, viewport={"width": 1024, "height": 768}, color_scheme="dark").open(scene)
    open_graph(desk)
    before = drawn(desk)
    shot(desk, "graph-dark-small")
    desk.get_by_role("button", name="Show gaze following").click()
    desk.wait_for_function("() => !document.querySelector('.graph-line[data-type=gaze_following]')")
    desk.get_by_role("button", name="Show gaze following").click()
    desk.locator(".graph-line[data-type=giving]").focus()
    desk.keyboard.press("Enter")
    desk.evaluate("document.activeElement.blur()")
    desk.keyboard.press("Backspace")  # rejected: no part of the graph any more
    desk.wait_for_function("() => !document.querySelector('.graph-line[data-type=giving]')")
    assert len(drawn(desk)) == len(before) - 1
    desk.get_by_label("Confirmed only").check()
    desk.wait_for_function("() => document.querySelectorAll('.graph-line').length === 3")


def loaded(desk: Any) -> list[str]:
    return list(desk.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)"))


def wait_address(desk: Any, words: str) -> str:
    desk.wait_for_function("words => location.search.includes(words)", arg=words)
    return str(desk.evaluate("location.search"))
