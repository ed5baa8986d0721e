"""Editing events, people, gaze and coverage with hands and keys; what the page shows is what the server stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import settle, wait_saved
from tests.browser.workspace import seed


@pytest.fixture
def scene(crew: Any) -> Any:
    """A video of 3 people over 1000 frames (25 a second) in two shots, with the events that the rules find."""
    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500))
    video = seed.bare_video(crew.project, made)
    seed.add_scene(video, made)
    seed.derive(video)
    return video


@pytest.fixture
def desk(visit: Any, crew: Any, scene: Any) -> Any:
    return visit(crew.bob).open(scene)


def first_event(video: Any, **wanted: Any) -> Any:
    return video.events.filter(**wanted).order_by("start", "end", "id").first()


def select(desk: Any, event: Any) -> None:
    desk.wait_for_selector(f"[data-event='{event.id}']", state="attached")
    desk.evaluate("id => document.querySelector(`[data-event='${id}']`).click()", str(event.id))
    settle(desk)


def roles(event: Any) -> set[tuple[int, str]]:
    return {(p.person.number, p.role) for p in event.participations.select_related("person")}


def timeline_point(desk: Any, frame: float, row: str) -> tuple[float, float]:
    """A point of the timeline over a frame: in the ruler, in a person's lane or in an event lane, by its name."""
    stage = desk.locator(".tl-stage").bounding_box()
    x = stage["x"] + frame * stage["width"] / 1000
    if row == "ruler":
        return x, stage["y"] + 8
    name = desk.locator(".tl-name-person, .tl-name-lane", has_text=row).first.bounding_box()
    return x, name["y"] + 10


def drag(desk: Any, start: tuple[float, float], end: tuple[float, float], release: bool = True) -> None:
    desk.mouse.move(*start)
    desk.mouse.down()
    desk.mouse.move((start[0] + end[0]) / 2, end[1], steps=3)
    desk.mouse.move(*end, steps=3)
    if release:
        desk.mouse.up()


def test_confirm_reject_and_undo_reach_the_server(desk: Any, scene: Any) -> None:
    desk.keyboard.press("n")
    desk.keyboard.press("Enter")
    wait_saved(desk)
    event = scene.events.get(status="confirmed")
    assert event.set.kind == "working"
    desk.keyboard.press("Backspace")
    wait_saved(desk)
    event.refresh_from_db()
    assert event.status == "rejected"
    desk.keyboard.press("Control+z")
    desk.keyboard.press("Control+z")
    wait_saved(desk)
    event.refresh_from_db()
    assert (event.status, event.set.kind) == ("proposed", "proposal")
    desk.keyboard.press("Control+Shift+z")
    wait_saved(desk)
    event.refresh_from_db()
    assert event.status == "confirmed"


def test_the_undo_buttons_say_what_they_take_back(desk: Any, scene: Any) -> None:
    assert desk.is_disabled("#undo") and desk.is_disabled("#redo")
    desk.keyboard.press("n")
    desk.keyboard.press("Enter")
    wait_saved(desk)
    assert desk.get_attribute("#undo", "title").startswith("Undo: confirm ")
    desk.click("#undo")
    wait_saved(desk)
    assert desk.is_disabled("#undo")
    assert desk.get_attribute("#redo", "title").startswith("Redo: confirm ")
    assert not scene.events.filter(status="confirmed").exists()


def test_an_edge_is_trimmed_by_dragging_and_stays_in_its_shot(desk: Any, scene: Any) -> None:
    event = first_event(scene, type="mutual_gaze", start__gt=60, end__lt=460)
    select(desk, event)
    start = timeline_point(desk, event.start, "Mutual")
    desk.keyboard.down("Alt")
    drag(desk, start, timeline_point(desk, event.start - 30, "Mutual"))
    desk.keyboard.up("Alt")
    wait_saved(desk)
    trimmed = scene.events.get(id=event.id)
    assert abs(trimmed.start - (event.start - 30)) <= 1 and trimmed.end == event.end
    drag(desk, timeline_point(desk, event.end - 0.5, "Mutual"), timeline_point(desk, 700, "Mutual"))
    wait_saved(desk)
    assert scene.events.get(id=event.id).end == 500  # the cut


