"""A clip that does not come, a login that ends meanwhile, and words that would burst the page."""

from __future__ import annotations

from typing import Any

from tests.browser.bench import seed
from tests.browser.bench.test_answering import ASK, begin, nothing_left
from tests.browser.conftest import PASSWORD
from webapp.bench.models import Answer

SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll('.ask-card, .ask-card :not(.sr-only)')]
    .filter((one) => one.offsetParent && one.clientWidth && one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.className)"""


def test_a_clip_that_does_not_come_is_asked_for_again(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any
) -> None:
    """Neither a lost connection nor a login that ended leaves the rater before a page without a question."""
    from django.contrib.sessions.models import Session

    seed.signed_question(video, cora, text="Question a?")
    page = visit(crew.bob).page
    page.clock.install()
    page.route("**/clip.mp4", lambda route: route.abort())
    page.goto(f"{studio.address}/p/one/bench/answer/")
    page.get_by_text("The clip does not come. It is asked for again by itself.").wait_for()
    Session.objects.all().delete()
    page.unroute("**/clip.mp4")
    page.clock.run_for(5000)
    page.wait_for_selector("#login-again[open]")
    assert page.locator(ASK).count() == 0  # its time has not begun
    page.fill("#again-password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector(ASK)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    nothing_left(page)
    assert Answer.objects.count() == 1


def test_a_clip_that_cannot_be_played_can_be_called_bad(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any
) -> None:
    seed.signed_question(video, cora, text="Question a?")
    page = visit(crew.bob).page
    page.route("**/clip.mp4", lambda route: route.fulfill(status=200, content_type="video/mp4", body="no film"))
    begin(visit, crew.bob, studio, page)
    page.get_by_text("The clip cannot be played in this browser.").wait_for()
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    nothing_left(page)
    assert Answer.objects.get().special == "bad_clip"


def test_long_words_stay_on_the_page_and_every_question_begins_at_its_top(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any
) -> None:
    for start in ("First", "Second"):
        seed.signed_question(video, cora, text=f"{start} {'x' * 900} {'and so on ' * 90}")
    page = visit(crew.bob, viewport={"width": 1024, "height": 600}).page
    begin(visit, crew.bob, studio, page)
    for start in ("First", "Second"):
        page.get_by_role("heading", name=start).wait_for()
        assert page.evaluate(SIDEWAYS) == []
        scrolled = "(card) => [card.scrollTop, card.scrollHeight > card.clientHeight]"
        assert page.eval_on_selector("#ask-form", scrolled) == [0, True]
        page.keyboard.press("1")
        page.locator("#ask-submit").click()  # the browser scrolls down to it
    nothing_left(page)


def test_what_was_typed_outlives_a_login(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any
) -> None:
    """A form is not sent to nobody: neither while the studio is away nor once its writer is logged out."""
    from django.contrib.sessions.models import Session

    question = seed.signed_question(video, cora, text="Question a?")
    visitor = visit(cora)
    page = visitor.page
    page.goto(f"{studio.address}/q/{question.id}/edit/")
    page.fill("#id_text", "Question b?")
    page.route("**/api/v1/session", lambda route: route.abort())
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The studio cannot be reached. Nothing is lost").wait_for()
    page.unroute("**/api/v1/session")
    Session.objects.all().delete()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("You were logged out. Nothing is lost").wait_for()
    for who in ("bob", "cora"):
        other = visitor.new_page()
        other.goto(f"{studio.address}/login/")
        other.fill("[name=username]", who)
        other.fill("[name=password]", PASSWORD)
        other.keyboard.press("Enter")
        other.wait_for_url(f"{studio.address}/")  # "**/" fits the login page, too
        if who == "bob":
            page.get_by_role("button", name="Save").click()
            page.get_by_text("By now bob is logged in.").wait_for()
            other.context.clear_cookies()
    page.get_by_role("button", name="Save").dblclick()
    page.wait_for_url("**/v/**")
    question.refresh_from_db()
    assert (question.text, question.version) == ("Question b?", 2)
