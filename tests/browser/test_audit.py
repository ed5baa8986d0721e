"""Auditing by hand: ten claims by keyboard, a mask by brush, a second auditor who is blind, and the report of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ml.formats import coco_rle
from tests.browser import audit_seed
from tests.browser.bench import seed
from tests.browser.conftest import settle
from webapp.audit.models import Audit, HumanVerdict, MaskEdit, Rating

FETCH = "(url) => fetch(url).then((answer) => answer.text())"
SAVED = "#save-state[data-unsaved='0']"
SPOKEN = [  # verdict, relevance and their keys, for each of the ten claims; "" where there is no mask to be relevant
    ("supported", "1", "relevant", "q"),
    ("contradicted", "2", "relevant", "q"),
    ("supported", "1", "partly", "w"),
    ("cannot_tell", "3", "", ""),
    ("contradicted", "2", "irrelevant", "e"),
    ("contradicted", "2", "", ""),
    ("supported", "1", "relevant", "q"),
    ("cannot_tell", "3", "", ""),
    ("cannot_tell", "3", "", ""),
    ("cannot_tell", "3", "", ""),
]


@pytest.fixture
def ruth(crew: SimpleNamespace) -> Any:
    """A second reviewer."""
    return member(crew, "ruth", "reviewer")


def member(crew: SimpleNamespace, name: str, role: str) -> Any:
    from webapp.accounts.models import Membership, User

    user = User.objects.create(username=name, password=crew.bob.password)
    Membership.objects.create(project=crew.project, user=user, role=role)
    return user


@pytest.fixture
def video(crew: SimpleNamespace) -> Any:
    return seed.make_video(crew.project)


@pytest.fixture
def jobs() -> Callable[[], None]:
    """Do the jobs of the audit that wait."""

    def do() -> None:
        from webapp.jobs.models import Job
        from workers.attempt import run
        from workers.tasks import auditing

        for job in Job.objects.filter(kind="audit-report", state="queued"):
            run(str(job.id), "cpu@test", auditing.report)

    return do


@pytest.fixture
def audit(video: Any, crew: SimpleNamespace) -> Audit:
    return audit_seed.make(video, crew.alice)


def begin(page: Any, studio: Any, number: int = 1) -> Any:
    """Take the next response by the list's button."""
    page.goto(f"{studio.address}/p/one/audits/")
    page.get_by_role("button", name="Audit").click()
    return ready(page)


def ready(page: Any) -> Any:
    page.wait_for_selector("#audit:is([data-ready=all], [data-ready=failed])", state="attached")
    assert page.get_attribute("#audit", "data-ready") == "all", page.inner_text("#failure")
    return page


def focused(page: Any) -> int:
    """Place of the claim in focus, from 1."""
    return int(page.inner_text("#claim-facts .claim-head b").split("/")[0])


def wait_focus(page: Any, place: int) -> None:
    page.wait_for_function(f"document.querySelector('#claim-facts .claim-head b').textContent.startsWith('{place} /')")


def judge(page: Any, spoken: list[tuple[str, str, str, str]]) -> None:
    """Say something of every claim, with nothing but keys."""
    for place, (_, verdict, _, relevance) in enumerate(spoken, 1):
        wait_focus(page, place)
        page.keyboard.press(verdict)
        if relevance:
            page.keyboard.press(relevance)
        page.keyboard.press("n")
    page.wait_for_selector(SAVED)


def said_by(user: Any) -> list[tuple[str, str]]:
    rows = HumanVerdict.objects.filter(user=user).order_by("claim__position")
    return [(row.verdict, row.relevance) for row in rows]


