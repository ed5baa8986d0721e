"""Auditing by hand: ten claims by keyboard, a mask by brush, a second auditor who is blind, and the report of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from ml.formats import coco_rle
from tests.browser import audit_seed
from tests.browser.bench import seed
from tests.browser.conftest import PASSWORD, settle
from tests.browser.test_pages import NAMELESS, TOO_SMALL, sideways
from webapp.audit.models import Audit, HumanVerdict, MaskEdit, MaskStep, Rating, Response

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
        from workers.tasks import audit_reporting

        for job in Job.objects.filter(kind="audit-report", state="queued"):
            run(str(job.id), "cpu@test", audit_reporting.work, audit_reporting.tidy)

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


def wait_focus(page: Any, place: int) -> None:
    page.locator("#claim-facts .claim-head b", has_text=f"{place} /").wait_for()


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
    assert "rule_supported" not in page.inner_text("#claim-machine")  # not before the decision
    page.get_by_label("Whose masks").select_option("rita")
    page.keyboard.press("Home")
    page.fill("#frame-field", str(edit.frame))
    page.keyboard.press("Enter")
    settle(page)
    assert page.locator("#mask-note").is_hidden()  # what was found is an approximate mask, what she drew is not
    page.keyboard.press("1")
    page.keyboard.press("/")
    page.keyboard.type("She is at the left from the first frame on.")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_text("Decided. Nothing else is disputed.").wait_for()
    page.locator("#claim-machine", has_text="rule_supported").wait_for()

    # and the report shows what both said
    page.goto(f"{studio.address}/p/one/audits/1/")
    page.get_by_role("button", name="Finish…").click()
    page.get_by_role("button", name="Finish the audit").click()
    page.wait_for_url("**/report/")
    jobs()
    page.get_by_role("link", name="JSON").wait_for()  # by itself, without loading the page again
    assert "is being made" not in page.inner_text("main")
    agreement = page.locator("#agreement tr", has_text="Verdict, people among").inner_text()
    assert "10" in agreement and "90 %" in agreement, agreement
    groundable = page.locator("#metrics tr", has_text="Groundable").inner_text()
    assert "80 % (8 of 10; 95 %: 49 to 94 %)" in groundable, groundable  # Wilson's interval of 8 of 10
    (group,) = json.loads(download(page, "JSON"))["groups"]
    assert group["claims"] == 10 and group["verdicts"]["unsupported"] == 2
    # people: 1 decided as supported, 2 and 6 contradicted, 3 and 7 supported, 5 contradicted; the machine as seeded
    table = group["agreement"]["table"]
    assert table["supported"] == {"supported": 2, "contradicted": 0, "cannot_tell": 0}
    assert table["contradicted"] == {"supported": 0, "contradicted": 2, "cannot_tell": 1}
    page.goto(f"{studio.address}/audit/responses/{response.id}/")
    ready(page)
    words = page.inner_text("#others")
    assert "rita Supported" in words and "ruth Contradicted" in words and "alice decided" in words
    assert "wrong" in page.inner_text(".asked-answer")


def test_correcting_by_keyboard_with_undo_polygon_and_carrying(
    visit: Any, crew: SimpleNamespace, studio: Any, audit: Audit
) -> None:
    page = begin(visit(crew.rita).page, studio)
    page.keyboard.press("m")
    frame = int(page.get_attribute("#player", "data-frame") or -1)

    def mine() -> dict[int, tuple[str, str]]:
        page.wait_for_selector(SAVED)
        return {row.frame: (row.action, row.origin) for row in MaskEdit.objects.filter(user=crew.rita)}

    for key in ("ArrowRight", "ArrowRight", "Space"):  # the brush begins in the middle of the picture
        page.keyboard.press(key)
    assert mine() == {frame: ("draw", "brush")}
    dab = coco_rle.decode(MaskEdit.objects.get().counts.encode(), (180, 320))
    assert dab[90, 176] and not dab[90, 200]  # two steps of its radius, 8 pixels, right of 160
    page.keyboard.press("Control+z")
    assert mine() == {}
    page.keyboard.press("Control+Shift+z")
    assert mine() == {frame: ("draw", "brush")}
    page.keyboard.press("f")
    carried = mine()
    assert carried[frame] == ("draw", "brush") and len(carried) > 4
    assert {kind for place, kind in carried.items() if place != frame} == {("draw", "shapes")}
    page.keyboard.press("Control+z")
    assert mine() == {frame: ("draw", "brush")}
    page.keyboard.press("Shift+.")
    page.keyboard.press("a")
    page.keyboard.press("Shift+.")
    page.keyboard.press("Delete")
    assert sorted(mine().values()) == [("accept", "key"), ("delete", "key"), ("draw", "brush")]
    page.keyboard.press("Shift+.")
    page.keyboard.press("p")
    page.keyboard.press("x")  # take away
    settle(page)
    for place in ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)):
        stroke(page, (place[0] * 0.98 + 0.01, place[1] * 0.98 + 0.01), (place[0] * 0.98 + 0.01, place[1] * 0.98 + 0.01))
    page.keyboard.press("Enter")
    assert list(mine().values()).count(("delete", "polygon")) == 1  # the mask lay in the left half: nothing is left


def test_another_wording_is_shown_beside_the_first(
    visit: Any, crew: SimpleNamespace, studio: Any, audit: Audit
) -> None:
    from webapp.audit import recording
    from webapp.audit.models import Reprompt
    from webapp.jobs.models import Job

    page = begin(visit(crew.rita).page, studio)
    page.keyboard.press("]")
    page.keyboard.press("]")
    wait_focus(page, 3)
    page.keyboard.press("r")
    page.keyboard.type("blue mug")
    page.keyboard.press("Enter")
    page.locator(".wording[data-state=waiting]", has_text="blue mug").wait_for()
    # what the worker writes
    reprompt = Reprompt.objects.get()
    claim = audit_seed.claims_of(audit_seed.Plan())[2]
    wording = replace(claim, id="other", phrases=(replace(claim.phrases[0], text="blue mug", negative=None),))
    found = audit_seed.ground(audit.responses.get(), wording, "supported", audit_seed.Plan(frames=6))
    judged = recording.Judged("unsupported", "rule_of_it", "Not by this wording.", {}, {})
    recording.keep_reprompt(reprompt_id=reprompt.id, found=found, judged=judged)
    Job.objects.filter(kind="reprompt").update(state="done", ended=timezone.now())
    page.locator(".wording[data-state=done]", has_text="blue mug").wait_for()
    both = page.locator(".wording").all_inner_texts()
    assert "red round cup" in both[0] and "on 7 of 7 frames in the span, 0 of 5 outside" in both[0]
    assert "blue mug" in both[1] and "rule_of_it" not in page.content()
    page.keyboard.press("Escape")
    assert "blue mug" in page.inner_text(".strip-names")


def test_the_page_says_what_was_looked_for_and_where(
    visit: Any, crew: SimpleNamespace, studio: Any, video: Any
) -> None:
    """A phrase of which only the kind was looked for; a claim without a time; a control beyond the cut; a wording typed
    for a claim without a phrase, for which nothing but the wording is listed."""
    from webapp.audit import recording
    from webapp.audit.models import Claim, Grounding, Reprompt

    rows = (
        ("At 2.0 s, a woman in a green hat stands", "object", "woman in green hat", 2.0, "weak", ""),
        ("a dog sleeps under the table", "object", "dog", None, "unsupported", ""),
        ("there is no dog", "scene", "", None, "not_groundable", ""),
    )
    plan = audit_seed.Plan(rows=rows)
    made = audit_seed.make(video, crew.alice, plan)
    first = Grounding.objects.get(claim__name="c1")
    first.queries[0] |= {"looked_for": "person", "unchecked": ["woman", "green hat"]}
    first.save()
    outside = [frame for frame, within in zip(first.looked, first.inside, strict=True) if not within]
    video.shots = [0, outside[-2]]  # the last two frames of the control lie in the next shot
    video.save()
    page = begin(visit(crew.rita).page, studio)
    scope = "looked for: person; not checked: woman, green hat"
    assert scope in page.inner_text(".queries .query-phrase")
    assert page.locator(".strip-query").first.inner_text() == "person"
    words = page.locator("#strip-words li").first.text_content()
    assert f"{scope}; found on" in words
    cut = f"2 of the {len(outside)} frames outside lie in another shot"
    assert cut in words and cut in page.inner_text(".query-shots")
    page.keyboard.press("r")
    assert scope in page.inner_text(".wording")
    page.keyboard.press("Escape")
    page.locator("#reprompt").wait_for(state="hidden")
    page.keyboard.press("]")
    wait_focus(page, 2)
    assert "Whole clip" in page.inner_text(".strip-names")
    assert "on 0 of 12 frames in the whole clip (the claim names no time)" in page.text_content("#strip-words")
    assert "0/12" in page.inner_text(".queries .query-phrase")
    assert "Nobody looked" not in page.inner_text("#mask-note")
    page.keyboard.press("]")
    wait_focus(page, 3)
    page.keyboard.press("r")
    page.keyboard.type("dog")
    page.keyboard.press("Enter")
    page.locator(".wording[data-state=waiting]", has_text="dog").wait_for()
    reprompt = Reprompt.objects.get()
    claim = replace(audit_seed.claims_of(plan)[1], id="other")
    found = audit_seed.ground(made.responses.get(), claim, "supported", plan)
    assert found is not None
    found = replace(
        found, queries=[*found.queries, {**found.queries[0], "id": "person-3", "role": "person", "person": 3}]
    )
    judged = recording.Judged("ambiguous", "not_found", "By this wording.", {}, {})
    recording.keep_reprompt(reprompt_id=reprompt.id, found=found, judged=judged)
    assert Claim.objects.get(name="c3").groundable is False
    page.reload()
    ready(page)
    wait_focus(page, 3)
    assert page.locator(".strip-query").all_inner_texts() == ["dog"]
    assert page.locator(".queries tbody tr").count() == 1


def test_nothing_that_was_said_is_lost(visit: Any, crew: SimpleNamespace, studio: Any, audit: Audit) -> None:
    """A lost network, a closed tab, an expired login: what was said waits on this computer and arrives once."""
    someone = visit(crew.rita)
    page = begin(someone.page, studio)
    address = page.url
    someone.context.set_offline(True)
    page.keyboard.press("1")
    page.keyboard.press("q")
    page.keyboard.press("m")
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    page.wait_for_selector("#save-state[data-state=unsaved]")
    assert not HumanVerdict.objects.exists()
    page.close()
    someone.context.set_offline(False)
    page = someone.new_page()
    page.goto(address)
    ready(page)
    page.wait_for_selector(SAVED)
    assert said_by(crew.rita) == [("supported", "relevant")] and MaskEdit.objects.count() == 1
    assert page.get_attribute("[data-verdict=supported]", "aria-pressed") == "true"
    # another window, which knows nothing of what is said here now
    other = someone.new_page()
    other.goto(f"{address}#c1")
    ready(other)
    page.keyboard.press("w")
    page.wait_for_selector(SAVED)
    other.keyboard.press("e")
    other.wait_for_selector("#save-state[data-state=unsaved]")
    assert said_by(crew.rita) == [("supported", "partly")]
    other.click("#save-state")
    other.get_by_role("button", name="This one counts").click()
    other.wait_for_selector(SAVED)
    assert said_by(crew.rita) == [("supported", "irrelevant")]
    other.close()
    page.evaluate("() => { location.hash = 'c1'; }")
    page.reload()
    ready(page)
    # an expired login
    someone.context.clear_cookies()
    page.keyboard.press("2")
    page.fill("#again-password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector(SAVED)
    assert said_by(crew.rita) == [("contradicted", "irrelevant")]
    said = HumanVerdict.objects.get()
    assert said.blind_verdict == "supported" and said.machine_seen  # what came after the machine's word is kept apart


def test_an_undo_whose_answer_was_lost_undoes_one_step(
    visit: Any, crew: SimpleNamespace, studio: Any, audit: Audit
) -> None:
    """Also of steps of an earlier visit, with the key held down, and with what the page shows after it."""
    page = begin(visit(crew.rita).page, studio)
    page.keyboard.press("m")
    for left in (0.3, 0.5, 0.7):
        stroke(page, (left, 0.2), (left + 0.05, 0.2))
    page.wait_for_selector(SAVED)
    page.reload()
    settle(ready(page))
    page.keyboard.press("m")
    sent: list[Any] = []

    def lose(route: Any) -> None:
        sent.append(route.request.post_data_json)
        if len(sent) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/masks/undo", lose)
    page.keyboard.press("Control+z")
    page.wait_for_function("() => document.querySelector('#save-state').dataset.state === 'unsaved'")
    page.wait_for_selector(SAVED)
    assert len(sent) == 2 and sent[0] == sent[1]
    assert MaskStep.objects.filter(undone=False).count() == 2
    stroke(page, (0.3, 0.7), (0.35, 0.7))  # on what the undo left there
    page.wait_for_selector(SAVED)
    for _ in range(9):
        page.keyboard.press("Control+z")
    page.wait_for_selector(SAVED)
    assert len(sent) == 5 and not MaskEdit.objects.exists()


def two_a_second(response: Response) -> None:
    """Give a response the clock of a clip as GRASP has it: frame 62 is shown at 1.5 s, not at 37 / 25 s."""
    from ml.questions.clip import ClipClock
    from webapp.lib import storage

    target = storage.local_path(f"{response.folder}/clock.npz")
    assert target is not None
    frames = np.array([25, 37, 50, 62, 75])
    ClipClock(frames, np.arange(5) / 2, audit_seed.START, audit_seed.END, 10.0).save(target)
    Response.objects.filter(id=response.id).update(rendering="grasp")


@pytest.mark.parametrize("width", [1024, 1440])
def test_the_pages_fit_and_every_control_has_a_name(
    visit: Any, crew: SimpleNamespace, studio: Any, audit: Audit, width: int
) -> None:
    Audit.objects.update(name="a name with a great many words " * 3)
    Response.objects.update(asked="a question with a great many words in it, " * 9)
    two_a_second(audit.responses.get())
    page = visit(crew.alice, viewport={"width": width, "height": 768}).page
    response = audit.responses.get()
    places = ["/p/one/audits/", "/p/one/audits/new/", "/p/one/audits/1/", "/p/one/audits/1/report/"]
    for address in [*places, "/p/one/audits/1/adjudicate/", f"/audit/responses/{response.id}/"]:
        page.goto(studio.address + address)
        if address.startswith("/audit/"):
            ready(page)
        assert not sideways(page), address
        assert page.evaluate(NAMELESS) == [], address
        assert page.evaluate(TOO_SMALL) == [], address
    settle(page)  # on the frame in the middle of the claim, by the clock of a clip of two frames a second
    assert (page.get_attribute("#player", "data-frame"), page.inner_text("#clip-clock")) == ("62", "1.50 s")
    page.keyboard.press("?")
    assert "Show the negative control" in page.inner_text("#help")


@pytest.mark.bench
def test_two_hundred_claims_are_open_in_two_seconds(
    visit: Any, crew: SimpleNamespace, studio: Any, video: Any, figure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 claims, each with 64 frames x 5 objects of 720 x 1280 pixels."""
    monkeypatch.setattr(audit_seed, "SIZE", (720, 1280))
    audit_seed.drawn.cache_clear()
    rows = tuple((f"Person {n % 4 + 1} is at the left of the table", *audit_seed.SENTENCES[0][1:]) for n in range(200))
    audit = audit_seed.make(video, crew.alice, audit_seed.Plan(rows=rows, frames=64, objects=5))
    page = visit(crew.rita).page
    begin(page, studio)
    page.goto(f"{studio.address}/audit/responses/{audit.responses.get().id}/")  # again, with scripts in the cache
    ready(page)
    opened = page.evaluate("performance.getEntriesByName('audit-ready')[0].startTime")
    figure("audit page: 200 claims, 64 frames x 5 objects each: usable after the click", opened, "ms", budget=2000)
    began = page.evaluate("performance.now()")
    page.keyboard.press("]")
    page.wait_for_function("() => !/way/.test(document.querySelector('#mask-note').textContent)")
    figure("audit page: next claim with its masks", page.evaluate("performance.now()") - began, "ms", budget=500)
    audit_seed.drawn.cache_clear()
    assert opened < 3 * 2000


def download(page: Any, name: str) -> str:
    with page.expect_download() as waited:
        page.get_by_role("link", name=name).click()
    return Path(waited.value.path()).read_text()