def test_escape_during_a_drag_changes_nothing(desk: Any, scene: Any) -> None:
    event = first_event(scene, type="mutual_gaze", start__gt=60)
    select(desk, event)
    drag(
        desk,
        timeline_point(desk, event.start, "Mutual"),
        timeline_point(desk, event.start - 40, "Mutual"),
        release=False,
    )
    desk.keyboard.press("Escape")
    desk.mouse.up()
    desk.wait_for_timeout(200)
    wait_saved(desk)
    assert scene.events.get(id=event.id).start == event.start


def test_in_and_out_trim_the_selected_event_to_the_playhead(desk: Any, scene: Any) -> None:
    event = first_event(scene, start__gt=20, end__lt=480)
    select(desk, event)
    for _ in range(3):
        desk.keyboard.press(".")
    settle(desk)
    desk.keyboard.press("i")
    desk.keyboard.press(".")
    settle(desk)
    desk.keyboard.press("o")
    wait_saved(desk)
    trimmed = scene.events.get(id=event.id)
    assert (trimmed.start, trimmed.end) == (event.start + 3, event.start + 5)


def test_an_event_is_made_from_a_marked_span_and_number_keys(desk: Any, scene: Any) -> None:
    desk.fill("#frame-field", "520")
    desk.keyboard.press("Enter")
    settle(desk)
    desk.keyboard.press("i")
    desk.keyboard.press("Shift+.")
    settle(desk)
    desk.keyboard.press("o")
    desk.keyboard.press("f")
    desk.keyboard.press("2")
    desk.keyboard.press("0")
    desk.keyboard.press("Enter")
    wait_saved(desk)
    made = scene.events.get(origin="human")
    assert (made.type, made.start, made.end, made.status) == ("gaze_following", 520, 531, "confirmed")
    assert roles(made) == {(2, "leader"), (0, "follower")}
    desk.keyboard.press("e")
    wait_saved(desk)
    assert roles(scene.events.get(id=made.id)) == {(0, "leader"), (2, "follower")}
    desk.keyboard.press("Delete")
    wait_saved(desk)
    assert not scene.events.filter(id=made.id).exists()
    desk.keyboard.press("Control+z")
    wait_saved(desk)
    assert roles(scene.events.get(id=made.id)) == {(0, "leader"), (2, "follower")}


def test_dragging_on_an_empty_lane_drafts_an_event_of_its_type(desk: Any, scene: Any) -> None:
    scene.events.all().delete()
    desk.reload()
    desk.wait_for_selector("#workspace[data-ready=all]")
    settle(desk)
    drag(desk, timeline_point(desk, 600, "Shift"), timeline_point(desk, 650, "Shift"))
    desk.keyboard.press("1")
    desk.keyboard.press("Enter")
    wait_saved(desk)
    made = scene.events.get()
    assert made.type == "sudden_gaze_shift" and abs(made.start - 600) <= 2 and abs(made.end - 650) <= 2
    assert roles(made) == {(1, "member")}


def test_roles_that_do_not_fit_are_held_until_they_do(desk: Any, scene: Any) -> None:
    event = first_event(scene, type="mutual_gaze")
    inside = sorted(number for number, _ in roles(event))
    other = ({0, 1, 2} - set(inside)).pop()
    select(desk, event)
    desk.keyboard.press(str(inside[0]))
    desk.wait_for_selector("text=Not saved yet")
    desk.keyboard.press(str(other))
    wait_saved(desk)
    assert {number for number, _ in roles(scene.events.get(id=event.id))} == {inside[1], other}


