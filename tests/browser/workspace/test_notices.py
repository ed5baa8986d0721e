"""Notices over the workspace: deriving events again after a correction, a run that waits, questions of identity."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.browser.conftest import settle, wait_saved
from tests.browser.workspace import seed
from webapp.events import ledger


@pytest.fixture
def video(crew: Any) -> Any:
    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500))
    found = seed.bare_video(crew.project, made)
    seed.add_scene(found, made, link_shots=False)
    seed.derive(found)
    return found


def work_off(video: Any) -> None:
    """What a worker does with the video's queued job, here and now."""
    from webapp.jobs.models import Job
    from workers.tasks import accepting, deriving

    job = Job.objects.get(video=video, state="queued")
    task = {"derive": deriving.derive_events, "accept": accepting.accept_run}[job.kind]
    task.apply(args=[str(job.id)]).get()


def test_a_gaze_correction_offers_to_derive_again_and_applies_the_difference(
    visit: Any, crew: Any, video: Any, valkey: Any
) -> None:
    page = visit(crew.bob).open(video)
    before = video.events.count()
    page.keyboard.press("i")
    page.keyboard.press("Shift+.")
    page.keyboard.press("Shift+.")
    page.keyboard.press("Shift+.")
    settle(page)
    page.keyboard.press("o")
    for person, target in (("0", "1"), ("1", "0")):
        page.keyboard.press(person)
        page.keyboard.press("a")
        page.keyboard.press(target)
    wait_saved(page)
    page.click("text=Re-derive events")
    page.wait_for_selector(".banner >> text=Deriving events")
    work_off(video)
    page.wait_for_selector(".banner >> text=Derived events", timeout=8000)
    page.click(".banner >> text=Show")
    assert "new" in page.inner_text("#report") or "changed" in page.inner_text("#report")
    page.keyboard.press("Escape")
    page.click(".banner >> text=Apply")
    page.wait_for_selector("#say:not([hidden]) >> text=Applied")
    page.wait_for_function("() => !document.querySelector('#banners').children.length")
    added = video.events.filter(type="mutual_gaze", start__lt=31)
    assert any({p.person.number for p in event.participations.all()} == {0, 1} for event in added)
    assert video.events.count() != before or added
    event = added.first()
    page.wait_for_selector(f"[data-event='{event.id}']", state="attached")


def test_a_waiting_run_is_announced_and_accepted(visit: Any, crew: Any, video: Any, valkey: Any) -> None:
    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500), seed=21)
    run = seed.add_scene(video, made, accepted=False)
    page = visit(crew.alice).open(video)
    page.click(".banner >> text=Look")
    page.wait_for_selector("#report >> text=Nothing made by a person is removed")
    page.keyboard.press("Escape")
    page.click('.banner button:text-is("Accept")')
    page.wait_for_selector(".banner >> text=Accepting the run")
    with page.expect_navigation(timeout=15_000):
        work_off(video)
    page.wait_for_selector("#workspace[data-ready=all]")
    video.refresh_from_db()
    assert video.run_id == run.id


def test_questions_of_identity_are_answered_in_the_inspector(visit: Any, crew: Any, video: Any) -> None:
    page = visit(crew.bob).open(video)
    page.locator(".proposal").first.locator("text=Same person").click()
    wait_saved(page)
    answered = video.identity_proposals.get(state="same")
    assert answered.second.merged_into == answered.first
    page.wait_for_function("() => document.querySelectorAll('.proposal').length === 2")
    page.locator(".proposal").first.locator("text=Different").click()
    wait_saved(page)
    assert video.identity_proposals.filter(state="different").count() == 1
    assert "Re-derive" in page.inner_text("#banners")
    page.reload()
    page.wait_for_selector("#workspace[data-ready=all]")
    assert "Re-derive" in page.inner_text("#banners")


def test_a_report_made_before_an_edit_says_so(visit: Any, crew: Any, video: Any) -> None:
    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500), seed=21)
    seed.add_scene(video, made, accepted=False)
    page = visit(crew.alice).open(video)
    page.wait_for_selector(".banner >> text=waits to be accepted")
    assert "compared again" not in page.inner_text("#banners")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    page.wait_for_selector(".banner >> text=compared again when you accept")
    page.reload()
    page.wait_for_selector(".banner >> text=compared again when you accept")
    assert page.inner_text(".stage-legend") == "Gaze: geometric estimate"


