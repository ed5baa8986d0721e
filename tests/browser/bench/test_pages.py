"""The list by keys, its filters, selections, and what every page of the bench promises: names, sizes, no sideways."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser.bench import seed
from tests.browser.test_pages import NAMELESS, TOO_SMALL, sideways
from webapp.bench.models import Question


@pytest.fixture
def questions(video: Any, cora: Any) -> list[Question]:
    texts = ("Who looks at {p:0} first?", "Whom does {p:1} look at?", "What does {p:2} do?")
    return [seed.signed_question(video, cora, text=text, opened=False) for text in texts]


def test_the_list_by_keys_and_its_filters(
    visit: Any, cora: Any, studio: Any, video: Any, questions: list[Question]
) -> None:
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/bench/")
    page.keyboard.press("/")
    page.keyboard.type("whom")
    page.wait_for_function("() => document.querySelectorAll('[data-question]').length === 1")
    assert "q=whom" in page.url
    page.get_by_role("link", name="Mutual gaze").click()  # joins the words that were typed
    page.wait_for_url("**/bench/?q=whom&category=mutual_gaze")
    page.locator(".pipe-draft").click()
    page.wait_for_url("**state=draft**")
    assert page.locator("[data-question]").count() == 1 and "q=whom" in page.url
    page.go_back()
    page.wait_for_url("**/bench/?q=whom&category=mutual_gaze")
    page.goto(f"{studio.address}/p/one/bench/?sort=oldest")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/v/{video.id}/?question={questions[0].id}*")


def test_selected_questions_are_handed_out_in_one_step(
    visit: Any, cora: Any, studio: Any, questions: list[Question]
) -> None:
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/bench/")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_text("2 selected").wait_for()
    page.get_by_role("button", name="Hand to the raters").dblclick()
    page.get_by_text("2 questions are handed to the raters.").wait_for()
    assert Question.objects.filter(state="answering").count() == 2
    page.get_by_label(f"Select question {questions[0].number}").check()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Reject").click()
    page.get_by_text("1 question is rejected.").wait_for()
    assert Question.objects.get(id=questions[0].id).state == "rejected"


@pytest.mark.parametrize("width", [1024, 1440])
def test_no_page_scrolls_sideways_and_every_control_has_a_name(
    visit: Any, crew: SimpleNamespace, cora: Any, studio: Any, video: Any, questions: list[Question], width: int
) -> None:
    from webapp.bench.models import Release, ReleaseItem

    long = "a question with a great many words in it, " * 9
    Question.objects.filter(id=questions[0].id).update(shown=long, stale=True, stale_why=long)
    release = Release.objects.create(project=crew.project, number=1, sha256="ab" * 32, notes=long)
    item = {"question": long, "category": "mutual_gaze", "answer_text": long}
    ReleaseItem.objects.create(
        release=release, question=questions[0], position=1, question_version=1, item=item, sha256="cd" * 32
    )
    page = visit(crew.alice, viewport={"width": width, "height": 768}).page
    bench = "/p/one/bench/"
    addresses = [bench + part for part in ("", "answer/", "adjudicate/", "settings/", "releases/", "releases/1/")]
    addresses += [f"{bench}questions/new/", f"/q/{questions[1].id}/edit/"]
    for address in addresses:
        page.goto(studio.address + address)
        assert not sideways(page), address
        assert page.evaluate(NAMELESS) == [], address
        assert page.evaluate(TOO_SMALL) == [], address
