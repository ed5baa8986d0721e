"""One item from proposal to release, by five people at five windows: a curator makes questions, two annotators answer,
a reviewer decides, an admin cuts the release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.browser.bench.test_answering import ASK
from webapp.bench.models import Adjudication, Answer, Question


def test_an_item_walks_from_proposal_to_release(
    visit: Any, crew: SimpleNamespace, studio: Any, video: Any, cora: Any, dora: Any, worker: Any
) -> None:
    curator = visit(cora).page
    curator.goto(f"{studio.address}/p/one/bench/")
    curator.get_by_role("heading", name="No questions yet").wait_for()
    curator.get_by_role("button", name="Generate questions").click()
    curator.get_by_text("Questions are being made from the confirmed events.").wait_for()
    worker()
    curator.locator("[data-question]").first.wait_for()  # the page brings them by itself
    curator.get_by_role("link", name="No", exact=True).click()  # oldest first
    curator.locator("th[aria-sort=ascending]").wait_for()
    item = Question.objects.filter(kind="single").order_by("number").first()
    assert item is not None and item.proof is not None and item.state == "draft"

    # the curator looks at its proof on the timeline, then hands it to the raters
    curator.locator(f"[data-question='{item.id}'] [data-open]").click()
    curator.wait_for_selector("#workspace[data-ready=all]", state="attached")
    curator.locator(".question-key").wait_for()
    assert curator.locator(".proof-events button").count() >= 1
    curator.get_by_role("button", name="Hand to the raters").click()
    curator.locator(".pill-answering").wait_for()

    # two annotators answer blind, and differ
    for user, right in ((crew.bob, True), (dora, False)):
        page = visit(user).page
        page.goto(f"{studio.address}/p/one/bench/answer/")
        page.wait_for_selector(ASK, timeout=30_000)
        ids = page.eval_on_selector_all("[data-option]", "all => all.map((one) => one.dataset.option)")
        key = item.key[0]
        choice = ids.index(key) if right else next(k for k, id in enumerate(ids) if id != key)
        page.keyboard.press(str(choice + 1))
        page.keyboard.press("Enter")
        page.get_by_text("Nothing left for you").wait_for()
    assert Answer.objects.filter(question=item).count() == 2
    item.refresh_from_db()
    assert item.state == "disputed"

    # a third person decides
    reviewer = visit(crew.rita).page
    reviewer.goto(f"{studio.address}/p/one/bench/")
    reviewer.get_by_role("link", name="Adjudicate").click()
    reviewer.get_by_text("1 of 2 gave the key").wait_for()
    reviewer.wait_for_load_state()  # before that nobody listens for keys
    reviewer.keyboard.press("a")  # a verdict needs a reason: the field takes the focus
    assert reviewer.evaluate("document.activeElement.id") == "id_reason"
    reviewer.keyboard.type("The second rater looked at the wrong person.")
    reviewer.keyboard.press("Control+Enter")
    reviewer.get_by_text(f"Question {item.number} is accepted.").wait_for()
    assert Adjudication.objects.get(question=item).user == crew.rita
    item.refresh_from_db()
    assert item.state == "accepted"

    # the curator proves and checks, an admin cuts the release
    curator.goto(f"{studio.address}/p/one/bench/?state=accepted")
    curator.get_by_role("button", name="Prove again").click()
    worker()
    count = Question.objects.exclude(proof=None).count()
    curator.get_by_text(f"{count} of {count} proofs stand.").wait_for()
    curator.get_by_role("button", name="Check").click()
    worker()
    curator.get_by_text("No error; ").or_(curator.get_by_text("0 errors and")).first.wait_for()
    admin = visit(crew.alice).page
    admin.goto(f"{studio.address}/p/one/bench/")
    admin.get_by_role("link", name="Releases").click()
    admin.get_by_role("heading", name="Releases").wait_for()
    admin.wait_for_load_state()
    admin.get_by_role("button", name="Cut the first release…").click()
    admin.get_by_label("Notes").fill("One question.")
    admin.get_by_role("button", name="Cut release 1", exact=True).click()
    admin.get_by_text("The release is being cut").wait_for()
    worker()
    admin.get_by_text("Release 1 is cut.").wait_for()
    admin.locator("[data-release='1'] [data-open]").click()
    admin.get_by_role("heading", name="Release 1").wait_for()
    admin.wait_for_load_state()
    assert admin.locator("[data-item]").count() == 1
    admin.get_by_role("button", name="Retire…").click()
    admin.get_by_label("Reason").fill("The clip shows a number, not people.")
    admin.get_by_role("button", name="Retire", exact=True).click()
    admin.get_by_text("Item 1 is retired in release 1.").wait_for()
    item.refresh_from_db()
    assert item.state == "retired"