def test_triage_shows_the_least_certain_first_and_goes_on(visit: Any, crew: Any, video: Any) -> None:
    page = visit(crew.bob).open(video)
    order = list(video.events.filter(status="proposed").order_by("confidence", "id"))
    page.keyboard.press("Shift+N")
    for event in order[:3]:
        page.wait_for_selector(f"[data-event='{event.id}'][aria-pressed=true]", state="attached")
        assert page.get_attribute("#player", "data-state") == "playing"
        page.keyboard.press("Enter")
    wait_saved(page)
    assert {event.id for event in video.events.filter(status="confirmed")} == {event.id for event in order[:3]}
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")


def test_a_failed_acceptance_says_why_and_can_be_tried_again(visit: Any, crew: Any, video: Any, valkey: Any) -> None:
    from webapp.jobs import services as jobs
    from webapp.jobs.models import Job

    made = seed.Scene(people=3, seconds=seed.uniform(1000), shots=(0, 500), seed=21)
    run = seed.add_scene(video, made, accepted=False)
    page = visit(crew.alice).open(video)
    accept = page.locator('.banner button:text-is("Accept")')
    accept.dblclick()  # asks once
    page.wait_for_selector(".banner >> text=Accepting the run")
    job = jobs.claim(job_id=Job.objects.get(video=video, kind="accept").id, worker="test/1")
    assert job is not None
    jobs.fail(job=job, error="The samples of this run are cut off.")
    page.wait_for_selector(".banner >> text=It was not accepted: The samples of this run are cut off.", timeout=15_000)
    assert "failed: The samples of this run are cut off." in page.inner_text("#say")
    accept.click()
    page.wait_for_selector(".banner >> text=Accepting the run")
    assert Job.objects.filter(video=video, kind="accept").count() == 2
    assert run.state == "layer"


def seconds_of(page: Any, who: int, whom: int) -> float:
    """The cell of the matrix in the inspector, 0 where it is empty or not there."""
    words = page.evaluate(
        """([who, whom]) => {
          const heads = [...document.querySelectorAll('.matrix thead th')].map((head) => head.textContent);
          const rows = [...document.querySelectorAll('.matrix tbody tr')];
          const row = rows.find((one) => one.querySelector('th').textContent === String(who));
          return row?.querySelectorAll('td')[heads.indexOf(String(whom))]?.textContent ?? '';
        }""",
        [who, whom],
    )
    return float(words or 0)


