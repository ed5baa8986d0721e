"""Answering blind: keys, times, double clicks, lost connections, expired logins, and what the page never learns."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.browser.bench import seed
from tests.browser.conftest import PASSWORD
from webapp.bench import answering, services
from webapp.bench.models import Answer, Lease, Question

ASK = "#ask[data-state=question]"
SENT = "#outbox[data-unsaved='0']"


@pytest.fixture
def asked(video: Any, cora: Any) -> Any:
    return seed.signed_question(video, cora)


def begin(visit: Any, user: Any, studio: Any, page: Any = None) -> Any:
    page = page or visit(user).page
    page.goto(f"{studio.address}/p/one/bench/answer/")
    page.wait_for_selector(ASK)
    return page


def nothing_left(page: Any) -> None:
    page.get_by_text("Nothing left for you").wait_for()


def test_an_answer_by_keys(visit: Any, crew: Any, studio: Any, asked: Any, worker: Any) -> None:
    page = begin(visit, crew.bob, studio)
    assert page.inner_text("#ask-text") == "Who looks at Person 0 first?"
    page.keyboard.press("Enter")  # nothing is chosen yet
    assert "Choose an answer first" in page.inner_text("#ask-error")
    page.keyboard.press("c")
    assert page.get_attribute("[data-special=cannot_tell]", "aria-pressed") == "true"
    page.keyboard.press("Shift+D")
    assert page.get_attribute("[data-special=cannot_tell]", "aria-pressed") == "false"
    page.keyboard.press("2")
    chosen = page.get_attribute("[data-option][aria-pressed=true]", "data-option")
    page.wait_for_timeout(1200)
    page.keyboard.press("Enter")
    nothing_left(page)
    given = Answer.objects.get()
    assert (given.question_id, given.user_id, given.chosen) == (asked.id, crew.bob.id, [chosen])
    assert 1.2 <= given.seconds < 30
    shown = page.locator("#ask-empty").inner_text()
    assert "Every open question is answered" in shown  # it says why nothing is left


def test_what_is_said_instead_of_an_answer(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any
) -> None:
    keys = {"c": "cannot_tell", "t": "two_right", "b": "bad_clip"}
    for key in keys:
        seed.signed_question(video, cora, text=f"Question {key}?")
    page = begin(visit, crew.bob, studio)
    for key in keys:
        page.get_by_text(f"Question {key}?").wait_for()
        page.keyboard.press("1")
        page.keyboard.press(key)
        assert page.locator("[data-option][aria-pressed=true]").count() == 0
        page.keyboard.press("Enter")
    nothing_left(page)
    given = Answer.objects.order_by("question__number")
    assert [(one.special, one.chosen) for one in given] == [(special, []) for special in keys.values()]


def test_every_kind_of_answer(visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any) -> None:
    for kind, key in (("multiple", ["a", "c"]), ("number", [3]), ("open", ["They look at each other."])):
        made = seed.signed_question(video, cora, text=f"A question of the kind {kind}?", opened=False)
        fields: dict[str, Any] = {"kind": kind, "key": key, **({} if kind == "multiple" else {"options": []})}
        made = services.edit_question(question_id=made.id, user=cora, version=made.version, fields=fields)
        services.sign_question(question_id=made.id, user=cora, version=made.version)
        services.open_questions(project=video.project, user=cora, ids=[made.id])
    page = begin(visit, crew.bob, studio)
    page.keyboard.press("1")
    page.keyboard.press("4")
    picked = page.eval_on_selector_all(
        "[data-option][aria-pressed=true]", "all => all.map((one) => one.dataset.option)"
    )
    page.keyboard.press("Enter")
    page.locator(".ask-number").wait_for()
    page.keyboard.type("three")
    page.keyboard.press("Enter")
    assert "Write a number" in page.inner_text("#ask-error")
    page.locator(".ask-number").fill("2,5")
    page.keyboard.press("Enter")
    page.locator(".ask-open").wait_for()
    page.locator(".ask-open").fill("They talk.")
    page.get_by_role("button", name="Submit").click()
    nothing_left(page)
    said = [answer.chosen for answer in Answer.objects.order_by("question__number")]
    assert [sorted(said[0]), *said[1:]] == [sorted(picked), [2.5], ["They talk."]]


def test_a_double_click_answers_once(visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any) -> None:
    first, second = (seed.signed_question(video, cora, text=f"Question {n}?") for n in "ab")
    page = begin(visit, crew.bob, studio)
    page.keyboard.press("1")
    page.get_by_role("button", name="Submit").dblclick()
    page.get_by_text("Question b?").wait_for()
    page.wait_for_selector(SENT)
    assert [answer.question_id for answer in Answer.objects.all()] == [first.id]
    assert Lease.objects.get(user=crew.bob).question_id == second.id


def test_an_answer_survives_a_lost_connection(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any
) -> None:
    """Lost before the studio and lost after it: kept, sent again, counted once; then the next question comes."""
    for n in "ab":
        seed.signed_question(video, cora, text=f"Question {n}?")
    page = begin(visit, crew.bob, studio)
    lost: list[str] = []

    def flaky(route: Any) -> None:
        lost.append(json.loads(route.request.post_data)["id"])
        if len(lost) == 1:
            route.abort()
        elif len(lost) == 2:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/answer", flaky)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your answer is kept").wait_for()
    page.get_by_text("Question b?").wait_for(timeout=20_000)
    assert len(lost) == 3 and len(set(lost)) == 1
    assert str(Answer.objects.get().id) == lost[0]


def test_a_closed_tab_loses_no_answer(visit: Any, crew: Any, studio: Any, asked: Any, worker: Any) -> None:
    visitor = visit(crew.bob)
    page = begin(visit, crew.bob, studio, visitor.page)
    page.route("**/answer", lambda route: route.abort())
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your answer is kept").wait_for()
    page.close()
    assert not Answer.objects.exists()
    page = visitor.new_page()
    page.goto(f"{studio.address}/p/one/bench/answer/")
    nothing_left(page)
    assert Answer.objects.get().question_id == asked.id


def test_an_expired_login_keeps_the_answer(visit: Any, crew: Any, studio: Any, asked: Any, worker: Any) -> None:
    from django.contrib.sessions.models import Session

    page = begin(visit, crew.bob, studio)
    Session.objects.all().delete()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#login-again[open]")
    page.fill("#again-password", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#login-again .field-error:not(:empty)")
    page.fill("#again-username", "rita")
    page.fill("#again-password", PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_text("This is another person's account.").wait_for()
    assert not Answer.objects.exists()
    page.fill("#again-username", "bob")
    page.fill("#again-password", PASSWORD)
    page.keyboard.press("Enter")
    nothing_left(page)
    assert Answer.objects.get().user == crew.bob


def test_a_stale_tab_says_so_and_goes_on(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, worker: Any
) -> None:
    """The question was edited while it was on the screen: the answer to its old words is not taken."""
    first = seed.signed_question(video, cora, text="Question a?")
    seed.signed_question(video, cora, text="Question b?")
    page = begin(visit, crew.bob, studio)
    services.edit_question(question_id=first.id, user=cora, version=first.version, fields={"text": "Question c?"})
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.get_by_text(f"Question {first.number}: your answer was not taken.").wait_for()
    page.get_by_text("Question b?").wait_for()
    assert not Answer.objects.exists()


def test_the_same_question_in_two_tabs_is_answered_once(
    visit: Any, crew: Any, studio: Any, asked: Any, worker: Any
) -> None:
    visitor = visit(crew.bob)
    one = begin(visit, crew.bob, studio, visitor.page)
    two = begin(visit, crew.bob, studio, visitor.new_page())
    one.keyboard.press("1")
    one.keyboard.press("Enter")
    nothing_left(one)
    two.keyboard.press("2")
    two.keyboard.press("Enter")
    two.get_by_text("You have answered this question already.").wait_for()
    nothing_left(two)
    assert Answer.objects.count() == 1


# ---------------------------------------------------------------------------------------------------------------------
# Blind


def test_nothing_the_pages_receive_tells_the_key_or_what_others_said(
    visit: Any, crew: Any, studio: Any, video: Any, cora: Any, dora: Any, worker: Any
) -> None:
    """Everything that came to an annotator's browser, on every page of theirs: two worlds that differ in the key and in
    what another person answered must look the same."""
    question = seed.signed_question(video, cora)
    told, whole = {}, {}
    for key, other in (("b", "c"), ("d", "a")):
        Answer.objects.all().delete()
        Lease.objects.all().delete()
        Question.objects.filter(id=question.id).update(key=[key], letter=key.upper(), state="answering")
        lease = answering.next_item(project=crew.project, user=dora)
        assert lease is not None
        answering.answer(question_id=question.id, user=dora, id=uuid.uuid4(), chosen=[other], seconds=3.0)
        Lease.objects.create(
            question=question, round=question.round, user=crew.bob, order=["c", "a", "d", "b"],
            until=lease.until, begun=lease.begun,
        )  # fmt: skip
        told[key] = received(visit, crew, studio, video, question)
        whole[key] = seen_by_curator(visit, studio, cora, question)
    assert told["b"].keys() == told["d"].keys()
    for address, body in told["b"].items():
        assert body == told["d"][address], address
    assert whole["b"] != whole["d"]  # whoever may see the key gets another answer, so the worlds do differ


def seen_by_curator(visit: Any, studio: Any, cora: Any, question: Any) -> str:
    visitor = visit(cora)
    text: str = visitor.page.request.get(f"{studio.address}/api/v1/questions/{question.id}").text()
    visitor.context.close()
    return scrubbed(text, "application/json")


ADDRESSES = ("/p/one/bench/answer/", "/p/one/bench/", "/p/one/bench/?state=answering", "/p/one/bench/composition.csv")
CHANGING = ("until", "left_s", "csrf", "now")  # clocks and tokens


def received(visit: Any, crew: Any, studio: Any, video: Any, question: Any) -> dict[str, str]:
    """Bodies by address of all that the browser gets, less clocks and tokens."""
    visitor = visit(crew.bob)
    page, bodies = visitor.page, dict[str, str]()

    def keep(response: Any) -> None:
        kind = response.headers.get("content-type", "")
        if response.request.method in ("GET", "POST") and kind.startswith(
            ("text/html", "application/json", "text/csv")
        ):
            bodies[f"{response.request.method} {response.url}"] = scrubbed(response.text(), kind)

    page.on("response", keep)
    for address in (*ADDRESSES, f"/v/{video.id}/?question={question.id}"):
        if address.endswith(".csv"):
            bodies[address] = page.request.get(studio.address + address).text()
            continue
        page.goto(studio.address + address)
        page.wait_for_load_state("load")
        if address.endswith("/answer/"):
            page.wait_for_selector(ASK)
        page.wait_for_timeout(600)
    for address in (f"/questions/{question.id}", "/projects/one/bench", "/projects/one/questions"):
        bodies[address] = scrubbed(page.request.get(f"{studio.address}/api/v1{address}").text(), "application/json")
    visitor.context.close()
    return bodies


def scrubbed(text: str, kind: str) -> str:
    import re

    if kind.startswith("application/json"):
        tree = json.loads(text)

        def clean(node: Any) -> Any:
            if isinstance(node, dict):
                return {name: clean(value) for name, value in node.items() if name not in CHANGING}
            return [clean(one) for one in node] if isinstance(node, list) else node

        return json.dumps(clean(tree), sort_keys=True)
    text = re.sub(r'(csrfmiddlewaretoken" value|X-CSRFToken": ?|nonce=)["\'=: ]*[\w-]+', r"\1", text)
    return re.sub(r'data-now="[^"]*"|X-CSRFToken[^}]*\}', "", text)