def stroke(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over the picture, in shares of it."""
    stage = page.locator("#stage").bounding_box()
    wide = min(stage["width"], stage["height"] * 16 / 9)
    high = wide * 9 / 16
    left, top = stage["x"] + (stage["width"] - wide) / 2, stage["y"] + (stage["height"] - high) / 2

    def at(place: tuple[float, float]) -> tuple[float, float]:
        return left + place[0] * wide, top + place[1] * high

    page.mouse.move(*at(start))
    page.mouse.down()
    page.mouse.move(*at(end), steps=5)
    page.mouse.up()


def test_ten_claims_a_brush_a_blind_second_and_the_report_of_both(
    visit: Any, crew: SimpleNamespace, ruth: Any, studio: Any, audit: Audit, jobs: Callable[[], None]
) -> None:
    page = begin(visit(crew.rita).page, studio)
    assert page.locator("#claim-machine .badge").count() == 0
    assert page.locator("#cards .card").count() == 10 and page.locator("#rationale .span").count() == 10
    judge(page, SPOKEN)
    assert said_by(crew.rita) == [(verdict, relevance) for verdict, _, relevance, _ in SPOKEN]
    assert "Supported" in page.inner_text("#cards .card:first-child .card-mark")
    # one mask by brush: what is painted is kept, in the same pixels
    page.keyboard.press("Home")
    page.locator("#rationale .span").first.click()
    wait_focus(page, 1)
    settle(page)
    page.keyboard.press("m")
    stroke(page, (0.5, 0.2), (0.6, 0.2))
    page.wait_for_selector(SAVED)
    (edit,) = MaskEdit.objects.filter(user=crew.rita)
    assert (edit.action, edit.origin, edit.query, edit.object) == ("draw", "brush", "phrase-1", 1)
    assert edit.frame == int(page.get_attribute("#player", "data-frame"))
    drawn = coco_rle.decode(edit.counts.encode(), (180, 320))
    before = audit_seed.ellipse(1 / 5 + 0.0006 * (edit.frame - audit_seed.START), 0.55, 0.07, 0.33)
    fresh = drawn & ~before
    assert not (before & ~drawn).any() and fresh.any()
    ys, xs = np.nonzero(fresh)
    assert abs(ys.mean() - 36) < 2 and abs(xs.mean() - 176) < 2 and 150 < xs.min() < xs.max() < 202
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Enter")
    page.wait_for_url("**/p/one/audits/1/")
    assert Rating.objects.get(user=crew.rita).completed

    # the second one is blind: nothing of the first's, nothing of the machine's, not whether the answer is right
    page = begin(visit(ruth).page, studio)
    response = audit.responses.get()
    asked = [f"/audit/responses/{response.id}", f"/audit/responses/{response.id}/masks", f"/audits/{audit.id}"]
    told = page.content() + "".join(page.evaluate(FETCH, f"/api/v1{path}") for path in asked)
    for hidden in ("rita", edit.counts, "rule_", '"correct"', "blind_verdict", "adjudication"):
        assert hidden not in told, hidden
    assert page.locator("#cards [data-said]:not([data-said=''])").count() == 0
    changed = [("contradicted", "2", "relevant", "q"), *SPOKEN[1:]]
    judge(page, changed)
    assert said_by(ruth)[0] == ("contradicted", "relevant") and not MaskEdit.objects.filter(user=ruth).exists()
    page.keyboard.press("Shift+Enter")
    page.wait_for_url("**/p/one/audits/1/")

    # a third person sees both and decides
    page = visit(crew.alice).page
    page.goto(f"{studio.address}/p/one/audits/1/adjudicate/")
    ready(page)
    words = page.inner_text("#others")
    assert "rita Supported" in words and "ruth Contradicted" in words
    assert "rule_supported" in page.inner_text("#claim-machine")
    page.keyboard.press("1")
    page.keyboard.press("/")
    page.keyboard.type("She is at the left from the first frame on.")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_text("Decided. Nothing else is disputed.").wait_for()

    # and the report shows what both said
    page.goto(f"{studio.address}/p/one/audits/1/")
    page.get_by_role("button", name="Finish…").click()
    page.get_by_role("button", name="Finish the audit").click()
    page.wait_for_url("**/report/")
    jobs()
    page.reload()
    agreement = page.locator("#agreement tr", has_text="Verdict").inner_text()
    assert "10" in agreement and "90 %" in agreement, agreement
    assert "9 of 10" in page.inner_text("#metrics") or page.locator("#metrics").count() == 1
    tree = download(page, "JSON")
    assert json.loads(tree)
    page.goto(f"{studio.address}/audit/responses/{response.id}/")
    ready(page)
    words = page.inner_text("#others")
    assert "rita Supported" in words and "ruth Contradicted" in words and "alice decided" in words
    assert "wrong" in page.inner_text(".asked-answer")


def download(page: Any, name: str) -> str:
    with page.expect_download() as waited:
        page.get_by_role("link", name=name).click()
    return Path(waited.value.path()).read_text()
