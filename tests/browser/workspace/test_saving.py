"""No edit is lost: dropped saves, a restarted server, an expired session, a closed tab, two people at once."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest

from tests.browser.conftest import PASSWORD, settle, wait_saved
from tests.browser.workspace import seed


@pytest.fixture
def scene(crew: Any) -> Any:
    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500))
    video = seed.bare_video(crew.project, made)
    seed.add_scene(video, made)
    seed.add_events(video, 60, shares=(1, 0, 0))
    return video


def unsaved(page: Any) -> int:
    return int(page.get_attribute("#save-state", "data-unsaved"))


def confirm_next(page: Any, times: int) -> None:
    for _ in range(times):
        page.keyboard.press("n")
        page.keyboard.press("Enter")


def confirmed(video: Any) -> int:
    return video.events.filter(status="confirmed").count()


def select(page: Any, event: Any) -> None:
    page.wait_for_selector(f"[data-event='{event.id}']", state="attached")
    page.evaluate("id => document.querySelector(`[data-event='${id}']`).click()", str(event.id))
    settle(page)


def test_dropped_saves_are_sent_again_until_acknowledged(visit: Any, crew: Any, scene: Any) -> None:
    """One in twenty saves fails before the server, one in twenty after it: each edit arrives exactly once."""
    page = visit(crew.bob).open(scene)
    rng = random.Random(3)
    lost = {"before": 0, "after": 0}

    def flaky(route: Any) -> None:
        luck = rng.random()
        if luck < 0.05 or not lost["before"]:
            lost["before"] += 1
            route.abort()
        elif luck < 0.1 or not lost["after"]:
            lost["after"] += 1
            route.fetch()
            route.abort()
        else:
            route.continue_()

    sent: list[dict[str, Any]] = []
    page.on("request", lambda one: sent.append(one.post_data_json) if one.url.endswith("/edits") else None)
    page.route("**/edits", flaky)
    before = set(scene.edits.values_list("id", flat=True))
    confirm_next(page, 25)
    wait_saved(page)
    assert lost["before"] and lost["after"]
    assert len(sent) == 25 + lost["before"] + lost["after"]
    made = {uuid.UUID(edit["id"]): uuid.UUID(edit["object"]) for edit in sent}
    assert len(made) == len(set(made.values())) == 25
    assert set(scene.edits.values_list("id", flat=True)) - before == set(made)
    assert set(scene.events.filter(status="confirmed").values_list("id", "version")) == {
        (event, 2) for event in made.values()
    }


def test_edits_wait_while_the_server_is_away(visit: Any, crew: Any, scene: Any, studio: Any) -> None:
    page = visit(crew.bob).open(scene)
    studio.stop()
    confirm_next(page, 3)
    page.wait_for_function("() => document.querySelector('#save-state').dataset.state === 'unsaved'")
    assert unsaved(page) == 3
    assert "3 unsaved" in page.inner_text("#save-state")
    # they show as done
    page.wait_for_function("() => document.querySelectorAll('#twin [data-status=confirmed]').length === 3")
    studio.start()
    page.click("#save-state")
    page.click("text=Try now")
    wait_saved(page)
    assert confirmed(scene) == 3


def test_an_expired_session_is_renewed_in_place(visit: Any, crew: Any, scene: Any) -> None:
    from django.contrib.sessions.models import Session

    page = visit(crew.bob).open(scene)
    Session.objects.all().delete()
    confirm_next(page, 2)
    page.wait_for_selector("#login-again[open]")
    assert "2 edits wait" in page.inner_text("#login-again") or "1 edit waits" in page.inner_text("#login-again")
    page.fill("#again-password", "wrong")
    page.click("#login-again .button-primary")
    page.wait_for_selector("#login-again .field-error:not(:empty)")
    assert confirmed(scene) == 0
    page.fill("#again-password", PASSWORD)
    page.click("#login-again .button-primary")
    wait_saved(page)
    confirm_next(page, 1)
    wait_saved(page)
    assert confirmed(scene) >= 2


def test_a_closed_tab_loses_nothing(visit: Any, crew: Any, scene: Any, studio: Any) -> None:
    visitor = visit(crew.bob)
    page = visitor.open(scene)
    page.route("**/edits", lambda route: route.abort())
    confirm_next(page, 4)
    page.wait_for_function("() => document.querySelector('#save-state').dataset.state === 'unsaved'")
    page.wait_for_timeout(300)
    page.close(run_before_unload=False)
    assert confirmed(scene) == 0
    again = visitor.open(scene, page=visitor.new_page())
    wait_saved(again)
    assert confirmed(scene) == 4


def test_two_tabs_of_one_person_share_the_queue(visit: Any, crew: Any, scene: Any) -> None:
    visitor = visit(crew.bob)
    one = visitor.open(scene)
    two = visitor.open(scene, page=visitor.new_page())
    before = scene.edits.count()
    visitor.context.route("**/edits", lambda route: route.abort())
    one.bring_to_front()
    confirm_next(one, 2)
    two.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '2'")
    visitor.context.unroute("**/edits")
    for page in (one, two):
        page.evaluate("dispatchEvent(new Event('online'))")
    wait_saved(one)
    wait_saved(two)
    assert confirmed(scene) == 2
    assert scene.edits.count() == before + 2
    two.wait_for_function("() => document.querySelectorAll('#twin [data-status=confirmed]').length === 2")


def test_an_edit_the_server_refuses_is_rolled_back_and_kept_to_read(visit: Any, crew: Any, scene: Any) -> None:
    from webapp.accounts.models import Membership

    page = visit(crew.bob).open(scene)
    Membership.objects.filter(user=crew.bob).update(role="viewer")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.state === 'unsaved'")
    page.wait_for_function("() => document.querySelectorAll('#twin [data-status=confirmed]').length === 0")
    page.click("#save-state")
    assert "annotator" in page.inner_text(".unsaved-list")
    assert "Confirmed" in page.inner_text(".unsaved-list pre")
    Membership.objects.filter(user=crew.bob).update(role="annotator")
    page.click("text=Try again")
    wait_saved(page)
    assert confirmed(scene) == 1


def offline(page: Any) -> None:
    page.route("**/edits", lambda route: route.abort())


def online(page: Any) -> None:
    page.unroute("**/edits")
    page.evaluate("dispatchEvent(new Event('online'))")


def trim_start_by_two(page: Any, event: Any) -> None:
    select(page, event)
    page.keyboard.press("Control+ArrowRight")
    page.keyboard.press("Control+ArrowRight")


def test_the_second_of_two_people_gets_the_merge_view(visit: Any, crew: Any, scene: Any) -> None:
    event = scene.events.filter(start__gt=20).order_by("start").first()
    bob, rita = visit(crew.bob).open(scene), visit(crew.rita).open(scene)
    for page in (bob, rita):
        page.route("**/changes*", lambda route: route.abort())  # neither sees the other in time
    trim_start_by_two(bob, event)
    wait_saved(bob)
    select(rita, event)
    rita.keyboard.press("Control+ArrowLeft")
    rita.keyboard.press("Enter")
    rita.wait_for_selector("#merge[open]")
    words = rita.inner_text("#merge")
    assert "bob" in words and "First frame" in words
    assert str(event.start + 2) in words and str(event.start - 1) in words
    assert scene.events.get(id=event.id).start == event.start + 2  # nothing was overwritten
    rita.click("#merge >> text=Keep mine")
    wait_saved(rita)
    stored = scene.events.get(id=event.id)
    assert (stored.start, stored.status) == (event.start - 1, "confirmed")
    rita.keyboard.press("Control+z")  # what was made in place of the edits in conflict
    wait_saved(rita)
    stored = scene.events.get(id=event.id)
    assert (stored.start, stored.status) == (event.start + 2, "proposed")


def test_taking_theirs_leaves_theirs_and_drops_mine(visit: Any, crew: Any, scene: Any) -> None:
    event = scene.events.filter(start__gt=20).order_by("start").first()
    bob, rita = visit(crew.bob).open(scene), visit(crew.rita).open(scene)
    rita.route("**/changes*", lambda route: route.abort())
    trim_start_by_two(bob, event)
    wait_saved(bob)
    select(rita, event)
    rita.keyboard.press("Control+ArrowLeft")
    rita.wait_for_selector("#merge[open]")
    rita.click("#merge >> text=Take theirs")
    wait_saved(rita)
    assert scene.events.get(id=event.id).start == event.start + 2
    rita.wait_for_selector(f"[data-event='{event.id}'][data-start='{event.start + 2}']", state="attached")


def test_edits_of_others_appear_by_themselves(visit: Any, crew: Any, scene: Any) -> None:
    bob, rita = visit(crew.bob).open(scene), visit(crew.rita).open(scene)
    event = scene.events.order_by("start").first()
    select(bob, event)
    bob.keyboard.press("Enter")
    wait_saved(bob)
    rita.wait_for_selector(f"[data-event='{event.id}'][data-status=confirmed]", state="attached", timeout=10_000)
    rita.wait_for_selector("#presence:not([hidden])")
    assert "bob" in rita.inner_text("#presence")


def test_undo_works_while_edits_wait(visit: Any, crew: Any, scene: Any) -> None:
    page = visit(crew.bob).open(scene)
    offline(page)
    confirm_next(page, 2)
    page.keyboard.press("Control+z")
    page.wait_for_function("() => document.querySelectorAll('#twin [data-status=confirmed]').length === 1")
    online(page)
    wait_saved(page)
    assert confirmed(scene) == 1


def test_undo_goes_on_after_a_reload(visit: Any, crew: Any, scene: Any) -> None:
    page = visit(crew.bob).open(scene)
    confirm_next(page, 2)
    wait_saved(page)
    page.keyboard.press("Control+z")
    wait_saved(page)
    assert confirmed(scene) == 1
    page.reload()
    page.wait_for_selector("#workspace[data-ready=all]")
    page.wait_for_selector("#redo:not([disabled])")
    assert page.get_attribute("#redo", "title").startswith("Redo: confirmed ")
    page.keyboard.press("Control+Shift+z")
    wait_saved(page)
    assert confirmed(scene) == 2
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    wait_saved(page)
    assert confirmed(scene) == 0
    page.wait_for_selector("#undo[disabled]")


def reopened(visitor: Any, scene: Any, pattern: str) -> tuple[Any, list[Any]]:
    """The video in a new page, and the requests held back that match the pattern."""
    page, held = visitor.new_page(), list[Any]()
    page.route(pattern, lambda route: held.append(route))
    visitor.open(scene, page=page)
    page.wait_for_timeout(300)
    assert held
    return page, held


@pytest.mark.parametrize("first", ["saved", "recalled"])
def test_what_a_closed_tab_left_is_taken_back_newest_first(visit: Any, crew: Any, scene: Any, first: str) -> None:
    """Whether the queue is saved before the page knows what was done earlier, or after."""
    visitor = visit(crew.bob)
    page = visitor.open(scene)
    confirm_next(page, 1)
    wait_saved(page)
    offline(page)
    confirm_next(page, 2)
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '2'")
    page.wait_for_timeout(300)
    page.close(run_before_unload=False)
    again, held = reopened(visitor, scene, "**/undoable" if first == "saved" else "**/edits")
    if first == "recalled":
        again.wait_for_selector("#undo:not([disabled])")
        again.unroute("**/edits")  # what was held back goes on
        held.clear()
    wait_saved(again)
    order = [edit.changes[0]["id"] for edit in scene.edits.filter(kind="event.update").order_by("revision")]
    assert len(order) == confirmed(scene) == 3
    for left in (2, 1, 0):
        again.keyboard.press("Control+z")
        wait_saved(again)
        assert {str(one.id) for one in scene.events.filter(status="confirmed")} == set(order[:left])
        if held:
            held.pop().continue_()
            again.wait_for_function("() => document.querySelector('#undo').title.startsWith('Undo: confirm')")
            again.wait_for_timeout(300)
    again.wait_for_selector("#undo[disabled]")


def test_an_undo_that_a_closed_tab_left_can_be_done_again(visit: Any, crew: Any, scene: Any) -> None:
    visitor = visit(crew.bob)
    page = visitor.open(scene)
    confirm_next(page, 2)
    wait_saved(page)
    offline(page)
    page.keyboard.press("Control+z")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '1'")
    page.wait_for_timeout(300)
    page.close(run_before_unload=False)
    again, _ = reopened(visitor, scene, "**/edits")
    again.wait_for_selector("#redo:not([disabled])")
    again.unroute("**/edits")  # what was held back goes on
    wait_saved(again)
    assert confirmed(scene) == 1
    again.keyboard.press("Control+Shift+z")
    wait_saved(again)
    assert confirmed(scene) == 2
    for _ in range(2):
        again.keyboard.press("Control+z")
    wait_saved(again)
    assert confirmed(scene) == 0
    again.wait_for_selector("#undo[disabled]")


def test_an_undo_made_before_the_page_knows_what_was_done_is_not_made_twice(visit: Any, crew: Any, scene: Any) -> None:
    """The server's answer is of a moment when the edit was saved and its undo was not."""
    page, held = reopened(visit(crew.bob), scene, "**/undoable")
    confirm_next(page, 1)
    wait_saved(page)
    answer = held[0].fetch()
    assert len(answer.json()["done"]) == 1
    page.keyboard.press("Control+z")
    wait_saved(page)
    with page.expect_response("**/undoable"):
        held[0].fulfill(response=answer)
    page.wait_for_timeout(300)
    assert page.is_disabled("#undo") and page.is_enabled("#redo")
    page.keyboard.press("Control+z")
    page.wait_for_selector("#say >> text=Nothing to undo")
    page.keyboard.press("Control+Shift+z")
    wait_saved(page)
    assert confirmed(scene) == 1


