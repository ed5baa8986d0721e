"""The page of one question: the workspace with its panel and the marks of its proof."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.bench import seed
from tests.browser.conftest import settle, wait_saved
from webapp.bench.models import KeySeen, Question
from webapp.events.models import Event


@pytest.fixture
def item(video: Any, cora: Any, worker: Any) -> Question:
    """A generated question about the mutual gaze of frames 30 to 59."""
    from webapp.bench.generation import generate_for

    generate_for(video=video, user=None, seed=0, categories=["mutual_gaze"])
    event = Event.objects.get(video=video, type="mutual_gaze", start=30)
    found = Question.objects.filter(proof__events__contains=[str(event.id)]).order_by("number").first()
    assert found is not None
    return found


def panel(page: Any) -> str:
    text: str = page.inner_text("#inspector .inspector-body")
    return text


def test_a_question_opens_blind_and_shows_its_key_when_asked_for(
    visit: Any, crew: Any, video: Any, item: Question
) -> None:
    page = visit(crew.rita).open(video, f"?question={item.id}")
    assert f"Question {item.number}" in panel(page) and page.locator(".question-key").count() == 0
    assert not KeySeen.objects.filter(user=crew.rita).exists()
    page.get_by_role("button", name="Show the key").click()
    page.locator(".question-key").wait_for()
    assert KeySeen.objects.filter(question=item, user=crew.rita).exists()
    assert "eye contact" in panel(page) or "look" in panel(page)
    events = page.locator(".proof-events button")
    assert item.proof is not None and events.count() == len(item.proof["events"])
    events.first.click()
    page.wait_for_selector(".question-back")  # the event's own panel, with a way back
    assert "Why" in panel(page) or "Who" in panel(page)
    page.click(".question-back")
    page.locator(".question-key").wait_for()
    assert f"question={item.id}" in page.url


def test_an_annotator_sees_no_key(visit: Any, crew: Any, video: Any, item: Question) -> None:
    page = visit(crew.bob).open(video, f"?question={item.id}")
    assert "The key is hidden until this question is decided" in panel(page)
    assert page.get_by_role("button", name="Show the key").count() == 0
    assert page.locator(".question-key, .proof-events").count() == 0


def test_playing_loops_the_clip_and_the_timeline_shows_it(visit: Any, crew: Any, video: Any, item: Question) -> None:
    page = visit(crew.rita).open(video, f"?question={item.id}")
    assert page.get_attribute("#loop", "aria-pressed") == "true"
    span = page.evaluate(f"fetch('/api/v1/questions/{item.id}').then((answer) => answer.json())")
    start, end = span["clip_start"], span["clip_end"]
    assert int(page.get_attribute("#player", "data-frame")) == start
    page.evaluate("n => document.querySelector('#frame-field').value = n", str(end - 3))
    page.locator("#frame-field").dispatch_event("change")
    settle(page)
    page.keyboard.press("Space")
    page.wait_for_function(
        "([start, end]) => { const frame = Number(document.querySelector('#player').dataset.frame);"
        " return frame >= start && frame < end - 10; }",
        arg=[start, end],
    )
    frame = int(page.get_attribute("#player", "data-frame"))
    assert start <= frame < end


def test_an_edit_makes_the_question_stale_and_says_what_changed(
    visit: Any, crew: Any, cora: Any, video: Any, item: Question, worker: Any
) -> None:
    """The curator rejects the event that the proof rests on: the panel tells it, and why, without a reload."""
    page = visit(cora).open(video, f"?question={item.id}")
    page.get_by_role("button", name="Show the key").click()
    page.locator(".proof-events button").first.click()
    page.wait_for_selector(".question-back")
    page.keyboard.press("Backspace")
    wait_saved(page)
    worker()
    page.click(".question-back")
    page.locator(".pill-stale").wait_for(timeout=20_000)
    page.get_by_text("rejected now").first.wait_for(timeout=20_000)
    item.refresh_from_db()
    assert item.stale and not item.doubted


def test_without_a_question_nothing_of_the_bench_is_loaded(visit: Any, crew: Any, video: Any) -> None:
    visitor = visit(crew.rita)
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.open(video)
    assert not [url for url in asked if "/js/bench/" in url or "question.css" in url]


def test_what_is_no_question_is_said_so(visit: Any, crew: Any, video: Any) -> None:
    page = visit(crew.rita).open(video, "?question=00000000-0000-0000-0000-000000000000")
    assert "There is no such question, or it is not yours to see." in panel(page)


def test_the_form_inserts_people_and_shows_how_it_reads(
    visit: Any, crew: Any, cora: Any, video: Any, studio: Any
) -> None:
    made = seed.signed_question(video, cora, opened=False)
    page = visit(cora).page
    page.goto(f"{studio.address}/q/{made.id}/edit/")
    text = page.locator("#id_text")
    text.fill("Whom does ")
    page.get_by_role("button", name="Person 3", exact=True).click()
    page.keyboard.type(" look at?")
    assert text.input_value() == "Whom does {Person 3} look at?"
    assert page.inner_text("[data-preview-of=id_text]").replace(" ", " ") == "Whom does Person 3 look at?"
    page.get_by_role("button", name="Another option").click()
    page.keyboard.type("Nobody")
    page.get_by_label("Option 1", exact=True).fill("{Person 8}")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("There is no Person 8 in this video.").wait_for()
    page.get_by_label("Option 1", exact=True).fill("{Person 0}")
    page.get_by_role("button", name="Save").dblclick()
    page.wait_for_selector("#workspace[data-ready=all]", state="attached")
    made.refresh_from_db()
    assert made.version == 2 and len(made.options) == 5
    assert "Whom does Person 3 look at?" in panel(page)
