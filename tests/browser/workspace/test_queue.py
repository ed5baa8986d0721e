"""The queue of edits under trouble: tabs, conflicts with more behind them, edits the server fails on, full disks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import cookie_of, wait_saved
from tests.browser.workspace import seed
from tests.browser.workspace.test_saving import confirm_next, confirmed, offline, online, select, unsaved


@pytest.fixture
def scene(crew: Any) -> Any:
    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500))
    video = seed.bare_video(crew.project, made)
    seed.add_scene(video, made)
    seed.add_events(video, 12, shares=(1, 0, 0))
    return video


def first(scene: Any) -> Any:
    return scene.events.filter(start__gt=20).order_by("start").first()


def changed_by_rita(crew: Any, scene: Any, event: Any) -> None:
    """Somebody else trims the event by two frames."""
    import uuid

    from webapp.events import ledger

    edit = ledger.EditRequest(uuid.uuid4(), "event.update", event.id, event.version, {"start": event.start + 2})
    ledger.apply_edit(video_id=scene.id, user=crew.rita, edit=edit)


def mute(page: Any) -> None:
    """The page does not hear what others do."""
    page.route("**/changes*", lambda route: route.abort())


def open_list(page: Any) -> str:
    page.evaluate("document.querySelector('#save-state').click()")
    page.wait_for_selector("#unsaved[open]")
    return str(page.inner_text("#unsaved"))


def test_a_conflict_is_ended_in_the_tab_that_did_not_make_it(visit: Any, crew: Any, scene: Any) -> None:
    event = first(scene)
    visitor = visit(crew.bob)
    one = visitor.open(scene)
    two = visitor.open(scene, page=visitor.new_page())
    mute(one)
    mute(two)
    changed_by_rita(crew, scene, event)
    select(one, event)
    one.keyboard.press("Control+ArrowLeft")
    two.wait_for_selector("#merge[open]")
    two.click("#merge >> text=Keep mine")
    for page in (one, two):
        wait_saved(page)
        page.wait_for_selector("#merge:not([open])", state="attached")
    assert scene.events.get(id=event.id).start == event.start - 1
    one.reload()
    one.wait_for_selector("#workspace[data-ready=all]")
    wait_saved(one)
    select(one, event)
    one.keyboard.press("Enter")
    wait_saved(one)
    assert scene.events.get(id=event.id).status == "confirmed"


def test_asking_twice_for_changes_that_do_not_come_is_no_failure_of_the_page(visit: Any, crew: Any, scene: Any) -> None:
    visitor = visit(crew.bob)
    page = visitor.open(scene)
    mute(page)
    with page.expect_event("requestfailed"):
        page.evaluate("for (let k = 0; k < 3; k++) dispatchEvent(new Event('online'))")
    page.wait_for_timeout(200)
    page.unroute("**/changes*")
    event = first(scene)
    changed_by_rita(crew, scene, event)
    page.wait_for_selector(f"[data-event='{event.id}'][data-start='{event.start + 2}']", state="attached")
    assert not visitor.complaints


@pytest.mark.parametrize("keep", [True, False])
def test_what_waits_behind_a_conflict_is_not_lost(visit: Any, crew: Any, scene: Any, keep: bool) -> None:
    event = first(scene)
    scene.events.filter(id=event.id).update(origin="human")
    page = visit(crew.bob).open(scene)
    mute(page)
    offline(page)
    changed_by_rita(crew, scene, event)
    select(page, event)
    page.keyboard.press("Control+ArrowLeft")
    page.keyboard.press("Delete")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '2'")
    online(page)
    page.wait_for_selector("#merge[open]")
    assert "Also waiting: delete" in page.inner_text("#merge")
    page.click(f"#merge >> text={'Keep mine' if keep else 'Take theirs'}")
    if not keep:  # the deletion was made of something else than what stands now: it is asked about
        page.wait_for_selector("#merge >> text=Do it all the same")
        assert scene.events.filter(id=event.id).exists()
        page.click("#merge >> text=Do it all the same")
    wait_saved(page)
    assert not scene.events.filter(id=event.id).exists()


def test_an_edit_the_server_fails_on_is_parked_and_others_go_on(visit: Any, crew: Any, scene: Any) -> None:
    page = visit(crew.bob).open(scene)
    bad: list[str] = []

    def fail(route: Any) -> None:
        sent = route.request.post_data_json["object"]
        bad[:] = bad or [sent]
        if sent == bad[0]:
            route.fulfill(status=500, content_type="application/json", body='{"error": "broken"}')
        else:
            route.continue_()

    page.route("**/edits", fail)
    confirm_next(page, 3)
    for _ in range(5):
        page.wait_for_timeout(150)
        page.evaluate("dispatchEvent(new Event('online'))")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '1'")
    assert confirmed(scene) == 2
    words = open_list(page)
    assert "not saved" in words and "Confirmed" in words
    page.keyboard.press("Escape")
    page.unroute("**/edits")
    page.evaluate("document.querySelector('#save-state').click()")
    page.click("#unsaved >> text=Try again")
    wait_saved(page)
    assert confirmed(scene) == 3


def test_an_edit_that_waits_can_be_let_go_and_what_follows_is_saved(visit: Any, crew: Any, scene: Any) -> None:
    event = first(scene)
    page = visit(crew.bob).open(scene)
    offline(page)
    select(page, event)
    page.keyboard.press("Enter")
    page.keyboard.press("Control+ArrowRight")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '2'")
    open_list(page)
    page.locator("#unsaved li >> text=Let it go").first.click()
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '1'")
    online(page)
    wait_saved(page)
    stored = scene.events.get(id=event.id)
    assert (stored.status, stored.start) == ("proposed", event.start + 1)


def test_trying_again_loses_nothing_when_the_thing_is_gone(visit: Any, crew: Any, scene: Any) -> None:
    from webapp.accounts.models import Membership

    event = first(scene)
    page = visit(crew.bob).open(scene)
    Membership.objects.filter(user=crew.bob).update(role="viewer")
    select(page, event)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.state === 'unsaved'")
    Membership.objects.filter(user=crew.bob).update(role="annotator")
    scene.events.filter(id=event.id).delete()
    open_list(page)
    page.click("#unsaved >> text=Try again")
    page.wait_for_timeout(700)
    assert unsaved(page) == 1


def test_edits_wait_for_the_person_who_made_them(visit: Any, crew: Any, scene: Any, studio: Any) -> None:
    visitor = visit(crew.bob)
    page = visitor.open(scene)
    offline(page)
    confirm_next(page, 2)
    visitor.context.add_cookies([cookie_of(crew.rita, studio)])
    online(page)
    page.wait_for_selector("#login-again[open]")
    words = page.inner_text("#login-again")
    assert "rita is logged in" in words and "2 edits of bob wait" in words
    assert confirmed(scene) == 0
    visitor.context.add_cookies([cookie_of(crew.bob, studio)])
    page.keyboard.press("Escape")
    online(page)
    wait_saved(page)
    assert {edit.user for edit in scene.edits.filter(kind="event.update")} == {crew.bob}


def test_an_edit_the_disk_does_not_take_is_sent_all_the_same(visit: Any, crew: Any, scene: Any) -> None:
    visitor = visit(crew.bob)
    visitor.page.add_init_script("IDBObjectStore.prototype.put = function () { this.transaction.abort(); }")
    page = visitor.open(scene)
    offline(page)
    confirm_next(page, 2)
    page.wait_for_selector("#say >> text=do not close the tab")
    assert "not kept across a closed tab" in open_list(page)
    page.keyboard.press("Escape")
    online(page)
    wait_saved(page)
    assert confirmed(scene) == 2


@pytest.mark.parametrize("turn", range(3))  # it was a race
def test_what_a_conflict_takes_in_is_not_sent_by_itself(visit: Any, crew: Any, scene: Any, turn: int) -> None:
    """A trim and a rejection in one conflict; the rejection is given up, so the server never hears of it."""
    event = first(scene)
    page = visit(crew.bob).open(scene)
    mute(page)
    offline(page)
    changed_by_rita(crew, scene, event)
    select(page, event)
    page.keyboard.press("Control+ArrowLeft")
    page.keyboard.press("Backspace")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.unsaved === '2'")
    online(page)
    page.wait_for_selector("#merge[open]")
    page.click("#merge input[name=merge-status][value=theirs]")
    page.click("#merge input[name=merge-start][value=mine]")
    page.click("#merge >> text=Save as chosen")
    wait_saved(page)
    stored = scene.events.get(id=event.id)
    assert (stored.start, stored.status) == (event.start - 1, "proposed")
    assert "rejected" not in str([edit.changes for edit in scene.edits.all()])


def test_edits_made_just_before_a_reload_are_saved_after_it(visit: Any, crew: Any, scene: Any) -> None:
    """Faster than the disk writes: what it had not written yet was noted elsewhere."""
    event = first(scene)
    page = visit(crew.bob).open(scene)
    page.on("dialog", lambda dialog: dialog.accept())
    select(page, event)
    page.evaluate(
        """() => {
          const key = { key: "ArrowRight", shiftKey: true, bubbles: true, cancelable: true };
          for (let turn = 0; turn < 25; turn++) document.body.dispatchEvent(new KeyboardEvent("keydown", key));
          location.reload();
        }"""
    )
    page.wait_for_selector("#workspace[data-ready=all]")
    wait_saved(page)
    assert scene.events.get(id=event.id).end == event.end + 25
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('sightline-edit ')).length") == 0


def test_another_tab_saves_what_a_closed_one_made_last(visit: Any, crew: Any, scene: Any) -> None:
    event = first(scene)
    visitor = visit(crew.bob)
    one = visitor.open(scene)
    two = visitor.open(scene, page=visitor.new_page())
    select(one, event)
    one.evaluate(
        """() => {
          const key = { key: "ArrowRight", shiftKey: true, bubbles: true, cancelable: true };
          for (let turn = 0; turn < 6; turn++) document.body.dispatchEvent(new KeyboardEvent("keydown", key));
        }"""
    )
    one.close(run_before_unload=False)
    two.bring_to_front()
    two.wait_for_timeout(500)  # its word about the edits has arrived
    wait_saved(two)
    assert scene.events.get(id=event.id).end == event.end + 6