def test_somebody_taken_out_of_the_project_is_told_and_keeps_what_was_not_saved(
    visit: Any, crew: Any, scene: Any
) -> None:
    from webapp.accounts.models import Membership

    page = visit(crew.bob).open(scene)
    Membership.objects.filter(user=crew.bob).delete()
    confirm_next(page, 1)
    page.wait_for_selector("#say:not([hidden])[data-kind=error]")
    assert page.inner_text("#say").startswith("Not saved: confirm ")
    page.wait_for_selector(".banner >> text=You can no longer see this video", timeout=20_000)
    assert "kept on this computer" in page.inner_text("#banners")
    assert unsaved(page) == 1 and confirmed(scene) == 0
    confirm_next(page, 1)
    page.click("#save-state")
    page.wait_for_function("() => document.querySelectorAll('.unsaved-list [data-status=refused]').length === 2")
    Membership.objects.create(project=crew.project, user=crew.bob, role="annotator")
    for left in (1, 0):
        page.locator("text=Try again").first.click()
        page.wait_for_function(
            "left => document.querySelectorAll('.unsaved-list [data-status=refused]').length === left", arg=left
        )
    wait_saved(page)
    assert confirmed(scene) == 2


def test_a_double_click_lets_one_edit_go_and_not_the_next_one(visit: Any, crew: Any, scene: Any) -> None:
    page = visit(crew.bob).open(scene)
    offline(page)
    confirm_next(page, 3)
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '3'")
    page.click("#save-state")
    page.locator("text=Let it go").first.dblclick()
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '2'")
    page.wait_for_timeout(400)
    assert unsaved(page) == 2
    online(page)
    wait_saved(page)
    assert confirmed(scene) == 2