def test_a_person_is_renamed_merged_and_split(desk: Any, scene: Any) -> None:
    desk.keyboard.press("1")
    desk.fill("#person-name", "Ada")
    desk.keyboard.press("Enter")
    wait_saved(desk)
    assert scene.persons.get(number=1).name == "Ada"
    desk.fill("#frame-field", "300")
    desk.keyboard.press("Enter")
    settle(desk)
    desk.keyboard.press("x")
    wait_saved(desk)
    fresh = scene.persons.get(number=3)
    assert {(t.start, t.end) for t in fresh.tracklets.all()} == {(300, 500), (500, 1000)}
    assert {(t.start, t.end) for t in scene.persons.get(number=1).tracklets.all()} == {(0, 300)}
    desk.select_option("select[aria-label='Merge into']", str(scene.persons.get(number=1).id))
    wait_saved(desk)
    fresh.refresh_from_db()
    assert fresh.merged_into == scene.persons.get(number=1)
    desk.keyboard.press("Control+z")
    desk.keyboard.press("Control+z")
    wait_saved(desk)
    assert not scene.persons.filter(number=3).exists()
    assert scene.persons.get(number=1).tracklets.count() == 2


def test_gaze_is_corrected_over_a_span_by_keys_and_by_dragging(desk: Any, scene: Any) -> None:
    desk.keyboard.press("i")
    desk.keyboard.press("Shift+.")
    settle(desk)
    desk.keyboard.press("o")
    desk.keyboard.press("0")
    desk.keyboard.press("a")
    desk.keyboard.press("2")
    wait_saved(desk)
    first = scene.corrections.get()
    assert (first.person.number, first.kind, first.target_person.number, first.start, first.end) == (
        0,
        "person",
        2,
        0,
        11,
    )
    box = desk.locator("#overlay").bounding_box()
    width = min(box["width"], box["height"] * 16 / 9)
    left = box["x"] + (box["width"] - width) / 2
    body = (left + width * 0.25, box["y"] + box["height"] * 0.6)  # the first of three people
    drag(desk, body, (left + width * 0.37, box["y"] + box["height"] * 0.9))
    wait_saved(desk)
    said = scene.corrections.get()  # the new word takes the place of the old one
    assert (said.kind, said.start, said.end) == ("point", 0, 11)
    assert abs(said.x - 0.37) < 0.02 and abs(said.y - 0.9) < 0.02


def test_coverage_is_marked_over_a_span(desk: Any, scene: Any) -> None:
    desk.keyboard.press("v")
    assert "Mark a span first" in desk.inner_text("#say")
    drag(desk, timeline_point(desk, 100, "Person 1"), timeline_point(desk, 200, "Person 1"))
    desk.keyboard.press("Escape")  # everybody, not only person 1
    desk.keyboard.press("v")
    wait_saved(desk)
    made = scene.coverage.get()
    assert made.modality == "gaze" and made.persons == []
    assert abs(made.start - 100) <= 2 and abs(made.end - 200) <= 2


def test_many_events_are_rejected_together_and_brought_back_together(desk: Any, scene: Any) -> None:
    stage = desk.locator(".tl-stage").bounding_box()
    lane = desk.locator(".tl-name-lane", has_text="Mutual").first.bounding_box()
    desk.keyboard.down("Shift")
    drag(desk, (stage["x"] + 2, lane["y"] + 1), (stage["x"] + stage["width"] - 12, lane["y"] + lane["height"] - 2))
    desk.keyboard.up("Shift")
    count = scene.events.filter(type="mutual_gaze").count()
    assert f"{count} events" in desk.inner_text("#inspector")
    desk.keyboard.press("Backspace")
    wait_saved(desk)
    assert scene.events.filter(type="mutual_gaze", status="rejected").count() == count
    desk.keyboard.press("Control+z")
    wait_saved(desk)
    assert scene.events.filter(type="mutual_gaze", status="proposed").count() == count


def test_keys_work_after_a_select_was_used_and_not_while_typing(desk: Any, scene: Any) -> None:
    desk.select_option("#filter-person", index=1)
    desk.keyboard.press(".")
    settle(desk)
    assert desk.get_attribute("#player", "data-frame") == "1"
    desk.select_option("#filter-person", index=0)
    select(desk, first_event(scene))
    frame = desk.get_attribute("#player", "data-frame")
    desk.fill(".note-field", "seen . , n")
    desk.keyboard.press("ArrowLeft")
    desk.keyboard.type("x.")
    assert desk.get_attribute("#player", "data-frame") == frame
    desk.keyboard.press("Escape")
    wait_saved(desk)
    assert scene.events.get(note="seen . , x.n").status == "proposed"


