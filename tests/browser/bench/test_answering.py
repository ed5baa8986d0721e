"""Answering blind: keys, times, double clicks, lost connections, expired logins, and what the page never learns."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.bench import seed
from webapp.bench.models import Answer

ASK = "#ask[data-state=question]"


@pytest.fixture
def asked(video: Any, cora: Any) -> Any:
    return seed.signed_question(video, cora)


def begin(visit: Any, user: Any, studio: Any) -> Any:
    page = visit(user).page
    page.goto(f"{studio.address}/p/one/bench/answer/")
    page.wait_for_selector(ASK)
    return page


def test_an_answer_by_keys(visit: Any, crew: Any, studio: Any, asked: Any, worker: Any) -> None:
    page = begin(visit, crew.bob, studio)
    assert page.inner_text("#ask-text") == "Who looks at Person 0 first?"
    page.keyboard.press("2")
    chosen = page.get_attribute("[data-option][aria-pressed=true]", "data-option")
    page.keyboard.press("Enter")
    page.get_by_text("Nothing left for you").wait_for()
    given = Answer.objects.get()
    assert (given.question_id, given.user_id, given.chosen) == (asked.id, crew.bob.id, [chosen])
    assert 0 < given.seconds < 60