def test_the_matrix_follows_corrections(visit: Any, crew: Any, video: Any) -> None:
    """What person 0 looks at over frames 0 to 30 is said to be person 1, then person 2: 31 / 25 = 1.24 s."""
    page = visit(crew.bob).open(video)
    page.keyboard.press("i")
    for _ in range(3):
        page.keyboard.press("Shift+.")
    settle(page)
    page.keyboard.press("o")
    page.wait_for_selector(".matrix")
    page.keyboard.press("0")
    for key in ("a", "1"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.querySelector('.matrix')")
    assert (seconds_of(page, 0, 1), seconds_of(page, 0, 2)) == (1.2, 0)
    page.keyboard.press("0")
    for key in ("a", "2"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.querySelector('.matrix')")
    assert (seconds_of(page, 0, 1), seconds_of(page, 0, 2)) == (0, 1.2)
    wait_saved(page)


def test_in_triage_undo_goes_back_to_the_event_and_a_double_click_says_one_word(
    visit: Any, crew: Any, video: Any
) -> None:
    page = visit(crew.bob).open(video)
    order = list(video.events.filter(status="proposed").order_by("confidence", "id"))
    chosen = "[data-event='{}'][aria-pressed=true]"
    page.keyboard.press("Shift+N")
    page.wait_for_selector(chosen.format(order[0].id), state="attached")
    page.locator(".inspector [data-focus=confirm]").dblclick()
    page.wait_for_selector(chosen.format(order[1].id), state="attached")
    page.keyboard.press("Backspace")
    page.wait_for_selector(chosen.format(order[2].id), state="attached")
    wait_saved(page)
    assert (statuses(video, order[:3])) == ["confirmed", "rejected", "proposed"]
    page.keyboard.press("Control+z")
    page.wait_for_selector(chosen.format(order[1].id), state="attached")
    assert page.get_attribute("#player", "data-state") == "playing"
    page.keyboard.press("Enter")
    wait_saved(page)
    assert (statuses(video, order[:3])) == ["confirmed", "confirmed", "proposed"]


def test_the_last_word_of_triage_is_not_turned_by_the_next_key(visit: Any, crew: Any, video: Any) -> None:
    last = video.events.filter(status="proposed").order_by("confidence", "id").first()
    video.events.filter(status="proposed").exclude(id=last.id).update(status="confirmed", origin="human")
    page = visit(crew.bob).open(video)
    page.keyboard.press("Shift+N")
    page.wait_for_selector(f"[data-event='{last.id}'][aria-pressed=true]", state="attached")
    page.keyboard.press("Enter")
    page.wait_for_selector("#say >> text=Nothing is left to review")
    page.keyboard.press("Backspace")
    assert "Select an event first" in page.inner_text("#say")
    wait_saved(page)
    last.refresh_from_db()
    assert last.status == "confirmed"


# Clicks as one spot gets them, `gap` ms apart, each when the page has drawn what the one before brought
CLICKS = """async ([selector, gap, times]) => {
  let at = performance.now();
  for (let k = 1; k <= times; k++, at += gap) {
    const button = document.querySelector(selector);
    for (const event of [
      new PointerEvent('pointerdown', { bubbles: true }),
      new PointerEvent('pointerup', { bubbles: true }),
      new MouseEvent('click', { bubbles: true, detail: k }),
    ]) {
      Object.defineProperty(event, 'timeStamp', { value: at });
      button.dispatchEvent(event);
    }
    for (let turn = 0; turn < 6; turn++) await new Promise((done) => requestAnimationFrame(done));
  }
}"""


@pytest.mark.parametrize(("gap", "clicks", "words"), [(150, 2, 1), (150, 3, 1), (400, 3, 3)])
def test_a_quick_second_click_counts_once_the_next_event_could_be_seen(
    visit: Any, crew: Any, video: Any, gap: int, clicks: int, words: int
) -> None:
    page = visit(crew.bob).open(video)
    order = list(video.events.filter(status="proposed").order_by("confidence", "id"))
    page.keyboard.press("Shift+N")
    page.wait_for_selector(f"[data-event='{order[0].id}'][aria-pressed=true]", state="attached")
    page.evaluate(CLICKS, [".inspector [data-focus=confirm]", gap, clicks])
    wait_saved(page)
    assert statuses(video, order[:4]) == ["confirmed"] * words + ["proposed"] * (4 - words)


def test_a_slow_double_click_on_an_event_says_one_word(visit: Any, crew: Any, video: Any) -> None:
    """After the first click another button of the same event lies under the pointer."""
    page = visit(crew.bob).open(video)
    event = video.events.filter(status="proposed").order_by("start", "end", "id").first()
    page.keyboard.press("n")
    page.wait_for_selector(f"[data-event='{event.id}'][aria-pressed=true]", state="attached")
    page.evaluate(CLICKS, [".inspector .inspector-buttons button", 450, 2])
    wait_saved(page)
    assert statuses(video, [event]) == ["confirmed"]
    assert video.edits.filter(kind="event.update").count() == 1


def statuses(video: Any, events: list[Any]) -> list[str]:
    found = {event.id: event.status for event in video.events.all()}
    return [found[event.id] for event in events]


def test_on_a_narrow_screen_the_selection_shows_under_the_picture(visit: Any, crew: Any, video: Any) -> None:
    page = visit(crew.bob, viewport={"width": 1024, "height": 768}).open(video)
    assert "to review" in page.inner_text("#strip")
    event = video.events.filter(status="proposed").order_by("start", "end", "id").first()
    page.keyboard.press("n")
    page.wait_for_selector("#strip .strip-why:not(:empty)")
    words = page.inner_text("#strip")
    assert f"{round(event.confidence * 100)} %" in words and "Proposed" in words
    reason = page.inner_text("#strip .strip-why")
    assert reason == page.text_content(".inspector h3:text-is('Why') + p")
    page.click("#strip >> text=Confirm")
    wait_saved(page)
    assert statuses(video, [event]) == ["confirmed"]
    page.click("#strip [aria-label^='Everything']")
    page.wait_for_selector(".inspector-body")
    page.wait_for_selector("#strip", state="hidden")


@pytest.mark.parametrize(("width", "place"), [(1024, "#strip"), (1440, ".inspector")])
def test_a_press_during_which_the_panel_is_drawn_anew_is_a_click(
    visit: Any, crew: Any, video: Any, width: int, place: str
) -> None:
    page = visit(crew.bob, viewport={"width": width, "height": 800}).open(video)
    event = video.events.filter(status="proposed").order_by("start", "end", "id").first()
    page.keyboard.press("n")
    page.wait_for_selector(f"{place} [data-focus=confirm]")
    page.hover(f"{place} [data-focus=confirm]")
    page.mouse.down()
    edit = ledger.EditRequest(uuid.uuid4(), "event.update", event.id, event.version, {"end": event.end + 1})
    ledger.apply_edit(video_id=video.id, user=crew.rita, edit=edit)
    page.wait_for_selector(f"[data-event='{event.id}'][data-end='{event.end + 1}']", state="attached")
    page.mouse.up()
    wait_saved(page)
    assert statuses(video, [event]) == ["confirmed"]