def test_a_key_can_be_changed_and_a_taken_one_is_refused(desk: Any, crew: Any) -> None:
    desk.keyboard.press("?")
    desk.click("[aria-label='Change the key of: Next unreviewed event']")
    desk.keyboard.press("m")
    assert "taken by" in desk.inner_text(".keymap")
    desk.click("[aria-label='Change the key of: Next unreviewed event']")
    with desk.expect_response("**/me/preferences"):
        desk.keyboard.press(";")
    desk.keyboard.press("Escape")
    desk.keyboard.press(";")
    desk.wait_for_selector(".pill-proposed")
    crew.bob.refresh_from_db()
    assert crew.bob.preferences["keys"] == {"next": ";"}


def test_the_address_opens_the_same_picture(desk: Any, scene: Any) -> None:
    event = first_event(scene, start__gt=100)
    select(desk, event)
    desk.keyboard.press(".")
    settle(desk)
    frame = desk.get_attribute("#player", "data-frame")
    desk.wait_for_function(f"() => location.search.includes('frame={frame}&sel=event%3A{event.id}')")
    desk.goto(desk.url)
    desk.wait_for_selector("#workspace[data-ready=all]")
    settle(desk)
    assert desk.get_attribute("#player", "data-frame") == frame
    desk.wait_for_selector(f"[data-event='{event.id}'][aria-pressed=true]", state="attached")


def test_a_viewer_sees_everything_and_edits_nothing(visit: Any, crew: Any, scene: Any) -> None:
    before = scene.edits.count()
    desk = visit(crew.vera).open(scene)
    desk.keyboard.press("n")
    desk.keyboard.press("Enter")
    assert "annotator" in desk.inner_text("#say")
    assert desk.locator("#inspector .button", has_text="Confirm").count() == 0
    assert scene.edits.count() == before


def test_an_earlier_state_of_an_event_is_restored_from_its_history(desk: Any, scene: Any) -> None:
    event = first_event(scene, start__gt=20, end__lt=480)
    select(desk, event)
    desk.keyboard.press("Enter")
    wait_saved(desk)
    desk.keyboard.press("Control+ArrowRight")
    desk.keyboard.press("Backspace")
    wait_saved(desk)
    buttons = desk.locator(".history li button", has_text="Restore")  # newest first: trimmed, confirmed, derived
    buttons.nth(2).wait_for()
    buttons.nth(1).click()
    wait_saved(desk)
    stored = scene.events.get(id=event.id)
    assert (stored.status, stored.start, stored.end) == ("confirmed", event.start, event.end)


@pytest.mark.measured
def test_twenty_events_by_keyboard_alone(desk: Any, scene: Any, figure: Any) -> None:
    """Confirm, trim and re-role 20 events without the mouse; the number of strokes is reported."""
    seed.add_events(scene, 120, shares=(1, 0, 0))
    scene.events.exclude(type="gaze_following").delete()  # a type with two roles to swap
    desk.reload()
    desk.wait_for_selector("#workspace[data-ready=all]")
    settle(desk)
    strokes = 0

    def press(*keys: str) -> None:
        nonlocal strokes
        for key in keys:
            desk.keyboard.press(key)
            settle(desk)
            strokes += 1

    before = {event.id: (event.start, event.end, roles(event)) for event in scene.events.all()}
    assert len(before) >= 20
    for _ in range(20):
        press("n", "Control+ArrowRight", "e", "Enter")
    wait_saved(desk)
    done = list(scene.events.filter(status="confirmed"))
    assert len(done) == 20
    swap = {"leader": "follower", "follower": "leader"}
    for event in done:
        start, end, people = before[event.id]
        assert (event.start, event.end) == (start + 1, end)
        assert roles(event) == {(number, swap[role]) for number, role in people}
    figure(
        "20 events confirmed, trimmed and re-roled by keyboard", strokes, "key strokes", note=f"{strokes / 20:g} each"
    )
